"""What Drydock's answers prove of a task's nodes, beyond the task itself: its list of nodes, and the design. Pure."""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Final

from design_rendering.drydock_kinds import BOOT_ACTION_SCHEMA
from design_rendering.reading.documents import load_documents
from provisioner_client.designs import DesignSource
from provisioner_client.protocol import ListedNode
from strategy_lib.errors import StrategyLibError
from strategy_lib.outcome import Evidence, NodeCondition
from strategy_lib.phase import Phase

log = logging.getLogger(__name__)

NO_BOOT_ACTIONS: Final = (
    "the design has no drydock/BootAction/v1, and Drydock's driver fails without a word then, as its warning DD4001 "
    "announces: add one, commit, and deploy again"
)


def with_list(evidence: Evidence, listed: Mapping[str, ListedNode], sent: Collection[str]) -> Evidence:
    """Add what the list of nodes says of the nodes that were sent."""
    seen = {name: listed[name] for name in sent if name in listed}
    return replace(
        evidence,
        condition={name: node.condition for name, node in seen.items()},
        status_names={name: node.status_name for name, node in seen.items()},
        listed=True,
    )


def with_cause(evidence: Evidence, phase: Phase | None, design: DesignSource | None) -> Evidence:
    """Say of nodes that a deploy left allocated without a word if that is due to their design (trap 25).

    The design is read only where there are such nodes.
    """
    left = {name for name, condition in evidence.condition.items() if condition is NodeCondition.ALLOCATED}
    spoken = evidence.reported_success | evidence.reported_failure | evidence.child_success | evidence.child_failure
    silent = left - spoken - evidence.messages.keys()
    if phase is not Phase.DEPLOY or design is None or not evidence.over or not silent or _has_boot_actions(design):
        return evidence
    return replace(evidence, messages={**evidence.messages, **dict.fromkeys(silent, NO_BOOT_ACTIONS)})


def _has_boot_actions(design: DesignSource) -> bool:
    try:
        return any(one.schema == BOOT_ACTION_SCHEMA for one in load_documents(design.read(), "the design"))
    except (LookupError, StrategyLibError) as error:
        log.warning("whether the design has boot actions cannot be told: %s", error)
        return True
