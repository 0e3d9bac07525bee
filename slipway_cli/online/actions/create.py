"""`slipway create`: an action, its parameters, and what is asked before servers lose what is on them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import click

from api_client.slipway import VALIDATION_TIMEOUT
from site_engine.kinds import KINDS, ActionKind, Override, kind_of
from slipway_cli.online.actions.plan import action_body, planning_options
from slipway_cli.online.actions.trees import follow_to_the_end
from slipway_cli.online.documents.configdocs import create_configdocs
from slipway_cli.online.server.connections import create_connection
from slipway_cli.online.server.online_command import (
    TargetGroup,
    answered,
    confirm,
    is_terminal,
    node_names,
    online,
    show_answer,
)
from slipway_cli.online.server.server import Failed, SiteServer, print_messages
from slipway_cli.online.sites.lists import create_reporter
from slipway_cli.options import KnownType, examples, key_values, option_alias
from slipway_cli.output import console, listed_nodes, say_next
from strategy_lib.goals.update import Deed

_MOST = 20
"""How many warnings, and how many notes, are printed beside a new action."""
_NOT_LOGGED_IN, _SERVER_ERROR = 401, 500
_FRESH = {"fresh": True}


@click.command(
    "action",
    context_settings=option_alias("dryrun", "dry-run"),
    epilog=examples(
        "slipway create action deploy_site --follow",
        "slipway create action redeploy_server --target-node r1-compute-07 --follow",
        "slipway create action update_site --param target_nodes=n1,n2 --dry-run",
    ),
)
@click.argument("kind", type=KnownType(tuple(KINDS)))
@click.option("--param", "params", multiple=True, metavar="KEY=VALUE", help="A parameter; may be repeated.")
@planning_options(*Override)
@click.option("--force", is_flag=True, help="All of --redo-done, --ignore-older-tasks, --below-criteria.")
@click.option("--dry-run", is_flag=True, help="Only find out what would be done.")
@click.option("--continue-on-fail", is_flag=True, help="Start although the revision is not valid, if it can be read.")
@click.option("--follow", "-F", "following", is_flag=True, help="Show the progress, and end with the verdict.")
@click.option("--yes", "-y", is_flag=True, help="Do not ask where servers are deployed already.")
@click.option("--yes-destroy", is_flag=True, help="Do not ask for the site's name before nodes are destroyed.")
@online
def create_action(
    server: SiteServer,
    output: str,
    kind: str,
    params: tuple[str, ...],
    allow_intermediate_commits: bool,
    continue_on_fail: bool,
    site_state: dict[str, int] | None,
    following: bool,
    yes: bool,
    yes_destroy: bool,
    **options: Any,
) -> None:
    """Start an action on the site.

    deploy_site deploys all nodes that are not deployed as wanted, update_site those that are new or no longer as they
    were left. redeploy_server destroys and deploys the target nodes anew, relabel_nodes renews their labels,
    destroy_nodes erases them.

    With --allow-redeploy, deploy_site and update_site also destroy and deploy anew what is deployed in another design,
    a batch of each group after the other.

    update_site also gives new labels in place. With --prune it destroys, after its groups, the nodes that are no longer
    in the design; else it names them.

    Where nodes are deployed already and not as wanted, deploy_site, update_site and repair_site tell which they would
    touch and which not, and ask. Without a terminal they go on, unless deployed nodes would be touched: then give
    --yes.

    With --follow it shows the status tree as it changes, and ends with the verdict: 0 success, 1 failure. Ctrl-C
    ends the following and not the action (130).
    """
    parameters = _parameters(params, options | {"continue-on-fail": continue_on_fail})
    if kind_of(kind).targeted and not node_names(parameters.get("target_nodes")):
        raise click.UsageError(f"{kind} needs its nodes: --target-node NODE, once for each, or NODE,NODE")
    body = action_body(kind, parameters, site_state)
    query = {"allow-intermediate-commits": allow_intermediate_commits}
    start_action(server, output, body, query, following=following, yes=yes, yes_destroy=yes_destroy)


def start_action(
    server: SiteServer,
    output: str,
    body: Mapping[str, Any],
    query: Mapping[str, Any],
    *,
    following: bool,
    yes: bool,
    yes_destroy: bool = False,
) -> None:
    """Ask before servers lose what is on them, start an action, and show it, or follow it to its end.

    Parameters
    ----------
    body, query : of the request.
    yes, yes_destroy : do not ask.
    """
    kind, parameters = str(body["name"]), body.get("parameters", {})
    nodes, known = node_names(parameters.get("target_nodes")), kind_of(kind)
    said: frozenset[str] = frozenset()
    if not _is_set(parameters, "dry_run"):
        if known.is_destructive and not (yes if known.has_groups else yes_destroy):
            # Nobody is asked about what is refused then, such as a node that is out of use.
            _foresee(server, query, body, "--yes" if known.has_groups else "--yes-destroy")
            _confirm(server, known, nodes)
        prunes = _is_set(parameters, Override.PRUNE)
        deploys = known.has_groups and not known.is_destructive
        if deploys and (not yes or (prunes and not yes_destroy)):
            unasked = [*(() if yes else ("--yes",)), *(("--yes-destroy",) if prunes and not yes_destroy else ())]
            said = _confirm_deployed(server, query, body, unasked)
    answer = server.send("POST", "/actions", query, json=body, timeout=VALIDATION_TIMEOUT)
    if following:
        action = answer.json()
        _warn(action, said)
        follow_to_the_end(server, action, output)

    def table(created: Any) -> None:
        _warn(created, said)
        name = f"action/{created['id']}"
        click.echo(
            f"{name}: {kind} of site {server.where.site}, revision {created.get('revision')}: "
            f"{created['action_lifecycle']}"
        )
        say_next(f"slipway describe {name} --follow", f"slipway stop {name}")

    show_answer(answer, output, table)


def _warn(created: Mapping[str, Any], said: Collection[str]) -> None:
    """Print the warnings of a new action, but what was said before it was asked for."""
    fresh = [one for one in created.get("warnings") or [] if one.get("message") not in said]
    print_messages(console(stderr=True), fresh, most=_MOST)


def _parameters(params: Sequence[str], options: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters of `--param` and of the other options; one that is given twice is a mistake."""
    found = key_values("--param", params)
    given = {key: value for key, value in options.items() if value not in (None, False, [])}
    for key in given.keys() & found:
        raise click.UsageError(f"{key} is given twice, as --param and as an option of its own")
    return found | given


def _is_set(parameters: Mapping[str, Any], name: str) -> bool:
    return str(parameters.get(name, "")).lower() == "true"


def _foresee(server: SiteServer, query: Mapping[str, Any], body: Mapping[str, Any], unasked: str) -> Any:
    """Return what the server says that an action would do.

    Parameters
    ----------
    unasked : the options that start the action without this question.

    Raises `Failed`: it is refused; or it cannot be found out now, and what goes on all the same is said.
    """
    try:
        return server.send("POST", "/actions/plan", {**query, **_FRESH}, json=body, timeout=VALIDATION_TIMEOUT).json()
    except Failed as error:
        if error.status is None or error.status < _SERVER_ERROR:
            raise
        text = f"what the action would do cannot be found out: {error.message}; {unasked} starts it without asking"
        raise Failed(text, error.messages, error.say, error.status, error.body) from error


def _confirm(server: SiteServer, kind: ActionKind, nodes: Sequence[str]) -> None:
    """Ask before servers lose what is on them. Raises `Failed`: the answer is no, or there is none."""
    site = server.where.site
    about = f"{listed_nodes(nodes, 50)} of site {site} at {server.where.url} will be erased"
    if kind.has_groups:
        confirm(f"{about} and deployed anew. Go on?", "--yes")
    else:
        _confirm_by_name(site, about)


def _confirm_by_name(site: str, about: str) -> None:
    """Have the name of the site typed. Raises `Failed`: it is another, or nobody can be asked."""
    with answered("--yes-destroy"):
        typed = click.prompt(f"{about}. Type the name of the site to go on", err=True)
    if typed != site:
        raise Failed(f"that is not {site!r}: nothing was done")


def _confirm_deployed(
    server: SiteServer, query: Mapping[str, Any], body: Mapping[str, Any], unasked: Sequence[str]
) -> frozenset[str]:
    """Say what becomes of nodes that are deployed already, or left the design, and ask. Returns what it said.

    Parameters
    ----------
    unasked : the options without which it asks.

    Raises `Failed`: the answer is no; or nobody can be asked, and deployed nodes would be touched.
    """
    try:
        answer = _foresee(server, query, body, " ".join(unasked))
    except Failed as error:
        if error.status is None or error.status >= _SERVER_ERROR or error.status == _NOT_LOGGED_IN:
            raise
        # The request that creates the action says what is wrong, with all messages.
        return frozenset()
    notes = answer["notes"]
    said = frozenset(str(one.get("message")) for one in notes)
    removed = [one["name"] for one in answer["nodes"] if one["deed"] == Deed.REMOVE]
    touched = answer["touched"]
    kept = any(one["deed"] == Deed.WITHHOLD and one["groups"] for one in answer["nodes"])
    notable = touched or kept or answer["counts"][Deed.RELEASE]
    if not notable and not removed:
        return frozenset()
    print_messages(console(stderr=True), notes)
    site = server.where.site
    if removed and "--yes-destroy" in unasked:
        _confirm_by_name(site, f"{listed_nodes(removed, 50)} of site {site} at {server.where.url} will be erased")
    if "--yes" not in unasked or not notable:
        return said
    if not is_terminal():
        if touched:
            raise Failed(
                f"nothing was done: {listed_nodes(touched, 50)} of site {site} would be touched though deployed "
                "already, and there is no terminal to ask (--yes goes on without asking)"
            )
        return said
    confirm(f"{answer['name']} of site {site} at {server.where.url}: go on?", "--yes")
    return said


@click.group(cls=TargetGroup)
def create() -> None:
    """Put documents into the buffer, start an action, store a connection, or make a reporter."""


create.add_command(create_configdocs)
create.add_command(create_action)
create.add_command(create_connection)
create.add_command(create_reporter)
