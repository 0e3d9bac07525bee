"""What an action has to do to each node: the differences, what it is told to redo, does in place or leaves. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

from site_engine.kinds import ActionKind, Override
from site_engine.parameters import ActionParameters
from site_engine.plans.differences import NodeDifference, left_to_others, node_differences, why_kept
from strategy_lib.goals.update import Change
from strategy_lib.outcome import NodeCondition
from strategy_lib.status.node_row import NodeRow

NOBODY: Mapping[str, str] = MappingProxyType({})
"""No node is out of use."""
_UNLABELLED = "its new labels are not proven: "


def planned_differences(
    kind: ActionKind,
    parameters: ActionParameters,
    digests: Mapping[str, str],
    records: Sequence[NodeRow],
    conditions: Mapping[str, NodeCondition],
    *,
    relabelled: bool = False,
    out_of_use: Mapping[str, str] = NOBODY,
) -> Mapping[str, NodeDifference]:
    """Tell what has to be done to nodes, as `considered_differences` does, and what an action does in place of it.

    Parameters
    ----------
    relabelled, out_of_use : see `plan_action`.
    """
    found = considered_differences(kind, parameters, digests, records, conditions, out_of_use)
    if kind.relabels:
        found = _with_labels(found, records, relabelled=relabelled)
    found = _with_removals(found, records, asked=kind.prunes and parameters.allows(Override.PRUNE))
    # What somebody else has is left alone even where a person asks for it again, or for its removal.
    return leave_out(leave_out(found, left_to_others(records)), out_of_use)


def leave_out(differences: Mapping[str, NodeDifference], out_of_use: Mapping[str, str]) -> Mapping[str, NodeDifference]:
    """Say of nodes why they are left alone, as they are out of use, unless they are as wanted (rules 15 and 51)."""
    left = {
        name: replace(differences[name], withheld=why)
        for name, why in out_of_use.items()
        if name in differences and differences[name].change is not Change.NONE
    }
    return {**differences, **left} if left else differences


def considered_differences(
    kind: ActionKind,
    parameters: ActionParameters,
    digests: Mapping[str, str],
    records: Iterable[NodeRow],
    conditions: Mapping[str, NodeCondition],
    out_of_use: Collection[str] = (),
) -> Mapping[str, NodeDifference]:
    """Tell what has to be done to the nodes that an action considers, and which left the design.

    Where it redoes what is done, or has just destroyed its target nodes (a dry run would have), it leaves none alone;
    those that are out of use are as wanted as they were before.
    """
    targets = parameters.target_nodes
    if kind.repairs and targets is not None:
        found = node_differences(digests, records, conditions)
        return {name: each if name in targets else _beside(each) for name, each in found.items() if name in digests}
    wanted = {name: digest for name, digest in digests.items() if targets is None or name in targets}
    found = node_differences(wanted, records, conditions)
    if targets is not None:
        found = {name: found[name] for name in wanted}
    if not parameters.allows(Override.REDO_DONE) and not kind.is_destructive:
        return found
    why = f"asked for with {Override.REDO_DONE}" if not kind.is_destructive else f"{kind.name} does it anew"
    stays = () if kind.is_destructive else out_of_use
    return {name: each if name in stays else _redone(each, why) for name, each in found.items()}


def _beside(found: NodeDifference) -> NodeDifference:
    """Say of a node that is in a group with repaired ones that it is not one of them; new labels may wait."""
    if found.change is Change.NONE:
        return found
    return replace(found, withheld=None if found.change is Change.RELABEL else "it is not among the repaired nodes")


def _with_labels(
    differences: Mapping[str, NodeDifference], records: Iterable[NodeRow], *, relabelled: bool
) -> Mapping[str, NodeDifference]:
    """Say of nodes that differ by labels alone that nothing keeps them back, or that their new ones were not proven."""
    errors = {record.name: record.error for record in records if record.error is not None} if relabelled else {}
    found = {
        name: replace(each, withheld=_UNLABELLED + errors.get(name, "try again") if relabelled else None)
        for name, each in differences.items()
        if each.change is Change.RELABEL
    }
    return {**differences, **found} if found else differences


def _with_removals(
    differences: Mapping[str, NodeDifference], records: Iterable[NodeRow], *, asked: bool
) -> Mapping[str, NodeDifference]:
    """Say of nodes that left the design why they stay, where they do."""
    leaving = {name: each for name, each in differences.items() if each.change is Change.REMOVE}
    if not leaving:
        return differences
    known = {record.name: record for record in records}
    kept = {name: replace(each, withheld=why_kept(known[name], asked=asked)) for name, each in leaving.items()}
    return {**differences, **kept}


def _redone(found: NodeDifference, why: str) -> NodeDifference:
    if found.change in (Change.NONE, Change.RELABEL):
        return replace(found, change=Change.REDO, reason=why, withheld=None)
    return replace(found, withheld=None)
