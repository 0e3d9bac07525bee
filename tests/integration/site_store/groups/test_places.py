"""Groups side by side: places are taken in one transaction (rule 8), and nodes in others' hands are known (rule 11)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import pytest

from site_engine.groups.turns import place_taker
from site_store import GroupTurn, NewPlan, OperationStatus, PlaceTaken, PlannedGroup, SiteStore, StepState
from strategy_lib.groups.group_plan import GroupPlan
from strategy_lib.node import NodeState
from strategy_lib.phase import GroupState, Phase
from strategy_lib.strategy import Group, Ready
from tests.integration.site_store.racing import CALLERS, at_once
from tests.integration.site_store.scenario import Scenario, outcome

PLACES = 2


def taker(store: SiteStore, action_id: str, group: str) -> Callable[[Sequence[GroupTurn]], bool]:
    """Return what the task of a group asks, with all tasks still there."""
    return place_taker(group, store.groups.turns(action_id), lambda _: "running", PLACES)


def begin(store: SiteStore, action_id: str, group: str) -> bool:
    """Try to begin a group; tell whether it has."""
    try:
        record = store.groups.open_attempt(action_id, group, "k", taker(store, action_id, group))
    except PlaceTaken:
        return False
    assert record.state is GroupState.RUNNING
    return True


@pytest.mark.parametrize("attempt", range(3))
def test_rule_08_many_at_once_take_no_more_places_than_there_are(
    site: Scenario, stores: list[SiteStore], attempt: int
) -> None:
    names = [f"g{number}" for number in range(CALLERS)]
    action = site.running({name: [f"n-{name}"] for name in names})
    first = at_once([partial(begin, store, action.id, name) for store, name in zip(stores, names, strict=True)])
    # Those that are later in the order leave the places to those before them.
    assert [began for began in first if began] == [True] * sum(first)
    assert sum(first) <= PLACES
    assert not any(first[PLACES:])
    for name in names:
        begin(site.store, action.id, name)
    running = [turn.name for turn in site.store.groups.turns(action.id) if turn.state is GroupState.RUNNING]
    assert running == names[:PLACES]
    for name in names[:PLACES]:
        assert site.store.groups.open_attempt(action.id, name, "k", lambda _: False).attempt == 1, "it goes on"
    record = site.store.groups.get(action.id, "g0")
    site.store.groups.finish(action.id, "g0", record.attempt, GroupState.SUCCESS, None)
    again = at_once([partial(begin, store, action.id, name) for store, name in zip(stores[2:], names[2:], strict=True)])
    assert again == [True, False, False, False]


def test_what_decides_turns_is_read_without_nodes(site: Scenario) -> None:
    action = site.holding()
    plan = GroupPlan(waits_for={"n2": ("n1",)}, redeploy=frozenset(["n2"]), after=("one",))
    groups = [
        PlannedGroup(Group("one", critical=True), ("n1",)),
        PlannedGroup(Group("two", critical=True), ("n2",), plan),
        PlannedGroup(Group("three", critical=True, depends_on=("two",)), ("n3",)),
    ]
    site.store.groups.save_plan(action.id, NewPlan(groups, (), {}))
    found = site.store.groups.turns(action.id)
    assert [(turn.name, turn.position, turn.map_index, set(turn.after), set(turn.depends_on)) for turn in found] == [
        ("one", 0, 0, set(), set()),
        ("two", 1, 1, {"one"}, set()),
        ("three", 2, 2, {"two"}, {"two"}),
    ]
    assert [turn.redeploys for turn in found] == [False, True, False]
    assert site.store.groups.get(action.id, "two").plan == plan, "the plan is read as it was written"


def test_whether_the_task_of_a_failed_group_has_ended_or_started_again_is_known(site: Scenario) -> None:
    store, action = site.store, site.running({"a": ["n1"], "b": ["n2"]})

    def task() -> tuple[bool, bool]:
        found = {turn.name: (turn.again, turn.is_over) for turn in store.groups.turns(action.id)}
        assert found["b"] == (False, False), "of one that has not failed nobody asks"
        return found["a"]

    for name in ("a", "b"):
        store.steps.begin(action.id, "deploy_group", 1, name)
    store.steps.leave(action.id, "deploy_group", 1, StepState.SUCCESS, None, "b")
    a = site.open(action, "a")
    site.clock.move(1)
    store.groups.finish(action.id, "a", a.attempt, GroupState.FAILURE, None)
    assert task() == (False, False)
    site.clock.move(1)
    store.steps.leave(action.id, "deploy_group", 1, StepState.DEFERRED, None, "a")
    store.steps.begin(action.id, "deploy_group", 1, "a")
    assert task() == (False, False), "it comes back to end"
    store.steps.leave(action.id, "deploy_group", 1, StepState.FAILED, None, "a")
    assert task() == (False, True)
    store.steps.begin(action.id, "deploy_group", 2, "a")
    assert task() == (True, False)
    for state in (StepState.DEFERRED, StepState.RETRIED):
        store.steps.leave(action.id, "deploy_group", 2, state, None, "a")
        assert task() == (True, False)
    store.steps.leave(action.id, "deploy_group", 2, StepState.SKIPPED, None, "a")
    assert task() == (False, True)


def test_rule_11_a_node_in_the_hands_of_another_group_is_known_with_its_phase(site: Scenario) -> None:
    action = site.running({"a": ["n1", "n2"], "b": ["n2", "n3"]})
    a, b = site.open(action, "a"), site.open(action, "b")
    sent = site.submit(site.begin(a, Phase.PREPARE))
    mine = site.submit(site.begin(b, Phase.PREPARE))
    seen = site.store.tasks.beside_others(action.id, "b", 1)
    assert seen.states == {"n2": NodeState.PREPARING, "n3": NodeState.PREPARING}
    assert seen.phases == {"n2": Phase.PREPARE}
    assert seen.ops == {sent.op}
    assert site.store.tasks.beside_others(action.id, "a", 1).phases == {}, "it has both of its nodes itself"
    for operation in (sent, mine):
        site.record(operation, outcome(operation.nodes), status=OperationStatus.COMPLETE)
    seen = site.store.tasks.beside_others(action.id, "b", 1)
    assert set(seen.states.values()) == {NodeState.PREPARED}
    assert (dict(seen.phases), len(seen.ops)) == ({}, 0)
    deploy = site.begin(b, Phase.DEPLOY)
    seen = site.store.tasks.beside_others(action.id, "a", 1)
    assert seen.states == {"n1": NodeState.PREPARED, "n2": NodeState.DEPLOYING}
    assert seen.phases == {"n2": Phase.DEPLOY}
    assert seen.ops == {deploy.op}


def test_what_another_group_has_left_behind_is_unknown(site: Scenario) -> None:
    action, a = site.opened({"a": ["n1", "n2"], "b": ["n2", "n3"]})
    site.open(action, "b")
    site.submit(site.begin(a, Phase.PREPARE))
    assert site.store.groups.interrupt(action.id, "a")
    seen = site.store.tasks.beside_others(action.id, "b", 1)
    assert (seen.states, seen.phases) == (site.store.tasks.attempt_states(action.id, "b", 1), {})
    assert seen.states["n2"] is NodeState.UNKNOWN


def test_rule_58_a_node_that_another_group_asks_is_in_its_hands(site: Scenario) -> None:
    action = site.holding()
    groups = [PlannedGroup(Group(name, critical=True, ready=Ready(60)), ("n1",)) for name in ("a", "b")]
    site.store.groups.save_plan(action.id, NewPlan(groups, (), {}))
    a = site.open(action, "a")
    site.open(action, "b")
    site.deploy(a)
    asked = site.begin(a, Phase.READY)
    seen = site.store.tasks.beside_others(action.id, "b", 1)
    assert (seen.states, seen.phases) == ({"n1": NodeState.SUCCESS}, {"n1": Phase.READY})
    assert seen.ops == {asked.op}
    site.record(asked, outcome(failed=["n1"]), status=OperationStatus.COMPLETE)
    seen = site.store.tasks.beside_others(action.id, "b", 1)
    assert (seen.states, seen.phases) == (site.store.tasks.attempt_states(action.id, "b", 1), {})
