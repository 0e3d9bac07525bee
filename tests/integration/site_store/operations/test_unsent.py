"""What was not submitted has an error with its code and a number, and what is as wanted the number it was done by."""

from __future__ import annotations

import pytest

from site_engine.trees.nodes import node_history
from site_engine.trees.status_trees import action_tree, tree_to_dict
from site_store import ActionRecord, ActionState, IdleGroup, NewAction, NewPlan, PlannedGroup
from site_store.nodes.node_errors import NodeErrorRecord
from strategy_lib.goals.node_errors import ErrorCode, Standing
from strategy_lib.phase import GroupState, Phase, Reason
from strategy_lib.strategy import Group
from tests.integration.site_store.scenario import SITE, Scenario, outcome, some, want
from tests.support.stores import errors_of, node_of

DESIGN = {"n1": "a", "n2": "a", "n3": "a"}


def errors(site: Scenario, name: str) -> list[NodeErrorRecord]:
    return errors_of(site.store, SITE, name)


def planned(site: Scenario, run_id: str = "run-1", revision: int | None = None) -> ActionRecord:
    """An action that holds its site, and has no plan yet."""
    action = site.store.actions.ensure("deploy_site", run_id, NewAction("deploy_site", SITE, revision, {}, "ann"))
    site.store.locks.acquire(action.id)
    return action


def test_a_node_that_is_held_has_an_error_of_the_code_dependency(site: Scenario) -> None:
    want(site.store, 1, DESIGN)
    action, record = site.opened({"one": ["n1", "n2", "n3"]})
    site.do(record, Phase.PREPARE)
    failed = site.submit(site.begin(record, Phase.DEPLOY, ["n1"]))
    site.record(failed, outcome(failed=["n1"]))
    site.store.waits.hold(action.id, {"n2": "waits for n1, which failed: no disk"})
    assert errors(site, "n2") == [], "it may still go on"
    site.fail(record)
    (error,) = errors(site, "n2")
    assert (error.error.code, error.error.text) == (ErrorCode.DEPENDENCY, "waits for n1, which failed: no disk")
    assert (error.error.phase, error.error.wanted_version, error.standing) == (Phase.DEPLOY, 1, Standing.SHOWN)
    assert error.error.op > failed.op
    assert errors(site, "n3") == []
    reported = {report.node: report.error for report in site.store.node_reports.of_site(SITE)}
    assert sorted(reported) == ["n1", "n2"]
    known = some(node_of(site.store, SITE, "n2"))
    assert known.failures == 0, "it has not tried (rule 44)"


def test_a_node_of_a_blocked_group_has_one_too_and_only_one(site: Scenario) -> None:
    want(site.store, 1, DESIGN)
    action, one = site.opened({"one": ["n1"], "two": ["n2"], "three": ["n2", "n3"]})
    site.do(one, Phase.PREPARE, outcome(failed=["n1"]))
    site.fail(one, Reason.PREPARE_CRITERIA)
    for name in ("two", "three"):
        record = site.open(action, name)
        blocked = "blocked by one: prepare_criteria"
        facts = (record.attempt, GroupState.FAILURE, Reason.DEPENDENCY)
        assert site.store.groups.finish(action.id, name, *facts, blocked=blocked)
    for name in ("n2", "n3"):
        (error,) = errors(site, name)
        assert (error.error.code, error.error.text) == (ErrorCode.DEPENDENCY, "blocked by one: prepare_criteria")
        assert error.error.phase is Phase.PREPARE


def test_a_node_of_a_blocked_group_that_has_no_task_has_one_as_well(site: Scenario) -> None:
    want(site.store, 1, DESIGN)
    action = planned(site)
    groups = [
        PlannedGroup(Group("one", critical=True), ("n1",)),
        PlannedGroup(Group("two", critical=True, depends_on=("one",)), ("n2",)),
        PlannedGroup(Group("three", critical=True, depends_on=("two",)), ("n3",)),
    ]
    idle = [
        IdleGroup("one", GroupState.FAILURE, Reason.DEPLOY_CRITERIA, (), {}),
        IdleGroup("two", GroupState.FAILURE, Reason.DEPENDENCY, (), {}),
        IdleGroup("three", GroupState.FAILURE, Reason.DEPENDENCY, (), {}),
    ]
    site.store.groups.save_plan(action.id, NewPlan(groups, (), DESIGN, idle=idle))
    for name in ("n2", "n3"):
        assert [one.error.text for one in errors(site, name)] == ["blocked by one: deploy_criteria"]


@pytest.mark.parametrize("dry_run", [False, True])
def test_a_node_that_is_withheld_has_an_error_of_the_code_policy_but_in_a_dry_run(
    site: Scenario, dry_run: bool
) -> None:
    want(site.store, 1, DESIGN)
    action = site.store.actions.ensure(
        "deploy_site", "run-1", NewAction("deploy_site", SITE, None, {}, "ann", dry_run=dry_run)
    )
    site.store.locks.acquire(action.id)
    groups = [PlannedGroup(Group("one", critical=True), ("n1", "n2"))]
    why = "design changed, needs redeploy"
    site.store.groups.save_plan(action.id, NewPlan(groups, (), DESIGN, withheld={"n1": why}))
    found = [(one.error.code, one.error.text) for one in errors(site, "n1")]
    assert found == ([] if dry_run else [(ErrorCode.POLICY, why)])
    assert errors(site, "n2") == []


def test_rule_35_what_is_as_wanted_has_the_number_of_the_operation_that_it_was_done_by(site: Scenario) -> None:
    want(site.store, 1, DESIGN)
    site.store.actions.ensure("deploy_site", "run-1", NewAction("deploy_site", SITE, 1, {}, "ann"))
    first, record = site.opened({"one": ["n1"]}, digests=DESIGN)
    done = site.deploy(record)
    site.store.groups.finish(first.id, "one", 1, GroupState.SUCCESS, None)
    site.store.actions.close(first.id, ActionState.SUCCESS, "done")
    site.clock.move(60)
    second = site.running({"one": ["n1", "n2"]}, "run-2", done=["n1", "n2"], digests=DESIGN)
    site.store.actions.close(second.id, ActionState.CANCELLED, "stopped")
    root = tree_to_dict(action_tree(site.store, second.id, depth=None))["root"]
    stage = next(one for one in root["children"] if one["name"] == "deploy_group")
    for phase in stage["children"][0]["children"]:
        ops = {node["name"]: node["op"] for node in phase["children"]}
        assert ops["n1"] == done.op
        assert ops["n2"] > done.op, "it was adopted: no operation has done it"
        said = {node["name"]: node["messages"] for node in phase["children"]}
        assert said == {"n1": ["as wanted already, done for revision 1"], "n2": ["as wanted already"]}
    past = some(node_history(site.store, SITE, "n1"))
    newest = [(one["phase"], one["message"]) for one in past["actions"][0]["phases"]]
    assert newest == [(phase, "as wanted already, done for revision 1") for phase in ("prepare", "deploy")]


def test_rule_35_what_was_never_begun_has_a_number_too_and_loses_it_when_it_is_tried_again(site: Scenario) -> None:
    want(site.store, 1, DESIGN)
    action = site.running({"one": ["n1"]})
    site.fail(site.open(action, "one"), Reason.INTERRUPTED)
    site.store.actions.close(action.id, ActionState.FAILED, "failed")
    page = site.store.trees.group_nodes(action.id)
    assert all(leaf.op is None and leaf.done_op is not None for leaf in page.facts.leaves)
    site.store.locks.acquire(action.id)
    site.open(action, "one", "second")
    assert all(leaf.done_op is None for leaf in site.store.trees.group_nodes(action.id).facts.leaves)


def test_rule_46_an_error_of_the_version_that_is_wanted_is_shown_whatever_revision_it_came_with(site: Scenario) -> None:
    for revision, digest in ((1, "a"), (2, "b"), (3, "a")):
        want(site.store, revision, {"n1": digest})
    for run, digest, version, standing, judged in (
        ("r1", "a", 3, "error", Standing.SHOWN),
        ("r2", "b", 2, "pending", Standing.SUPERSEDED),
    ):
        action = planned(site, run, revision=1)
        site.store.groups.save_plan(
            action.id, NewPlan([PlannedGroup(Group("one", critical=True), ("n1",))], (), {"n1": digest})
        )
        site.do(site.open(action, "one"), Phase.PREPARE, outcome(failed=["n1"]))
        newest = errors(site, "n1")[0]
        assert (newest.error.wanted_version, newest.standing) == (version, judged)
        known = some(node_of(site.store, SITE, "n1"))
        assert known.standing == standing, run
        site.store.actions.close(action.id, ActionState.FAILED, "failed")
