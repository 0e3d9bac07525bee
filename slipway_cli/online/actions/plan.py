"""`slipway plan deploy_site|update_site`: what an action would do now. The server says it, and starts nothing."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import reduce
from typing import Any

import click
from rich.console import Console
from rich.text import Text

from api_client.slipway import VALIDATION_TIMEOUT
from site_engine.kinds import Override
from slipway_cli.online.server.completion import NODES
from slipway_cli.online.server.online_command import node_names, online, show_answer
from slipway_cli.online.server.server import SiteServer, print_messages
from slipway_cli.options import REVISION, Command, examples, site_state_option
from slipway_cli.output import console, counted, listed_nodes, printable
from slipway_cli.terminal.plan_table import (
    PLANNED_KINDS,
    PlannedGroup,
    print_edges,
    print_groups,
    print_rounds,
    print_rows,
)
from strategy_lib.goals.update import fold_nodes
from strategy_lib.phase import Verdict
from strategy_lib.status.words import duration_words


def _named(_context: click.Context, _option: click.Parameter, values: tuple[str, ...]) -> list[str]:
    names = node_names(",".join(values))
    if values and not names:
        # Left out, it would mean the whole site.
        raise click.UsageError("--target-node names no node: write --target-node NODE")
    return names


def planning_options(*overrides: Override) -> Callable[[Command], Command]:
    """Return what adds the options that an action and its plan share, with these overrides."""
    options = [
        click.option(
            "--target-node",
            "-n",
            "target_nodes",
            multiple=True,
            type=NODES,
            callback=_named,
            metavar="NODE",
            help="Only this node; may be repeated, or a,b.",
        ),
        click.option("--revision", type=REVISION, metavar="NUMBER", help="The revision to bring about.  [the newest]"),
        click.option(
            "--max-parallel-groups",
            type=click.IntRange(1, 16),
            metavar="NUMBER",
            help="At most NUMBER groups run at the same time.  [the site's settings]",
        ),
        *(
            click.option(f"--{one.value.replace('_', '-')}", one.value, is_flag=True, help=one.description)
            for one in overrides
        ),
        click.option(
            "--allow-intermediate-commits", is_flag=True, help="deploy_site: pass over revisions never deployed."
        ),
        site_state_option,
    ]

    def add(command: Command) -> Command:
        return reduce(lambda done, option: option(done), reversed(options), command)

    return add


def action_body(kind: str, parameters: Mapping[str, Any], site_state: Mapping[str, int] | None) -> dict[str, Any]:
    """Return what asks for an action, or for its plan; parameters that say nothing are left out."""
    given = {key: value for key, value in parameters.items() if value not in (None, False, [])}
    return {
        "name": kind,
        **({"parameters": given} if given else {}),
        **({"site_state": site_state} if site_state is not None else {}),
    }


@click.command(
    "plan",
    epilog=examples(
        "slipway plan update_site",
        "slipway plan update_site --explain",
        "slipway plan deploy_site --site lab-7 --fresh",
    ),
)
@click.argument("kind", type=click.Choice(PLANNED_KINDS))
@click.option("--fresh", is_flag=True, help="Ask the provisioner for its list of nodes; else the last one is used.")
@planning_options(Override.REDO_DONE, Override.ALLOW_REDEPLOY, Override.MANY_REDEPLOYS, Override.PRUNE)
@click.option("--explain", is_flag=True, help="Also every field that differs, and which edges of the order are used.")
@online
def plan_action(
    server: SiteServer,
    output: str,
    kind: str,
    fresh: bool,
    explain: bool,
    allow_intermediate_commits: bool,
    site_state: dict[str, int] | None,
    **parameters: Any,
) -> None:
    """Show what an action would do now, node by node and group by group, if every node succeeded. Nothing is started.

    It uses the provisioner's list of nodes that was read last, and says how old that is. The exit status is 1
    where the action would fail all the same.
    """
    body = action_body(kind, parameters, site_state)
    query = {"fresh": True if fresh else None, "allow-intermediate-commits": allow_intermediate_commits}
    answer = server.send("POST", "/actions/plan", query, json=body, timeout=VALIDATION_TIMEOUT)
    show_answer(answer, output, lambda planned: _show(console(), planned, explain=explain))
    raise SystemExit(0 if answer.json()["verdict"] == Verdict.SUCCESS else 1)


def _show(target: Console, planned: Mapping[str, Any], *, explain: bool) -> None:
    used = planned["listed"]
    heading = f"{planned['name']} of site {planned['site']}, revision {planned['revision']}: {planned['summary']}"
    target.print(Text(printable(heading), style="bold"), soft_wrap=True)
    if planned["erased"]:
        erased = f"erased: {listed_nodes(planned['erased'], len(planned['erased']))}"
        target.print(Text(erased, style="bold red"), soft_wrap=True)
    age = duration_words(used["age"])
    seen = (
        f"by the list of {used['connection']} of {age} ago, with {counted(used['nodes'], 'node')} (--fresh renews it)"
    )
    target.print(Text(printable(seen), style="dim"), soft_wrap=True)
    if planned["groups"]:
        print_groups(target, map(_group, enumerate(planned["groups"], start=1)), "Submitted")
        print_rounds(target, planned["schedule"]["waves"])
        target.print()
        _print_duration(target, planned["schedule"])
    print_rows(target, fold_nodes(planned["nodes"]), explain=explain)
    if explain:
        print_edges(target, planned["edges"])
    target.print()
    for submission in planned["submissions"]:
        if submission["group"] is None:
            target.print(Text(f"{submission['phase']}: {listed_nodes(submission['nodes'])}"), soft_wrap=True)
    # The first of them may be the heading.
    print_messages(target, [note for note in planned["notes"] if planned["summary"] not in note["message"]])
    good = planned["verdict"] == Verdict.SUCCESS
    verdict = f"{planned['verdict'].upper()}: {planned['verdict_text']}"
    target.print(Text(printable(verdict), style="bold green" if good else "bold red"), soft_wrap=True)


def _print_duration(target: Console, schedule: Mapping[str, Any]) -> None:
    if schedule["seconds"] is not None and schedule["waves"]:
        words = f"about {duration_words(schedule['seconds'])}, by the newest operations on the site"
        target.print(Text(words, style="dim"), soft_wrap=True)
    if schedule["note"]:
        target.print(Text(printable(schedule["note"]), style="yellow"), soft_wrap=True)


def _group(placed: tuple[int, Mapping[str, Any]]) -> PlannedGroup:
    position, group = placed
    sent = ", ".join(f"{phase} {number}" for phase, number in group["phases"].items()) or "nothing"
    failing = f" (would fail: {group['failing']})" if group["failing"] else ""
    return PlannedGroup(
        group["name"], position, group["critical"], group["depends_on"], group["nodes"], printable(sent + failing)
    )
