"""`slipway report`: what became of an action, to read, to keep or to mail."""

from __future__ import annotations

from pathlib import Path

import click
from rich.text import Text

from slipway_cli.online.server.completion import ACTION
from slipway_cli.online.server.online_command import RAW, TargetGroup, action_id, online_in
from slipway_cli.online.server.server import SiteServer
from slipway_cli.options import examples
from slipway_cli.output import console, deliver

FORMS = ("text", "json", "html")
_EXAMPLES = examples(
    "slipway report action/01ARZ3NDEKTSV4RRFFQ69G5FAV",
    "slipway report action/01ARZ3NDEKTSV4RRFFQ69G5FAV -o html -f report.html",
)


@click.group(cls=TargetGroup, epilog=_EXAMPLES)
def report() -> None:
    """Show the report of an action that is over."""


@report.command("action", epilog=_EXAMPLES)
@click.argument("action", type=ACTION)
@click.option(
    "-f",
    "--output-file",
    metavar="FILE",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write to this file instead of standard output.",
)
@online_in(FORMS, {RAW: "json"})
def report_action(server: SiteServer, output: str, action: str, output_file: Path | None) -> None:
    """Show the report of an ACTION: the verdict and why, failures first.

    text is to read; json is the whole report as it is kept, with every node; html is one page to mail, which needs
    nothing from elsewhere.
    """
    text = server.get(f"/actions/{action_id(action)}/report", format=output).text
    if output == FORMS[0] and output_file is None:
        console().print(Text(text.removesuffix("\n")), soft_wrap=True)
        return
    deliver(text if text.endswith("\n") else f"{text}\n", output_file)
