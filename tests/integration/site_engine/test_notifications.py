"""The controller sends what is written, to those who want it, until they have it; tells of owners; and notes runs."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from api_client.airflow_health import ComponentHealth
from site_engine.controller.controller import LEASE_SECONDS, Controller, Job
from site_engine.controller.notifications import GIVEN_UP_AFTER, SEND_EVERY, send_notifications
from site_engine.controller.owner_jobs import CHANGES_EVERY, NEVER_SEEN, check_owners, check_provisioners, watch_owners
from site_engine.controller.upkeep import NOTES_EVERY, note_runs
from site_engine.errors import AccountRefused, AirflowApiError, AirflowRefused, NotDelivered
from site_engine.kinds import KINDS
from site_engine.monitoring.owners import AIRFLOW_INTERVAL, airflow_owner, list_owners, provisioner_owner
from site_store import ActionRecord, ActionState, ApprovalAnswer, Lease, NewAction, NewRevision, OutboxRecord, SiteStore
from strategy_lib.parsing.notifications import Target
from strategy_lib.strategy import ApprovalMoment
from tests.integration.site_engine.test_controller import Clock
from tests.support.stores import check_results, deliveries_of

SITE = "alpha"
TARGETS = {
    "targets": [
        {"name": "chat", "webhook": {"connection": "chat_hook"}},
        {"name": "mail", "events": ["verdict"], "notifier": {"name": "smtp"}},
    ]
}
DRYDOCK = provisioner_owner("slipway_provisioner")


class Receivers:
    """Takes notifications, unless told otherwise."""

    def __init__(self) -> None:
        self.taken: list[tuple[str, str, str]] = []
        self.refuses: Exception | None = None
        self.tries = 0

    def __call__(self, event: OutboxRecord, target: Target, held: Lease) -> None:
        self.tries += 1
        if self.refuses is not None:
            raise self.refuses
        self.taken.append((event.kind, target.name, event.event_id))


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def store(store: SiteStore) -> SiteStore:
    store.revisions.commit(NewRevision(SITE, {"a": "a: 1\n"}, [], "a: 1\n", "ann", notifications=TARGETS))
    return store


def leader(store: SiteStore, clock: Clock, *jobs: Job) -> Controller:
    return Controller(store, "me", jobs, clock.monotonic)


def fail_an_action(store: SiteStore) -> str:
    action = store.actions.ensure("deploy_site", "run-1", NewAction("deploy_site", SITE, 1, {}, "ann"))
    store.actions.close(action.id, ActionState.FAILED, "no")
    (event,) = store.outbox.newest(SITE)
    return event.event_id


def go_on(controller: Controller, clock: Clock, seconds: float, step: float = SEND_EVERY) -> None:
    """Let it look until so much time has passed."""
    until = clock.seconds + seconds
    while clock.seconds < until:
        clock.seconds += step
        controller.look()
        if step >= LEASE_SECONDS:
            controller.give_up()


def test_each_target_gets_it_once(store: SiteStore, clock: Clock) -> None:
    receivers = Receivers()
    event_id = fail_an_action(store)
    go_on(leader(store, clock, send_notifications(receivers)), clock, 60)
    assert sorted(receivers.taken) == [("verdict", "chat", event_id), ("verdict", "mail", event_id)]


def test_what_is_not_taken_is_tried_again_with_the_same_id_after_growing_pauses(store: SiteStore, clock: Clock) -> None:
    receivers = Receivers()
    event_id = fail_an_action(store)
    receivers.refuses = NotDelivered("the receiver answers 503")
    controller = leader(store, clock, send_notifications(receivers))
    go_on(controller, clock, 100)
    assert receivers.tries == 2 * 4, "at 5, 15, 35 and 75 s"
    receivers.refuses = None
    go_on(controller, clock, 100)
    assert sorted(receivers.taken) == [("verdict", "chat", event_id), ("verdict", "mail", event_id)]


def test_after_three_days_it_is_given_up_and_says_why(store: SiteStore, clock: Clock) -> None:
    receivers = Receivers()
    event_id = fail_an_action(store)
    receivers.refuses = NotDelivered("the receiver answers 410")
    controller = leader(store, clock, send_notifications(receivers))
    go_on(controller, clock, GIVEN_UP_AFTER.total_seconds() + 86400, step=43200)
    tries = receivers.tries
    go_on(controller, clock, 86400, step=43200)
    assert receivers.tries == tries
    deliveries = deliveries_of(store, store.outbox.get(event_id).id)
    assert {delivery.error for delivery in deliveries} == {"the receiver answers 410"}
    assert {(delivery.delivered, delivery.next_try) for delivery in deliveries} == {(None, None)}


def test_an_api_that_is_away_loses_nothing(store: SiteStore, clock: Clock) -> None:
    receivers = Receivers()
    fail_an_action(store)
    receivers.refuses = AirflowApiError("Airflow does not answer")
    controller = leader(store, clock, send_notifications(receivers))
    go_on(controller, clock, GIVEN_UP_AFTER.total_seconds() + 43200, step=43200)
    assert list(check_results(store).values()) == ["Airflow does not answer"]
    receivers.refuses = None
    go_on(controller, clock, 120)
    assert len(receivers.taken) == 2


def test_a_refused_account_is_no_attempt(store: SiteStore, clock: Clock) -> None:
    receivers = Receivers()
    event_id = fail_an_action(store)
    receivers.refuses = AccountRefused("HTTP 401")
    go_on(leader(store, clock, send_notifications(receivers)), clock, 5)
    deliveries = deliveries_of(store, store.outbox.get(event_id).id)
    assert receivers.tries == 1
    assert {delivery.attempts for delivery in deliveries} == {0}


def test_a_target_that_was_taken_out_gets_nothing_more(store: SiteStore, clock: Clock) -> None:
    receivers = Receivers()
    fail_an_action(store)
    receivers.refuses = NotDelivered("no")
    controller = leader(store, clock, send_notifications(receivers))
    go_on(controller, clock, 5)
    store.revisions.commit(NewRevision(SITE, {"a": "a: 2\n"}, [], "a: 2\n", "ann", notifications={"targets": []}))
    receivers.refuses = None
    go_on(controller, clock, 60)
    assert receivers.taken == []
    assert store.outbox.waiting() == {}


def test_a_controller_that_was_killed_between_sending_and_noting_it_sends_it_again(
    store: SiteStore, clock: Clock
) -> None:
    receivers = Receivers()
    event_id = fail_an_action(store)

    class Killed(BaseException):
        pass

    def killed(event: OutboxRecord, target: Target, held: Lease) -> None:
        receivers(event, target, held)
        raise Killed

    with pytest.raises(Killed):
        leader(store, clock, send_notifications(killed)).look()
    clock.seconds += 100
    go_on(Controller(store, "next", [send_notifications(receivers)], clock.monotonic), clock, 30)
    assert sorted(receivers.taken) == [
        ("verdict", "chat", event_id),
        ("verdict", "chat", event_id),
        ("verdict", "mail", event_id),
    ]


def told(store: SiteStore) -> list[tuple[str, str]]:
    events = reversed(store.outbox.newest(SITE))
    return [(event.kind, event.data["owner"]) for event in events if "owner" in event.data]


def test_rule_30_airflow_is_there_while_scheduler_and_triggerer_are_well(store: SiteStore, clock: Clock) -> None:
    well = ComponentHealth(None, 2)
    health = {"metadatabase": ComponentHealth(None, 0), "scheduler": well, "triggerer": well}
    controller = leader(store, clock, check_owners(lambda: health), watch_owners())
    go_on(controller, clock, 120)
    alive = {view.name for view in list_owners(store).owners if view.alive}
    assert {airflow_owner(kind) for kind in KINDS} <= alive
    health["triggerer"] = ComponentHealth("Airflow says unhealthy", 40)
    go_on(controller, clock, AIRFLOW_INTERVAL + CHANGES_EVERY + 15)
    assert told(store) == [("owner_unresponsive", "airflow:deploy_site")]
    health["triggerer"] = well
    go_on(controller, clock, 30)
    assert told(store)[1:] == [("owner_back", "airflow:deploy_site")]


def test_rule_30_a_triggerer_that_airflow_still_calls_healthy_was_seen_when_it_gave_its_last_sign_of_life(
    store: SiteStore, clock: Clock
) -> None:
    beat = clock.monotonic()
    well = ComponentHealth(None, 1)
    controller = leader(
        store,
        clock,
        check_owners(lambda: {"scheduler": well, "triggerer": ComponentHealth(None, clock.monotonic() - beat)}),
    )
    go_on(controller, clock, 30)
    now, seen, _ = store.owners.all()
    (deploy,) = [owner for owner in seen if owner.name == "airflow:deploy_site"]
    assert (now - deploy.last_seen).total_seconds() == clock.monotonic() - beat


@pytest.mark.endurance
def test_rule_30_an_idle_provisioner_is_asked_and_is_there(store: SiteStore, clock: Clock) -> None:
    store.provisioner_lists.save(SITE, "slipway_provisioner", {})
    answers: list[float] = []
    away = False

    def check(_site: str) -> str | None:
        if away:
            return "Drydock does not answer"
        answers.append(clock.seconds)
        store.owners.check_in(DRYDOCK, 60)
        return None

    controller = leader(store, clock, check_provisioners(check), watch_owners())
    go_on(controller, clock, 300)
    assert 5 <= len(answers) <= 10, "every 30 to 60 s"
    assert ("owner_unresponsive", DRYDOCK) not in told(store)
    away = True
    go_on(controller, clock, 60 + 2 * CHANGES_EVERY)
    assert told(store)[-1] == ("owner_unresponsive", DRYDOCK)
    away = False
    go_on(controller, clock, 45)
    assert told(store)[-1] == ("owner_back", DRYDOCK)


def test_a_provisioner_that_answers_others_is_not_asked(store: SiteStore, clock: Clock) -> None:
    store.provisioner_lists.save(SITE, "slipway_provisioner", {})
    asked: list[str] = []
    controller = leader(store, clock, check_provisioners(asked.append))
    for _ in range(15):
        store.owners.check_in(DRYDOCK, 60)
        go_on(controller, clock, 5)
    assert asked == []
    assert check_results(store)[f"provisioner of site {SITE}"] is None


def test_one_that_never_was_seen_is_missed_after_a_while(store: SiteStore, clock: Clock) -> None:
    controller = leader(store, clock, watch_owners())
    go_on(controller, clock, NEVER_SEEN)
    assert told(store) == []
    go_on(controller, clock, 2 * CHANGES_EVERY)
    assert told(store) == [("owner_unresponsive", "airflow:deploy_site")]


def test_a_controller_that_begins_to_lead_does_not_hold_the_past_against_anybody(
    store: SiteStore, clock: Clock
) -> None:
    store.owners.check_in("airflow:deploy_site", 60)
    clock.seconds += 86400
    controller = leader(store, clock, watch_owners())
    go_on(controller, clock, 30)
    store.owners.check_in("airflow:deploy_site", 60)
    go_on(controller, clock, 45)
    assert told(store) == []


@dataclass
class Airflow:
    """Takes notes of runs."""

    status: int = 0
    notes: list[tuple[str, str, str]] = field(default_factory=list)

    def set_note(self, dag_id: str, run_id: str, note: str) -> None:
        if self.status:
            raise AirflowRefused(self.status, "refused")
        self.notes.append((dag_id, run_id, note))


@pytest.fixture
def ended(store: SiteStore) -> ActionRecord:
    """Return an action that has failed."""
    made = store.actions.create(NewAction("deploy_site", "alpha", 3, {}, "ann", context_marker=None), exclusive=True)
    store.actions.close(made.id, ActionState.FAILED, "critical group one failed")
    return made


def look(store: SiteStore, airflow: Airflow, clock: Clock, times: int = 1) -> None:
    """Have a controller look so often, each time when the job is due."""
    controller = Controller(store, "me", [note_runs(airflow)], monotonic=clock.monotonic)
    for _ in range(times):
        controller.look()
        clock.seconds += NOTES_EVERY
    controller.give_up()


def test_a_verdict_is_noted_once_and_again_when_it_changes(store: SiteStore, clock: Clock, ended: ActionRecord) -> None:
    airflow = Airflow()
    look(store, airflow, clock, times=3)
    assert airflow.notes == [
        ("deploy_site", f"alpha__{ended.id}", "Site alpha, revision 3: failed: critical group one failed")
    ]
    store.actions.close(ended.id, ActionState.SUCCESS, "every group succeeded")
    look(store, airflow, clock, times=2)
    assert [note for _, _, note in airflow.notes[1:]] == ["Site alpha, revision 3: success: every group succeeded"]


@pytest.mark.parametrize("status", [403, 404], ids=["the account may not", "the run was deleted"])
def test_a_note_that_airflow_refuses_is_not_tried_again(
    store: SiteStore, clock: Clock, ended: ActionRecord, status: int
) -> None:
    look(store, Airflow(status), clock)
    assert store.actions.not_noted(10) == []


def test_what_has_not_ended_or_has_no_run_is_not_noted(store: SiteStore, clock: Clock) -> None:
    airflow = Airflow()
    store.actions.create(NewAction("deploy_site", "alpha", 3, {}, "ann", context_marker=None), exclusive=True)
    alone = store.actions.create(
        NewAction("deploy_site", "beta", 3, {}, "ann", context_marker=None), exclusive=True, has_run=False
    )
    store.actions.close(alone.id, ActionState.SUCCESS, "done")
    look(store, airflow, clock)
    assert airflow.notes == []


def test_whom_an_action_waits_for_is_its_note_until_he_answers(store: SiteStore, clock: Clock) -> None:
    airflow = Airflow()
    made = store.actions.create(NewAction("deploy_site", "alpha", 3, {}, "ann", context_marker=None), exclusive=True)
    asked = store.approvals.ask(made.id, "two racks", 1, ApprovalMoment.BEFORE, "Is it cabled?")
    look(store, airflow, clock, times=3)
    command = f"slipway approve action/{made.id} --group 'two racks'"
    said = f"group two racks waits for approval: {command}: Is it cabled? (Site alpha, revision 3)"
    assert [note for _, _, note in airflow.notes] == [said]
    store.approvals.answer(asked, ApprovalAnswer.APPROVED, "ann")
    look(store, airflow, clock, times=3)
    assert [note for _, _, note in airflow.notes[1:]] == ["Site alpha, revision 3"], "also by another controller"
    store.approvals.ask(made.id, "two racks", 1, ApprovalMoment.AFTER, "Is it good?")
    store.actions.close(made.id, ActionState.FAILED, "stopped by ann")
    look(store, airflow, clock, times=3)
    assert [note for _, _, note in airflow.notes[2:]] == ["Site alpha, revision 3: failed: stopped by ann"]


def test_a_long_verdict_is_cut(store: SiteStore, clock: Clock, ended: ActionRecord) -> None:
    airflow = Airflow()
    store.actions.close(ended.id, ActionState.FAILED, "x" * 5000)
    look(store, airflow, clock)
    ((_, _, note),) = airflow.notes
    assert (len(note), note[-1]) == (1000, "…")
