"""Rules 51, 56 and 57: what is a drift, how a node is repaired, in all cells, and after what delay (44)."""

from __future__ import annotations

import math
from functools import reduce
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strategy_lib import retry_delay
from strategy_lib.node_condition import NodeCondition
from strategy_lib.node_states.repair import (
    Drift,
    Patient,
    Remedy,
    Repair,
    RepairMode,
    Tries,
    decide_repair,
    drift_status,
    powers_on,
    repair_run_id,
    repairs_due,
    why_unrepaired,
)
from strategy_lib.status.words import Status

DEPLOYED, READY = NodeCondition.DEPLOYED, NodeCondition.READY
FAILED_DEPLOYMENT = NodeCondition.FAILED_DEPLOYMENT


@pytest.mark.parametrize(
    ("node", "power", "remedies"),
    [
        pytest.param(Patient(DEPLOYED), True, ["nothing", "nothing", "nothing"], id="as it was left"),
        pytest.param(Patient(READY, drifted=True), False, ["deploy*", "deploy", "deploy"], id="wiped"),
        pytest.param(
            Patient(NodeCondition.NOT_LISTED, drifted=True),
            True,
            ["redeploy*", "nothing", "redeploy"],
            id="not listed: it may well serve",
        ),
        pytest.param(Patient(NodeCondition.OTHER, drifted=True), True, ["nothing"] * 3, id="broken, in rescue mode, …"),
        pytest.param(Patient(NodeCondition.ALLOCATED, drifted=True), True, ["nothing"] * 3, id="somebody else's"),
        pytest.param(Patient(NodeCondition.DEPLOYING, drifted=True), True, ["nothing"] * 3, id="it is at work"),
        pytest.param(Patient(FAILED_DEPLOYMENT, failed=True), False, ["deploy*", "deploy", "deploy"], id="failed"),
        pytest.param(
            Patient(DEPLOYED, drifted=True, powered_off=True), True, ["power_on*", "power_on", "power_on"], id="off"
        ),
        pytest.param(
            Patient(DEPLOYED, drifted=True, powered_off=True),
            False,
            ["redeploy*", "nothing", "redeploy"],
            id="off, and the backend cannot power on: `on` leaves it",
        ),
        pytest.param(
            Patient(DEPLOYED, drifted=True, lost_power=True),
            True,
            ["nothing"] * 3,
            id="it was off, and has its power again",
        ),
        pytest.param(
            Patient(DEPLOYED, drifted=True), True, ["redeploy*", "nothing", "redeploy"], id="deployed, another address"
        ),
        pytest.param(
            Patient(DEPLOYED, failed=True, as_done=False),
            True,
            ["redeploy*", "nothing", "redeploy"],
            id="another design",
        ),
        pytest.param(
            Patient(DEPLOYED, failed=True, as_done=False, powered_off=True),
            True,
            ["redeploy*", "nothing", "redeploy"],
            id="off, and another design: its power would not mend it",
        ),
        pytest.param(Patient(DEPLOYED, failed=True), True, ["nothing"] * 3, id="up and deployed as it was done"),
        pytest.param(
            Patient(READY, drifted=True, in_progress=True), True, ["nothing"] * 3, id="still in progress: never again"
        ),
    ],
)
def test_rule_57_observe_on_and_redeploy(node: Patient, power: bool, remedies: list[str]) -> None:
    """A star: it is only said what would be done."""
    assert decide_repair(node, RepairMode.OFF, can_power_on=power) == Repair(Remedy.NOTHING)
    modes = [RepairMode.OBSERVE, RepairMode.ON, RepairMode.REDEPLOY]
    found = [decide_repair(node, mode, can_power_on=power) for mode in modes]
    assert [f"{repair.remedy}{'*' if repair.only_observed else ''}" for repair in found] == remedies


def test_rule_57_all_cells() -> None:
    facts = product([False, True], repeat=7)
    for condition, (drifted, failed, as_done, off, busy, lost, power), mode in product(
        NodeCondition, facts, RepairMode
    ):
        node = Patient(condition, drifted, failed, as_done, off, busy, lost)
        repair = decide_repair(node, mode, can_power_on=power)
        if busy or mode is RepairMode.OFF or not (drifted or failed):
            assert repair == Repair(Remedy.NOTHING)
        if condition is DEPLOYED:
            assert repair.remedy is not Remedy.DEPLOY
            if repair.remedy is Remedy.REDEPLOY:
                assert repair.only_observed or mode is RepairMode.REDEPLOY
                assert not (drifted and lost) or (off and not power), "nothing is destroyed for its power alone"
        if mode is RepairMode.OBSERVE and repair.remedy is not Remedy.NOTHING:
            assert repair.only_observed


def test_repairs_wait_for_their_delay_and_for_the_sites_budget() -> None:
    tried = Tries(1, next_time=60.0)
    waiting = [("again", tried), ("b", Tries()), ("a", Tries())]
    assert repairs_due(waiting, [], 10, now=59.0) == ("a", "b")
    assert repairs_due(waiting, [], 10, now=60.0) == ("a", "b", "again")
    assert repairs_due(waiting, [], 1, now=60.0) == ("a",)
    assert repairs_due(waiting, [10.0, 50.0], 2, now=60.0) == ()
    assert repairs_due(waiting, [10.0, 50.0], 2, now=3610.0) == ("a",)
    assert repairs_due(waiting, [50.0] * 5, 2, now=60.0) == ()


def test_one_remediation_for_one_drift_and_attempt() -> None:
    one = {"n1": ("drift a", 1), "n2": ("op 7", 3)}
    first = repair_run_id("site", one)
    assert first == repair_run_id("site", dict(reversed(one.items())))
    others = [
        repair_run_id("other", one),
        repair_run_id("site", {"n1": ("drift a", 1)}),
        repair_run_id("site", {**one, "n1": ("drift b", 1)}),
        repair_run_id("site", {**one, "n1": ("drift a", 2)}),
    ]
    others.append(repair_run_id("site", one, power_on=True))
    assert len({first, *others}) == 6
    assert [powers_on(run_id) for run_id in (first, *others)] == [False] * 5 + [True]
    assert not powers_on(repair_run_id("a__power_on__", one)), "a site may be called so"
    assert first.startswith("site__repair__")


@pytest.mark.parametrize(
    ("mode", "stopped", "wanted", "grouped", "user", "why"),
    [
        pytest.param(RepairMode.ON, False, True, True, None, "", id="on"),
        pytest.param(RepairMode.REDEPLOY, False, True, True, None, "", id="redeploy"),
        pytest.param(
            RepairMode.ON, True, True, True, None, "repair is stopped: the next update takes it up", id="stop"
        ),
        pytest.param(
            RepairMode.OFF, False, True, True, None, "repair is off on this site: the next update takes it up", id="off"
        ),
        pytest.param(
            RepairMode.OBSERVE,
            True,
            True,
            True,
            None,
            "repair only observes on this site: the next update takes it up",
            id="it would only observe, were it not stopped",
        ),
        pytest.param(RepairMode.ON, False, False, True, None, "it has left the design", id="left"),
        pytest.param(RepairMode.ON, False, True, False, None, "it is in no group", id="no group"),
        pytest.param(RepairMode.ON, False, True, True, "maintenance", "it is set to maintenance", id="rule 51"),
    ],
)
def test_rule_57_why_nothing_tries_a_failed_node_again(
    mode: RepairMode, stopped: bool, wanted: bool, grouped: bool, user: str | None, why: str
) -> None:
    assert why_unrepaired(mode, stopped=stopped, wanted=wanted, grouped=grouped, user=user) == why


def test_rule_56_a_node_of_which_no_revision_is_known_is_left_to_the_next_update() -> None:
    why = "it is not known which revision it was done for: the next update takes it up"
    on = why_unrepaired(RepairMode.ON, stopped=False, wanted=True, grouped=True, user=None, known=False)
    off = why_unrepaired(RepairMode.OFF, stopped=False, wanted=True, grouped=True, user=None, known=False)
    assert (on, off) == (why, "repair is off on this site: the next update takes it up")


def after(*looks: str) -> Drift:
    return reduce(lambda drift, look: drift.looked(look[1], look[0]), enumerate(looks), Drift())


@pytest.mark.parametrize(
    ("looks", "confirmed", "since"),
    [
        pytest.param([""], False, None, id="all well"),
        pytest.param(["off"], False, 0, id="one look is a blink"),
        pytest.param(["off", ""], False, None, id="a blink that is over"),
        pytest.param(["off", "", "off"], False, 2, id="two looks, not in a row"),
        pytest.param(["off", "off"], True, 0, id="two in a row"),
        pytest.param(["off", "Ready"], True, 0, id="two in a row, with another reason"),
        pytest.param(["off", "off", ""], False, None, id="a drift that is over"),
    ],
)
def test_rule_56_two_looks_in_a_row(looks: list[str], confirmed: bool, since: int | None) -> None:
    drift = after(*looks)
    assert (drift.confirmed, drift.since) == (confirmed, since)


def test_rule_56_status() -> None:
    assert drift_status(after("off"), "14:03") == (Status.SUCCESS, "")
    drifted = after("off", "off")
    assert drift_status(drifted, "14:03") == (Status.ERROR, "drifted: off, since 14:03")


EIGHT_HOURS = 28_800.0


@pytest.mark.parametrize(
    ("failures", "jitter", "seconds"),
    [
        pytest.param(0, 1.0, 0.0, id="no failure, nothing to jitter"),
        pytest.param(9, 0.0, 15_360.0, id="the last below the cap"),
        pytest.param(10**9, 0.0, EIGHT_HOURS, id="no overflow"),
    ],
)
def test_retry_delay(failures: int, jitter: float, seconds: float) -> None:
    assert retry_delay(failures, jitter) == seconds


@pytest.mark.parametrize(("failures", "jitter"), [(-1, 0.0), (1, 1.01), (1, -1.01), (0, 2.0), (1, math.nan)])
def test_retry_delay_refuses(failures: int, jitter: float) -> None:
    with pytest.raises(ValueError):
        retry_delay(failures, jitter)


@given(st.integers(1, 2000), st.floats(-1, 1))
def test_retry_delay_agrees_with_exact_arithmetic(failures: int, jitter: float) -> None:
    exact = min(28_800, 60 * 2 ** (failures - 1))
    assert retry_delay(failures) == exact
    assert retry_delay(failures, jitter) == pytest.approx(exact * (1 + 0.25 * jitter))
