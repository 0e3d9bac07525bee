"""Trying again what failed: what a retry says that it will do, and what it has Airflow clear (rule 23)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import pytest

from site_engine.actions.retry import RETRY, Task, plan_retry, retry_action
from site_engine.errors import AirflowApiError, AirflowRefused, Conflict
from site_engine.kinds import kind_of, tasks_of
from site_store import ActionState, AskedState, NewAction, NotFound, SiteStore, StepState
from strategy_lib.node_states.generated import NodeAvailability
from strategy_lib.phase import Phase
from tests.support.driving import Begin, Driving
from tests.support.fake_provisioner import FakeProvisioner
from tests.support.revisions import commit_design
from tests.support.sites import group, node, site

NODES = [node(name) for name in "abcde"]
GROUPS = [
    group("one", ["a", "b"], percent_successful_nodes=100),
    group("behind", ["c"], after=["one"]),
    group("far", ["d"], after=["behind"], critical=False),
    group("other", ["e"]),
]
BEHIND = ("after_success", "report", "release", "verdict")


@dataclass
class Airflow:
    """The run of the action as Airflow has it: its tasks, and what it was asked to clear."""

    states: dict[tuple[str, int], str | None]
    error: AirflowApiError | None = None
    cleared: list[Task] = field(default_factory=list)

    def run_state(self, dag_id: str, run_id: str) -> str | None:
        return "failed"

    def task_states(self, dag_id: str, run_id: str) -> Mapping[tuple[str, int], str | None]:
        return self.states

    def clear(self, dag_id: str, run_id: str, tasks: Sequence[Task], *, downstream: bool) -> None:
        assert not downstream
        if self.error is not None:
            raise self.error
        self.cleared += tasks
        self.states.update({(task, -1) if isinstance(task, str) else task: None for task in tasks})


def over(driving: Driving) -> Airflow:
    """Return the run of an action that is over."""
    ended = {(name, -1): "success" for name in (*kind_of(driving.action.kind).steps, *BEHIND)}
    groups = {("deploy_group", place): "failed" for place in range(len(GROUPS))}
    return Airflow({**ended, **groups})


@pytest.fixture
def failed(begin: Begin, fake: FakeProvisioner, store: SiteStore) -> Driving:
    """Return an action that is over: group one failed by its node b, two groups are behind it, one succeeded."""
    fake.script("b", "deploy", "fail")
    driving = begin(site(NODES, GROUPS))
    for name in ("one", "behind", "far", "other"):
        driving.group(name)
    store.actions.close(driving.action.id, ActionState.FAILED, "critical groups one, behind failed")
    return driving


def test_a_retry_says_which_groups_and_nodes_go_again(failed: Driving) -> None:
    plan = plan_retry(failed.store, failed.action.id)
    assert [(group.name, group.nodes, group.blocked_by) for group in plan.groups] == [
        ("one", ("b",), None),
        ("behind", ("c",), "one"),
        ("far", ("d",), "one"),
    ]
    assert plan.nodes == ("b", "c", "d")
    assert plan.tasks == (*(("deploy_group", group.position) for group in plan.groups), *BEHIND)
    assert (plan.steps, plan.warnings) == (("after_success", "report", "release"), ())


@pytest.mark.parametrize("asked", ["one", "behind", "far"])
def test_one_group_brings_what_stands_in_its_way_and_what_it_blocks(failed: Driving, asked: str) -> None:
    plan = plan_retry(failed.store, failed.action.id, [asked])
    assert [group.name for group in plan.groups] == ["one", "behind", "far"]


def test_a_group_that_succeeded_is_not_tried_again(failed: Driving) -> None:
    with pytest.raises(Conflict, match="nothing of group other has failed"):
        plan_retry(failed.store, failed.action.id, ["other"])


def test_a_group_that_succeeded_does_not_bring_those_behind_it(begin: Begin, fake: FakeProvisioner) -> None:
    fake.script("c", "deploy", "fail")
    driving = begin(site(NODES, GROUPS))
    for name in ("one", "behind", "far", "other"):
        driving.group(name)
    driving.store.actions.close(driving.action.id, ActionState.FAILED, "critical group behind failed")
    with pytest.raises(Conflict, match="nothing of group one has failed"):
        plan_retry(driving.store, driving.action.id, ["one"])


def test_a_group_that_does_not_exist_names_the_nearest(failed: Driving) -> None:
    with pytest.raises(NotFound, match="did you mean 'behind'"):
        plan_retry(failed.store, failed.action.id, ["behnd"])


def test_a_newer_revision_is_warned_about(failed: Driving) -> None:
    commit_design(failed.store, failed.action.site, f"{site(NODES, GROUPS)}# changed\n")
    (warning,) = plan_retry(failed.store, failed.action.id).warnings
    assert warning.endswith(f"this goes on with revision {failed.action.revision}")


def test_a_group_of_an_action_that_goes_on_can_be_tried_again(begin: Begin, fake: FakeProvisioner) -> None:
    fake.script("a", "deploy", "fail")
    driving = begin(site(NODES, GROUPS))
    driving.group("one")
    plan = plan_retry(driving.store, driving.action.id)
    assert [group.name for group in plan.groups] == ["one"], "what has no verdict yet needs none"
    states: dict[tuple[str, int], str | None] = dict.fromkeys([(name, -1) for name in BEHIND])
    airflow = Airflow({**states, ("deploy_group", plan.groups[0].position): "failed"})
    retry_action(driving.store, airflow, driving.action.id, "ann")
    assert airflow.cleared == list(plan.tasks)


def test_a_step_that_failed_before_the_groups_goes_again_with_all_behind_it(store: SiteStore) -> None:
    commit_design(store, "alpha", site(NODES, GROUPS))
    made = store.actions.create(NewAction("deploy_site", "alpha", 1, {}, "ann", context_marker=None), exclusive=True)
    for name, state in (("acquire", StepState.SUCCESS), ("load_design", StepState.SUCCESS)):
        store.steps.begin(made.id, name, 1)
        store.steps.leave(made.id, name, 1, state)
    store.steps.begin(made.id, "validate_design", 1)
    store.steps.leave(made.id, "validate_design", 1, StepState.FAILED, "the design has no nodes")
    store.actions.close(made.id, ActionState.FAILED, "validate_design failed")
    plan = plan_retry(store, made.id)
    tasks = tasks_of(kind_of("deploy_site").all_steps)
    assert plan.tasks == (*tasks, "verdict"), "its task goes on with it"
    assert (plan.steps[0], plan.steps[-1], plan.groups, plan.nodes) == ("validate_design", "release", (), ())


def test_of_a_step_on_nodes_those_go_again_that_are_not_done(begin: Begin, fake: FakeProvisioner) -> None:
    fake.script("b", "destroy", "fail")
    begun = begin(site(NODES, GROUPS))
    store = begun.store
    store.actions.close(begun.action.id, ActionState.CANCELLED, "stopped")
    targets = {"target_nodes": ["a", "b"]}
    action = store.actions.ensure("destroy_nodes", "run-2", NewAction("destroy_nodes", "alpha", 1, targets, "ann"))
    store.locks.acquire(action.id)
    driving = replace(begun, action=action)
    store.steps.begin(driving.action.id, "destroy_nodes", 1)
    driving.node_step(Phase.DESTROY, ["a", "b"])
    store.steps.leave(driving.action.id, "destroy_nodes", 1, StepState.FAILED, "b is not proven done")
    store.actions.close(driving.action.id, ActionState.FAILED, "destroy_nodes failed")
    plan = plan_retry(store, driving.action.id)
    assert (plan.nodes, plan.tasks) == (("b",), ("destroy_nodes", "report", "release", "verdict"))


def test_a_retry_clears_the_tasks_and_keeps_who_did_it(failed: Driving) -> None:
    store, airflow = failed.store, over(failed)
    plan = retry_action(store, airflow, failed.action.id, "ann")
    assert airflow.cleared == list(plan.tasks)
    assert [(audit.command, audit.user) for audit in store.actions.commands(failed.action.id)] == [(RETRY, "ann")]
    (event,) = [event for event in store.events.of_action(failed.action.id) if event.kind == "control"]
    assert (event.message, event.data["groups"]) == ("retry by ann", ["one", "behind", "far"])
    with pytest.raises(Conflict, match="is being tried again already"):
        retry_action(store, airflow, failed.action.id, "bob")


def test_of_a_run_that_ended_before_its_groups_had_tasks_the_one_for_all_is_cleared(failed: Driving) -> None:
    airflow = over(failed)
    for place in range(len(GROUPS)):
        del airflow.states["deploy_group", place]
    airflow.states["deploy_group", -1] = "skipped"
    retry_action(failed.store, airflow, failed.action.id, "ann")
    assert airflow.cleared == ["deploy_group", *BEHIND]


@pytest.mark.parametrize(
    ("error", "kept"),
    [
        pytest.param(AirflowRefused(403, "the user may not"), [], id="refused: nothing has happened"),
        pytest.param(AirflowApiError("no answer"), ["ann"], id="it is not known whether it has happened"),
    ],
)
def test_who_asked_is_kept_unless_airflow_refuses(failed: Driving, error: AirflowApiError, kept: list[str]) -> None:
    airflow = over(failed)
    airflow.error = error
    with pytest.raises(AirflowApiError):
        retry_action(failed.store, airflow, failed.action.id, "ann")
    assert [audit.user for audit in failed.store.actions.commands(failed.action.id)] == kept


def test_another_action_on_the_site_is_named(failed: Driving) -> None:
    other = failed.store.actions.create(
        NewAction("deploy_site", failed.action.site, 1, {}, "bob", context_marker=None), exclusive=True
    )
    failed.store.locks.acquire(other.id)
    with pytest.raises(Conflict, match=other.id):
        plan_retry(failed.store, failed.action.id)


def test_an_action_that_succeeded_and_a_dry_run_have_nothing_to_try_again(begin: Begin, store: SiteStore) -> None:
    driving = begin(site(NODES, [group("all")]))
    driving.group("all")
    store.actions.close(driving.action.id, ActionState.SUCCESS, "success")
    with pytest.raises(Conflict, match="nothing of it has failed"):
        plan_retry(store, driving.action.id)
    dry = store.actions.create(
        NewAction("deploy_site", "alpha", 1, {}, "ann", context_marker=None, dry_run=True), exclusive=False
    )
    with pytest.raises(Conflict, match="a dry run: create it again"):
        plan_retry(store, dry.id)


def test_rule_51_a_node_out_of_use_is_not_tried_again_and_with_no_other_nothing_is(failed: Driving) -> None:
    users = failed.store.user_states
    asked = AskedState(NodeAvailability.MAINTENANCE, "new disk", force=True)
    assert users.change("alpha", ["b"], asked, "ann").change.modified
    plan = plan_retry(failed.store, failed.action.id)
    assert ([group.nodes for group in plan.groups], plan.nodes) == ([(), ("c",), ("d",)], ("c", "d"))
    assert plan.left_out == {"b": "set to maintenance by ann: new disk"}
    assert plan.warnings == (
        "node b is set to maintenance by ann: new disk: `slipway set node-state b up --site alpha` comes first",
    )
    asked = AskedState(NodeAvailability.RETIRED, "", force=True)
    assert users.change("alpha", ["c", "d"], asked, "ann").change.modified
    with pytest.raises(Conflict, match=r"nothing can be tried again: .*, and 2 more nodes are out of use: .* up "):
        plan_retry(failed.store, failed.action.id)


def test_of_groups_side_by_side_the_other_task_is_cleared(
    begin: Begin, fake: FakeProvisioner, store: SiteStore
) -> None:
    fake.script("b", "deploy", "fail")
    driving = begin(site(NODES, GROUPS), places=2)
    for name in ("one", "behind", "far", "other"):
        driving.group(name)
    store.actions.close(driving.action.id, ActionState.FAILED, "critical groups one, behind failed")
    plan = plan_retry(store, driving.action.id)
    beside = [("deploy_group_beside", place) for place in range(3)]
    assert plan.tasks == (*beside, *BEHIND)
    airflow = over(driving)
    airflow.states |= {("deploy_group_beside", place): "failed" for place in range(len(GROUPS))}
    retry_action(store, airflow, driving.action.id, "ann")
    assert airflow.cleared == [*beside, *BEHIND]
    unmapped = over(driving)
    unmapped.states[("deploy_group_beside", -1)] = "upstream_failed"
    retry_action(store, unmapped, driving.action.id, "ann")
    assert unmapped.cleared == ["deploy_group_beside", *BEHIND], "the run ended before its groups had tasks"
