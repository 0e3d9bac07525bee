"""States of nodes: what is published, what is seen and set of one node, and setting it."""

from __future__ import annotations

import time
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any, NoReturn
from urllib.parse import quote

import click
from rich.text import Text

from api_client.session import ApiError, ApiRefused, ApiUnreachable
from slipway_cli import INTERRUPTED_EXIT
from slipway_cli.online.server.completion import GROUP_OF_SITE, NODES
from slipway_cli.online.server.online_command import (
    TargetGroup,
    confirm,
    format_time,
    named_nodes,
    online,
    only_if_same,
)
from slipway_cli.online.server.server import READING, Failed, SiteServer
from slipway_cli.online.sites.wishes import repair_line
from slipway_cli.options import examples
from slipway_cli.output import OutputFormat, console, counted, listed_nodes, printable, show_data, table
from slipway_cli.terminal.follow import Absence

STATES = ("up", "retired", "maintenance", "down")
_STYLES = {"up": "green", "retired": "cyan", "initializing": "cyan", "stopping": "yellow", "maintenance": "yellow"}
_LINGER = 60.0
"""Seconds for which a server holds an answer back, here and where it waits until a state is published."""
_ANSWER = _LINGER + READING
_REST = 2.0
"""Seconds between two attempts at a server that does not answer."""


def _styled(state: str | None) -> Text:
    return Text("not known", "dim") if state is None else Text(printable(state), _STYLES.get(state, "red"))


@click.command("site-state", epilog=examples("slipway get site-state", "slipway get site-state --watch"))
@click.option("--watch", is_flag=True, help="Go on: show each newer version as it is published, until Ctrl-C.")
@online
def get_site_state(server: SiteServer, output: str, watch: bool) -> None:
    """Show the published states of a site's nodes: those first that are not up."""
    found = server.get(server.of_site("state")).json()
    show_data(found, output, _show_site)
    if output == OutputFormat.TABLE:
        click.echo(printable(repair_line(server.get(server.of_site("repair")).json())))
    if watch:
        try:
            _watch(server, found, output)
        except KeyboardInterrupt:
            # That is how it is meant to end: nothing is said of it.
            click.echo(err=True)
            raise SystemExit(INTERRUPTED_EXIT) from None


def _watch(server: SiteServer, found: Any, output: str) -> NoReturn:
    absence = Absence(lambda line: click.echo(line, err=True))
    known = dict(found["nodes"])
    while True:
        newer = _newer(server, _version_of(found), absence)
        if newer is None:
            continue
        changes = newer["nodes"] if newer.get("since") else _differing(known, newer["nodes"])
        # Programs get what the server says: without `since` it is the whole, which replaces what they have.
        show_data(newer, output, partial(_show_changes, found, changes))
        known.update(changes)
        found = newer


def _version_of(found: Mapping[str, Any]) -> str:
    return f"{found['epoch']}.{found['version']}"


def _differing(known: Mapping[str, Any], whole: Mapping[str, Any]) -> dict[str, Any]:
    """Return the nodes of which a whole view says something else than is known; None: of one that is gone."""
    other = {name: node for name, node in whole.items() if _said(known.get(name)) != _said(node)}
    gone = {name: None for name, node in known.items() if node is not None and name not in whole}
    return dict(sorted({**other, **gone}.items()))


def _said(node: Mapping[str, Any] | None) -> tuple[Any, Any]:
    return (None, None) if node is None else (node["state"], node.get("reason") or "")


def _newer(server: SiteServer, since: str, absence: Absence) -> Any:
    """Return what has changed since a version, None while nothing has, or nobody answers; for minutes.

    Raises `Failed`: it is refused; there was no answer for too long.
    """
    try:
        answer = server.send("GET", server.of_site("state"), {"since": since, "wait": _LINGER}, timeout=_ANSWER)
    except Failed as failed:
        error = failed.__cause__
        if not isinstance(error, ApiUnreachable | ApiRefused):
            raise
        try:
            absence.bear(error)
        except ApiError:
            raise failed from error
        time.sleep(_REST)
        return None
    absence.end()
    return None if answer.status_code == 204 else answer.json()


def _show_site(found: Mapping[str, Any]) -> None:
    nodes = found["nodes"]
    away = {name: node for name, node in nodes.items() if node["state"] != "up"}
    # Not every provisioner lists racks.
    racks = any(node.get("rack") for node in away.values())
    rows = table("Node", "State", *(["Rack"] if racks else []), "Reason", folds=("Reason",))
    for name, node in away.items():
        rack = [node.get("rack") or ""] if racks else []
        rows.add_row(name, _styled(node["state"]), *rack, node.get("reason") or "")
    target = console()
    why = f": {found['reason']}" if found["reason"] else ""
    target.print(Text(printable(f"site {found['site']}: {found['state']}{why}")))
    version = f"version {found['epoch']}.{found['version']}, published {format_time(found['published'])} UTC"
    target.print(Text(f"{version}; {counted(len(nodes), 'node')}, {len(nodes) - len(away)} up"))
    if away:
        target.print(rows)


def _show_changes(before: Mapping[str, Any], changes: Mapping[str, Any], found: Mapping[str, Any]) -> None:
    """Print what a version changed: of the site as a whole, and of its nodes."""
    begins = f"{format_time(found['published'])} {_version_of(found)}"
    if not found.get("since"):
        verb = "differs" if len(changes) == 1 else "differ"
        click.echo(f"{begins} is far ahead of {_version_of(before)}: {counted(len(changes), 'node')} {verb}")
    if _said(before) != _said(found):
        click.echo(printable(f"{begins} site {found['site']} {_in_words(found)}"))
    for name, node in changes.items():
        click.echo(printable(f"{begins} {name} {'gone' if node is None else _in_words(node)}"))


def _in_words(said: Mapping[str, Any]) -> str:
    return f"{said['state']}: {said['reason']}" if said.get("reason") else str(said["state"])


@click.command(
    "node-state", epilog=examples("slipway get node-state cmp07", "slipway get node-state node/cmp07 -o json")
)
@click.argument("node", type=NODES)
@online
def get_node_state(server: SiteServer, output: str, node: str) -> None:
    """Show the three states of a NODE: what is reported, what an administrator set, and what is published."""
    name = quote(node.removeprefix("node/"), safe="")
    answer = server.get(server.of_site(f"nodes/{name}/state"))
    version = answer.headers.get("ETag", "").strip('"')
    show_data(answer.json(), output, lambda found: _show_node(found, version))


def _show_node(found: Mapping[str, Any], version: str) -> None:
    rows = table("State", "Is", "Since (UTC)", "Reason", folds=("Reason",))
    for kind in ("reported", "user", "generated"):
        one = found[kind]
        reason = one["reason"]
        if kind == "user" and found["set_by"]:
            ends = f", until {format_time(found['until'])} UTC" if found["until"] else ""
            reason = f"{reason} (set by {found['set_by']}{ends})".strip()
        rows.add_row(kind, _styled(one["state"]), format_time(one["since"]), reason)
    target = console()
    which = f", version {version}" if version else ""
    target.print(Text(printable(f"node {found['node']} of site {found['site']}{which}")))
    target.print(rows)
    if found["crashes"]:
        target.print(Text(f"crashes: {found['crashes']}"))


@click.group("set", cls=TargetGroup, epilog=examples("slipway set node-state cmp07 maintenance 'new disk'"))
def set_() -> None:
    """Take nodes out of use, and bring them back."""


@set_.command(
    "node-state",
    epilog=examples(
        "slipway set node-state cmp07 maintenance 'new disk'",
        "slipway set node-state --rack r3 retired 'moves out' --yes",
        "slipway set node-state cmp07 up",
    ),
)
@click.argument("words", nargs=-1, required=True, type=NODES, metavar="[NODE]... up|retired|maintenance|down [REASON]")
@click.option("--group", metavar="NAME", type=GROUP_OF_SITE, help="All nodes of this group.")
@click.option("--rack", metavar="NAME", help="All nodes in this rack.")
@click.option("--safe/--force", default=True, help="Only if nothing speaks against it (the default), or whatever does.")
@click.option("--wait/--no-wait", default=True, help="Wait until it is published, a minute at most (the default).")
@click.option("--until", metavar="TIME", help="It ends by itself then: 2026-03-02T12:00:00+00:00, or 90m, 8h, 2d.")
@click.option("--probe", is_flag=True, help="Only say whether it would be done.")
@click.option("--if-version", metavar="VERSION", help="Only if the nodes have this version: `--probe` says which.")
@click.option("--yes", "-y", is_flag=True, help="Do not ask before something is forced.")
@online
def set_node_state(
    server: SiteServer,
    output: str,
    words: tuple[str, ...],
    group: str | None,
    rack: str | None,
    safe: bool,
    wait: bool,
    until: str | None,
    probe: bool,
    if_version: str | None,
    yes: bool,
) -> None:
    """Set what is wanted of nodes. It holds for every action at once: other nodes than those up are left out.

    What is forced after a question is set only if the nodes are still as they were when it was asked.
    """
    nodes, state, reason = _parted(words)
    if not (nodes or group or rack):
        raise click.UsageError("name nodes before the state, or use --group or --rack")
    body: dict[str, Any] = {
        "user": {"state": state, "reason": reason},
        "condition": "safe" if safe else "force",
        "wait": wait,
        "probe": probe,
        "until": None if until is None else _moment(until),
        "nodes": nodes,
        "group": group,
        "rack": rack,
    }
    headers = {} if if_version is None else {"If-Match": f'"{if_version.strip(chr(34))}"'}
    if not safe and not probe and not yes:
        looked = {**body, "condition": "safe", "probe": True}
        seen = server.send("PUT", server.of_site("states"), {}, headers=headers, json=looked)
        judged, headers = seen.json(), only_if_same(seen)
        against = f" against: {judged['reason']}" if judged["reason"] else ""
        which = f"{counted(len(judged['nodes']), 'node')} ({listed_nodes(judged['nodes'])})"
        confirm(printable(f"site {server.where.site} at {server.where.url}: set {which} to {state}{against}?"), "--yes")
    answer = server.send("PUT", server.of_site("states"), {}, headers=headers, json=body, timeout=_ANSWER)
    found = answer.json()
    if output != OutputFormat.TABLE:
        show_data(found, output, lambda _: None)
    if not found["modified"]:
        raise Failed(f"nothing was set: {found['reason']}")
    if output == OutputFormat.TABLE:
        verb = "would be set" if probe else "set"
        which = f"{counted(len(found['nodes']), 'node')} {verb} to {state}: {listed_nodes(found['nodes'])}"
        click.echo(printable(which))
        if probe:
            version = answer.headers.get("ETag", "").strip('"')
            click.echo(f"only if nothing changes until then: --if-version {version}")
        if found["missing"]:
            click.echo(printable(f"it holds for actions now, and is not published yet: {found['missing']}"), err=True)


def _parted(words: tuple[str, ...]) -> tuple[list[str], str, str]:
    """Part the words into nodes, state and reason. Raises `click.UsageError`: none of them is a state."""
    for place, word in enumerate(words):
        if word in STATES and (place + 1 < len(words) or word == "up"):
            return named_nodes(words[:place]), word, " ".join(words[place + 1 :])
    if words[-1] in STATES:
        raise click.UsageError(f"say why, behind the state: … {words[-1]} 'new disk'")
    raise click.UsageError(f"which state: {', '.join(STATES)}? Names of nodes come before it, the reason behind it")


def _moment(text: str) -> str:
    units = {"m": "minutes", "h": "hours", "d": "days"}
    try:
        if text[-1:] in units and text[:-1].isdecimal():
            ends = datetime.now(UTC) + timedelta(**{units[text[-1]]: int(text[:-1])})
            return ends.isoformat(timespec="seconds")
        moment = datetime.fromisoformat(text)
    except (ValueError, OverflowError) as error:
        raise click.UsageError(
            f"--until {text!r} is no time: write 2026-03-02T12:00:00+00:00, or 90m, 8h, 2d"
        ) from error
    return (moment if moment.tzinfo is not None else moment.astimezone()).isoformat()
