"""`slipway get objects` and `slipway get audit`: what a design consists of, and who asked for what."""

from __future__ import annotations

from operator import itemgetter
from typing import Any

import click

from slipway_cli.online.server.online_command import format_time, online, show_answer, tell_of_more
from slipway_cli.online.server.server import SiteServer
from slipway_cli.options import examples
from slipway_cli.output import Columns, listed, print_list


@click.command("objects", epilog=examples("slipway get objects --kind host_profile --site lab-7"))
@click.option("--kind", metavar="KIND", help="Only objects of this kind, such as node.")
@click.option("--limit", type=click.IntRange(1, 1000), default=100, show_default=True, help="How many at most.")
@online
def get_objects(server: SiteServer, output: str, kind: str | None, limit: int) -> None:
    """List what the site's newest design consists of, and what each object uses."""

    columns: Columns = {
        "Object": lambda one: f"{one['kind']}/{one['name']}",
        "Version": lambda one: str(one["version"]),
        "Rev": lambda one: str(one["revision"]),
        "Uses": lambda one: listed(one["uses"]),
        "By policy": lambda one: listed(one["by_policy"]),
    }

    def rows(objects: Any) -> None:
        print_list(objects, columns, f"site {server.where.site} has no such object", ("Version", "Rev"), ("Uses",))

    answer = server.get(server.of_site("objects"), kind=kind, limit=limit)
    show_answer(answer, output, rows)
    tell_of_more(answer, output)


@click.command("audit", epilog=examples("slipway get audit --site lab-7"))
@click.option("--limit", type=click.IntRange(1, 1000), default=100, show_default=True, help="How many at most.")
@online
def get_audit(server: SiteServer, output: str, limit: int) -> None:
    """List who gave the site's actions a command, or asked for nodes, newest first."""

    columns: Columns = {
        "Time (UTC)": lambda one: format_time(one["datetime"]),
        "User": itemgetter("user"),
        "Command": itemgetter("command"),
        "About": lambda one: f"action {one['action']}" if one["action"] else listed(one["nodes"]),
        "Detail": lambda one: one["detail"] or "",
    }

    def rows(entries: Any) -> None:
        nothing = f"nobody has asked for anything in site {server.where.site}"
        print_list(entries, columns, nothing, folds=("About", "Detail"))

    answer = server.get(server.of_site("audit"), limit=limit)
    show_answer(answer, output, rows)
    tell_of_more(answer, output)
