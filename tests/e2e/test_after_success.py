"""What a site names to come after a deployment, in a real Airflow: triggered once, and its failure is the action's."""

from __future__ import annotations

from site_engine.actions.retry import retry_action
from site_engine.trees.status_trees import action_tree
from strategy_lib.status.words import Status
from tests.e2e.conftest import SOFTWARE_DAG
from tests.e2e.running import DAG, HANGS, OwnSite, RunningSlipway
from tests.support.sites import group, node, site

AB = [node("a"), node("b")]


def named(*groups: dict[str, object]) -> str:
    """Return a site that names a DAG to come after it."""
    text = site(AB, groups)
    assert "data:\n  physical_provisioner:" in text, text
    return text.replace(
        "data:\n  physical_provisioner:", f"data:\n  after_success: {SOFTWARE_DAG}\n  physical_provisioner:"
    )


def test_what_comes_after_a_deployment_is_its_last_stage(slipway: RunningSlipway, own: OwnSite) -> None:
    run_id, state = own.deploy(named(group("one", ["a"])))
    assert state == "success"
    action = slipway.action(run_id)
    with slipway.open_store() as store:
        stages = [entry.name for entry in action_tree(store, action.id).root.children]
    assert stages[-3:] == ["after_success", "report", "release"]
    assert slipway.airflow.run_state(SOFTWARE_DAG, f"{own.name}__{action.id}") == "success"


def test_its_failure_is_the_actions_and_is_tried_again_by_itself(slipway: RunningSlipway, own: OwnSite) -> None:
    own.name += "-fails"
    own.connect()
    run_id, state = own.deploy(named(group("one", ["a"])))
    report = slipway.report(run_id)
    assert (state, report["verdict"]) == ("failed", "failure")
    assert report["verdict_text"] == "every group succeeded, and what follows failed: after_success"
    before = own.simulator.submissions()
    action = slipway.action(run_id)
    with slipway.open_store() as store:
        (entry,) = [each for each in action_tree(store, action.id).root.children if each.name == "after_success"]
        assert entry.status is Status.ERROR
        plan = retry_action(store, slipway.airflow, action.id, "admin")
        assert (plan.groups, plan.nodes, plan.steps[0]) == ((), (), "after_success")
    assert slipway.airflow.wait_for_run(DAG, run_id, HANGS) == "success"
    assert own.simulator.submissions() == before
