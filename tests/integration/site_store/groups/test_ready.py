"""Whether nodes that were deployed are ready, as the store keeps it (rule 58)."""

from __future__ import annotations

from site_store import ActionRecord, GroupRecord, NewPlan, OperationStatus, PlannedGroup, Readiness
from strategy_lib.node import NodeState
from strategy_lib.phase import Phase
from strategy_lib.strategy import Group, Ready
from tests.integration.site_store.scenario import Scenario, outcome


def planned(site: Scenario, done: frozenset[str] = frozenset()) -> tuple[ActionRecord, GroupRecord]:
    """An action of a group that asks whether its nodes are ready, and of one that does not."""
    action = site.holding()
    groups = [Group("asks", critical=True, ready=Ready(60)), Group("plain", critical=True)]
    plan = [PlannedGroup(groups[0], ("n1", "n2", "n3")), PlannedGroup(groups[1], ("n3", "n4"))]
    site.store.groups.save_plan(action.id, NewPlan(plan, done, {"n1": "d1"}))
    return action, site.open(action, "asks")


def test_only_nodes_that_were_deployed_are_asked(site: Scenario) -> None:
    action, record = planned(site)
    tasks = site.store.tasks
    assert {one.node: one.ready is not None for one in tasks.of_nodes(action.id)} == {
        "n1": True,
        "n2": True,
        "n3": True,
        "n4": False,
    }
    site.do(record, Phase.PREPARE)
    assert tasks.readiness(action.id, "asks") == Readiness()
    site.do(record, Phase.DEPLOY, outcome(["n1", "n2"], ["n3"]))
    assert tasks.readiness(action.id, "asks") == Readiness(frozenset(["n1", "n2"]))
    begun = site.begin(record, Phase.READY, ["n1", "n2", "n3"])
    assert begun.nodes == ("n1", "n2")
    assert tasks.left_to_ask(begun.op) == ["n1", "n2"]


def test_one_that_is_not_ready_has_failed_and_is_asked_again_in_a_new_attempt(site: Scenario) -> None:
    action, record = planned(site)
    site.deploy(record)
    begun = site.begin(record, Phase.READY)
    late = outcome(["n1"], ["n2", "n3"], notes={"n2": "it says down"})
    site.record(begun, late, status=OperationStatus.COMPLETE, result="not ready")
    tasks = site.store.tasks
    expected = {"n1": "success", "n2": "failure", "n3": "failure"}
    assert site.states(action, "asks") == expected
    assert tasks.attempt_states(action.id, "asks", 1) == expected
    assert site.states(action, "plain") == {"n3": "failure", "n4": "not_started"}
    counts = tasks.node_counts(action.id)
    assert (counts["asks"][NodeState.SUCCESS], counts["asks"][NodeState.FAILURE]) == (1, 2)
    assert counts["plain"][NodeState.FAILURE] == 1
    assert site.store.waits.facts(action.id, ["n2"])["n2"].error == "it says down"
    assert tasks.readiness(action.id, "asks") == Readiness(frozenset(), frozenset(["n2", "n3"]))
    site.fail(record)
    again = site.open(action, "asks", "second")
    assert again.attempt == 2
    assert set(site.states(action, "asks").values()) == {"success"}
    assert tasks.readiness(action.id, "asks").awaited == {"n2", "n3"}
    second = site.begin(again, Phase.READY)
    assert second.nodes == ("n2", "n3")


def test_nodes_that_were_as_wanted_are_ready_by_the_plan(site: Scenario) -> None:
    action, _ = planned(site, frozenset(["n1", "n2", "n3"]))
    assert site.store.tasks.readiness(action.id, "asks") == Readiness()
