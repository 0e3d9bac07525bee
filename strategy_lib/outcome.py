"""What the end (or the timeout) of a provisioner task says about each node that was sent (rules 13 and 14)."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from strategy_lib.node_condition import NodeCondition, whose
from strategy_lib.phase import Phase


class Lister(StrEnum):
    """Whose list of nodes it is: what a state in it means depends on what that provisioner does to a machine."""

    DRYDOCK = "drydock"
    MAAS = "maas"
    IRONIC = "ironic"


class Says(StrEnum):
    """What a listed state says of a node that its provisioner task reports as succeeded.

    `PROVES`: the report stands. `REFUTES`: the node has failed, whatever is reported. `WAIT`: neither, yet: the machine
    is on its way to another state, and is looked at again.
    """

    PROVES = "proves"
    REFUTES = "refutes"
    WAIT = "wait"


@dataclass(frozen=True, slots=True)
class Evidence:
    """Everything the provisioner could tell about one of its tasks. What could not be had is left empty.

    Attributes
    ----------
    over : the provisioner task has ended; False when it outran its timeout.
    reported_success, reported_failure : names in the task's own two lists. A name may be in both, and then it failed.
    child_success, child_failure : names proven by the tasks below it, one per node.
    condition : condition of nodes in the provisioner's list of nodes.
    status_names : the provisioner's own words for these conditions, such as "Failed deployment".
    condition_before : the same right before the task was submitted, as far as it was noted: `NOT_LISTED` where the list
        was read and did not have the node, nothing where no list was read.
    status_names_before : the provisioner's own words for these conditions, of nodes that it listed twice.
    as_wanted_before : nodes that had been done in the very design that they were sent for (rule 21).
    messages : the provisioner's words about a node: the message that says most.
    texts : all of its error messages about a node in their order, where there are several.
    listed : the list of nodes could be read, or could tell nothing yet (the task is queued); without it a false success
        cannot be seen.
    lister : whose list it is.
    """

    over: bool
    reported_success: frozenset[str] = frozenset()
    reported_failure: frozenset[str] = frozenset()
    child_success: frozenset[str] = frozenset()
    child_failure: frozenset[str] = frozenset()
    condition: Mapping[str, NodeCondition] = field(default_factory=dict)
    status_names: Mapping[str, str] = field(default_factory=dict)
    condition_before: Mapping[str, NodeCondition] = field(default_factory=dict)
    status_names_before: Mapping[str, str] = field(default_factory=dict)
    as_wanted_before: frozenset[str] = frozenset()
    messages: Mapping[str, str] = field(default_factory=dict)
    texts: Mapping[str, str] = field(default_factory=dict)
    listed: bool = False
    lister: Lister = Lister.DRYDOCK


@dataclass(frozen=True, slots=True)
class Outcome:
    """The nodes that were sent, each in exactly one of three sets.

    Attributes
    ----------
    succeeded, failed, unknown : a partition of the nodes that were sent.
    awaited : of those that are unknown: the list shows them in a state that does not last (`Says.WAIT`).
    ignored : names that the provisioner reported though they were not sent.
    notes : for nodes that failed, are unknown, or succeeded on other proof than the report: why.
    texts : for nodes that failed or are unknown: all messages about them, where they are more than the note.
    """

    succeeded: frozenset[str]
    failed: frozenset[str]
    unknown: frozenset[str]
    ignored: frozenset[str] = frozenset()
    notes: Mapping[str, str] = field(default_factory=dict)
    texts: Mapping[str, str] = field(default_factory=dict)
    awaited: frozenset[str] = frozenset()


NEEDS_REDEPLOY = "needs redeploy (allow_redeploy, or redeploy_server)"
"""What is said of a deployed node that no deploy can bring to its design."""

_REPORTED = "reported failed"
_OF_A_REPORT: Mapping[Says, bool | None] = {Says.PROVES: True, Says.REFUTES: False, Says.WAIT: None}

# A deploy of a node that is listed as one of these leaves it as it is.
UNTOUCHED_BY_DEPLOY = frozenset({NodeCondition.DEPLOYED, NodeCondition.DEPLOYING})
# A deploy of a node that was found so is not recorded as done: nobody can tell that it was this deploy.
_UNTOLD_BEFORE = frozenset({NodeCondition.NOT_LISTED, NodeCondition.LISTED_TWICE})
UNPROVABLE_BY_DEPLOY = UNTOUCHED_BY_DEPLOY | _UNTOLD_BEFORE

_C, _S = NodeCondition, Says

_AFTER_PREPARE: Mapping[NodeCondition, Says] = {
    _C.NEW: _S.REFUTES,
    _C.COMMISSIONING: _S.WAIT,
    _C.TESTING: _S.WAIT,
    _C.READY: _S.PROVES,
    # Only a machine that is Ready is allocated, and deployed.
    _C.ALLOCATED: _S.PROVES,
    _C.TO_REDEPLOY: _S.PROVES,
    _C.DEPLOYING: _S.WAIT,
    _C.DEPLOYED: _S.PROVES,
    _C.RELEASING: _S.WAIT,
    _C.RESCUE: _S.WAIT,
    _C.FAILED_COMMISSIONING: _S.REFUTES,
    _C.FAILED_TESTING: _S.REFUTES,
    _C.FAILED_DEPLOYMENT: _S.REFUTES,
    _C.FAILED_RELEASE: _S.REFUTES,
    _C.UNFIT: _S.REFUTES,
    _C.OTHER: _S.WAIT,
}
_AFTER_DEPLOY: Mapping[NodeCondition, Says] = {
    **_AFTER_PREPARE,
    _C.READY: _S.REFUTES,
    _C.ALLOCATED: _S.REFUTES,
    _C.TO_REDEPLOY: _S.REFUTES,
}
_AFTER_DESTROY: Mapping[NodeCondition, Says] = {
    **_AFTER_PREPARE,
    _C.NEW: _S.PROVES,
    # Whatever has a deployment on it is not destroyed.
    _C.ALLOCATED: _S.REFUTES,
    _C.DEPLOYING: _S.REFUTES,
    _C.DEPLOYED: _S.REFUTES,
}
# Drydock deletes a machine that it has destroyed. MAAS and Ironic keep it: the report says that they prove that it was
# released, or that nothing was on it.
_DESTROYED_AND_KEPT: Mapping[NodeCondition, Says] = {
    **_AFTER_DESTROY,
    _C.ALLOCATED: _S.PROVES,
    _C.FAILED_COMMISSIONING: _S.PROVES,
    _C.FAILED_TESTING: _S.PROVES,
    _C.UNFIT: _S.PROVES,
}
LISTED: Mapping[Lister, Mapping[Phase, Mapping[NodeCondition, Says]]] = {
    Lister.DRYDOCK: {Phase.PREPARE: _AFTER_PREPARE, Phase.DEPLOY: _AFTER_DEPLOY, Phase.DESTROY: _AFTER_DESTROY},
    Lister.MAAS: {Phase.PREPARE: _AFTER_PREPARE, Phase.DEPLOY: _AFTER_DEPLOY, Phase.DESTROY: _DESTROYED_AND_KEPT},
    Lister.IRONIC: {Phase.PREPARE: _AFTER_PREPARE, Phase.DEPLOY: _AFTER_DEPLOY, Phase.DESTROY: _DESTROYED_AND_KEPT},
}
"""What each state of a list says after each phase; docs/rules.md has the same table. A release is a destroy.

Of a node that is not listed, or listed twice, and after new labels, the list says nothing.
"""

# What says so of a node that nothing is reported of, too.
_PROVES_ALONE: Mapping[Phase, frozenset[NodeCondition]] = {
    Phase.PREPARE: frozenset({NodeCondition.READY, NodeCondition.ALLOCATED, NodeCondition.DEPLOYED}),
    Phase.DEPLOY: frozenset({NodeCondition.DEPLOYED}),
    # Not that a node is missing from the list: that may have any reason.
    Phase.DESTROY: frozenset({NodeCondition.NEW, NodeCondition.READY}),
    Phase.RELABEL: frozenset(),
}
_REFUTES_ALONE: Mapping[Phase, frozenset[NodeCondition]] = {
    Phase.PREPARE: frozenset({NodeCondition.FAILED_COMMISSIONING, NodeCondition.FAILED_TESTING}),
    Phase.DEPLOY: frozenset({NodeCondition.FAILED_DEPLOYMENT}),
    Phase.DESTROY: frozenset(
        {NodeCondition.DEPLOYED, NodeCondition.DEPLOYING, NodeCondition.FAILED_DEPLOYMENT},
    ),
    Phase.RELABEL: frozenset(),
}

# What the provisioner refuses to prepare, or to deploy once it is prepared, until it is released.
REFUSED_BY_PREPARE = frozenset(
    {
        *(NodeCondition.FAILED_DEPLOYMENT, NodeCondition.ALLOCATED, NodeCondition.FAILED_RELEASE),
        NodeCondition.TO_REDEPLOY,
    },
)
# What is on such a node serves nobody: each action may release it.
NOBODYS_DEPLOYMENT = frozenset({NodeCondition.FAILED_DEPLOYMENT, NodeCondition.TO_REDEPLOY})


def judge(phase: Phase, sent: Collection[str], evidence: Evidence) -> Outcome:
    """Decide what became of each node that was sent (rules 13 and 14).

    The order of proof: a reported failure; a reported success, unless the node list contradicts it (a driver may report
    a node that failed commissioning as a success, or one that is still being deployed); the per-node tasks, with the
    same reservation; the node list, unless it said the same before the task was submitted; and what is still unproven
    is unknown. What a listed state says of a reported success is in `LISTED`. That a node was relabelled can be seen
    nowhere: only the provisioner task's own report proves it (rule 25).

    A node that was deployed before its deploy was submitted has not been touched: a provisioner answers with success at
    once then. It has succeeded only if it had been done in this very design, and has failed else. A node that the list
    did not have before, and has as deployed afterwards, may have been deployed all the time: it is unknown, unless it
    had been done in this very design.

    Parameters
    ----------
    phase : what the nodes were sent for. A release is judged as what it is: to destroy what is on them.
    """
    succeeded: set[str] = set()
    failed: set[str] = set()
    unknown: set[str] = set()
    notes: dict[str, str] = {}
    sets = {True: succeeded, False: failed, None: unknown}
    for name in sent:
        verdict, why = _judge_node(Phase.DESTROY if phase is Phase.RELEASE else phase, name, evidence)
        sets[verdict].add(name)
        said = evidence.messages.get(name)
        if verdict is not True and said:
            # That it failed is its state: what the provisioner says of it is enough.
            why = f"{why}: {said}" if why not in ("", _REPORTED) else said
        if why:
            notes[name] = why
    named = evidence.reported_success | evidence.reported_failure | evidence.child_success | evidence.child_failure
    texts = {name: text for name, text in evidence.texts.items() if name in failed or name in unknown}
    return Outcome(
        succeeded=frozenset(succeeded),
        failed=frozenset(failed),
        unknown=frozenset(unknown),
        ignored=named.difference(sent),
        notes=notes,
        texts=texts,
        awaited=listed_at_work(phase, unknown, evidence),
    )


def listed_at_work(phase: Phase, nodes: Collection[str], evidence: Evidence) -> frozenset[str]:
    """Return those of the nodes that the list shows in a state that does not last, and says nothing after the phase."""
    return frozenset(name for name in nodes if _said_by_list(phase, name, evidence) is Says.WAIT)


def _said_by_list(phase: Phase, name: str, evidence: Evidence) -> Says | None:
    """Return what a node's listed state says after a phase; None: it is not listed, or the list tells nothing of it.

    A node that the list shows as somebody else's proves nothing of ours, and is not waited for: he may keep it.
    """
    condition = evidence.condition.get(name, NodeCondition.NOT_LISTED)
    table = LISTED[evidence.lister].get(Phase.DESTROY if phase is Phase.RELEASE else phase, {})
    says = table.get(condition)
    return Says.REFUTES if says is not None and whose(evidence.status_names.get(name, "")) else says


def _judge_untouched(name: str, evidence: Evidence) -> tuple[bool | None, str]:
    """Judge a deploy of a node that was deployed before: whatever is reported, nothing was done to it (rule 13)."""
    before, now = evidence.condition_before[name], evidence.condition.get(name)
    if before is NodeCondition.DEPLOYED and name in evidence.as_wanted_before and now is before:
        return True, ""
    if name in evidence.child_failure and name not in evidence.reported_success:
        return False, "failed by its own provisioner task"
    if name in evidence.reported_success | evidence.child_success:
        return False, f"it was {before} before, so that deploy has done nothing: {NEEDS_REDEPLOY}"
    ended = "the provisioner task ended without a word about it" if evidence.over else "no result in time"
    return None, f"{ended}; the node list says {now}, and said {before} before"


def _judge_appeared(name: str, status: str | None, evidence: Evidence) -> tuple[bool | None, str]:
    """Judge a deploy of a node that was not listed before, or twice, and is listed as deployed now (rule 13)."""
    if name in evidence.as_wanted_before:
        return True, ""
    if name in evidence.child_failure and name not in evidence.reported_success:
        return False, "failed by its own provisioner task"
    if evidence.condition_before.get(name) is NodeCondition.LISTED_TWICE:
        before = evidence.status_names_before.get(name, "listed twice, with different states,")
        return None, (
            f"it was {before} right before its deploy was submitted, so that nothing proves what deployed it: "
            f"{NEEDS_REDEPLOY}"
        )
    return None, (
        f"the node list says {status}, but did not have it right before its deploy was submitted, so that nothing "
        f"proves what deployed it: {NEEDS_REDEPLOY}"
    )


def _judge_node(phase: Phase, name: str, evidence: Evidence) -> tuple[bool | None, str]:
    """Return True (succeeded), False (failed) or None (unknown) for one node, and why."""
    condition = evidence.condition.get(name)
    status = evidence.status_names.get(name) or condition
    twice = condition is NodeCondition.LISTED_TWICE
    listed = f"it is {status}" if twice else f"the node list says {status}"
    says = _said_by_list(phase, name, evidence)
    believed = True if says is None else _OF_A_REPORT[says]
    refuted = condition in _REFUTES_ALONE[phase]
    if name in evidence.reported_failure:
        refused = phase is Phase.PREPARE and condition in REFUSED_BY_PREPARE
        return False, f"{_REPORTED}; {listed}" if refused else _REPORTED
    if phase is Phase.DEPLOY and not refuted and evidence.condition_before.get(name) in UNTOUCHED_BY_DEPLOY:
        return _judge_untouched(name, evidence)
    if phase is Phase.DEPLOY and twice and name not in evidence.child_failure:
        return (
            (True, "") if name in evidence.as_wanted_before else (None, f"{listed}, so that nothing proves its deploy")
        )
    appeared = condition is NodeCondition.DEPLOYED and evidence.condition_before.get(name) in _UNTOLD_BEFORE
    if phase is Phase.DEPLOY and appeared:
        return _judge_appeared(name, status, evidence)
    if name in evidence.reported_success:
        return believed, "" if believed else f"reported as a success, but {listed}"
    if name in evidence.child_failure:
        return False, "failed by its own provisioner task"
    if name in evidence.child_success and phase is not Phase.RELABEL:
        doubt = f"its own provisioner task succeeded, but {listed}"
        return believed, "proven by its own provisioner task" if believed else doubt
    # A node that is not destroyed may still be: its task is at work. The failures of the phases are ends.
    if refuted and (evidence.over or phase is not Phase.DESTROY):
        return False, listed
    ended = "the provisioner task ended without a word about it" if evidence.over else "no result in time"
    if condition in _PROVES_ALONE[phase]:
        if evidence.condition_before.get(name) not in _PROVES_ALONE[phase]:
            return True, f"proven by the node list, which says {status}"
        return None, f"{ended}; {listed}, and said as much before"
    return None, ended if condition is None else f"{ended}; {listed}"
