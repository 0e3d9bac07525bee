"""`slipway simulate`: a rehearsal in memory. The command parses and shows; `strategy_lib.simulate` decides."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import click
from rich.console import Console
from rich.text import Text

from slipway_cli.files import STANDARD_INPUT
from slipway_cli.offline.strategy_input import by_policy_data, load_strategy_input, print_by_policy, strategy_option
from slipway_cli.options import examples, matching
from slipway_cli.output import (
    OutputFormat,
    console,
    counted,
    deliver,
    listed,
    listed_nodes,
    output_option,
    print_problems,
    print_table,
    printable,
    serialised,
    table,
)
from slipway_cli.terminal.plan_table import print_rounds
from strategy_lib.did_you_mean import suggestion
from strategy_lib.groups.batch_words import announcements
from strategy_lib.node import NodeState
from strategy_lib.phase import GROUP_PHASES, SUBMITTED_PHASES, GroupState, Phase, Verdict
from strategy_lib.simulation import NodeOutcome, rehearsal_to_dict, rehearse
from strategy_lib.verdict import nothing_to_deploy
from strategy_lib.warnings import strategy_warnings

STATE_STYLES = {GroupState.SUCCESS: "green", GroupState.FAILURE: "bold red"}
Outcomes = dict[Phase, dict[str, NodeOutcome]]


@click.command(
    epilog=examples("slipway simulate site.yaml --fail deploy:node7", "slipway simulate site.yaml --fail 'deploy:r1-*'")
)
@click.argument("files", metavar="FILE...", nargs=-1, required=True)
@click.option(
    "--inventory",
    "inventories",
    metavar="FILE",
    multiple=True,
    help="The nodes: a site design or a plain list. Default: those in FILE.",
)
@click.option("--fail", "fails", metavar="PHASE:NODE", multiple=True, help="Let NODE fail to prepare or to deploy.")
@click.option("--timeout", "timeouts", metavar="PHASE:NODE", multiple=True, help="Let the result of NODE stay unknown.")
@click.option(
    "--max-parallel-groups",
    type=click.IntRange(1, 16),
    default=1,
    metavar="NUMBER",
    show_default=True,
    help="At most NUMBER groups run at the same time, in rounds.",
)
@strategy_option
@output_option
def simulate(
    files: tuple[str, ...],
    inventories: tuple[str, ...],
    fails: tuple[str, ...],
    timeouts: tuple[str, ...],
    max_parallel_groups: int,
    strategy: str | None,
    output: str,
) -> None:
    """Rehearse a deployment in memory: what would happen if these nodes failed?

    FILE is a strategy document or a whole site design, which may be in several files; - is standard input. PHASE is
    prepare or deploy, NODE a name or a pattern such as r1-*. Nodes that are not named succeed. The exit status is 1
    when the deployment would fail.

    \b
    slipway simulate site.yaml --fail deploy:node01
    slipway simulate strategy.yaml --inventory nodes.json --timeout prepare:node01 -o json
    """
    if STANDARD_INPUT in files and STANDARD_INPUT in inventories:
        raise click.UsageError("FILE and --inventory cannot both be read from standard input.")
    wanted = load_strategy_input(files, strategy, inventories)
    nodes = wanted.nodes
    if not nodes:
        raise click.UsageError(f"There are no nodes in {listed(inventories or files)}; see --inventory.")
    outcomes = _outcomes(fails, timeouts, dict.fromkeys(node.name for node in nodes))
    warnings = strategy_warnings(wanted.strategy, nodes, wanted.document)
    print_problems(console(stderr=True), [*wanted.warnings, *warnings])
    if output == OutputFormat.TABLE:
        print_by_policy(console(stderr=True), wanted.by_policy)
    rehearsal = rehearse(wanted.strategy, nodes, outcomes, max_parallel_groups)
    result = rehearsal_to_dict(rehearsal, nodes)
    if output != OutputFormat.TABLE:
        deliver(serialised({**result, **by_policy_data(wanted.by_policy)}, output), None)
    else:
        sizes = ((group, len(result["groups"][group.name]["nodes"])) for group in wanted.strategy.groups)
        _show(console(), wanted.name, result, outcomes, announcements(sizes, rehearsal.submissions))
    if result["verdict"] != Verdict.SUCCESS:
        raise SystemExit(1)


def _outcomes(fails: Sequence[str], timeouts: Sequence[str], names: Collection[str]) -> Outcomes:
    """Read all `PHASE:NODE`, where NODE may be a pattern, and refuse all wrong ones at once."""
    outcomes: Outcomes = {phase: {} for phase in GROUP_PHASES}
    mistakes = []
    given = [("--fail", text, NodeOutcome.FAILURE) for text in fails]
    given += [("--timeout", text, NodeOutcome.UNKNOWN) for text in timeouts]
    for option, text, outcome in given:
        phase, _, node = text.partition(":")
        if phase not in GROUP_PHASES or not node:
            right = "write prepare:NODE or deploy:NODE, or ready:NODE where a group asks for it."
            mistakes.append(f"{option} {text}: {right}")
            continue
        meant = matching(node, names)
        if not meant:
            mistakes.append(f"{option} {text}: there is no node '{node}'.{suggestion(node, names)}")
        elif both := [name for name in meant if outcomes[Phase(phase)].setdefault(name, outcome) != outcome]:
            mistakes.append(f"{option} {text}: {listed(both)} can either fail or time out in this phase, not both.")
    if mistakes:
        raise click.UsageError("\n  ".join(printable(mistake) for mistake in mistakes))
    return outcomes


def _show(
    target: Console, name: str, result: Mapping[str, Any], outcomes: Outcomes, batches: Sequence[str] = ()
) -> None:
    groups, nodes = result["groups"], result["nodes"]
    target.print(Text(f"Rehearsal of strategy {printable(name)} with {counted(len(nodes), 'node')}", style="bold"))
    target.print(Text(f"Given: {_given(outcomes)}"))
    sent: Counter[tuple[str, str]] = Counter()
    for item in result["submissions"]:
        sent[item["group"], item["phase"]] += len(item["nodes"])
    asks = any(phase == Phase.READY for _, phase in sent)
    shown = GROUP_PHASES if asks else SUBMITTED_PHASES
    columns = ("Group", "Critical", "Sent", "Succeeded", "State", "Reason")
    rows = table("#", *columns, right=("#", "Sent", "Succeeded"), folds=("Group", "Reason"))
    for position, group in enumerate(result["order"], start=1):
        facts = groups[group]
        succeeded = sum(nodes[node] == NodeState.SUCCESS for node in facts["nodes"])
        rows.add_row(
            str(position),
            group,
            "yes" if facts["critical"] else "no",
            ", ".join(str(sent[group, phase.value]) for phase in shown),
            f"{succeeded}/{len(facts['nodes'])}",
            Text(facts["state"], style=STATE_STYLES[facts["state"]]),
            (facts["reason"] or "").replace("_", " "),
        )
    target.print(rows)
    also = ", and asked whether they are ready" if asks else ""
    target.print(Text(f"Sent: nodes sent for prepare and for deploy{also}.", style="dim"))
    print_rounds(target, result["waves"])
    for said in batches:
        target.print(Text(printable(said)), soft_wrap=True)
    _show_criteria(target, result)
    _show_nodes(target, nodes)
    _show_held(target, result.get("held", {}))
    target.print()
    _show_idle(target, result, outcomes)
    _show_verdict(target, result)


def _given(outcomes: Outcomes) -> str:
    words = {NodeOutcome.FAILURE: "fails", NodeOutcome.UNKNOWN: "is not heard of"}
    given = [f"{node} {words[fate]} in {phase}" for phase, fates in outcomes.items() for node, fate in fates.items()]
    return listed(given) or "every node succeeds"


def _show_idle(target: Console, result: Mapping[str, Any], outcomes: Outcomes) -> None:
    """Say which of the given outcomes could not happen, so that nobody takes luck for resilience."""
    sent = {(item["phase"], node) for item in result["submissions"] for node in item["nodes"]}
    idle = [f"{phase}:{node}" for phase, fates in outcomes.items() for node in fates if (phase, node) not in sent]
    if idle:
        target.print(Text(f"Made no difference, because the node was never sent: {listed_nodes(idle)}", style="yellow"))


def _show_criteria(target: Console, result: Mapping[str, Any]) -> None:
    rows = table(
        "Group", "After", "Criterion not met", "Needed", "Actual", right=("Needed", "Actual"), folds=("Group",)
    )
    for group in result["order"]:
        for criterion in result["groups"][group]["failed_criteria"]:
            needed, actual = str(criterion["needed"]), str(criterion["actual"])
            rows.add_row(group, criterion["phase"], criterion["criterion"], needed, actual)
    print_table(target, rows)


def _show_nodes(target: Console, nodes: Mapping[str, str]) -> None:
    rows = table("State at the end", "Count", "Nodes", right=("Count",), folds=("Nodes",))
    for state in NodeState:
        names = sorted(node for node, its_state in nodes.items() if its_state == state)
        if names and state != NodeState.SUCCESS:
            rows.add_row(state.value.replace("_", " "), str(len(names)), listed_nodes(names))
    print_table(target, rows)


def _show_held(target: Console, held: Mapping[str, str]) -> None:
    """Say which nodes were not deployed because of others, by the reason."""
    by_reason: dict[str, list[str]] = {}
    for name, reason in sorted(held.items()):
        by_reason.setdefault(reason, []).append(name)
    rows = table("Held", "Why", folds=("Held", "Why"))
    for reason, names in by_reason.items():
        rows.add_row(listed_nodes(names), reason)
    print_table(target, rows)


def _show_verdict(target: Console, result: Mapping[str, Any]) -> None:
    failed = [group for group in result["order"] if result["groups"][group]["state"] == GroupState.FAILURE]
    critical = [group for group in failed if result["groups"][group]["critical"]]
    text = f"Verdict: {result['verdict']}"
    if critical:
        text += f"; critical groups that failed: {listed(critical)}"
    elif nothing := nothing_to_deploy([len(result["groups"][group]["nodes"]) for group in result["order"]]):
        text += f"; {nothing}, so nothing would be deployed"
    elif failed:
        text += f"; groups that failed, none of them critical: {listed(failed)}"
    target.print(Text(text, style=STATE_STYLES[GroupState(result["verdict"])]))
