"""Rule 28: behind a group that a person refused, the tree says who did, and why."""

from __future__ import annotations

from site_store import ApprovalAnswer, NewPlan, PlannedGroup
from strategy_lib.phase import Reason
from strategy_lib.strategy import ApprovalMoment, Group
from tests.integration.site_engine.trees.tree_scenario import group, tree
from tests.integration.site_store.scenario import Scenario


def test_rule_28_the_blame_of_a_refused_gate_names_who_refused_and_why(site: Scenario) -> None:
    action = site.action()
    site.store.locks.acquire(action.id)
    one, two = Group("one", critical=True), Group("two", critical=True, depends_on=("one",))
    site.store.groups.save_plan(action.id, NewPlan([PlannedGroup(one, ("n1",)), PlannedGroup(two, ("n2",))], (), {}))
    opened = site.open(action, "one")
    asked = site.store.approvals.ask(action.id, "one", 1, ApprovalMoment.BEFORE, "Go?")
    site.store.approvals.answer(asked, ApprovalAnswer.REFUSED, "ann", "not tonight")
    site.fail(opened, Reason.APPROVAL)
    root = tree(site, action)
    assert group(root, "one")["blame"]["message"] == "not approved: refused by ann: not tonight"
    assert group(root, "two")["messages"][0] == "blocked by one: not approved: refused by ann: not tonight"
