"""`slipway describe action/<id> --tree` and `describe site/<name>`: how it stands, entry by entry."""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Mapping
from typing import Any, NoReturn
from urllib.parse import quote

import click
import requests

from api_client.slipway import SlipwayClient
from slipway_cli import INTERRUPTED_EXIT
from slipway_cli.online.server.completion import SITE
from slipway_cli.online.server.online_command import online, show_answer
from slipway_cli.online.server.server import Failed, SiteServer, translated_errors
from slipway_cli.options import Written, examples
from slipway_cli.output import OutputFormat, console, say_next
from slipway_cli.terminal.follow import WAIT, Absence, Clock, follow, open_tree_view, show_end
from slipway_cli.terminal.tree_header import action_header_lines, site_header_lines
from slipway_cli.terminal.tree_text import Sheet, tree_lines

ALL = "all"
_DEPTH = re.compile(r"[0-9]{1,3}|all")
_ANSWER = WAIT + 15.0
"""Seconds for one answer."""


def _depth(text: str) -> str:
    if _DEPTH.fullmatch(text) is None:
        raise ValueError(f"{text!r} is neither a number from 0 to 999 nor `all`")
    return text


DEPTH = Written("depth", _depth)
"""How many levels of a tree: a number, or all."""


def show_tree(server: SiteServer, path: str, output: str, depth: str | None, ref: str = "") -> None:
    """Print a tree as it is now.

    Parameters
    ----------
    path : of the tree in the API.
    depth : how many levels; None: as many as the server finds useful.
    ref : the action's name in commands.
    """
    answer = server.get(path, depth=depth)
    if depth == ALL:
        if output == OutputFormat.TABLE:
            _print(_joined(answer), ref)
        else:
            click.echo(answer.content, nl=False)
        return
    show_answer(answer, output, lambda tree: _print(tree, ref))


def _joined(answer: requests.Response) -> dict[str, Any]:
    """Put a tree together that came as one entry a line."""
    lines = (json.loads(line) for line in answer.iter_lines() if line)
    tree: dict[str, Any] = next(lines)
    by_path: dict[tuple[str, ...], dict[str, Any]] = {}
    for entry in lines:
        path = tuple(entry["path"])
        if path and path[:-1] not in by_path:
            # It came while the lines were read: what is above it is not among them.
            continue
        by_path[path] = entry
        entry["children"] = []
        entry.pop("left_out", None)
        if path:
            by_path[path[:-1]]["children"].append(entry)
    return {**tree, "root": by_path[()]}


def _print(tree: Mapping[str, Any], ref: str) -> None:
    target = console()
    header = tree["header"]
    for line in action_header_lines(header) if ref else site_header_lines(header):
        target.print(line, soft_wrap=True)
    sheet = Sheet(target.width, ascii_only=target.options.ascii_only, ref=ref)
    for line in tree_lines(tree["root"], sheet):
        target.print(line, soft_wrap=True)


def follow_to_the_end(
    server: SiteServer, action: Mapping[str, Any], output: str, depth: str | None = None, *, trees: bool = False
) -> NoReturn:
    """Show an action's tree until it is over, then its report; exit with 0 for success, 1 for failure.

    Parameters
    ----------
    action : as the API describes it.
    trees : in another form than the table each tree is printed, and not the report.

    Raises `SystemExit` always, unless the server is lost, which raises `Failed`.
    """
    clock, ref = Clock(console(stderr=output != OutputFormat.TABLE)), f"action/{action['id']}"
    documents = trees and output != OutputFormat.TABLE
    if action["run_id"] is None:
        raise Failed(f"{ref} cannot be followed: no DAG run carries it out; look again with `slipway describe {ref}`")
    clock.say(f"{ref}: {action['name']} of site {action.get('site')}, revision {action.get('revision')}")
    absence = Absence(clock.say, advice=f"The action goes on; look again with `slipway describe {ref} --follow`")
    try:
        with translated_errors(server.where), contextlib.closing(server.new_session(_ANSWER)) as session:
            slipway = SlipwayClient(session)
            with open_tree_view(clock, ref, documents=documents) as view:
                header = follow(slipway, action["id"], view, absence, depth)
            show_end(slipway, header, output, clock, with_report=not documents)
    except KeyboardInterrupt:
        click.echo(
            f"\n{ref} goes on. Stop it: slipway stop {ref}; watch it again: slipway describe {ref} --follow",
            err=True,
        )
        raise SystemExit(INTERRUPTED_EXIT) from None
    if header["state"] == "success":
        raise SystemExit(0)
    if output == OutputFormat.TABLE:
        # Beside the report, whose end is the verdict.
        say_next(f"slipway describe {ref} --tree", f"slipway retry {ref}", f"slipway open {ref}", err=True)
    raise SystemExit(1)


@click.command("site", epilog=examples("slipway describe site/lab-7", "slipway describe site --depth 2"))
@click.argument("name", required=False, type=SITE)
@click.option("--depth", type=DEPTH, metavar="N|all", help="How many levels below the site: 2 has the nodes.  [1]")
@online
def describe_site(server: SiteServer, output: str, name: str | None, depth: str | None) -> None:
    """Show how a site stands: its groups and nodes, what is wanted against what is done.

    Without NAME it is the site of the other commands (--site).
    """
    show_tree(server, f"/sites/{quote(name or server.where.site, safe='')}/tree", output, depth)
