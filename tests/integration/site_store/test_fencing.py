"""A controller that was frozen, and replaced meanwhile, writes nothing when it wakes up (rule 55).

Each write of its jobs requires the lease in its own transaction. What Slipway's API does for it is the same when it is
done twice.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import Connection, select

from site_engine.controller.controller import Controller, Job, close_dead_actions
from site_engine.controller.upkeep import note_runs
from site_store import ActionState, Lease, LeaseLost, SiteStore
from site_store.nodes.ailing import AilingNode
from site_store.nodes.drifts import FoundDrift, JudgedNode
from site_store.status.events import EventKind, NewEvent
from site_store.status.outbox import write_notification
from site_store.status.status_records import DeliveryRecord
from site_store.tables import metadata
from strategy_lib.node_states.generated import NodeAvailability
from strategy_lib.node_states.node_memory import NodeMemory
from strategy_lib.node_states.publication import PublishedState
from strategy_lib.node_states.user_state import UserState
from strategy_lib.parsing.notifications import NotificationKind
from strategy_lib.phase import Phase
from tests.integration.site_store.scenario import SITE, FakeClock, Scenario, outcome, some, want

NAME = "controller"
_UP = PublishedState(NodeAvailability.UP)
_DOWN = UserState(NodeAvailability.DOWN, "it crashes")
_AILING = AilingNode("n1", "op 1", "failed", drifted=False, as_done=True, in_progress=False, failures=1, next_try=None)
_JUDGED = JudgedNode("n1", 1, None, as_wanted=True)


def _told(clock: FakeClock) -> DeliveryRecord:
    return DeliveryRecord(1, "t", next_try=clock.time)


Write = Callable[[SiteStore, Lease, FakeClock, str], Any]
WRITES: dict[str, Write] = {
    "dead actions": lambda store, held, _, action: store.actions.close(
        action, ActionState.CANCELLED, "gone", "slipway", held
    ),
    "notes of runs": lambda store, held, _, action: store.actions.mark_noted(held, action, None),
    "what is waited for": lambda store, held, *_: store.approvals.mark_noted(held, []),
    "checks": lambda store, held, *_: store.checks.record(held, "airflow", "away"),
    "owners seen": lambda store, held, *_: store.owners.check_in("airflow:deploy_site", 30, held=held),
    "owners missed": lambda store, held, clock, _: store.owners.note_changes(
        held, clock.time - timedelta(hours=1), ["airflow:x"]
    ),
    "sites unwatched": lambda store, held, clock, _: store.watches.note(held, clock.time),
    "reports of nodes": lambda store, held, *_: store.node_reports.notify(held),
    "who is told": lambda store, held, *_: store.outbox.route(held),
    "what was sent": lambda store, held, clock, _: store.outbox.record_attempt(held, _told(clock), None),
    "old events": lambda store, held, clock, _: store.events.prune(clock.time + timedelta(days=1), held),
    "old lists": lambda store, held, clock, _: store.shared_lists.prune(held, clock.time + timedelta(days=1)),
    "old notifications": lambda store, held, clock, _: store.outbox.prune(held, clock.time + timedelta(days=1)),
    "which watcher": lambda store, held, *_: store.object_changes.route(held, {}),
    "telling a watcher": lambda store, held, *_: store.object_changes.take(held, "webhook"),
    "a watcher was told": lambda store, held, clock, _: store.object_changes.record(held, _told(clock), None),
    "the roll-up": lambda store, held, *_: store.counts.merge(held),
    "a repair begins": lambda store, held, *_: store.repairs.begin(held, SITE, "run", [_AILING], redeploy=False),
    "a repair runs": lambda store, held, *_: store.repairs.started(held, SITE, "run", "action"),
    "a repair is refused": lambda store, held, *_: store.repairs.refused(held, SITE, "run", "no"),
    "a repair ends": lambda store, held, *_: store.repairs.settle(held, SITE, "action"),
    "a repair is only said": lambda store, held, *_: store.repairs.observe(held, SITE, {_AILING: "it would"}),
    "a version": lambda store, held, *_: store.site_views.publish(held, SITE, {}, _UP, {}),
    "what is known of nodes": lambda store, held, *_: store.site_views.remember(held, SITE, {"n1": NodeMemory()}),
    "a node is taken down": lambda store, held, *_: store.site_views.remember(
        held, SITE, {}, taken_down={"n1": _DOWN}, events=[NewEvent(EventKind.NODE_STATE, "down", node="n1")]
    ),
    "old versions": lambda store, held, clock, _: store.site_views.prune(held, SITE, clock.time + timedelta(days=1)),
    "a drift": lambda store, held, clock, _: store.drifts.record(
        held, SITE, [FoundDrift(_JUDGED, "it is off", clock.time, "drifted")]
    ),
    "a renewal": lambda store, held, *_: store.leases.renew(held, 30),
}


def everything(store: SiteStore) -> dict[str, list[Any]]:
    """Return all rows of all tables."""

    def work(tx: Connection) -> dict[str, list[Any]]:
        return {table.name: sorted(map(repr, tx.execute(select(table)))) for table in metadata.sorted_tables}

    return store._database.read(work)


def replaced(store: SiteStore, clock: FakeClock, held: Lease) -> None:
    """Let the lease run out, and another process take it."""
    clock.move((held.expires_at - clock.time).total_seconds())
    assert store.leases.take(held.name, "another", 60) is not None


@pytest.fixture
def action(site: Scenario) -> str:
    """An action that is at work, and a notification that nobody was told of."""
    want(site.store, 1, {"n1": "d1"})
    made = site.running({"one": ["n1"]})
    site.begin(site.open(made, "one"), Phase.PREPARE)
    at = site.clock.time

    def tell(tx: Connection) -> None:
        write_notification(tx, at, SITE, NotificationKind.OWNER_BACK, data={"owner": "x"})

    site.store._database.write(tell)
    return made.id


@pytest.mark.parametrize("what", WRITES)
def test_who_was_replaced_between_reading_and_writing_writes_nothing(site: Scenario, action: str, what: str) -> None:
    store, clock = site.store, site.clock
    held = some(store.leases.take(NAME, "frozen", 30))
    replaced(store, clock, held)
    before = everything(store)
    with pytest.raises(LeaseLost):
        WRITES[what](store, held, clock, action)
    assert everything(store) == before


class Runs:
    """Airflow, during whose answer the controller is frozen and replaced."""

    def __init__(self, frozen: Callable[[], None]) -> None:
        self.frozen = frozen

    def run_states(self, _runs: Collection[tuple[str, str]]) -> dict[tuple[str, str], str]:
        return {}

    def run_state(self, _dag_id: str, _run_id: str) -> str:
        self.frozen()
        return "failed"

    def set_note(self, _dag_id: str, _run_id: str, _note: str) -> None:
        self.frozen()


@pytest.mark.parametrize("job", [close_dead_actions, note_runs])
def test_a_leader_that_is_frozen_while_airflow_answers_writes_nothing(
    site: Scenario, action: str, job: Callable[[Runs], Job]
) -> None:
    store, clock = site.store, site.clock
    if job is note_runs:
        assert store.actions.close(action, ActionState.FAILED, "one group failed")
    known: list[Any] = []

    def frozen() -> None:
        held = some(store.leases.get(NAME))
        replaced(store, clock, held)
        known.append(everything(store))

    controller = Controller(store, "frozen", [job(Runs(frozen))], lambda: 0.0)
    with pytest.raises(LeaseLost):
        controller.look()
    assert known == [everything(store)]


def test_a_late_result_that_is_recorded_twice_is_recorded_once(site: Scenario, action: str) -> None:
    store = site.store
    operation = store.operations.of_action(action)[0]
    store.actions.close(action, ActionState.CANCELLED, "gone")
    assert store.operations.record_late_outcome(operation.op, outcome(["n1"])) == {"n1"}
    once, node = everything(store), store.nodes.of_site(SITE)[0]
    site.clock.move(60)
    assert store.operations.record_late_outcome(operation.op, outcome(["n1"])) == frozenset()
    different = {name for name, rows in everything(store).items() if rows != once[name]}
    assert different <= {"node", "status_count"}, "the node was looked at again, which is all"
    again = store.nodes.of_site(SITE)[0]
    assert (again.status, again.error, again.done_revision) == (node.status, node.error, node.done_revision)
