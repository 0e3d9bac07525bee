"""Groups side by side in a real Airflow: places, a shared node, a killed worker; batches (rules 8, 11, 23 and 59)."""

from __future__ import annotations

from itertools import pairwise

from site_engine.trees.status_trees import action_tree
from tests.e2e.running import DAG, HANGS, OwnSite, RunningSlipway, wait_until
from tests.support.simulators import Simulator
from tests.support.sites import group, node, site

NAMES = [f"n{number}" for number in range(6)]
BATCHED, SPARED = [f"b{number}" for number in range(1, 6)], [f"c{number}" for number in range(1, 4)]
BATCHES = [["b1"], ["b2", "b3", "b4"], ["b5"]]
PLACES = 3
MOST = 3


def test_rule_08_three_groups_at_once_share_nodes_and_survive_a_kill(slipway: RunningSlipway, own: OwnSite) -> None:
    simulator = own.simulator
    # Drydock does one task at a time: the first holds all others until a person lets it go on.
    simulator.script("n0", "prepare", "stuck")
    own.connect(poll_in_worker=5)
    every = 100
    groups = [
        group("one", ["n0", "n1"], percent_successful_nodes=every),
        group("two", ["n1", "n2"], percent_successful_nodes=every),
        group("three", ["n3"], percent_successful_nodes=every),
        group("four", ["n4", "n2"], percent_successful_nodes=every),
        group("five", ["n5"], after=["one"], percent_successful_nodes=every),
        {**group("batched", BATCHED, percent_successful_nodes=every), "max_in_flight": MOST, "canary": 1},
        {**group("spared", SPARED, critical=False), "max_in_flight": MOST, "canary": 1},
    ]
    simulator.script("c1", "deploy", "fail", message="no answer to PXE")
    nodes = [node(name) for name in (*NAMES, *BATCHED, *SPARED)]
    run_id = own.start(site(nodes, groups), max_parallel_groups=PLACES)

    def running() -> list[str]:
        with slipway.open_store() as store:
            found = store.actions.of_run(DAG, run_id)
            turns = [] if found is None else store.groups.turns(found.id)
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
    good = dict.fromkeys(("one", "two", "three", "four", "five", "batched"), "success")
    assert {each["name"]: each["state"] for each in report["groups"]} == {**good, "spared": "failure"}
    assert {each["name"]: each["state"] for each in report["nodes"]} == {
        **dict.fromkeys((*NAMES, *BATCHED), "success"),
        **dict.fromkeys(SPARED, "not_started"),
        "c1": "failure",
    }
    sent = [(phase, name) for phase, nodes in simulator.submissions() for name in nodes]
    assert len(sent) == len(set(sent)) == 2 * (len(NAMES) + len(BATCHED) + 1), "each node once a phase"
    require_batches(simulator)
    require_canary(slipway, run_id)


def require_batches(simulator: Simulator) -> None:
    """Rule 59: the provisioner never had more nodes of the group than it allows, each batch behind the one before."""
    tasks = [task for task in simulator.get("tasks") if BATCHED[0][0] in {name[0] for name in task["nodes"]}]
    assert [sorted(task["nodes"]) for task in tasks] == [nodes for nodes in BATCHES for _ in range(2)]
    assert all(before["ended"] <= task["created"] for before, task in pairwise(tasks))


def require_canary(slipway: RunningSlipway, run_id: str) -> None:
    """Rule 59: report and tree name the canary that failed, and why no other node was begun."""
    report = slipway.report(run_id)
    (spared,) = (each for each in report["groups"] if each["name"] == "spared")
    assert (spared["reason"], spared["counts"]["not_started"]) == ("canary", 2)
    said = {each["name"]: each["message"] for each in report["nodes"]}
    assert said["c2"] == said["c3"]
    assert said["c2"].startswith("the canaries failed: c1 (")
    assert "no answer to PXE" in said["c2"]
    with slipway.open_store() as store:
        groups = {
            each.name: each
            for stage in action_tree(store, slipway.action(run_id).id).root.children
            for each in stage.children
        }
    tree = groups["spared"]
    assert tree.blame is not None
    assert tree.blame.message == "canaries failed: c1; no other node was begun"
    assert tree.not_started == 2
    assert tree.group is not None
    assert tree.group.reason == "canary"
    assert tree.group.batches is not None
    assert tree.group.batches["text"].startswith("ended with batch 1, and 2 nodes never began")
    batched = groups["batched"].group
    assert batched is not None
    assert batched.batches is not None
    assert batched.batches["text"] == "went in 3 batches of at most 3 nodes, 1 canary first"
