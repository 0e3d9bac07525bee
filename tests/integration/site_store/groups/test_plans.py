"""Plans: written once, read in few statements however large."""

from __future__ import annotations

from collections import Counter
from operator import attrgetter

import pytest
from sqlalchemy import event, text

from site_store import ActionState, GroupStanding, IdleGroup, NewPlan, PlannedGroup, StepState
from site_store.status.events import EventKind
from strategy_lib.node import NodeState, TaskStatus
from strategy_lib.phase import GroupState, Phase, Reason
from strategy_lib.strategy import CriterionResult, Group, Label, Selector, SuccessCriteria
from tests.integration.site_store.scenario import Scenario, outcome, want

GROUP = Group(
    "workers",
    critical=False,
    depends_on=("control", "storage"),
    selectors=(Selector(node_tags=("compute",), node_labels=(Label("zone", "a:b"),)), Selector(rack_names=("r1",))),
    criteria=SuccessCriteria(percent_successful_nodes=0, maximum_failed_nodes=3),
)
READS = (
    "tasks.node_states",
    "groups.of_action",
    "reports.facts",
    "groups.states",
    "groups.standings",
    "tasks.node_counts",
)
ONE_STATEMENT = {"tasks.node_states", "attempt_states", "groups.states", "groups.standings"}


def test_a_plan_comes_back_as_it_was(site: Scenario) -> None:
    action = site.action()
    assert site.store.groups.of_action(action.id) == []
    control = Group("control", critical=True)
    planned = [
        PlannedGroup(control, ("n2", "n1", "n2")),
        PlannedGroup(GROUP, ()),
        PlannedGroup(Group("z", True), ("n1",)),
    ]
    assert site.store.groups.save_plan(action.id, NewPlan(planned, [], {})) is True
    records = site.store.groups.of_action(action.id)
    assert [(r.name, r.position, r.critical, r.nodes) for r in records] == [
        ("control", 0, True, ("n1", "n2")),
        ("workers", 1, False, ()),
        ("z", 2, True, ("n1",)),
    ]
    assert records[1].definition == GROUP
    assert site.store.groups.get(action.id, "workers") == records[1]
    assert site.store.groups.states(action.id, ["z", "control", "nobody"]) == {
        "control": GroupState.PENDING,
        "z": GroupState.PENDING,
    }
    assert len(site.store.groups.states(action.id)) == 3


def test_standings_are_in_processing_order_and_without_nodes(site: Scenario) -> None:
    assert site.store.groups.standings(site.action().id) == []
    action = site.running({"z": ["n1"], "a": [], "m": ["n1"]})
    site.open(action, "z", "k1")
    site.fail(site.open(action, "m", "k2"))
    standings = site.store.groups.standings(action.id)
    assert standings == [
        GroupStanding("z", 0, GroupState.RUNNING, "k1", 0),
        GroupStanding("a", 1, GroupState.PENDING, None, 1),
        GroupStanding("m", 2, GroupState.FAILURE, "k2", 2),
    ]
    assert [standing.is_judged for standing in standings] == [False, False, True]


def test_a_group_with_nothing_to_submit_is_judged_with_the_plan_and_mapped_once_a_person_clears_it(
    site: Scenario,
) -> None:
    made, store = site.action(), site.store
    store.locks.acquire(made.id)
    plan = [PlannedGroup(Group(name, critical=True), (f"n-{name}",)) for name in ("good", "works", "bad", "blocked")]
    unmet = CriterionResult(Phase.PREPARE, "percent_successful_nodes", 100, "0/1", met=False)
    idle = [
        IdleGroup("good", GroupState.SUCCESS, None, (), {"success": 1}),
        IdleGroup("bad", GroupState.FAILURE, Reason.PREPARE_CRITERIA, (unmet,), {"not_started": 1}),
        IdleGroup("blocked", GroupState.FAILURE, Reason.DEPENDENCY, (), {"not_started": 1}),
    ]
    assert store.groups.save_plan(
        made.id, NewPlan(plan, ["n-good"], {}, group_step=("deploy_group", 6), idle=idle, plan_key="plan 20")
    )
    records = {record.name: record for record in store.groups.of_action(made.id)}
    assert {name: (record.map_index, record.state) for name, record in records.items()} == {
        "good": (None, GroupState.SUCCESS),
        "works": (0, GroupState.PENDING),
        "bad": (None, GroupState.FAILURE),
        "blocked": (None, GroupState.FAILURE),
    }
    bad = records["bad"]
    assert (bad.reason, bad.criteria, bad.counts) == (Reason.PREPARE_CRITERIA, (unmet,), {"not_started": 1})
    assert (bad.attempt, bad.started, bad.ended) == (1, site.clock(), site.clock())
    steps = {step.group: (step.state, step.message) for step in store.steps.of_action(made.id)}
    said = "nothing to submit: judged with the plan"
    assert steps == {
        "good": (StepState.SUCCESS, said),
        "bad": (StepState.FAILED, said),
        "blocked": (StepState.SKIPPED, said),
    }
    told = [event.group for event in store.events.of_action(made.id) if event.kind == EventKind.GROUP_FINISHED]
    assert told == ["good", "bad", "blocked"]

    assert store.groups.mapped(made.id, "plan 20") == ["works"], "Airflow tries the same task again"
    for _ in range(2):
        assert store.groups.mapped(made.id, "plan 41") == ["works", "good", "bad", "blocked"]
    assert [standing.map_index for standing in store.groups.standings(made.id)] == [1, 0, 2, 3]
    assert store.groups.open_attempt(made.id, "good", "20") == store.groups.get(made.id, "good")
    assert store.groups.open_attempt(made.id, "bad", "20").attempt == 2


@pytest.mark.parametrize("first", [["a"], []])
def test_a_plan_that_exists_stays(site: Scenario, first: list[str]) -> None:
    action = site.running({name: ["n1"] for name in first})
    other = [PlannedGroup(Group("other", critical=True), ("n9",))]
    assert site.store.groups.save_plan(action.id, NewPlan(other, ["n9"], {})) is False
    assert [group.name for group in site.store.groups.of_action(action.id)] == first
    assert "n9" not in site.states(action)


def test_rule_21_a_node_that_is_as_wanted_is_a_success_and_never_claimed(site: Scenario) -> None:
    action = site.running({"a": ["n1", "n2"]}, done=["n2"])
    assert site.states(action) == {"n1": "not_started", "n2": "success"}
    record = site.open(action, "a")
    assert site.do(record, Phase.PREPARE).nodes == ("n1",)
    assert site.do(record, Phase.DEPLOY).nodes == ("n1",)


def test_rule_20_the_report_knows_every_node_and_its_groups(site: Scenario) -> None:
    action = site.holding()
    planned = [PlannedGroup(Group("b", True), ("n1", "n2")), PlannedGroup(Group("a", True), ("n1",))]
    site.store.groups.save_plan(action.id, NewPlan(planned, [], {"n1": "d1"}, other=["alone", "n1"]))
    record = site.open(action, "b")
    site.clock.move(10)
    operation = site.do(record, Phase.PREPARE, outcome(["n1"], ["n2"], notes={"n2": "no power", "n7": "not sent"}))
    facts = site.store.reports.facts(action.id)
    assert facts.action == site.store.actions.get(action.id)
    assert [group.name for group in facts.groups] == ["b", "a"]
    assert [item.op for item in facts.operations] == [operation.op]
    assert [(n.node, n.groups, n.state) for n in facts.nodes] == [
        ("alone", (), "not_started"),
        ("n1", ("a", "b"), "prepared"),
        ("n2", ("b",), "failure"),
    ]
    failed = facts.nodes[2]
    assert failed.prepare.status is TaskStatus.ERROR
    assert (failed.prepare.error, failed.prepare.op) == ("no power", operation.op)
    assert (failed.prepare.provisioner_task, failed.prepare.owner_group) == (operation.provisioner_task, "b")
    assert failed.prepare.ended == site.clock.time
    assert facts.nodes[0].prepare.provisioner_task is None
    assert {entry.kind for entry in facts.events} >= {"site_acquired", "operation_begun", "outcome"}
    assert [tasks.node for tasks in site.store.tasks.of_nodes(action.id, "b")] == ["n1", "n2"]


def test_rule_10_counts_are_those_of_the_states_of_each_groups_nodes(site: Scenario) -> None:
    """Also of nodes in several groups, of groups without nodes, and with another action beside it."""
    assert site.store.tasks.node_counts(site.action().id) == {}
    members = {"a": [f"n{number}" for number in range(6)], "b": ["n0", "n4", "n5", "n6", "n7"], "none": []}
    action = site.running(members, done=["n7"])
    a = site.open(action, "a")
    site.do(a, Phase.PREPARE, outcome(["n0", "n1", "n2", "n3"], ["n4"], ["n5"]))
    deploy = site.submit(site.begin(a, Phase.DEPLOY, ["n0", "n1", "n2"]))
    site.record(deploy, outcome(["n0"], ["n1"]))
    site.begin(site.open(action, "b"), Phase.PREPARE)
    site.store.locks.release(action.id)
    site.running({"a": ["n0", "n9"]}, "run-2")
    counts = site.store.tasks.node_counts(action.id)
    some = {name: {str(state): number for state, number in of.items() if number} for name, of in counts.items()}
    assert some == {
        "a": {"success": 1, "failure": 2, "deploying": 1, "prepared": 1, "unknown": 1},
        "b": {"success": 2, "failure": 1, "unknown": 1, "preparing": 1},
        "none": {},
    }
    assert all(list(of) == list(NodeState) for of in counts.values())
    for name, of in counts.items():
        assert Counter(site.store.tasks.node_states(action.id, name).values()) == +Counter(of)


def test_the_number_of_statements_does_not_grow_with_the_plan(site: Scenario) -> None:
    """No loop over nodes or groups talks to the database."""

    def statements_for(groups: int, nodes: int, run_id: str) -> dict[str, int]:
        counted: list[str] = []
        engine = site.store._database.engine

        def count(_c: object, _cursor: object, statement: str, *_rest: object) -> None:
            # After a large plan the database looks once at the tables that have grown, in a transaction of its own.
            looks = statement.startswith("ANALYZE") or "pg_class" in statement or "slipway_may_write" in statement
            if not looks and not statement.startswith(("BEGIN", "SET LOCAL")):
                counted.append(statement)

        def measured() -> int:
            number = len(counted)
            counted.clear()
            return number

        names = [f"n{i}" for i in range(nodes)]
        plan = [PlannedGroup(Group(f"g{i}", True), tuple(names)) for i in range(groups)]
        action = site.holding(run_id)
        event.listen(engine, "before_cursor_execute", count)
        taken = {}
        try:
            site.store.groups.save_plan(action.id, NewPlan(plan, names[:1], dict.fromkeys(names, "d")))
            taken["save_plan"] = measured()
            record = site.open(action, "g0")
            taken["open_attempt"] = measured()
            operation = site.begin(record, Phase.PREPARE)
            taken["begin_operation"] = measured()
            site.record(operation, outcome(operation.nodes))
            taken["record_outcome"] = measured()
            for name in READS:
                attrgetter(name)(site.store)(action.id)
                taken[name] = measured()
            site.store.tasks.attempt_states(action.id, "g0", record.attempt)
            taken["attempt_states"] = measured()
            want(site.store, 1, dict.fromkeys(names, "d"))
            taken["set_wanted"] = measured()
            site.store.actions.close(action.id, ActionState.FAILED, "")
            taken["close_action"] = measured()
        finally:
            event.remove(engine, "before_cursor_execute", count)
        return taken

    small = statements_for(1, 2, "run-1")
    assert small == statements_for(30, 300, "run-2")
    assert {name for name, number in small.items() if number == 1} >= ONE_STATEMENT
    assert max(small.values()) <= 17


def test_a_large_action_after_small_ones_is_read_in_time(site: Scenario) -> None:
    """The database knows small actions only, and must not go through all rows for each: that takes half a minute."""
    engine = site.store._database.engine
    site.store.actions.close(site.running({"g0": ["n1"]}).id, ActionState.FAILED, "")
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        connection.execute(text("VACUUM ANALYZE"))
    event.listen(engine, "begin", lambda tx: tx.exec_driver_sql("SET LOCAL statement_timeout = '10s'"))
    names = [f"n{number}" for number in range(300)]
    action = site.holding("large")
    plan = [PlannedGroup(Group(f"g{number}", True), tuple(names)) for number in range(30)]
    site.store.groups.save_plan(action.id, NewPlan(plan, (), dict.fromkeys(names, "d")))
    record = site.open(action, "g0")
    counts = site.store.tasks.node_counts(action.id)
    assert [states[NodeState.NOT_STARTED] for states in counts.values()] == [300] * 30
    assert len(site.store.reports.facts(action.id).nodes) == 300
    assert len(site.store.tasks.attempt_states(action.id, "g0", record.attempt)) == 300
