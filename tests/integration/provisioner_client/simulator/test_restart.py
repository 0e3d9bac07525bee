"""Kill -9 in the middle of a task, and what the next process on the same store makes of it in each restart mode."""

from __future__ import annotations

from pathlib import Path

import pytest

from provisioner_client.simulator.store import Store
from tests.integration.provisioner_client.simulator.conftest import StartSimulator
from tests.integration.provisioner_client.simulator.drydock_calls import Drydock, names_filter
from tests.support.simulators import Simulator

LONG_GRACE = ("--grace", "100000")


def _killed_in_the_middle(simulator: Simulator, design_ref: str) -> tuple[Drydock, str, str]:
    """Kill a simulator while n1 is prepared, n2 is being commissioned, and another task waits."""
    drydock = Drydock(simulator)
    simulator.script("n2", "prepare", "slow", factor=15)
    running = drydock.submit("prepare_nodes", design_ref, names_filter(["n1", "n2"], "slipway-A-1"))
    waiting = drydock.submit("verify_site", design_ref)
    drydock.wait_for(drydock.statuses, lambda seen: seen.get("n1") == "Ready" and seen["n2"] == "Commissioning")
    simulator.kill()
    drydock.session.close()
    simulator.start()
    return Drydock(simulator), running, waiting


@pytest.mark.endurance
def test_orphan_the_task_runs_for_ever_and_its_machines_go_on(start_simulator: StartSimulator, design_ref: str) -> None:
    simulator = start_simulator(*LONG_GRACE)
    drydock, running, waiting = _killed_in_the_middle(simulator, design_ref)
    with drydock.session:
        drydock.wait_for(drydock.statuses, lambda seen: seen["n2"] == "Ready")
        tree = drydock.task(running, "?layers=2")
        children = [task for key, task in tree.items() if key not in ("init_task_id", running)]
        assert (tree[running]["status"], tree[running]["result"]["successes"]) == ("running", [])
        assert sorted(child["status"] for child in children) == ["complete", "running"]
        assert drydock.task(waiting)["status"] == "queued"
        state = simulator.get("state")
        assert (state["running"], state["queue"], state["starts"]) == (None, [waiting], 2)
        assert state["paused_until"] > state["now"]
        assert [task["orphaned"] for task in simulator.get("tasks")] == [True, False]


@pytest.mark.endurance
def test_lost_the_task_is_gone_and_its_nodes_are_free(start_simulator: StartSimulator, design_ref: str) -> None:
    simulator = start_simulator("--restart-mode", "lost")
    drydock, running, waiting = _killed_in_the_middle(simulator, design_ref)
    with drydock.session:
        assert drydock.get(f"tasks/{running}").status_code == 404
        drydock.finish(waiting)
        drydock.submit("prepare_nodes", design_ref, names_filter(["n1"], "slipway-A-2"))
        found = simulator.get("double-submissions")
        assert (found["overlapping"], len(found["repeated"])) == ([], 1)


@pytest.mark.endurance
def test_an_orphan_is_not_over_for_the_detector_until_a_newer_task_begins(
    start_simulator: StartSimulator, design_ref: str
) -> None:
    simulator = start_simulator(*LONG_GRACE)
    drydock, running, waiting = _killed_in_the_middle(simulator, design_ref)
    with drydock.session:
        drydock.submit("prepare_nodes", design_ref, names_filter(["n1"], "slipway-A-2"))
        assert len(simulator.get("double-submissions")["overlapping"]) == 1
    simulator.stop()
    simulator.start("--grace", "0")
    with (drydock := Drydock(simulator)).session:
        drydock.finish(waiting)
        drydock.submit("prepare_nodes", design_ref, names_filter(["n2"], "slipway-A-3"))
        assert [entry["node"] for entry in simulator.get("double-submissions")["overlapping"]] == ["n1"]
        assert drydock.task(running)["status"] == "running"


@pytest.mark.parametrize(
    "mode", ["orphan", *(pytest.param(mode, marks=pytest.mark.endurance) for mode in ("resume", "lost"))]
)
def test_complete_tasks_nodes_scripts_faults_and_journal_survive(
    start_simulator: StartSimulator, design_ref: str, mode: str
) -> None:
    simulator = start_simulator("--restart-mode", mode)
    drydock = Drydock(simulator)
    task = drydock.run("prepare_nodes", design_ref, ["n1"], "slipway-A-1")
    simulator.script("n2", "deploy", "fail")
    simulator.post("faults", {"path": "*/nowhere", "kind": "html"})
    before = {path: simulator.get(path) for path in ("nodes", "scripts", "faults", "journal", "tasks")}
    simulator.kill()
    drydock.session.close()
    simulator.start()
    assert {path: simulator.get(path) for path in before} == before
    with Drydock(simulator).session as session:
        url = f"{simulator.url}/api/v1.0/tasks/{task['task_id']}?layers=-1"
        assert session.get(url, timeout=5).json()[task["task_id"]] == task


@pytest.mark.endurance
def test_after_an_orderly_end_nothing_waits(start_simulator: StartSimulator, design_ref: str) -> None:
    simulator = start_simulator(*LONG_GRACE)
    simulator.stop()
    simulator.start()
    with (drydock := Drydock(simulator)).session:
        drydock.run("verify_site", design_ref, [])


def test_a_store_of_an_earlier_version_gains_what_it_lacks(tmp_path: Path) -> None:
    store = Store(tmp_path / "simulator.db")
    store.execute("ALTER TABLE node DROP COLUMN destroys")
    store.close()
    store = Store(tmp_path / "simulator.db")
    assert "destroys" in {row["name"] for row in store.rows("PRAGMA table_info(node)")}
    store.close()
