"""`slipway whoami`: the user, the server, the token's end, and what the server lets the user do."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

import click
from rich.text import Text

from slipway_cli.online.server.online_command import online
from slipway_cli.online.server.server import SiteServer
from slipway_cli.online.server.server_config import token_end
from slipway_cli.options import examples
from slipway_cli.output import console, print_facts, printable, show_data
from strategy_lib.settings import SLIPWAY_TOKEN


@click.command(epilog=examples("slipway whoami", "slipway whoami --profile plant -o json"))
@online
def whoami(server: SiteServer, output: str) -> None:
    """Show as whom you work, at which server and site, until when your token is good, and what you may do.

    Rights are Airflow's: the server asks its auth manager for each of them now.
    """
    where = server.where
    ends = token_end(where.token or "")
    found = {
        **server.get("/whoami").json(),
        "server": where.url,
        "profile": where.profile,
        "site": where.site,
        "token_from": SLIPWAY_TOKEN.name if SLIPWAY_TOKEN.read(os.environ) else "slipway login",
        "token_expires": None if ends is None else ends.isoformat(timespec="seconds"),
    }
    show_data(found, output, _show)


def _show(found: Mapping[str, Any]) -> None:
    target = console()
    ends = found["token_expires"]
    until = f"good until {datetime.fromisoformat(ends):%Y-%m-%d %H:%M} UTC" if ends else "does not say when it ends"
    facts = (
        ("User", found["user"]),
        ("Server", found["server"] + (f" (profile {found['profile']})" if found["profile"] else "")),
        ("Site", found["site"]),
        ("Token", f"from {found['token_from']}, {until}"),
    )
    print_facts(target, facts)
    for may, words, of in _rights(found):
        line = f"{'may' if may else 'may not'} {words}" + (f": {', '.join(of)}" if of else "")
        target.print(Text(printable(line), "" if may else "dim"), soft_wrap=True)


def _rights(found: Mapping[str, Any]) -> Iterator[tuple[bool, str, list[str]]]:
    """Yield for each right whether the user has it, what it is, and of which kinds of action."""
    kinds = (("read", "see"), ("create", "start"), ("control", "stop, pause and unpause"))
    for key, words in kinds:
        yield bool(found[key]), words, found[key] or ["any action"]
    for key, words in (
        ("commit", "load, commit and roll back documents"),
        ("manage", "retry actions, set states of nodes, stop repair, make reporters"),
        ("read_secrets", "see secrets in documents"),
        ("connect", "make connections"),
    ):
        yield found[key], words, []
