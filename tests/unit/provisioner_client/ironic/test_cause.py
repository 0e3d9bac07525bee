"""Why a node has failed is Ironic's own cause, from its state to the sentence that report and pages show (rule 13)."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from provisioner_client.ironic.node import Mark, Node, claim_of
from provisioner_client.ironic.tasks.next_step import next_step
from provisioner_client.protocol import ACTIONS
from strategy_lib.outcome import Evidence, Lister, judge
from strategy_lib.phase import Phase

REFERENCE = "slipway-0a1b2c3d-01ARZ3NDEKTSV4RRFFQ69G5FAV-7"
THEN, NOW = datetime(2026, 1, 1, tzinfo=UTC), datetime(2026, 1, 2, tzinfo=UTC)


@pytest.mark.parametrize(
    ("phase", "step", "state", "error"),
    [
        (Phase.DEPLOY, "active", "deploy failed", "Deploy step deploy.deploy failed: no disk of that serial."),
        (Phase.PREPARE, "provide", "clean failed", "Failed to execute clean step erase: a disk is worn."),
        (Phase.PREPARE, "inspect", "inspect failed", "Inspection timed out."),
    ],
)
def test_a_failed_node_shows_ironics_own_cause(phase: Phase, step: str, state: str, error: str) -> None:
    mark = Mark(REFERENCE, ACTIONS[phase], step, since=THEN.isoformat())
    claim = claim_of(REFERENCE, "n1") if phase is Phase.DEPLOY else ""
    node = Node("u1", "n1", state, last_error=error, mark=mark, instance_uuid=claim, provision_updated_at=NOW)
    due = next_step(phase, node, REFERENCE, inspect=step == "inspect")
    found = Evidence(
        over=True,
        reported_failure=frozenset({"n1"}),
        condition={"n1": node.condition},
        status_names={"n1": node.shown},
        messages={"n1": due.why},
        listed=True,
        lister=Lister.IRONIC,
    )
    outcome = judge(phase, ["n1"], found)
    assert outcome.failed == {"n1"}
    assert outcome.notes == {"n1": f"{state}: {error}"}
