"""What the provisioner's words mean for the state of a node."""

from __future__ import annotations

import pytest

from provisioner_client.simulator.machines import MachineStatus
from strategy_lib.node_states.generated import NodeAvailability
from strategy_lib.node_states.reported import Reported, lower_of, reported_state

UP, INITIALIZING = NodeAvailability.UP, NodeAvailability.INITIALIZING
STOPPING, DOWN = NodeAvailability.STOPPING, NodeAvailability.DOWN
WORDS = {
    "Deploying": INITIALIZING,
    "Commissioning": INITIALIZING,
    "Testing": INITIALIZING,
    "Allocated": INITIALIZING,
    "Entering rescue mode": INITIALIZING,
    "Exiting rescue mode": INITIALIZING,
    "Releasing": STOPPING,
    "Disk erasing": STOPPING,
}


@pytest.mark.parametrize("status", [status for status in MachineStatus if status is not MachineStatus.DEPLOYED])
def test_every_word_of_the_provisioner(status: MachineStatus) -> None:
    found = reported_state(status.value, "on", UP)
    assert found == Reported(WORDS.get(status.value, DOWN), status.value, operating=status.value in WORDS)


@pytest.mark.parametrize(
    ("power", "last", "expected"),
    [
        pytest.param("on", None, Reported(UP), id="on"),
        pytest.param("off", UP, Reported(DOWN, "Deployed, power off"), id="off"),
        pytest.param("unknown", UP, Reported(UP, "Deployed, power unknown"), id="unknown: its last state"),
        pytest.param(None, DOWN, Reported(DOWN, "Deployed, power unknown"), id="no power given: its last state"),
        pytest.param("error", None, Reported(DOWN, "Deployed, power unknown"), id="unknown at the first sight: down"),
    ],
)
def test_a_deployed_node_is_as_up_as_its_power(
    power: str | None, last: NodeAvailability | None, expected: Reported
) -> None:
    assert reported_state("Deployed", power, last) == expected


def test_a_word_that_nobody_knows_is_down_and_undefined() -> None:
    assert reported_state("Melting", "on", UP) == Reported(DOWN, "Melting", undefined=True)


def test_words_are_read_in_any_case() -> None:
    assert reported_state(" deployed", "on", None).state is UP


@pytest.mark.parametrize(
    ("provisioner", "node", "expected"),
    [
        pytest.param(Reported(UP), None, Reported(UP), id="the node says nothing"),
        pytest.param(Reported(UP), Reported(UP), Reported(UP), id="both up"),
        pytest.param(Reported(UP), Reported(STOPPING, "reboot"), Reported(STOPPING, "reboot"), id="the node is lower"),
        pytest.param(Reported(UP), Reported(DOWN), Reported(DOWN, "the node says down"), id="lower, without a reason"),
        pytest.param(
            Reported(DOWN, "Ready"), Reported(UP), Reported(DOWN, "Ready"), id="a node cannot raise its state"
        ),
    ],
)
def test_the_lower_of_both_sources(provisioner: Reported, node: Reported | None, expected: Reported) -> None:
    assert lower_of(provisioner, node) == expected


def test_what_somebody_else_has_does_not_serve_us_and_it_is_told_who_that_is() -> None:
    assert reported_state("Deployed, owned by alice", "on", UP) == Reported(DOWN, "Deployed, owned by alice")
    assert reported_state("Deploying, owned by alice", "on", UP) == Reported(DOWN, "Deploying, owned by alice")
    assert reported_state("Melting, owned by bob", "on", UP).undefined
    assert reported_state("Broken, owned by bob", "on", UP) == Reported(DOWN, "Broken, owned by bob")
