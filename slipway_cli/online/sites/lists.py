"""Lists of a site: `slipway get sites`, `nodes`, `owners`, `reporters`, `objects`, `audit`; and making reporters."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from operator import itemgetter
from typing import Any
from urllib.parse import quote

import click
from rich.text import Text

from slipway_cli.online.server.completion import GROUP_OF_SITE, NODES
from slipway_cli.online.server.online_command import (
    confirm,
    format_duration,
    format_time,
    online,
    online_list,
    only_if_same,
    show_answer,
    show_list,
)
from slipway_cli.online.server.server import Failed, SiteServer
from slipway_cli.online.sites.wishes import stopped_words
from slipway_cli.options import examples
from slipway_cli.output import (
    Columns,
    OutputFormat,
    asked_form,
    console,
    counted,
    listed,
    print_list,
    printable,
    show_data,
)
from slipway_cli.terminal.tree_header import hold_lines
from slipway_cli.terminal.tree_text import Sheet, serves_of_entry, serving_style, status_counts, status_style
from strategy_lib.did_you_mean import did_you_mean
from strategy_lib.status.serves import Serves
from strategy_lib.status.tree import NO_GROUP, TO_BE_REMOVED
from strategy_lib.status.words import Status, duration_words, status_from

_MOST = 1000
"""Nodes in one answer."""
_ROWS = 100
"""Nodes in a table, unless more are asked for."""


def status_text(value: str | None, sheet: Sheet, serves: Serves = Serves.NOTHING) -> Text:
    """Return a status with its symbol and colour; None: nothing is kept.

    Parameters
    ----------
    serves : what a site or node serves while it is pending (`serves_of_entry`).
    """
    if value is None:
        return Text("not known", "dim")
    status = status_from(value)
    meanwhile = "" if serves is Serves.NOTHING else f", serves {serves}"
    return Text(f"{sheet.symbol(status, serves)} {status}{meanwhile}", serving_style(status, serves))


def new_sheet() -> Sheet:
    """Return the sheet for standard output."""
    target = console()
    return Sheet(target.width, ascii_only=target.options.ascii_only)


def all_sites(server: SiteServer) -> list[dict[str, Any]]:
    """Return all sites, each with how it stands."""
    answer = server.get("/sites")
    found: list[dict[str, Any]] = answer.json()
    while "next" in answer.links:
        answer = server.get("/sites", after=found[-1]["name"])
        found += answer.json()
    return found


@click.command("sites", epilog=examples("slipway get sites", "slipway get sites -o json"))
@online_list
def get_sites(server: SiteServer, output: str) -> None:
    """List all sites: revision committed and done, nodes as wanted, the running action and the last verdict."""
    found = all_sites(server)

    def show(sites: Any) -> None:
        sheet = new_sheet()
        columns: Columns = {
            "Site": itemgetter("name"),
            "Status": lambda site: status_text(site["status"], sheet, serves_of_entry(site)),
            "Committed": lambda site: str(site["revision_committed"] or ""),
            "Done": lambda site: str(site["revision_done"] or ""),
            "As wanted": lambda site: f"{site['nodes_as_wanted']}/{site['nodes']}",
            "Nodes": lambda site: status_counts(site, sheet),
            "Running": lambda site: f"action/{site['running']['id']}" if site["running"] else "",
            "Last action": lambda site: _verdict(site["last"]) if site["last"] else "",
        }
        nothing = "there is no site yet: slipway create configdocs --help"
        print_list(sites, columns, nothing, ("Committed", "Done"), ("Nodes", "Last action"))
        if asked_form() == OutputFormat.NAME:
            return
        # It is about the store, and so about all of them.
        for held in hold_lines(sites[0] if sites else {}):
            console().print(held, soft_wrap=True)
        for site in sites:
            if site.get("stopped"):
                click.echo(printable(f"site {site['name']} is not watched: {site['stopped']}"))
        for line in _stopped_repair(sites):
            console().print(Text(printable(line)), soft_wrap=True)

    show_data(found, output, show)


def _verdict(last: Mapping[str, Any]) -> str:
    return f"{last['kind']}: {last['verdict'] or last['state']}"


def _stopped_repair(sites: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield who has stopped the repair of all sites, or of which site."""
    stops = {site["name"]: site["repair_stopped"] for site in sites if site["repair_stopped"]}
    everywhere = next((stop for stop in stops.values() if stop["all_sites"]), None)
    shown = stops if everywhere is None else {"": everywhere}
    for name, stop in shown.items():
        where = f"site {name}" if name else "all sites"
        yield f"repair of {where} is {stopped_words('', stop['by'], stop['at'], stop['reason'])}"


@click.command(
    "nodes", epilog=examples("slipway get nodes --status error", "slipway get nodes --rack r1 --where power=off")
)
@click.argument("name", required=False, type=NODES)
@click.option("--group", metavar="NAME", type=GROUP_OF_SITE, help="Only of this group.")
@click.option("--rack", metavar="NAME", help="Only in this rack.")
@click.option("--status", type=click.Choice([status.value for status in Status]), help="Only those that stand so.")
@click.option("--where", "filters", multiple=True, metavar="COLUMN=TEXT", help="Only where a column has this text.")
@click.option("--sort", metavar="COLUMN", help="By this column; with a minus before it, from its end.  [node]")
@click.option("--limit", type=click.IntRange(min=1), help=f"How many at most.  [a table: {_ROWS}; else all]")
@online_list
def get_nodes(
    server: SiteServer,
    output: str,
    name: str | None,
    group: str | None,
    rack: str | None,
    status: str | None,
    filters: tuple[str, ...],
    sort: str | None,
    limit: int | None,
) -> None:
    """List the nodes of the site: how they stand, what is wanted and done, and what the provisioner said last.

    With NAME only those whose name contains it.
    """
    query = {"group": group, "rack": rack, "status": status, "q": name, "where": list(filters) or None, "sort": sort}
    path = server.of_site("nodes")
    most = limit or (_ROWS if output in (OutputFormat.TABLE, OutputFormat.WIDE) else sys.maxsize)
    found = server.get(path, **query, limit=min(most, _MOST)).json()
    while found["after"] is not None and len(found["nodes"]) < most:
        rest = min(most - len(found["nodes"]), _MOST)
        page = server.get(path, **query, limit=rest, after=found["after"]).json()
        found |= {"nodes": found["nodes"] + page["nodes"], "after": page["after"]}
    if group is not None and not found["nodes"]:
        _require_group(server, group)
    show_data(found, output, _show_nodes)


def _require_group(server: SiteServer, name: str) -> None:
    """Refuse a group that the site does not have. Raises `Failed`, with the nearest name."""
    site = server.where.site
    root = server.get(server.of_site("tree"), depth=1).json()["root"]
    known = [str(group["name"]) for group in root["children"]]
    if name not in (*known, NO_GROUP, TO_BE_REMOVED):
        there = f"it has {listed(known)}" if known else "it has none"
        raise Failed(f"site {site} has no group {name!r}; {did_you_mean(name, known, there)}")


def _show_nodes(found: Mapping[str, Any]) -> None:
    sheet, nodes = new_sheet(), found["nodes"]
    columns: Columns = {
        "Node": itemgetter("node"),
        "Status": lambda node: status_text(node["status"], sheet, serves_of_entry(node)),
        "Rack": lambda node: node["rack"] or "",
        "Wanted": lambda node: str(node["wanted_revision"] or ""),
        "Done": lambda node: str(node["done_revision"] or ""),
        "Provisioner": lambda node: node["provisioner_status"] or "",
        "Power": lambda node: node["power"] or "",
        "Groups": lambda node: ", ".join(node["groups"]),
        "Message": lambda node: node["message"] or node["error"] or "",
    }
    print_list(nodes, columns, "no node is like that", ("Wanted", "Done"), ("Groups", "Message"))
    if found["after"] is not None and asked_form() != OutputFormat.NAME:
        total = found["total"]
        of = f"of {total}" if total <= _MOST else f"of more than {_MOST}"
        console().print(Text(f"the first {counted(len(nodes), 'node')} {of}: see --limit", style="dim"))


@click.command("owners", epilog=examples("slipway get owners"))
@online_list
def get_owners(server: SiteServer, output: str) -> None:
    """List who is expected to work and to say so: Airflow's DAGs, provisioners, reporters. Silent ones come first."""

    sheet = new_sheet()

    def state(owner: Any) -> Text:
        status = Status.SUCCESS if owner["alive"] else Status.UNRESPONSIVE
        return Text(f"{sheet.symbol(status)} {printable(owner['status'])}", status_style(status))

    def show(body: Any) -> None:
        columns: Columns = {
            "Owner": itemgetter("name"),
            "State": state,
            "Last seen (UTC)": lambda owner: format_time(owner["last_seen"]) or "never",
            "Ago": lambda owner: format_duration(owner["last_seen"], body["read_at"]),
            "Interval": lambda owner: duration_words(owner["interval"]),
            "Sites": lambda owner: listed(owner["sites"]),
            "Actions": lambda owner: listed([f"action/{action}" for action in owner["actions"]]),
            "Detail": lambda owner: owner["detail"] or "",
        }
        silent_first = sorted(body["owners"], key=lambda one: bool(one["alive"]))
        nothing = "nobody is expected to do anything yet"
        print_list(silent_first, columns, nothing, folds=("Sites", "Actions", "Detail"))

    found = server.get("/owners").json()
    while found.get("after") is not None:
        page = server.get("/owners", after=found["after"]).json()
        found |= {"owners": found["owners"] + page["owners"], "after": page.get("after")}
    show_data(found, output, show)


@click.command("reporter", epilog=examples("slipway create reporter burn-in --site lab-7"))
@click.argument("owner")
@online
def create_reporter(server: SiteServer, output: str, owner: str) -> None:
    """Make a reporter that speaks for OWNER, and print its token: this once, it is kept nowhere.

    With it a program adds leaves of its own below entries of the site's trees. The token is all of standard output.
    """
    answer = server.send("POST", server.of_site("reporters"), {}, json={"owner": owner})

    def show(made: Any) -> None:
        said = f"reporter {made['id']} of site {server.where.site} speaks for {made['owner']}; this is its token:"
        click.echo(printable(said), err=True)
        click.echo(made["token"])

    show_answer(answer, output, show)


@click.command("reporters", epilog=examples("slipway get reporters --site lab-7"))
@online_list
def get_reporters(server: SiteServer, output: str) -> None:
    """List the reporters of the site, revoked ones too."""

    columns: Columns = {
        "Reporter": itemgetter("id"),
        "Owner": itemgetter("owner"),
        "Created (UTC)": lambda one: format_time(one["created"]),
        "By": itemgetter("created_by"),
        "Last used (UTC)": lambda one: format_time(one["last_used"]) or "never",
        "Revoked (UTC)": lambda one: format_time(one["revoked"]),
    }
    show_list(server.get(server.of_site("reporters")), output, columns, f"site {server.where.site} has no reporter")


@click.command("reporter", epilog=examples("slipway delete reporter 01ARZ3NDEKTSV4RRFFQ69G5FAV --site lab-7"))
@click.argument("reporter")
@click.option("--yes", "-y", is_flag=True, help="Do not ask.")
@online
def delete_reporter(server: SiteServer, output: str, reporter: str, yes: bool) -> None:
    """Revoke the token of a REPORTER, by its id. What it reported stays.

    It says for whom the reporter speaks, and asks. It is revoked only if no reporter was made or revoked meanwhile.
    """
    headers: dict[str, str] = {}
    if not yes:
        seen = server.get(server.of_site("reporters"))
        one = next((each for each in seen.json() if each["id"] == reporter), None)
        if one is None:
            raise Failed(f"site {server.where.site} has no reporter {reporter}: `slipway get reporters` lists them")
        headers = only_if_same(seen)
        used = f"last used {format_time(one['last_used'])} UTC" if one["last_used"] else "never used"
        whose = f"reporter {reporter} of site {server.where.site}, which speaks for {one['owner']}, {used}"
        confirm(printable(f"revoke {whose}?"), "--yes")
    answer = server.send("DELETE", server.of_site(f"reporters/{quote(reporter, safe='')}"), {}, headers=headers)
    show_answer(answer, output, lambda _: click.echo(f"reporter {reporter} is revoked"))


@click.command("objects", epilog=examples("slipway get objects --kind host_profile --site lab-7"))
@click.option("--kind", metavar="KIND", help="Only objects of this kind, such as node.")
@click.option("--limit", type=click.IntRange(1, 1000), default=100, show_default=True, help="How many at most.")
@online_list
def get_objects(server: SiteServer, output: str, kind: str | None, limit: int) -> None:
    """List what the site's newest design consists of, and what each object uses."""

    columns: Columns = {
        "Object": lambda one: f"{one['kind']}/{one['name']}",
        "Version": lambda one: str(one["version"]),
        "Rev": lambda one: str(one["revision"]),
        "Uses": lambda one: listed(one["uses"]),
        "By policy": lambda one: listed(one["by_policy"]),
    }

    answer = server.get(server.of_site("objects"), kind=kind, limit=limit)
    show_list(answer, output, columns, f"site {server.where.site} has no such object", ("Version", "Rev"), ("Uses",))


@click.command("audit", epilog=examples("slipway get audit --site lab-7"))
@click.option("--limit", type=click.IntRange(1, 1000), default=100, show_default=True, help="How many at most.")
@online_list
def get_audit(server: SiteServer, output: str, limit: int) -> None:
    """List who gave the site's actions a command, or asked for nodes, newest first."""

    columns: Columns = {
        "Time (UTC)": lambda one: format_time(one["datetime"]),
        "User": itemgetter("user"),
        "Command": itemgetter("command"),
        "About": lambda one: f"action {one['action']}" if one["action"] else listed(one["nodes"]),
        "Detail": lambda one: one["detail"] or "",
    }

    nothing = f"nobody has asked for anything in site {server.where.site}"
    show_list(server.get(server.of_site("audit"), limit=limit), output, columns, nothing, folds=("About", "Detail"))
