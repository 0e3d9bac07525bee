"""Groups side by side in a real Airflow: places, a shared node, and a worker that is killed (rules 8, 11 and 23)."""

from __future__ import annotations

from tests.e2e.conftest import StartSimulator
from tests.e2e.running import DAG, HANGS, RunningSlipway, wait_until
from tests.support.sites import group, node, site

NAMES = [f"n{number}" for number in range(6)]
PLACES = 3


def test_rule_08_three_groups_at_once_share_nodes_and_survive_a_kill(
    slipway: RunningSlipway, start_simulator: StartSimulator
) -> None:
    simulator = start_simulator()
    # Drydock does one task at a time: the first holds all others until a person lets it go on.
    simulator.script("n0", "prepare", "stuck")
    slipway.connect("beside", simulator.url, poll_in_worker=5)
    every = 100
    groups = [
        group("one", ["n0", "n1"], percent_successful_nodes=every),
        group("two", ["n1", "n2"], percent_successful_nodes=every),
        group("three", ["n3"], percent_successful_nodes=every),
        group("four", ["n4", "n2"], percent_successful_nodes=every),
        group("five", ["n5"], after=["one"], percent_successful_nodes=every),
    ]
    run_id = slipway.start("beside", site([node(name) for name in NAMES], groups), max_parallel_groups=PLACES)

    def running() -> list[str]:
        with slipway.open_store() as store:
            action = store.actions.of_run(DAG, run_id)
            turns = [] if action is None else store.groups.turns(action.id)
        return [turn.name for turn in turns if turn.state == "running"]

    wait_until(lambda: len(running()) == PLACES, "three groups at work")
    assert running() == ["one", "two", "three"], "the first of the document"
    wait_until(
        lambda: {task.state for task in slipway.tasks(run_id, "deploy_group_beside")} == {"deferred"},
        "all of them wait without a worker",
    )
    assert running() == ["one", "two", "three"], "no place is free"
    assert {task.state for task in slipway.tasks(run_id, "deploy_group")} == {"skipped"}
    simulator.release_stuck()
    slipway.kill_task(slipway.wait_for_task(run_id, "deploy_group_beside", "running"))
    assert slipway.airflow.wait_for_run(DAG, run_id, HANGS * 2) == "success"
    report = slipway.report(run_id)
    assert {each["name"]: each["state"] for each in report["groups"]} == dict.fromkeys(
        ("one", "two", "three", "four", "five"), "success"
    )
    assert {each["name"]: each["state"] for each in report["nodes"]} == dict.fromkeys(NAMES, "success")
    sent = [(phase, name) for phase, nodes in simulator.submissions() for name in nodes]
    assert len(sent) == len(set(sent)) == 2 * len(NAMES), "each node once a phase"
    assert simulator.double() == {}
