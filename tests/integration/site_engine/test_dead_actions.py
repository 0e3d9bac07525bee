"""Actions whose DAG run is over or gone (rule 24): closing them, and taking their site over."""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping
from contextlib import nullcontext
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any, cast

import pytest
from airflow.sdk.exceptions import AirflowFailException

from site_engine.actions.dead_actions import (
    GONE_TIME,
    TRIGGER_TIME,
    action_for_display,
    close_without_report,
    reconcile,
    reconcile_all,
    take_site,
)
from site_engine.admission import busy_site
from site_engine.errors import AirflowRefused, StepError
from site_engine.monitoring import metrics
from site_engine.monitoring.metrics import (
    ACTION_OUTCOMES,
    GROUP_OUTCOMES,
    GROUP_SECONDS,
    PHASE_SECONDS,
    QUEUE_SECONDS,
    Sample,
)
from site_store import ActionState, Claim, NewAction, NewPlan, PlannedGroup, SiteStore, StepState
from slipway_airflow.operators import action, base
from strategy_lib.phase import Phase
from strategy_lib.strategy import Group

LOG = logging.getLogger("site-lock")


class Clock:
    """Says what time it is."""

    def __init__(self) -> None:
        self.ago = timedelta()

    def now(self) -> datetime:
        return datetime.now(UTC) - self.ago


@pytest.fixture
def clock() -> Clock:
    return Clock()


def ask(store: SiteStore) -> str:
    """Ask for an action."""
    return store.actions.create(
        NewAction("deploy_site", "alpha", 1, {}, "tester", context_marker=None), exclusive=False
    ).id


def ask_without_run(store: SiteStore) -> str:
    """Ask for an action that no DAG run carries out."""
    return store.actions.create(
        NewAction("deploy_site", "alpha", 1, {}, "tester", context_marker=None), exclusive=False, has_run=False
    ).id


def no_run(dag_id: str, run_id: str) -> None:
    """There is no such DAG run."""


@pytest.mark.parametrize(
    ("age", "state"),
    [
        (timedelta(), ActionState.PENDING),
        (TRIGGER_TIME - timedelta(seconds=5), ActionState.PENDING),
        (TRIGGER_TIME + timedelta(seconds=1), ActionState.CANCELLED),
    ],
)
def test_a_request_without_a_run_is_left_alone_while_its_trigger_may_be_on_the_way(
    store: SiteStore, clock: Clock, age: timedelta, state: ActionState
) -> None:
    clock.ago = age
    action_id = ask(store)
    clock.ago = timedelta()
    reconcile(store, action_id, no_run)
    assert store.actions.get(action_id).state is state


def test_an_action_that_is_closed_is_measured_once_with_the_groups_that_it_interrupts(
    store: SiteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    taken: list[Sample] = []
    monkeypatch.setattr(metrics, "_sinks", [taken.append])
    action_id = ask(store)
    store.locks.acquire(action_id)
    groups = [PlannedGroup(Group(name, critical=True), ("n1",)) for name in ("one", "two")]
    store.groups.save_plan(action_id, NewPlan(groups, (), {}))
    opened = store.groups.open_attempt(action_id, "one", "6")
    begun = store.operations.begin(
        Claim(action_id, "alpha", "one", opened.attempt, Phase.PREPARE, ["n1"], "file:///design")
    )
    store.operations.mark_submitted(begun.op, "task-1")
    store.operations.mark_running(begun.op)
    assert close_without_report(store, action_id)
    assert close_without_report(store, action_id)
    assert [(sample.metric, sample.labels) for sample in taken] == [
        (QUEUE_SECONDS, ("alpha", "prepare")),
        (PHASE_SECONDS, ("alpha", "prepare")),
        (GROUP_OUTCOMES, ("alpha", "failure", "interrupted", "true")),
        (GROUP_SECONDS, ("alpha",)),
        (ACTION_OUTCOMES, ("alpha", "deploy_site", "cancelled")),
    ]


@pytest.mark.parametrize("run", ["success", "failed"])
def test_a_request_whose_run_is_over_is_closed_however_young(store: SiteStore, run: str) -> None:
    action_id = ask(store)
    reconcile(store, action_id, lambda *_: run)
    assert store.actions.get(action_id).state is ActionState.CANCELLED


def test_the_verdict_names_who_stopped_it(store: SiteStore) -> None:
    stopped, ended = ask(store), ask(store)
    for command, user in (("invoke", "ann"), ("stop", "bob"), ("stop", "carl"), ("pause", "dora")):
        store.actions.record_command(stopped, command, user)
    store.actions.record_command(ended, "invoke", "ann")
    assert close_without_report(store, stopped)
    reconcile(store, ended, lambda *_: "failed")
    verdicts = [store.actions.get(action_id).verdict for action_id in (stopped, ended)]
    assert verdicts == ["stopped by carl", "the DAG run ended without its report"]


def test_the_verdict_says_whether_there_was_a_run_at_all(store: SiteStore, clock: Clock) -> None:
    clock.ago = TRIGGER_TIME
    never, deleted = ask(store), ask(store)
    store.locks.acquire(deleted)
    clock.ago = timedelta()
    verdicts = ["it never began: Airflow has no DAG run of it", "its DAG run was deleted before there was a report"]
    shown = [action_for_display(store, action_id, None).verdict for action_id in (never, deleted)]
    for action_id in (never, deleted):
        reconcile(store, action_id, no_run)
    assert [store.actions.get(action_id).verdict for action_id in (never, deleted)] == shown == verdicts


def test_a_teardown_names_who_stopped_it(store: SiteStore, monkeypatch: pytest.MonkeyPatch) -> None:
    action_id = ask(store)
    store.locks.acquire(action_id)
    store.actions.record_command(action_id, "stop", "bob")
    monkeypatch.setattr(base, "SiteStore", SimpleNamespace(open=lambda **_: nullcontext(store)))
    run = SimpleNamespace(
        dag_id="deploy_site",
        run_id=store.actions.get(action_id).run_id,
        task_id="release",
        try_number=1,
        max_tries=0,
        get_task_states=lambda **_: {},
    )
    with pytest.raises(AirflowFailException, match="stopped by bob"):
        action.ReleaseSiteOperator(task_id="release").execute(cast(Any, {"ti": run}))
    assert store.actions.get(action_id).verdict == "stopped by bob"
    assert store.locks.owner("alpha") is None
    (step,) = store.steps.of_action(action_id)
    assert (step.name, step.group, step.state, step.attempt) == ("release", None, StepState.FAILED, 1)
    assert "stopped by bob" in (step.message or "")


def test_a_site_that_is_taken_is_refused_in_the_words_of_admission(store: SiteStore) -> None:
    first = ask(store)
    take_site(store, first, no_run, LOG)
    second = ask(store)
    with pytest.raises(StepError) as caught:
        take_site(store, second, lambda *_: "running", LOG)
    assert str(caught.value) == busy_site(store.actions.get(first)).text


def test_a_running_action_whose_run_is_gone_is_closed_at_once(store: SiteStore) -> None:
    action_id = ask(store)
    take_site(store, action_id, no_run, LOG)
    reconcile(store, action_id, no_run)
    assert store.actions.get(action_id).state is ActionState.CANCELLED
    assert store.locks.owner("alpha") is None


def test_an_action_whose_run_is_gone_is_shown_as_it_will_be_closed_and_nothing_is_written(store: SiteStore) -> None:
    action_id = ask(store)
    take_site(store, action_id, no_run, LOG)
    store.actions.record_command(action_id, "stop", "bob")
    before = store.actions.get(action_id)
    shown = action_for_display(store, action_id, "failed")
    assert (shown.state, shown.verdict, shown.ended) == (ActionState.CANCELLED, "stopped by bob", None)
    assert action_for_display(store, action_id, None).state is ActionState.CANCELLED
    assert action_for_display(store, action_id, "running") == store.actions.get(action_id) == before
    assert store.locks.owner("alpha") is not None


def test_an_action_that_ended_with_its_report_is_shown_as_it_ended(store: SiteStore) -> None:
    action_id = ask(store)
    take_site(store, action_id, no_run, LOG)
    store.actions.close(action_id, ActionState.SUCCESS, "every group succeeded")
    assert action_for_display(store, action_id, "failed") == store.actions.get(action_id)


class Runs:
    """Airflow's runs. Those in `hidden` are not listed, and asking for one of them is refused."""

    def __init__(self, states: Mapping[str | None, str], hidden: Collection[str | None] = ()) -> None:
        self.states, self.hidden = states, hidden

    def run_states(self, runs: Collection[tuple[str, str]]) -> dict[tuple[str, str], str]:
        return {run: self.states[run[1]] for run in runs if run[1] in self.states and run[1] not in self.hidden}

    def run_state(self, dag_id: str, run_id: str) -> str | None:
        if run_id in self.hidden:
            raise AirflowRefused(403, "not yours")
        return self.states.get(run_id)


def test_every_dead_action_of_all_sites_is_closed(store: SiteStore) -> None:
    sites = ("alpha", "beta", "gamma", "delta")
    made = {
        site: store.actions.create(NewAction("deploy_site", site, 1, {}, "ann", context_marker=None), exclusive=True)
        for site in sites
    }
    for site in ("alpha", "beta", "gamma"):
        store.locks.acquire(made[site].id)
    runs = Runs({made["alpha"].run_id: "running", made["beta"].run_id: "success"})
    first = reconcile_all(store, runs, "slipway", 1000.0, {})
    assert [(action.site, action.state) for action in first.closed] == [("beta", ActionState.CANCELLED)]
    later = reconcile_all(store, runs, "slipway", 1000.0 + GONE_TIME.total_seconds(), first.gone)
    # That of delta is pending: its run may be about to be there.
    assert [(action.site, action.state) for action in later.closed] == [("gamma", ActionState.CANCELLED)]
    assert [action.site for action in store.actions.unfinished()] == ["alpha", "delta"]
    assert [site for site in sites if store.locks.owner(site) is None] == ["beta", "gamma", "delta"]


def test_a_run_that_is_not_there_is_believed_at_a_look_long_after_the_first(store: SiteStore) -> None:
    action_id = ask(store)
    take_site(store, action_id, no_run, LOG)
    run_id, wait = store.actions.get(action_id).run_id, GONE_TIME.total_seconds()
    gone: Mapping[str, float] = {}

    def look(now: float, states: Mapping[str | None, str] | None = None) -> ActionState:
        nonlocal gone
        gone = reconcile_all(store, Runs(states or {}), "slipway", now, gone).gone
        return store.actions.get(action_id).state

    assert look(0.0) is ActionState.RUNNING
    assert look(wait - 1) is ActionState.RUNNING
    # It was the wrong Airflow, or one that was being restored: from the next look on the time counts anew.
    assert look(wait, {run_id: "running"}) is ActionState.RUNNING
    assert gone == {}
    assert look(wait + 1) is ActionState.RUNNING
    assert look(2 * wait) is ActionState.RUNNING
    assert look(2 * wait + 1) is ActionState.CANCELLED


def test_a_request_whose_run_never_was_there_is_closed_no_sooner(store: SiteStore, clock: Clock) -> None:
    clock.ago = TRIGGER_TIME + timedelta(seconds=1)
    action_id = ask(store)
    clock.ago = timedelta()
    first = reconcile_all(store, Runs({}), "slipway", 0.0, {})
    assert (first.closed, dict(first.gone)) == ((), {action_id: 0.0})
    assert reconcile_all(store, Runs({}), "slipway", GONE_TIME.total_seconds(), first.gone).closed


def never_asked(dag_id: str, run_id: str) -> str | None:
    """Fail: there is nothing to ask Airflow for."""
    raise AssertionError((dag_id, run_id))


@pytest.mark.parametrize("is_running", [False, True])
def test_an_action_without_a_run_is_closed_by_nobody(store: SiteStore, clock: Clock, is_running: bool) -> None:
    clock.ago = 10 * TRIGGER_TIME
    action_id = ask_without_run(store)
    if is_running:
        take_site(store, action_id, never_asked, LOG)
    clock.ago = timedelta()
    before = store.actions.get(action_id)
    assert not reconcile(store, action_id, never_asked)
    found = reconcile_all(store, Runs({}), "slipway", 0.0, {})
    assert (found.closed, found.hidden, dict(found.gone)) == ((), (), {})
    assert action_for_display(store, action_id, None) == store.actions.get(action_id) == before
    assert store.actions.commands(action_id) == []


def test_a_site_that_an_action_without_a_run_holds_is_not_taken_over(store: SiteStore) -> None:
    first = ask_without_run(store)
    take_site(store, first, never_asked, LOG)
    second = ask(store)
    with pytest.raises(StepError) as caught:
        take_site(store, second, never_asked, LOG)
    assert str(caught.value) == busy_site(store.actions.get(first)).text
    assert f"action {first} (deploy_site, by tester, running) is on it" in str(caught.value)
    # The one that has the site takes it again.
    take_site(store, first, never_asked, LOG)


def test_an_action_whose_run_airflow_does_not_show_is_never_closed(store: SiteStore) -> None:
    action_id = ask(store)
    take_site(store, action_id, no_run, LOG)
    action = store.actions.get(action_id)
    found = reconcile_all(store, Runs({action.run_id: "running"}, hidden={action.run_id}), "slipway", 0.0, {})
    assert (found.closed, found.hidden, found.gone) == ((), (action,), {})
    assert store.actions.get(action_id) == action
