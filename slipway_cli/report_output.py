"""The end of an action on the screen: its report, and the verdict once more where the eye is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.console import Console
from rich.text import Text

from api_client.slipway import RunProgress
from slipway_cli.clock import Clock
from slipway_cli.output import OutputFormat, deliver, serialised
from slipway_cli.printable import printable
from strategy_lib.phase import Verdict


def show_report(progress: RunProgress | None, output: str, clock: Clock) -> None:
    """Print the report: as text between the other lines, or by itself as it is stored."""
    if progress is not None and progress.report is not None and output != OutputFormat.TABLE:
        deliver(
            serialised(progress.report, OutputFormat.YAML if output == OutputFormat.YAML else OutputFormat.JSON), None
        )
    elif progress is not None and progress.report_text:
        clock.screen.print()
        for line in progress.report_text.splitlines():
            clock.screen.print(Text(printable(line)), soft_wrap=True)
        _show_verdict(progress.report, clock.screen)
        clock.screen.print()
    else:
        clock.say("the run left no report; look at the log of the failed tasks")


def _show_verdict(report: Mapping[str, Any] | None, screen: Console) -> None:
    """Say the verdict again, where the eye is after a long report."""
    if report is not None:
        style = "bold green" if report["verdict"] == Verdict.SUCCESS else "bold red"
        text = f"{report['verdict'].upper()}: {report['verdict_text']}"
        screen.print(Text(printable(text), style=style), soft_wrap=True)
