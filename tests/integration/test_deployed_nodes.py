"""Nodes that are deployed already: what a run does not do to them it says, and the store agrees (rules 13, 15, 21)."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
import requests

from design_rendering.design import read_design
from design_rendering.reading.documents import load_documents
from site_engine.operations.reconcile import list_nodes
from site_store import ActionState, GroupRecord, SiteStore
from strategy_lib.phase import GroupState, Phase, Reason
from strategy_lib.status.node_row import NodeRow
from tests.support.dag_runs import Runs
from tests.support.driving import Begin, Driving
from tests.support.simulators import Simulator
from tests.support.sites import group, node, site
from tests.support.stores import done_digests

GROUPS = [group("one", ["a"], minimum_successful_nodes=1), group("two", ["b"], critical=False)]
PLAIN = site([node("a"), node("b")], GROUPS)
CHANGED = site([node("a", rack="r2"), node("b")], GROUPS)
NEEDS_REDEPLOY = "design changed, needs redeploy (allow_redeploy, or redeploy_server)"


def records(store: SiteStore) -> dict[str, NodeRow]:
    """Return what the store knows of each node."""
    return {record.name: record for record in store.nodes.of_site("alpha")}


def nodes_of(report: Any) -> dict[str, tuple[str, str]]:
    """Return state and message of each node in a report."""
    return {entry["name"]: (entry["state"], entry["message"] or "") for entry in report["nodes"]}


@pytest.mark.endurance
def test_rule_21_a_rollout_on_deployed_nodes_says_what_it_did_not_do_and_the_store_agrees(
    runs: Runs, capfd: pytest.CaptureFixture[str]
) -> None:
    """One test for the whole way, as every run takes seconds: deployed, changed, told, redeployed, as wanted."""
    runs.commit(PLAIN)
    assert runs.run()[0] == "success"
    runs.commit(CHANGED)
    before = len(runs.simulator.submissions())
    with SiteStore.open() as store:
        done = records(store)["a"].done_digest
        capfd.readouterr()
        state, tasks = runs.run("update_site")
        assert (state, tasks["report"], tasks["deploy_group"]) == ("failed", "failed", "skipped")
        assert runs.simulator.submissions()[before:] == [], "it would answer with success at once, and touch nothing"
        report = runs.last_report()
        assert [(one["name"], one["state"], one["reason"]) for one in report["groups"]] == [
            ("one", "failure", "prepare_criteria"),
            ("two", "success", None),
        ]
        assert report["verdict_text"] == ("critical group one failed; 1 node was not submitted: the report says why")
        assert nodes_of(report) == {
            "a": ("not_started", f"{NEEDS_REDEPLOY}: it has that of revision 1"),
            "b": ("success", ""),
        }
        assert records(store)["a"].done_digest == done
        assert not records(store)["a"].is_up_to_date
        said = "".join(capfd.readouterr())
        assert "Nodes that were not submitted (1):" in said
        assert f"a (in one): {NEEDS_REDEPLOY}" in said

        assert runs.run("deploy_site", dry_run=True)[0] == "failed", "the group would fail whatever the others do"
        assert f"a (in one): {NEEDS_REDEPLOY}" in "".join(capfd.readouterr())
        assert runs.last_report()["verdict_text"] == "dry run: critical group one would fail"

        assert runs.run("redeploy_server", target_nodes=["a"], force=True)[0] == "success"
        assert [action for action, _ in runs.simulator.submissions()[before:]] == [
            "destroy_nodes",
            "prepare_nodes",
            "deploy_nodes",
        ]
        assert records(store)["a"].is_up_to_date
        runs.commit(CHANGED.replace("role: compute", "role: storage"))
        assert runs.run("relabel_nodes", target_nodes=["a", "b"])[0] == "success"
        state, tasks = runs.run("update_site")
        assert (state, tasks["plan_groups"], tasks["deploy_group"]) == ("success", "success", "skipped")
        report = runs.last_report()
        assert all(entry["as_wanted"] for entry in report["nodes"])
        assert [(one["name"], one["state"]) for one in report["groups"]] == [("one", "success"), ("two", "success")]
        assert [standing.map_index for standing in store.groups.standings(runs.last_action().id)] == [None, None]


@pytest.fixture
def deployed(begin: Begin) -> Driving:
    """Deploy both groups, and begin another action after node a has changed."""
    first = begin(PLAIN)
    for name in ("one", "two"):
        first.group(name)
    first.store.actions.close(first.action.id, ActionState.SUCCESS, "done")
    return begin(CHANGED, "run-2")


def judged(ended: object) -> tuple[GroupState, Reason | None]:
    """Return the verdict of a group."""
    assert isinstance(ended, GroupRecord)
    return ended.state, ended.reason


def test_rule_21_a_group_looks_again_before_it_submits(deployed: Driving, simulator: Simulator) -> None:
    """The plan may be hours old: here it knows nothing of what is deployed."""
    before = len(simulator.submissions())
    assert judged(deployed.group("one")) == (GroupState.FAILURE, Reason.PREPARE_CRITERIA)
    assert judged(deployed.group("two")) == (GroupState.SUCCESS, None)
    assert simulator.submissions()[before:] == []
    assert deployed.states() == {"a": "not_started", "b": "success"}
    assert deployed.store.tasks.withheld(deployed.action.id)["a"].startswith(NEEDS_REDEPLOY)


def test_rule_23_a_cleared_group_judges_anew_what_kept_its_nodes_back(deployed: Driving) -> None:
    deployed.group("one")
    deployed.node_step(Phase.DESTROY, ["a"])
    assert judged(deployed.group("one", "8")) == (GroupState.SUCCESS, None)
    assert records(deployed.store)["a"].is_up_to_date


def test_rule_21_force_submits_and_what_touched_nothing_is_no_success(deployed: Driving, simulator: Simulator) -> None:
    before, done = len(simulator.submissions()), records(deployed.store)
    assert judged(deployed.group("one", redo_done=True)) == (GroupState.FAILURE, Reason.DEPLOY_CRITERIA)
    assert judged(deployed.group("two", redo_done=True)) == (GroupState.SUCCESS, None)
    assert len(simulator.submissions()) == before + 4
    assert deployed.states() == {"a": "failure", "b": "success"}, "b has the same design, and is still deployed"
    (a,) = (tasks for tasks in deployed.store.tasks.of_nodes(deployed.action.id) if tasks.node == "a")
    assert a.deploy.error == (
        "it was deployed before, so that deploy has done nothing: needs redeploy (allow_redeploy, or redeploy_server)"
    )
    now = records(deployed.store)
    assert (now["a"].done_digest, now["b"].done_digest) == (done["a"].done_digest, done["b"].done_digest)
    assert (now["a"].is_up_to_date, now["b"].is_up_to_date) == (False, True)


def test_rule_21_a_deployed_node_that_no_action_deployed_is_neither_touched_nor_done(
    begin: Begin, simulator: Simulator
) -> None:
    driving = begin(PLAIN)
    requests.post(f"{simulator.url}/api/v1.0/validatedesign", json={"href": driving.design_ref}, timeout=10)
    simulator.post("nodes/a", {"status": "Deployed"})
    assert judged(driving.group("one")) == (GroupState.FAILURE, Reason.PREPARE_CRITERIA)
    assert simulator.submissions() == []
    assert driving.store.tasks.withheld(driving.action.id)["a"].startswith("deployed already, but no action on record")
    assert done_digests(driving.store, "alpha") == {}


def test_rule_13_what_was_ready_before_and_is_deployed_after_is_done(begin: Begin, simulator: Simulator) -> None:
    driving = begin(PLAIN)
    requests.post(f"{simulator.url}/api/v1.0/validatedesign", json={"href": driving.design_ref}, timeout=10)
    simulator.post("nodes/a", {"status": "Ready"})
    assert judged(driving.group("one")) == (GroupState.SUCCESS, None)
    assert done_digests(driving.store, "alpha").keys() == {"a"}


def test_rule_13_what_was_not_listed_before_its_deploy_and_is_deployed_after_is_unknown(
    begin: Begin, simulator: Simulator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The machine is out of the list right before its deploy is submitted, which is reported as a success."""
    driving = begin(PLAIN)
    # The list that showed the end of its prepare is too old by then.
    monkeypatch.setattr("site_engine.operations.resume.SEEN_FOR", timedelta(0))

    def hide_and_look(*arguments: Any) -> Any:
        if driving.states()["a"] == "prepared":
            simulator.post("nodes/a", {"hidden": True})
        return list_nodes(*arguments)

    monkeypatch.setattr("site_engine.groups.attempt.list_nodes", hide_and_look)
    assert judged(driving.group("one")) == (GroupState.FAILURE, Reason.DEPLOY_CRITERIA)
    assert [action for action, _ in simulator.submissions()] == ["prepare_nodes", "deploy_nodes"]
    assert driving.states()["a"] == "unknown"
    (a,) = (tasks for tasks in driving.store.tasks.of_nodes(driving.action.id) if tasks.node == "a")
    assert (a.deploy.error or "").startswith("the node list says Deployed, but did not have it right before its deploy")
    assert done_digests(driving.store, "alpha") == {}
    assert driving.store.operations.unfinished("alpha") == []


def test_rule_14_a_deploy_that_ended_late_is_proven_by_what_was_seen_before_it(
    begin: Begin, simulator: Simulator
) -> None:
    driving = begin(PLAIN)
    simulator.script("a", "deploy", "stuck")
    driving.timeout = 1.0
    assert judged(driving.group("one")) == (GroupState.FAILURE, Reason.DEPLOY_CRITERIA)
    driving.store.actions.close(driving.action.id, ActionState.FAILED, "timed out")
    simulator.release_stuck()
    later = begin(PLAIN, "run-2")
    assert judged(later.group("one")) == (GroupState.SUCCESS, None)
    assert [action for action, _ in simulator.submissions()] == ["prepare_nodes", "deploy_nodes"], "it is as wanted"
    assert done_digests(later.store, "alpha").keys() == {"a"}


def test_rule_25_new_labels_are_recorded_and_nothing_more_is_needed(begin: Begin, simulator: Simulator) -> None:
    first = begin(PLAIN)
    first.group("one")
    first.store.actions.close(first.action.id, ActionState.SUCCESS, "done")
    labelled = PLAIN.replace("role: compute", "role: storage")
    later = begin(labelled, "run-2")
    assert judged(later.group("one")) == (GroupState.FAILURE, Reason.PREPARE_CRITERIA)
    assert later.store.tasks.withheld(later.action.id)["a"] == "labels changed: relabel_nodes brings them about"
    digests = read_design(load_documents(labelled)).keyed(later.store.secret_texts.digest_key()).digests
    later.node_step(Phase.RELABEL, ["a"], digests=digests)
    assert (records(later.store)["a"].done_digest, records(later.store)["a"].done_revision) == (digests["a"], 2)
    before = len(simulator.submissions())
    assert judged(later.group("one", "8")) == (GroupState.SUCCESS, None)
    assert len(simulator.submissions()) == before
