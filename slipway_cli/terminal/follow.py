"""Follow an action until it ends: lines with the time, patience for an Airflow that is away, the report at the end."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

from rich.console import Console
from rich.text import Text

from api_client.airflow import AirflowClient
from api_client.session import ApiError, ApiRefused, ApiUnreachable
from api_client.slipway import RunProgress, SlipwayClient
from slipway_cli.output import OutputFormat, deliver, printable, serialised
from slipway_cli.terminal.progress import open_view
from slipway_cli.terminal.tree_header import verdict_style
from strategy_lib.phase import Verdict


class Clock:
    """Prints lines with the seconds since the start."""

    def __init__(self, screen: Console) -> None:
        self.screen = screen
        self._began = time.monotonic()

    def say(self, text: str) -> None:
        """Print a line; control characters in it are replaced."""
        seconds = time.monotonic() - self._began
        self.screen.print(Text(f"{seconds:7.1f} s  {printable(text)}"), soft_wrap=True)


_POLL = 0.5
_SILENCE = 5.0
"""Seconds without an answer after which a line says so."""
_BEGINNING = 30.0
"""Seconds after which a line says that Airflow has not begun."""
_PATIENCE = 180.0
"""Seconds without an answer after which following ends with an error."""


class AirflowGone(ApiError):
    """Airflow has not answered for minutes; the message says what to do."""


class Absence:
    """Patience with a server that does not answer: it is told once, and given up after a while.

    Parameters
    ----------
    check : called while there is no answer; raises when none can come any more.
    silence, patience : seconds without an answer until a line says so, and until it is given up.
    advice : what to do once it is given up.
    """

    def __init__(
        self,
        say: Callable[[str], None],
        check: Callable[[], None] = lambda: None,
        silence: float = _SILENCE,
        patience: float = _PATIENCE,
        advice: str = "",
    ) -> None:
        self._say = say
        self._check = check
        self._silence = silence
        self._patience = patience
        self._advice = advice
        self._last_seen = time.monotonic()
        self._told = False

    def end(self) -> None:
        """Note that it has answered."""
        if self._told:
            self._say("Airflow answers again")
        self._last_seen, self._told = time.monotonic(), False

    def bear(self, error: ApiUnreachable | ApiRefused) -> None:
        """Bear that there was no answer. The API server may have been killed; its supervisor starts it again.

        Raises
        ------
        ApiRefused : it is an answer.
        AirflowGone : there has been none for `patience` seconds.
        """
        if isinstance(error, ApiRefused) and error.status < 500:
            raise error
        self._check()
        away = time.monotonic() - self._last_seen
        if away > self._patience:
            raise AirflowGone(f"{error}; given up after {away:.0f} s. {self._advice}") from error
        if away > self._silence and not self._told:
            self._say("Airflow does not answer; waiting")
            self._told = True


def follow(
    dag_id: str,
    run_id: str,
    airflow: AirflowClient,
    slipway: SlipwayClient,
    clock: Clock,
    check: Callable[[], None] = lambda: None,
    silence: float = _SILENCE,
    patience: float = _PATIENCE,
    advice: str = "",
) -> tuple[str, RunProgress | None]:
    """Show the run until it has ended; its state in Airflow, and what Slipway says of it at the end.

    Parameters
    ----------
    check, silence, patience, advice : as for `Absence`.

    Raises
    ------
    AirflowGone : no answer for `patience` seconds.
    ApiRefused
    """
    absence = Absence(clock.say, check, silence, patience, advice)
    asked, waited = time.monotonic(), False
    with open_view(clock.screen, clock.say) as view:
        while True:
            try:
                state = str(airflow.run(dag_id, run_id)["state"])
                progress = slipway.progress(dag_id, run_id)
            except (ApiUnreachable, ApiRefused) as error:
                absence.bear(error)
            else:
                absence.end()
                if state == "queued" and not waited and time.monotonic() - asked > _BEGINNING:
                    clock.say(f"Airflow has not begun it. Is its scheduler running? Is the DAG {dag_id} switched on?")
                    waited = True
                if progress is not None:
                    view.update(progress)
                if state in ("success", "failed"):
                    return state, progress
            time.sleep(_POLL)


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
    """Print the verdict again, at the end of what may be a long report."""
    if report is not None:
        style = verdict_style({**report, "state": "success" if report["verdict"] == Verdict.SUCCESS else "failed"})
        text = f"{report['verdict'].upper()}: {report['verdict_text']}"
        screen.print(Text(printable(text), style=style), soft_wrap=True)
