"""What a person clears in Airflow of steps that share a task, or had no work: it runs where it is needed."""

from __future__ import annotations

from strategy_lib.phase import Phase
from tests.e2e.running import DAG, HANGS, OwnSite, RunningSlipway, wait_until
from tests.support.sites import group, node, site

UPDATE = "update_site"
AB = [node("a"), node("b")]
DESIGN = site(AB, [group("one", ["a"]), group("two", ["b"], after=["one"], critical=False, minimum_successful_nodes=1)])


def cleared(slipway: RunningSlipway, dag_id: str, run_id: str, task: str, *, downstream: bool = False) -> str:
    """Clear a task of a run that is over; return how the run ended after that."""
    slipway.airflow.clear(dag_id, run_id, [task], downstream=downstream)
    return slipway.airflow.wait_for_run(dag_id, run_id, HANGS)


def standing(slipway: RunningSlipway, dag_id: str, run_id: str) -> tuple[str, str | None]:
    """Return the state of a run's action, and which action has its site."""
    action = slipway.action(run_id, dag_id)
    with slipway.open_store() as store:
        owner = store.locks.owner(action.site)
    return action.state.value, None if owner is None else owner.action_id


def test_what_is_cleared_alone_leaves_the_action_and_its_site_as_they_were(
    slipway: RunningSlipway, own: OwnSite
) -> None:
    assert own.deploy(DESIGN)[1] == "success"
    run_id, state = own.deploy(DESIGN, UPDATE)
    assert state == "success"
    found = {}
    for task in ("begin_action", "relabel_nodes", "plan_groups", "site_steps", "destroy_nodes", "report"):
        found[task] = (cleared(slipway, UPDATE, run_id, task), standing(slipway, UPDATE, run_id))
    assert found == dict.fromkeys(found, ("success", ("success", None)))
    assert own.deploy(DESIGN, UPDATE)[1] == "success"


def test_the_site_is_made_ready_where_a_plan_that_is_cleared_has_work_by_then(
    slipway: RunningSlipway, own: OwnSite
) -> None:
    simulator = own.simulator
    assert own.deploy(DESIGN, target_nodes=["a"])[1] == "success"
    simulator.post("nodes/b", {"status": "Deployed"})
    run_id = slipway.airflow.trigger(UPDATE, {"site": own.name, "revision": 1})
    assert slipway.airflow.wait_for_run(UPDATE, run_id, HANGS) == "success"
    assert {one.state for one in slipway.tasks(run_id, "site_steps", UPDATE)} == {"skipped"}
    assert [one["state"] for one in slipway.report(run_id, UPDATE)["groups"]] == ["success", "failure"]
    simulator.post("nodes/b", {"status": "Ready"})
    before = len(simulator.get("tasks"))
    assert cleared(slipway, UPDATE, run_id, "plan_groups", downstream=True) == "success"
    assert [one["action"] for one in simulator.get("tasks")[before:]] == [
        "verify_site",
        "prepare_site",
        "prepare_nodes",
        "deploy_nodes",
    ]
    assert [one["state"] for one in slipway.report(run_id, UPDATE)["groups"]] == ["success", "success"]
    assert standing(slipway, UPDATE, run_id) == ("success", None)


def test_what_is_cleared_while_the_run_goes_on_changes_nothing(slipway: RunningSlipway, own: OwnSite) -> None:
    simulator = own.simulator
    simulator.script("a", "deploy", "stuck", attempt=1)
    run_id = own.start(DESIGN)
    wait_until(lambda: ("deploy_nodes", ["a"]) in simulator.submissions(), "node a is at work")
    for task in ("begin_action", "site_steps"):
        slipway.airflow.clear(DAG, run_id, [task], downstream=False)
        wait_until(lambda: {one.state for one in slipway.tasks(run_id, task)} == {"success"}, f"{task} is over")  # noqa: B023
    slipway.airflow.clear(DAG, run_id, ["plan_groups"], downstream=True)
    simulator.release_stuck()
    assert slipway.airflow.wait_for_run(DAG, run_id, HANGS) == "success"
    assert [one["state"] for one in slipway.report(run_id)["groups"]] == ["success", "success"]
    assert standing(slipway, DAG, run_id) == ("success", None)
    with slipway.open_store() as store:
        done = [one.phase for one in store.operations.of_action(slipway.action(run_id).id) if one.group is None]
    assert sorted(done) == sorted([Phase.VERIFY_SITE, Phase.PREPARE_SITE])
