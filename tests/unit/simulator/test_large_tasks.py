"""A task with 2,000 nodes: a poll of it stays cheap, and fan-out is what it says."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from tests.unit.simulator.conftest import StartSimulator
from tests.unit.simulator.drydock_calls import Drydock, names_filter, write_design

NODES = [f"n{i:04}" for i in range(2000)]


@pytest.mark.endurance
def test_two_thousand_nodes(start_simulator: StartSimulator, tmp_path: Path) -> None:
    reference = write_design(tmp_path, NODES)
    simulator = start_simulator("--fan-out", "500", speed=20_000)
    with (drydock := Drydock(simulator)).session:
        start = time.monotonic()
        task_id = drydock.submit("prepare_nodes", reference, names_filter(NODES))
        accepted = time.monotonic() - start
        task = drydock.finish(task_id)
        finished = time.monotonic() - start
        start = time.monotonic()
        drydock.task(task_id)
        polled = time.monotonic() - start
    assert sorted(task["result"]["successes"]) == NODES
    assert simulator.get("state")["max_in_flight"] == 500
    # Generous: 0.02 s, 1.7 s and 0.04 s on an idle machine.
    assert accepted < 1
    assert finished < 15
    assert polled < 1


def test_fan_out_limits_what_is_worked_on_at_once(start_simulator: StartSimulator, tmp_path: Path) -> None:
    names = NODES[:6]
    reference = write_design(tmp_path, names)
    simulator = start_simulator("--fan-out", "2", "--fail", "prepare:n0002:stuck", "--fail", "prepare:n0003:stuck")
    with (drydock := Drydock(simulator)).session:
        task_id = drydock.submit("prepare_nodes", reference, names_filter(names))
        seen = drydock.wait_for(drydock.statuses, lambda seen: list(seen.values()).count("Commissioning") == 2)
        drydock.wait_for(
            drydock.statuses,
            lambda seen: (
                (seen.get("n0002"), seen["n0003"]) == ("Commissioning", "Commissioning") and seen["n0000"] == "Ready"
            ),
        )
        assert [drydock.statuses()[name] for name in ("n0004", "n0005")] == ["New", "New"]
        assert sorted(simulator.post("release")["released"]) == ["n0002", "n0003"]
        assert sorted(drydock.finish(task_id)["result"]["successes"]) == names
    assert seen
