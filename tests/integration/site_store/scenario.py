"""A site with an action that is under way, in few words, on a clock that the test moves."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar

from sqlalchemy import select

from site_store import (
    ActionRecord,
    Claim,
    GroupRecord,
    NewAction,
    NewPlan,
    Operation,
    OperationStatus,
    PlannedGroup,
    SiteStore,
)
from site_store.nodes.goals import write_wanted
from site_store.tables import event
from strategy_lib.outcome import Outcome
from strategy_lib.phase import GroupState, Phase, Reason
from strategy_lib.strategy import Group

SITE = "north"
T = TypeVar("T")


def some(found: T | None) -> T:
    """Return what is to be there."""
    assert found is not None
    return found


class FakeClock:
    """A clock that stands still until it is moved."""

    def __init__(self) -> None:
        self.time = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.time

    def move(self, seconds: float) -> None:
        self.time += timedelta(seconds=seconds)


def outcome(
    succeeded: Collection[str] = (),
    failed: Collection[str] = (),
    unknown: Collection[str] = (),
    notes: Mapping[str, str] | None = None,
) -> Outcome:
    return Outcome(frozenset(succeeded), frozenset(failed), frozenset(unknown), notes=notes or {})


def want(store: SiteStore, revision: int, digests: Mapping[str, str], site: str = SITE) -> None:
    """Want these nodes, as the commit of a revision does."""
    store._database.write(lambda tx: write_wanted(tx, site, revision, digests))


def events_of(store: SiteStore, site: str, kind: str) -> list[str]:
    """Return what the events of this kind of a site say, oldest first."""
    query = select(event.c.message).where(event.c.site == site, event.c.kind == kind).order_by(event.c.id)
    return store._database.read(lambda tx: list(tx.scalars(query)))


@dataclass
class Scenario:
    """What the tests do again and again with a store."""

    store: SiteStore
    clock: FakeClock

    def action(self, run_id: str = "run-1", site: str = SITE) -> ActionRecord:
        return self.store.actions.ensure("deploy_site", run_id, NewAction("deploy_site", site, None, {}, "ann"))

    def holding(self, run_id: str = "run-1") -> ActionRecord:
        """An action that holds its site, and has no plan yet."""
        action = self.action(run_id)
        self.store.locks.acquire(action.id)
        return action

    def running(
        self,
        groups: Mapping[str, Sequence[str]],
        run_id: str = "run-1",
        done: Collection[str] = (),
        digests: Mapping[str, str] | None = None,
    ) -> ActionRecord:
        """An action that holds its site and has a plan."""
        action = self.holding(run_id)
        plan = [PlannedGroup(Group(name, critical=True), tuple(nodes)) for name, nodes in groups.items()]
        self.store.groups.save_plan(action.id, NewPlan(plan, done, digests or {}))
        return self.store.actions.get(action.id)

    def opened(
        self,
        groups: Mapping[str, Sequence[str]],
        run_id: str = "run-1",
        done: Collection[str] = (),
        digests: Mapping[str, str] | None = None,
        key: str = "first",
    ) -> tuple[ActionRecord, GroupRecord]:
        """The same, with its first group begun."""
        action = self.running(groups, run_id, done, digests)
        return action, self.open(action, next(iter(groups)), key)

    def open(self, action: ActionRecord, group: str, key: str = "first") -> GroupRecord:
        return self.store.groups.open_attempt(action.id, group, key)

    def begin(
        self,
        record: GroupRecord,
        phase: Phase,
        nodes: Collection[str] | None = None,
        site: str = SITE,
        found: Mapping[str, str] | None = None,
    ) -> Operation:
        wanted = record.nodes if nodes is None else nodes
        return self.store.operations.begin(
            Claim(record.action_id, site, record.name, record.attempt, phase, wanted, "file:///design", found)
        )

    def submit(self, operation: Operation) -> Operation:
        assert self.store.operations.acquire_lease(operation.op, "me", 30, sending=True)
        self.store.operations.mark_submitted(operation.op, f"task-{operation.op}")
        return self.store.operations.get(operation.op)

    def do(self, record: GroupRecord, phase: Phase, result: Outcome | None = None) -> Operation:
        """A whole phase; without a result everything succeeds."""
        operation = self.submit(self.begin(record, phase))
        ended = {"status": OperationStatus.COMPLETE, "result": "success"}
        self.record(operation, result or outcome(operation.nodes), **ended)
        return self.store.operations.get(operation.op)

    def deploy(self, record: GroupRecord) -> Operation:
        """Both phases, in which everything succeeds; returns the second."""
        self.do(record, Phase.PREPARE)
        return self.do(record, Phase.DEPLOY)

    def step(
        self, action: ActionRecord, phase: Phase, nodes: Collection[str] = (), found: Any = None, attempt: int = 1
    ) -> Operation:
        """Begin a step of no group."""
        claim = Claim(action.id, SITE, None, attempt, phase, nodes, "file:///design", found)
        return self.store.operations.begin(claim)

    def record(self, operation: Operation, came: Outcome, **ended: Any) -> frozenset[str]:
        return self.store.operations.record_outcome(operation.op, came, **ended)

    def record_late(self, operation: Operation, came: Outcome, note: str = "", **ended: Any) -> frozenset[str]:
        return self.store.operations.record_late_outcome(operation.op, came, note, **ended)

    def fail(self, record: GroupRecord, reason: Reason = Reason.DEPLOY_CRITERIA) -> None:
        assert self.store.groups.finish(record.action_id, record.name, record.attempt, GroupState.FAILURE, reason)

    def states(self, action: ActionRecord, group: str | None = None) -> dict[str, str]:
        return {name: str(state) for name, state in self.store.tasks.node_states(action.id, group).items()}
