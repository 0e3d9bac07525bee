"""`slipway get objects` and `slipway get audit`: what a design consists of, and who asked for what."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

import click
import requests
from rich.text import Text

from slipway_cli.online.server.online_command import format_time, online, show_answer
from slipway_cli.online.server.server import SiteServer
from slipway_cli.options import examples
from slipway_cli.output import OutputFormat, console, listed, printable, table


@click.command("objects", epilog=examples("slipway get objects --kind host_profile --site lab-7"))
@click.option("--kind", metavar="KIND", help="Only objects of this kind, such as node.")
@click.option("--limit", type=click.IntRange(1, 1000), default=100, show_default=True, help="How many at most.")
@online
def get_objects(server: SiteServer, output: str, kind: str | None, limit: int) -> None:
    """List what the site's newest design consists of, and what each object uses."""

    def rows(objects: Any) -> None:
        result = table("Object", "Version", "Rev", "Uses", "By policy", right=("Version", "Rev"), folds=("Uses",))
        for one in objects:
            result.add_row(
                Text(printable(f"{one['kind']}/{one['name']}")),
                str(one["version"]),
                str(one["revision"]),
                Text(listed(one["uses"])),
                Text(listed(one["by_policy"])),
            )
        console().print(result if objects else Text(f"site {server.where.site} has no such object"))

    answer = server.get(_path(server, "objects"), kind=kind, limit=limit)
    show_answer(answer, output, rows)
    _tell_of_more(answer, output)


@click.command("audit", epilog=examples("slipway get audit --site lab-7"))
@click.option("--limit", type=click.IntRange(1, 1000), default=100, show_default=True, help="How many at most.")
@online
def get_audit(server: SiteServer, output: str, limit: int) -> None:
    """List who gave the site's actions a command, or asked for nodes, newest first."""

    def rows(entries: Any) -> None:
        result = table("Time (UTC)", "User", "Command", "About", "Detail", folds=("About", "Detail"))
        for one in entries:
            about = f"action {one['action']}" if one["action"] else listed(one["nodes"])
            user, detail = Text(printable(one["user"])), Text(printable(one["detail"] or ""))
            result.add_row(format_time(one["datetime"]), user, one["command"], Text(about), detail)
        console().print(result if entries else Text(f"nobody has asked for anything in site {server.where.site}"))

    answer = server.get(_path(server, "audit"), limit=limit)
    show_answer(answer, output, rows)
    _tell_of_more(answer, output)


def _path(server: SiteServer, what: str) -> str:
    return f"/sites/{quote(server.where.site, safe='')}/{what}"


def _tell_of_more(answer: requests.Response, output: str) -> None:
    if output == OutputFormat.TABLE and "next" in answer.links:
        console().print(Text("more are left out: see --limit", style="dim"))
