"""`slipway get`: lists and documents."""

from __future__ import annotations

from operator import itemgetter
from typing import Any
from urllib.parse import parse_qs, quote, urlsplit

import click
from rich.text import Text

from slipway_cli.online.server.completion import COLLECTION
from slipway_cli.online.server.online_command import (
    TargetGroup,
    echo_documents,
    format_time,
    online,
    online_list,
    show_answer,
    show_list,
    tell_of_more,
)
from slipway_cli.online.server.server import Failed, SiteServer
from slipway_cli.online.server.watch import add_watch
from slipway_cli.online.sites.lists import (
    get_audit,
    get_nodes,
    get_objects,
    get_owners,
    get_reporters,
    get_sites,
    new_sheet,
    status_text,
)
from slipway_cli.online.sites.node_states import get_node_state, get_site_state
from slipway_cli.options import VERSION, Command, examples
from slipway_cli.output import Columns, print_list, printable, show_data
from slipway_cli.terminal.tree_header import verdict_style

STATUS_TYPES = ("nodes-provision-status", "machines-power-state")
_MOST_WITH_STATUS = 100
_STYLES = {"Processing": "cyan", "Paused": "yellow"}


@click.group(cls=TargetGroup, epilog=examples("slipway get actions"))
def get() -> None:
    """List sites, nodes, owners, actions, documents, objects, revisions, audits, workflows and statuses."""


_OTHERS = (get_sites, get_nodes, get_owners, get_reporters, get_objects, get_audit, get_site_state, get_node_state)
for _command in _OTHERS:
    get.add_command(_command)


def _version_options(command: Command) -> Command:
    for flag, name, what in (
        ("-s", "successful-site-action", "the last deployment that succeeded"),
        ("-l", "last-site-action", "the last deployment"),
        ("-b", "buffer", "what is in the buffer"),
        ("-c", "committed", "what is committed"),
    ):
        command = click.option(
            flag, f"--{name}", "versions", flag_value=name.replace("-", "_"), multiple=True, help=f"Of {what}."
        )(command)
    return click.option(
        "--version", "named", type=VERSION, multiple=True, metavar="VERSION", help="A version, or a revision's number."
    )(command)


@get.command("actions", epilog=examples("slipway get actions", "slipway get actions --site lab-7 -o json"))
@click.option("--limit", type=click.IntRange(1, 1000), default=50, show_default=True, help="How many at most.")
@online_list
def get_actions(server: SiteServer, output: str, limit: int) -> None:
    """List the newest actions of the site, newest first."""

    sheet = new_sheet()

    def lifecycle(action: Any) -> Text:
        life = "Waits for approval" if action.get("waits") else action.get("action_lifecycle") or ""
        return Text(life, style=_STYLES.get(life, style(action)))

    def style(action: Any) -> str:
        return "bold yellow" if action.get("waits") else verdict_style(action)

    def steps(action: Any) -> str:
        # A step without work is none; a group that is skipped stands behind one that failed, except in a dry run.
        dry, states = (action.get("parameters") or {}).get("dry_run"), []
        for step in action.get("steps") or []:
            left_out = dry if "." in str(step["id"]) else step.get("state") == "skipped"
            if not left_out:
                states.append(step.get("state"))
        failed = states.count("failed")
        return f"{states.count('success')}/{len(states)}" + (f", {failed} failed" if failed else "")

    columns: Columns = {
        "Action": itemgetter("id"),
        "Name": itemgetter("name"),
        "Lifecycle": lifecycle,
        "Status": lambda action: status_text(action.get("status"), sheet),
        "Rev": lambda action: str(action.get("revision") or ""),
        "Created (UTC)": lambda action: format_time(action.get("datetime")),
        "Updated (UTC)": lambda action: format_time(action.get("last_updated")),
        "User": lambda action: action.get("user") or "",
        "Steps": steps,
        "Verdict": lambda one: Text(printable(one.get("waits") or one.get("verdict") or ""), style(one)),
    }

    def rows(actions: Any) -> None:
        print_list(actions, columns, f"site {server.where.site} has no action yet", ("Rev",), ("Verdict",))

    # The server answers with the status of at most this many at once.
    answer = server.get("/actions", limit=min(limit, _MOST_WITH_STATUS), status=True)
    if limit <= _MOST_WITH_STATUS or "next" not in answer.links:
        show_answer(answer, output, rows)
    else:
        actions = answer.json()
        asked = _MOST_WITH_STATUS
        while "next" in answer.links and asked < limit:
            # The service leaves out what this user may not see: the place is in the link alone.
            (before,) = parse_qs(urlsplit(answer.links["next"]["url"]).query)["before"]
            answer = server.get("/actions", limit=min(limit - asked, _MOST_WITH_STATUS), status=True, before=before)
            actions += answer.json()
            asked += _MOST_WITH_STATUS
        show_data(actions, output, rows)
    tell_of_more(answer, output, "older ones")


@get.command("configdocs", epilog=examples("slipway get configdocs", "slipway get configdocs --collection design -c"))
@click.option("--collection", type=COLLECTION, metavar="NAME", help="Show this collection's documents instead.")
@_version_options
@click.option("--cleartext-secrets", is_flag=True, help="Show secrets, and the text exactly as it was written.")
@online_list
def get_configdocs(
    server: SiteServer,
    output: str,
    collection: str | None,
    versions: tuple[str, ...],
    named: tuple[str, ...],
    cleartext_secrets: bool,
) -> None:
    """Compare two versions by collection (committed and buffer unless told otherwise), or show a collection."""
    wanted = [*versions, *named]
    if collection is not None:
        _show_documents(server, f"/configdocs/{quote(collection, safe='')}", _one(wanted), cleartext_secrets, output)
        return
    if cleartext_secrets:
        raise click.UsageError("--cleartext-secrets is about --collection, which is not given")
    if len(wanted) not in (0, 2):
        raise click.UsageError("name two versions, or none")

    columns: Columns = {
        "Collection": itemgetter("collection_name"),
        "Base": lambda item: f"{item['base_version']}: {item['base_status']}",
        "Base revision": lambda item: str(item.get("base_revision") or ""),
        "New": lambda item: f"{item['new_version']}: {item['new_status']}",
        # The buffer is no revision; the API has the number that its commit would get.
        "New revision": lambda one: "" if one["new_version"] == "buffer" else str(one.get("new_revision") or ""),
    }

    nothing = f"site {server.where.site} has no documents yet: slipway create configdocs --help"
    found = server.get("/configdocs", versions=wanted or None)
    show_list(found, output, columns, nothing, ("Base revision", "New revision"))


@get.command("renderedconfigdocs", epilog=examples("slipway get renderedconfigdocs -c"))
@_version_options
@click.option("--cleartext-secrets", is_flag=True, help="Show secrets.")
@online
def get_renderedconfigdocs(
    server: SiteServer, output: str, versions: tuple[str, ...], named: tuple[str, ...], cleartext_secrets: bool
) -> None:
    """Show the documents with layering and substitution applied, as the provisioner gets them."""
    _show_documents(server, "/renderedconfigdocs", _one([*versions, *named]), cleartext_secrets, output)


@get.command("revisions", epilog=examples("slipway get revisions --limit 10"))
@click.option("--limit", type=click.IntRange(1, 500), default=50, show_default=True, help="How many at most.")
@online_list
def get_revisions(server: SiteServer, output: str, limit: int) -> None:
    """List the revisions of the site, newest first: who committed them, and what they are."""

    def what(item: Any) -> str:
        words = [*item["versions"]]
        if item.get("rollback_of"):
            words.append(f"goes back to {item['rollback_of']}")
        if item.get("forced"):
            words.append(f"forced: {len(item['problems'])} problems overridden")
        if item.get("by_policy"):
            words.append(f"changed by policy: {', '.join(item['by_policy'])}")
        return ", ".join(words)

    columns: Columns = {
        "Revision": lambda item: str(item["revision"]),
        "Created (UTC)": lambda item: format_time(item["created"]),
        "User": itemgetter("user"),
        "Collections": lambda item: ", ".join(each["name"] for each in item["collections"]),
        "What": what,
    }

    nothing = f"site {server.where.site} has no revision yet: slipway commit configdocs"
    show_list(server.get("/revisions", limit=limit), output, columns, nothing, ("Revision",), ("What",), "older ones")


@get.command("workflows", epilog=examples("slipway get workflows --since 2026-03-01"))
@click.option("--since", metavar="TIME", help="From when on, as ISO 8601.  [30 days ago]")
@click.option("--until", metavar="TIME", help="Up to when.")
@click.option("--limit", type=click.IntRange(1, 1000), default=50, show_default=True, help="How many at most.")
@online_list
def get_workflows(server: SiteServer, output: str, since: str | None, until: str | None, limit: int) -> None:
    """List the DAG runs that Airflow has of Slipway's actions, of all sites, newest first."""

    columns: Columns = {
        "Workflow": itemgetter("workflow_id"),
        "State": itemgetter("state"),
        "Started (UTC)": lambda item: format_time(item["start_date"]),
        "Ended (UTC)": lambda item: format_time(item["end_date"]),
        "Run": itemgetter("run_id"),
    }
    answer = server.get("/workflows", since=since, until=until, limit=limit)
    show_list(answer, output, columns, "there is no workflow", more="older ones")


@get.command("site-statuses", epilog=examples("slipway get site-statuses -s machines-power-state"))
@click.option("-s", "--status-type", "types", type=click.Choice(STATUS_TYPES), multiple=True, help="Only this one.")
@online_list
def get_site_statuses(server: SiteServer, output: str, types: tuple[str, ...]) -> None:
    """Ask the site's provisioner what it knows of the machines, now."""

    def rows(statuses: Any) -> None:
        provision = {item["hostname"]: item["status"] for item in statuses.get("nodes_provision_status") or []}
        power = {item["hostname"]: item["power_state"] for item in statuses.get("machines_powerstate") or []}
        columns: Columns = {
            "Node": str,
            "Status": lambda name: str(provision.get(name, "")),
            "Power": lambda name: str(power.get(name) or ""),
        }
        print_list(sorted(provision.keys() | power.keys()), columns, "the provisioner knows no machine")

    show_answer(server.get("/site_statuses", filters=",".join(types) or None), output, rows)


def _one(versions: list[str]) -> str | None:
    if len(versions) > 1:
        raise click.UsageError("name one version")
    return versions[0] if versions else None


def _show_documents(server: SiteServer, path: str, version: str | None, cleartext: bool, output: str) -> None:
    """Print documents: of the version that is named, else of the buffer, else of what is committed."""
    secrets = {"cleartext-secrets": True if cleartext else None}
    try:
        answer = server.get(path, version=version or "buffer", **secrets)
    except Failed as error:
        if version is not None or error.status != 404:
            raise
        answer = server.get(path, version="committed", **secrets)
    echo_documents(answer.text, output)


for _command in get.commands.values():
    # What is published is told by the server as it comes.
    if _command is not get_site_state:
        add_watch(_command)
