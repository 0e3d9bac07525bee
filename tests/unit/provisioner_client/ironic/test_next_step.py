"""What is due of a node of Ironic, by phase, state and mark: never a second time what may have been taken."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from provisioner_client.ironic.node import CLEAN_FAILURE, Mark, Node, claim_of
from provisioner_client.ironic.tasks.next_step import TRANSIENT, Act, NextStep, next_step, with_mark
from provisioner_client.protocol import ACTIONS
from strategy_lib.node_condition import IRONIC_WORDS
from strategy_lib.phase import Phase

REFERENCE = "slipway-a-2"
EARLIER = "slipway-a-1"
CLAIM, OLD_CLAIM = claim_of(REFERENCE, "n1"), claim_of(EARLIER, "n1")
STRANGER = "11111111-2222-3333-4444-555555555555"
THEN, NOW = datetime(2026, 1, 1, tzinfo=UTC), datetime(2026, 1, 2, tzinfo=UTC)


def node(
    state: str,
    phase: Phase = Phase.PREPARE,
    step: str | None = "",
    *,
    taken: bool = False,
    claim: str = "",
    claimed_by: str = "",
    **more: object,
) -> Node:
    """Return a node with our mark, whose last step was this one; None: with the mark of an earlier deploy."""
    since = (THEN if taken else NOW).isoformat()
    mark = Mark(REFERENCE, ACTIONS[phase], step or "", since=since, claim=claimed_by)
    if step is None:
        mark = Mark(EARLIER, "deploy_nodes", "active", since=THEN.isoformat(), claim=EARLIER)
    said = {"uuid": "u1", "name": "n1", "state": state, "instance_uuid": claim, "mark": mark}
    return Node(**{**said, "provision_updated_at": NOW, **more})  # type: ignore[arg-type]  # of many kinds


def told(step: NextStep) -> str:
    """Return it in short: what is sent, that it waits or is unclaimed, whether it is settled well."""
    if step.act is Act.SETTLE:
        return "ok" if step.ok else "no"
    return step.target or step.act.value


PREPARE = [
    ("enroll", "", False, "manage"),
    ("enroll", "manage", False, "manage"),
    ("enroll", "manage", True, "no"),
    ("verifying", "manage", True, "wait"),
    ("manageable", "", False, "provide"),
    ("manageable", "manage", True, "provide"),
    ("manageable", "provide", False, "provide"),
    ("manageable", "provide", True, "no"),
    ("inspect failed", "", False, "manage"),
    ("clean failed", "", False, "manage"),
    ("clean failed", "manage", True, "no"),
    ("clean failed", "provide", True, "no"),
    ("cleaning", "provide", True, "wait"),
    ("clean wait", "provide", True, "wait"),
    ("available", "", False, "ok"),
    ("available", "provide", True, "ok"),
    ("active", "", False, "no"),
    ("deploy failed", "", False, "no"),
    ("error", "", False, "no"),
    ("rescue", "", False, "no"),
    ("adopt failed", "", False, "no"),
    ("a new word", "", False, "wait"),
]


@pytest.mark.parametrize(("state", "step", "taken", "due"), PREPARE)
def test_prepare(state: str, step: str, taken: bool, due: str) -> None:
    assert told(next_step(Phase.PREPARE, node(state, Phase.PREPARE, step, taken=taken), REFERENCE)) == due


@pytest.mark.parametrize(
    ("state", "step", "taken", "due"),
    [
        ("manageable", "", False, "inspect"),
        ("manageable", "manage", True, "inspect"),
        ("manageable", "inspect", False, "inspect"),
        ("manageable", "inspect", True, "provide"),
        ("inspecting", "inspect", True, "wait"),
        ("inspect failed", "inspect", True, "no"),
        ("available", "", False, "ok"),
    ],
)
def test_prepare_with_an_inspection(state: str, step: str, taken: bool, due: str) -> None:
    found = next_step(Phase.PREPARE, node(state, Phase.PREPARE, step, taken=taken), REFERENCE, inspect=True)
    assert told(found) == due


@pytest.mark.parametrize(
    ("state", "step", "taken", "claim", "due"),
    [
        ("available", "", False, "", "active"),
        ("available", "active", False, CLAIM, "active"),
        # A conductor without a free worker takes it back: nothing was deployed.
        ("available", "active", True, CLAIM, "active"),
        ("available", "active", True, "", "no"),
        ("available", None, False, OLD_CLAIM, "no"),
        ("deploying", "active", True, CLAIM, "wait"),
        ("wait call-back", "active", True, CLAIM, "wait"),
        ("active", "active", True, CLAIM, "ok"),
        ("active", "active", True, "", "no"),
        ("active", "active", True, STRANGER, "no"),
        ("active", "", False, "", "no"),
        ("active", None, False, OLD_CLAIM, "ok"),
        # Ironic would take it: a second deploy behind a quick failure.
        ("deploy failed", "active", True, CLAIM, "no"),
        ("deploy failed", None, False, OLD_CLAIM, "no"),
        # Within the second of the change before it, where Ironic's database keeps whole seconds.
        ("deploy failed", "active", False, CLAIM, "no"),
        ("active", "active", False, CLAIM, "ok"),
        ("deploying", "active", True, STRANGER, "no"),
        ("available", "", False, STRANGER, "no"),
        ("manageable", "", False, "", "no"),
        ("clean failed", "", False, "", "no"),
    ],
)
def test_deploy(state: str, step: str | None, taken: bool, claim: str, due: str) -> None:
    known = node(state, Phase.DEPLOY, step, taken=taken, claim=claim)
    assert told(next_step(Phase.DEPLOY, known, REFERENCE)) == due


@pytest.mark.parametrize("phase", [Phase.DESTROY, Phase.RELEASE])
@pytest.mark.parametrize(
    ("state", "step", "taken", "claim", "due"),
    [
        ("active", None, False, OLD_CLAIM, "deleted"),
        ("active", "", False, OLD_CLAIM, "deleted"),
        ("active", "deleted", True, OLD_CLAIM, "deleted"),
        ("deploy failed", "", False, OLD_CLAIM, "deleted"),
        ("error", "", False, OLD_CLAIM, "deleted"),
        # What a failed release has left behind: the claim is gone, the mark is not.
        ("error", "", False, "", "deleted"),
        ("error", "deleted", True, "", "no"),
        ("wait call-back", "", False, OLD_CLAIM, "deleted"),
        ("deploying", "", False, OLD_CLAIM, "wait"),
        ("deleting", "deleted", True, OLD_CLAIM, "wait"),
        ("deleting", "deleted", True, "", "wait"),
        ("cleaning", "deleted", True, "", "wait"),
        ("available", "deleted", True, "", "ok"),
        ("clean failed", "deleted", True, "", "no"),
        ("active", "deleted", True, STRANGER, "ok"),
        ("active", "", False, STRANGER, "no"),
        ("active", "", False, "", "no"),
        ("available", "", False, OLD_CLAIM, "unclaim"),
        ("available", "", False, "", "ok"),
        ("enroll", "", False, "", "ok"),
        ("clean failed", "", False, "", "no"),
    ],
)
def test_release(phase: Phase, state: str, step: str | None, taken: bool, claim: str, due: str) -> None:
    known = node(state, phase, step, taken=taken, claim=claim, claimed_by=EARLIER)
    assert told(next_step(phase, known, REFERENCE)) == due


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"maintenance": True, "maintenance_reason": "disk"}, "in maintenance (disk)"),
        ({"maintenance": True, "fault": "power failure"}, "in maintenance (power failure)"),
        ({"protected": True}, "protected"),
        ({"retired": True}, "retired"),
    ],
)
@pytest.mark.parametrize(("phase", "state"), [(Phase.PREPARE, "manageable"), (Phase.DEPLOY, "available")])
def test_what_was_put_aside_is_left_alone(phase: Phase, state: str, more: dict[str, object], said: str) -> None:
    step = next_step(phase, node(state, phase, **more), REFERENCE)  # type: ignore[arg-type]  # of many kinds
    assert (told(step), said in step.why) == ("no", True)


@pytest.mark.parametrize("more", [{"protected": True}, {"retired": True}, {"maintenance": True}])
def test_what_was_put_aside_is_not_released_either(more: dict[str, bool]) -> None:
    known = node("active", Phase.DESTROY, claim=OLD_CLAIM, claimed_by=EARLIER, **more)  # type: ignore[arg-type]
    assert told(next_step(Phase.DESTROY, known, REFERENCE)) == "no"


def test_ironics_own_maintenance_after_a_cleaning_ends_with_a_prepare() -> None:
    known = node("clean failed", maintenance=True, fault=CLEAN_FAILURE)
    assert told(next_step(Phase.PREPARE, known, REFERENCE)) == "manage"
    deployed = node("active", claim=OLD_CLAIM, claimed_by=EARLIER, maintenance=True, fault="power failure")
    assert told(next_step(Phase.DESTROY, deployed, REFERENCE)) == "deleted"


def test_a_node_that_a_conductor_has_locked_is_waited_for() -> None:
    assert told(next_step(Phase.PREPARE, node("manageable", reservation="slipway"), REFERENCE)) == "wait"


@pytest.mark.parametrize("phase", [Phase.PREPARE, Phase.DEPLOY, Phase.DESTROY, Phase.RELABEL])
@pytest.mark.parametrize("state", sorted(IRONIC_WORDS))
def test_a_strangers_node_is_never_touched(phase: Phase, state: str) -> None:
    for step in ("", None):
        known = next_step(phase, node(state, phase, step, claim=STRANGER), REFERENCE)
        assert (told(known), "left alone" in known.why) == ("no", True)


@pytest.mark.parametrize("phase", [Phase.PREPARE, Phase.DEPLOY, Phase.DESTROY])
@pytest.mark.parametrize("state", sorted(TRANSIENT))
def test_nothing_is_sent_while_ironic_is_at_work(phase: Phase, state: str) -> None:
    due = told(next_step(phase, node(state, phase, claim=OLD_CLAIM, claimed_by=EARLIER), REFERENCE))
    may_release = phase is Phase.DESTROY and state in ("wait call-back", "deploy hold")
    assert due == ("deleted" if may_release else "wait")


def test_what_was_settled_stays_so() -> None:
    mark = Mark(REFERENCE, "prepare_nodes", ok=False, why="it was given up")
    step = next_step(Phase.PREPARE, node("available", mark=mark), REFERENCE)
    assert (told(step), step.why) == ("no", "it was given up")


def test_the_cause_is_ironics_own() -> None:
    failed = node(
        "deploy failed", Phase.DEPLOY, "active", taken=True, claim=CLAIM, last_error="Deploy step x failed: no"
    )
    assert next_step(Phase.DEPLOY, failed, REFERENCE).why == "deploy failed: Deploy step x failed: no"
    silent = node("enroll", Phase.PREPARE, "manage", taken=True, last_error="Unable to connect to node u1")
    mend = "Correct its driver_info in Ironic, or delete it there, so that it is enrolled anew"
    assert next_step(Phase.PREPARE, silent, REFERENCE).why == f"enroll: Unable to connect to n1. {mend}"


def test_a_claim_proves_a_deploy_whose_mark_somebody_has_taken_away() -> None:
    bare = Node("u1", "n1", "active", instance_uuid=CLAIM, provision_updated_at=NOW)
    assert told(next_step(Phase.DEPLOY, with_mark(bare, REFERENCE), REFERENCE)) == "ok"
    assert told(next_step(Phase.DEPLOY, with_mark(bare, EARLIER), EARLIER)) == "no"


def rebuilding(state: str, step: str = "", *, taken: bool = False, claim: str = OLD_CLAIM, error: str = "") -> Node:
    """Return a node of a deploy that a release has left as it was."""
    mark = Mark(REFERENCE, "deploy_nodes", step, (THEN if taken else NOW).isoformat(), claim=EARLIER, rebuild="0a")
    return Node("u1", "n1", state, instance_uuid=claim, mark=mark, provision_updated_at=NOW, last_error=error)


@pytest.mark.parametrize(
    ("known", "due"),
    [
        (rebuilding("active"), "rebuild"),
        (rebuilding("active", "rebuild"), "rebuild"),
        (rebuilding("deploying", "rebuild", taken=True), "wait"),
        (rebuilding("active", "rebuild", taken=True), "ok"),
        (rebuilding("deploy failed", "rebuild", taken=True), "no"),
        (rebuilding("active", "rebuild", taken=True, claim=STRANGER), "no"),
        (rebuilding("active", "rebuild", taken=True, claim=""), "no"),
        (rebuilding("available", "rebuild", taken=True, claim=""), "no"),
        # It is active before and after: what was taken back may have been done.
        (rebuilding("active", "rebuild", taken=True, error="No free conductor workers available"), "no"),
        (rebuilding("active", claim=STRANGER), "no"),
        (rebuilding("active", claim=""), "no"),
    ],
)
def test_what_is_to_be_rebuilt_is_deployed_by_that(known: Node, due: str) -> None:
    assert told(next_step(Phase.DEPLOY, known, REFERENCE)) == due


def test_what_is_to_be_rebuilt_needs_no_preparation_and_can_be_destroyed() -> None:
    known = rebuilding("active")
    assert told(next_step(Phase.PREPARE, known, REFERENCE)) == "ok"
    assert told(next_step(Phase.DESTROY, known, REFERENCE)) == "deleted"
    assert told(next_step(Phase.RELEASE, known, REFERENCE)) == "deleted"


def test_a_node_that_is_gone() -> None:
    assert told(next_step(Phase.DEPLOY, None, REFERENCE)) == "no"
