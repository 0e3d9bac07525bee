"""What an action has to do to each node, from what the store knows of it, and why (rules 21 and 37). Pure.

The plan of an action, its dry run, the plan of a site and its pages all use `node_difference`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

from design_rendering.kinds.objects import differ_in_labels_alone
from site_engine.kinds import ActionKind, Override
from site_engine.parameters import ActionParameters
from strategy_lib.goals.update import TO_DO, Change, Difference, Done, Wanted, difference
from strategy_lib.node_condition import LISTED_TWICE, NodeCondition, left_alone, whose
from strategy_lib.node_states.repair import POWER_IS_OFF
from strategy_lib.outcome import NEEDS_REDEPLOY
from strategy_lib.status.node_row import NodeRow
from strategy_lib.status.words import Status

LEFT_ALONE = "it stays as it is (prune destroys it)"
"""What is said of a node that left the design, and that nobody has asked to destroy."""


NOBODY: Mapping[str, str] = MappingProxyType({})
"""No node is out of use."""
_UNLABELLED = "its new labels are not proven: "


@dataclass(frozen=True, slots=True)
class NodeDifference:
    """What has to be done to a node.

    Attributes
    ----------
    change, reason : what, and why.
    withheld : why an action leaves it alone all the same: a provisioner touches no deployed node by deploying it. None
        where it does not.
    wanted_version, wanted_revision : the version that is wanted of the node, and the revision that brought it. None for
        a node that left the design, or where the action brings about another design than the newest.
    done_version, done_revision : those that were last done; None before.
    lacks_power : it is deployed as wanted, and its power is off: nothing else is known to be wrong with it.
    """

    name: str
    change: Change
    reason: str
    withheld: str | None = None
    wanted_version: int | None = None
    wanted_revision: int | None = None
    done_version: int | None = None
    done_revision: int | None = None
    lacks_power: bool = False


def node_differences(
    wanted: Mapping[str, str], records: Iterable[NodeRow], conditions: Mapping[str, NodeCondition]
) -> dict[str, NodeDifference]:
    """Compare each node that is wanted, or was done, with what was done to it.

    Parameters
    ----------
    wanted : the digest of the design of each node that an action brings about.
    records : what the store knows of the site's nodes.
    conditions : what the provisioner says of them now.
    """
    known = {record.name: record for record in records}
    found = {
        name: node_difference(name, digest, known.get(name), conditions.get(name)) for name, digest in wanted.items()
    }
    for name, record in known.items():
        if name not in found and record.done_digest is not None:
            found[name] = node_difference(name, None, record, conditions.get(name))
    return found


def node_difference(
    name: str, digest: str | None, record: NodeRow | None, condition: NodeCondition | None
) -> NodeDifference:
    """Compare a node with what was done to it.

    Parameters
    ----------
    digest : of the design that the action brings about; None: the node is not in it.
    record : what the store knows of it; None: nothing.
    condition : what the provisioner says of it now; None: it does not list it.
    """
    newest = record is not None and digest is not None and record.wanted_digest == digest
    wanted_version = record.wanted_version if record is not None and newest else None
    wanted_revision = record.wanted_revision if record is not None and newest else None
    touched = record.touched if record is not None else None
    wanted = None if digest is None else Wanted(wanted_version or 0, digest, touched, wanted_revision)
    done = None if record is None else _done(record, digest)
    found = difference(wanted, done, condition)
    reason = _reason(found, record, condition, newest=newest)
    is_deployed = condition is NodeCondition.DEPLOYED
    return NodeDifference(
        name=name,
        change=found.change,
        reason=reason,
        withheld=_withheld(found, record, reason, is_deployed=is_deployed),
        wanted_version=wanted_version,
        wanted_revision=wanted_revision,
        done_version=None if record is None else record.done_version,
        done_revision=None if record is None else record.done_revision,
        lacks_power=is_deployed and found.change is Change.REDO and record is not None and _lacks_power(record),
    )


def why_kept(record: NodeRow, *, asked: bool) -> str | None:
    """Return why a node that left the design of an action is not destroyed; None where it is.

    Parameters
    ----------
    asked : the action is to destroy such nodes (`prune`).
    """
    if record.wanted_digest is not None:
        return f"the newest design has it, since revision {record.wanted_revision}"
    if record.done_revision is None:
        return "no revision is known that it was done for: destroy_nodes, with a revision that has it, removes it"
    return None if asked else LEFT_ALONE


def is_done_as(record: NodeRow, digest: str | None) -> bool:
    """Whether a node is done with this digest, nothing is wrong with it, and nobody has asked for it again."""
    if record.status != Status.SUCCESS or record.doubt is not None or digest is None:
        return False
    return record.done_digest == digest and not record.is_asked_for_again


def _done(record: NodeRow, digest: str | None) -> Done | None:
    if record.done_digest is None:
        return Done(None, None, record.has_failed) if record.status is not None else None
    return Done(
        record.done_version,
        record.done_digest,
        record.has_failed,
        record.doubt,
        digest is not None and differ_in_labels_alone(record.done_digest, digest),
        record.done_revision,
    )


def _reason(found: Difference, record: NodeRow | None, condition: NodeCondition | None, *, newest: bool) -> str:
    """Return why: with the error of a node that failed, and with revisions where versions are not known.

    Of a node that is listed twice the states are named. One that is deployed, and of which nothing proves that, is not
    just "never done": what its deploy came to is said.

    They are not where the action brings about another design than the newest, and of what was done before there were
    any.
    """
    if record is None:
        return found.reason
    word = record.provisioner_status or ""
    is_twice = condition is NodeCondition.LISTED_TWICE and word.startswith(LISTED_TWICE)
    if is_twice and found.change in (Change.ADD, Change.REDO):
        return word if found.change is Change.ADD else f"not as it was left: {word}"
    if found.change is Change.ADD and condition is NodeCondition.DEPLOYED and record.error and record.has_failed:
        return f"not proven: {record.error}"
    if found.change is Change.REDO and record.error is not None and record.doubt is None and record.has_failed:
        return f"failed: {record.error}" if record.error_action is not None else record.error
    if newest and record.done_version is not None:
        return found.reason
    since = "" if record.done_revision is None else f"revision {record.done_revision}"
    if found.change is Change.NONE and since:
        return f"as wanted since {since}"
    if found.change in (Change.CHANGE, Change.RELABEL):
        what = "only labels differ" if found.change is Change.RELABEL else "the design differs"
        return f"{what}: done for {since}" if since else what
    return found.reason


def _lacks_power(record: NodeRow) -> bool:
    """Whether nothing is wrong with a node of this design but that its power is off, and nobody asked for it again."""
    is_off = (record.drift or "").startswith(POWER_IS_OFF)
    return is_off and record.doubt is None and not record.is_asked_for_again


def left_to_others(records: Iterable[NodeRow]) -> dict[str, str]:
    """Return the nodes that somebody else has at the provisioner, and why nothing is done to them."""
    said = {record.name: record.provisioner_status or "" for record in records}
    return {name: left_alone(word) for name, word in said.items() if whose(word)}


def _withheld(found: Difference, record: NodeRow | None, reason: str, *, is_deployed: bool) -> str | None:
    """Return why a node is left alone though it is not as wanted: deployed, or another's; None where it is not."""
    if found.change in TO_DO and record is not None and (theirs := left_to_others([record])):
        return theirs[record.name]
    if not is_deployed:
        return None
    if found.change is Change.RELABEL:
        return "labels changed: relabel_nodes brings them about"
    if found.change not in TO_DO:
        return None
    if found.change is Change.ADD or record is None:
        return (
            "deployed already, but no action on record proves its design: `slipway adopt` takes it over as it is, or "
            "redeploy_server deploys it anew"
        )
    if record.doubt is not None:
        return f"its design is in doubt, {NEEDS_REDEPLOY}: {record.doubt}"
    if found.change is Change.CHANGE:
        since = f": it has that of revision {record.done_revision}" if record.done_revision is not None else ""
        return f"design changed, {NEEDS_REDEPLOY}{since}"
    if _lacks_power(record):
        return f"{reason}: it is as wanted once it is powered on, and a redeploy would erase it"
    return f"{reason}: it {NEEDS_REDEPLOY}"


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
