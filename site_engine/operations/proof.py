"""What is proven about the nodes of an operation, in the light of what was known of them before it (rule 13)."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from site_store import OperationPhase
from strategy_lib.outcome import NodeCondition, judge
from strategy_lib.phase import NodeStep, phase_from

if TYPE_CHECKING:
    from collections.abc import Collection

    from provisioner_client.protocol import ListedNode, Provisioner
    from site_store import Operation, SiteStore
    from strategy_lib.outcome import Evidence, Outcome


def look(store: SiteStore, provisioner: Provisioner, site: str, nodes: Collection[str]) -> dict[str, ListedNode]:
    """Return what the node list says of these nodes now, and note it: afterwards only a change proves anything."""
    listed = provisioner.nodes()
    found = {name: listed[name] for name in nodes if name in listed}
    conditions = {name: node.condition.value for name, node in found.items()}
    store.set_conditions(site, conditions, missing=set(nodes).difference(found))
    return found


def outcome_of(store: SiteStore, operation: Operation, evidence: Evidence) -> Outcome:
    """Judge the operation's nodes; a node list that says what it said right before it was submitted proves nothing."""
    before = {name: NodeCondition(said) for name, said in store.found_before(operation.op).items()}
    as_wanted = store.as_wanted_before(operation.op) if operation.phase is OperationPhase.DEPLOY else frozenset()
    known = replace(evidence, condition_before=before, as_wanted_before=as_wanted)
    # A release is nothing but destroying what is on the nodes.
    released = operation.phase is OperationPhase.RELEASE
    phase = NodeStep.DESTROY if released else phase_from(operation.phase.value)
    return judge(phase, operation.nodes, known)


def note_conditions(store: SiteStore, operation: Operation, evidence: Evidence) -> None:
    """Keep what the node list says now, for the next operation. Call it after the outcome is recorded."""
    conditions = {name: said.value for name, said in evidence.condition.items()}
    if operation.phase in (OperationPhase.DESTROY, OperationPhase.RELEASE) and evidence.over and evidence.listed:
        # Whoever destroys nodes takes them off the list; what it said of them before is not true any more.
        gone = set(operation.nodes).difference(conditions)
        conditions |= dict.fromkeys(gone, NodeCondition.OTHER.value)
    store.set_conditions(operation.site, conditions, operation.op if evidence.over else None)
