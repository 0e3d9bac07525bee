"""What the engine's loop asks of the store, in memory, for one action: unit tests drive groups and node steps with it.

It keeps the rules that the loop relies on: an operation claims a node once, a lease is one process's, and what is over
stays so. That the real store keeps them is shown by its own tests, and by those of the engine with it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from site_engine.process import Clock
from site_store import (
    ActionRecord,
    ActionState,
    AuditRecord,
    GroupRecord,
    NodeRecord,
    Operation,
    OperationStatus,
    PlannedGroup,
    TaskRecord,
    WaitedFor,
)
from strategy_lib.criteria import CriterionResult
from strategy_lib.node import NodeState, TaskStatus, node_state
from strategy_lib.node_states.publication import NOTHING_PUBLISHED, Version
from strategy_lib.outcome import NodeCondition, Outcome
from strategy_lib.phase import GroupState, Phase, Reason

ACTION, SITE = "01J", "alpha"
_LIVE = (OperationStatus.INTENDED, OperationStatus.SUBMITTED)
_UNPROVEN = (TaskStatus.PROCESSING, TaskStatus.UNKNOWN)


class MemoryStore:
    """The facts of one action, in repositories as those of `SiteStore`."""

    def __init__(self, clock: Clock, groups: Iterable[PlannedGroup] = ()) -> None:
        self.clock = clock
        self.operations = _Operations(self)
        self.tasks = _Tasks(self)
        self.groups = _Groups(self, groups)
        self.nodes = _Nodes()
        self.actions = _Actions(clock.now())
        self.events = _Events()
        self.waits = _Waits(self)
        self.provisioner_lists = _ProvisionerLists()
        self.site_views = _SiteViews()
        self.user_states = _UserStates()

    def now(self) -> datetime:
        """Return the time."""
        return self.clock.now()


class _Operations:
    def __init__(self, store: MemoryStore) -> None:
        self._store = store
        self.all: dict[int, Operation] = {}
        self.found: dict[int, Mapping[str, str]] = {}

    def get(self, op: int) -> Operation:
        return self.all[op]

    def of_action(self, action_id: str, group: str | None = None) -> list[Operation]:
        return [one for one in self.all.values() if group in (None, one.group)]

    def begin(
        self,
        action_id: str,
        site: str,
        group: str | None,
        attempt: int,
        phase: Any,
        nodes: Collection[str],
        design_ref: str,
        found: Mapping[str, str] | None = None,
        digests: Mapping[str, str] | None = None,
        *,
        number: int = 0,
        due: Collection[str] = (),
        again: Collection[str] = (),
        site_state: Version | None = None,
    ) -> Operation:
        asked, op, now = Phase(str(phase)), len(self.all) + 1, self._store.now()
        for known in self.all.values():
            if (known.group, known.attempt, known.phase, known.round) == (group, attempt, asked, number):
                return known
        self._store.tasks.try_again(again)
        claimed = tuple(name for name in sorted(nodes) if self._store.tasks.claim(name, asked, op, group))
        is_over = asked.is_of_nodes and not claimed
        self.found[op] = {name: (found or {}).get(name, NodeCondition.NOT_LISTED) for name in claimed}
        self.all[op] = Operation(
            op=op,
            action_id=action_id,
            site=site,
            group=group,
            attempt=attempt,
            phase=asked,
            reference=f"slipway-{action_id}-{op}",
            nodes=claimed,
            design_ref=design_ref,
            provisioner_task=None,
            lease_owner=None,
            lease_until=None,
            created=now,
            sending=None,
            submitted=None,
            running_since=None,
            ended=now if is_over else None,
            over=now if is_over else None,
            status=OperationStatus.COMPLETE if is_over else OperationStatus.INTENDED,
            result=None,
            round=number,
            left_out=tuple(sorted(set(due).difference(claimed))),
        )
        return self.all[op]

    def acquire_lease(self, op: int, owner: str, seconds: float, *, sending: bool = False) -> bool:
        known, now = self.all[op], self._store.now()
        is_free = known.lease_owner in (None, owner) or (known.lease_until or now) <= now
        if known.status is not OperationStatus.INTENDED or not is_free:
            return False
        sent = now if sending else known.sending
        self.all[op] = replace(known, lease_owner=owner, lease_until=now + timedelta(seconds=seconds), sending=sent)
        return True

    def mark_submitted(self, op: int, provisioner_task: str) -> None:
        known = self.all[op]
        assert known.provisioner_task in (None, provisioner_task), "an operation became two provisioner tasks"
        self.all[op] = replace(
            known,
            provisioner_task=provisioner_task,
            submitted=self._store.now(),
            status=OperationStatus.SUBMITTED if known.status is OperationStatus.INTENDED else known.status,
        )

    def mark_running(self, op: int, ago: timedelta) -> None:
        self.all[op] = replace(self.all[op], running_since=self.all[op].running_since or self._store.now() - ago)

    def overtaken_by(self, op: int) -> int | None:
        begun = [one.op for one in self.all.values() if one.op > op and one.running_since is not None]
        return max(begun, default=None)

    def record_outcome(self, op: int, outcome: Outcome, *, status: OperationStatus, result: str) -> frozenset[str]:
        self._store.tasks.settle(self.all[op], outcome)
        self.finish(op, status, result)
        return frozenset()

    def record_late_outcome(self, op: int, outcome: Outcome, note: str = "") -> frozenset[str]:
        self._store.tasks.settle(self.all[op], outcome)
        self.finish(op, OperationStatus.COMPLETE)
        return outcome.succeeded | outcome.failed

    def finish(self, op: int, status: OperationStatus, result: str | None = None) -> bool:
        known, now = self.all[op], self._store.now()
        over = known.over or (now if status is OperationStatus.COMPLETE else None)
        self.all[op] = replace(known, status=status, ended=known.ended or now, over=over, result=result or known.result)
        return True

    def unfinished(self, site: str, nodes: Collection[str] | None = None) -> list[Operation]:
        return [
            one
            for one in self.all.values()
            if one.over is None
            and one.status is not OperationStatus.INTENDED
            and (nodes is None or not set(nodes).isdisjoint(one.nodes))
        ]


class _Tasks:
    def __init__(self, store: MemoryStore) -> None:
        self._store = store
        self.all: dict[tuple[str, str], TaskRecord] = {}
        self.wanted: dict[str, str] = {}

    def get(self, node: str, phase: Any) -> TaskRecord:
        return self.all.get((node, str(phase)), TaskRecord(TaskStatus.PENDING))

    def _set(self, node: str, phase: Any, status: TaskStatus, **facts: Any) -> None:
        self.all[node, str(phase)] = replace(self.get(node, phase), status=status, **facts)

    def claim(self, node: str, phase: Phase, op: int, group: str | None) -> bool:
        if phase.is_node_step:
            is_free = self.get(node, phase).status in (TaskStatus.PENDING, TaskStatus.ERROR, TaskStatus.UNKNOWN)
        else:
            is_prepared = self.get(node, Phase.PREPARE).status is TaskStatus.SUCCESS
            is_free = self.get(node, _column(phase)).status is TaskStatus.PENDING
            is_free = is_free and (phase is not Phase.DEPLOY or is_prepared)
        if is_free:
            self._set(node, _column(phase), TaskStatus.PROCESSING, op=op, owner_group=group, error=None)
        return is_free

    def settle(self, operation: Operation, outcome: Outcome) -> None:
        phase = _column(operation.phase)
        good = TaskStatus.PENDING if operation.phase is Phase.RELEASE else TaskStatus.SUCCESS
        for status, nodes in (
            (good, outcome.succeeded),
            (TaskStatus.ERROR, outcome.failed),
            (TaskStatus.UNKNOWN, outcome.unknown),
        ):
            for name in nodes:
                task = self.get(name, phase)
                if task.op == operation.op and task.status in _UNPROVEN:
                    self._set(name, phase, status, error=outcome.notes.get(name))

    def states(self) -> dict[str, NodeState]:
        return {
            name: node_state(self.get(name, Phase.PREPARE).status, self.get(name, Phase.DEPLOY).status)
            for name, _ in self.all
        }

    def try_again(self, nodes: Collection[str]) -> None:
        for name in nodes:
            failed = TaskStatus.ERROR in (self.get(name, Phase.PREPARE).status, self.get(name, Phase.DEPLOY).status)
            for phase in (Phase.PREPARE, Phase.DEPLOY):
                if failed:
                    self._set(name, phase, TaskStatus.PENDING, op=None, error=None)

    def attempt_states(self, action_id: str, group: str, attempt: int) -> dict[str, NodeState]:
        nodes = self._store.groups.get(action_id, group).nodes
        return {
            name: node_state(self.get(name, Phase.PREPARE).status, self.get(name, Phase.DEPLOY).status)
            for name in nodes
        }

    def of_step(self, action_id: str, phase: Any) -> list[tuple[str, TaskRecord]]:
        return [(name, task) for (name, step), task in sorted(self.all.items()) if step == str(phase)]

    def withheld(self, action_id: str, group: str | None = None) -> dict[str, str]:
        return {name: task.error or "" for (name, _), task in self.all.items() if task.status is TaskStatus.WITHHELD}

    def settle_deployed(
        self, action_id: str, phase: Any, as_wanted: Collection[str], withheld: Mapping[str, str]
    ) -> None:
        for name in as_wanted:
            self._set(name, Phase.PREPARE, TaskStatus.SUCCESS)
            self._set(name, Phase.DEPLOY, TaskStatus.SUCCESS)
        for name, why in withheld.items():
            self._set(name, phase, TaskStatus.WITHHELD, error=why)

    def digests(self, action_id: str, group: str) -> dict[str, str]:
        return self.wanted

    def explain_pending(self, action_id: str, phase: Any, nodes: Collection[str], why: str | None) -> None:
        for name in nodes:
            if self.get(name, phase).status is TaskStatus.PENDING:
                self._set(name, phase, TaskStatus.PENDING, error=why)

    def found_before(self, op: int) -> dict[str, str]:
        return dict(self._store.operations.found[op])

    def as_wanted_before(self, op: int) -> frozenset[str]:
        done = {record.name: record.done_digest for record in self._store.nodes.records}
        return frozenset(name for name, digest in self.wanted.items() if done.get(name) == digest)

    def fail_unsent(self, action_id: str, site: str, group: str, attempt: int, reasons: Mapping[str, str]) -> None:
        for name, why in reasons.items():
            self._set(name, Phase.PREPARE, TaskStatus.ERROR, error=why)


class _Waits:
    def __init__(self, store: MemoryStore) -> None:
        self._store = store

    def facts(self, action_id: str, nodes: Collection[str]) -> dict[str, WaitedFor]:
        states = self._store.tasks.states()
        return {name: WaitedFor(states[name]) for name in nodes if name in states}

    def wait(self, action_id: str, _group: str, others: Mapping[str, str]) -> None:
        for name, other in others.items():
            self._store.tasks.explain_pending(action_id, Phase.DEPLOY, [name], f"waits for {other}")

    def hold(self, action_id: str, reasons: Mapping[str, str]) -> None:
        for name, why in reasons.items():
            for phase in (Phase.PREPARE, Phase.DEPLOY):
                self._store.tasks.explain_pending(action_id, phase, [name], why)


class _Groups:
    def __init__(self, store: MemoryStore, groups: Iterable[PlannedGroup]) -> None:
        self._store = store
        self._all = {
            planned.group.name: GroupRecord(
                ACTION,
                planned.group.name,
                position,
                planned.group.critical,
                planned.group,
                planned.nodes,
                GroupState.PENDING,
                plan=planned.plan,
            )
            for position, planned in enumerate(groups)
        }

    def get(self, action_id: str, name: str) -> GroupRecord:
        record = self._all[name]
        own = [one for one in self._store.operations.of_action(action_id, name) if one.attempt == record.attempt]
        done = {one.phase for one in own if one.ended and one.phase.value in ("prepare", "deploy")}
        return replace(record, phases_done=frozenset(done))

    def states(self, action_id: str, names: Collection[str]) -> dict[str, GroupState]:
        return {name: self._all[name].state for name in names}

    def open_attempt(
        self, action_id: str, group: str, attempt_key: str, may_begin: object = None, *, takes_over: bool = True
    ) -> GroupRecord:
        assert may_begin is None, "nothing runs side by side here"
        assert takes_over
        record = self._all[group]
        if record.state is GroupState.PENDING:
            self._all[group] = replace(
                record, state=GroupState.RUNNING, attempt=1, attempt_key=attempt_key, started=self._store.now()
            )
        return self.get(action_id, group)

    def save_criteria(self, action_id: str, group: str, attempt: int, criteria: Sequence[CriterionResult]) -> None:
        self._all[group] = replace(self._all[group], criteria=tuple(criteria))

    def finish(
        self,
        action_id: str,
        group: str,
        attempt: int,
        state: GroupState,
        reason: Reason | None,
        criteria: Sequence[CriterionResult],
        counts: Mapping[str, int],
        blocked: str | None = None,
    ) -> None:
        facts: dict[str, Any] = {"reason": reason, "criteria": tuple(criteria), "counts": counts}
        self._all[group] = replace(self._all[group], state=state, ended=self._store.now(), **facts)


class _Nodes:
    def __init__(self) -> None:
        self.records: list[NodeRecord] = []
        self.left: dict[str, NodeCondition] = {}

    def of_site(self, site: str) -> list[NodeRecord]:
        return self.records

    def left_undeployed(self, site: str, nodes: Collection[str]) -> dict[str, NodeCondition]:
        return {name: self.left[name] for name in nodes if name in self.left}

    def record_conditions(
        self, site: str, conditions: Mapping[str, str], left_by: int | None = None, missing: Collection[str] = ()
    ) -> None:
        pass


class _Actions:
    def __init__(self, created: datetime) -> None:
        self.audits: list[AuditRecord] = []
        self._record = ActionRecord(
            id=ACTION,
            kind="deploy_site",
            site=SITE,
            revision=1,
            parameters={},
            dag_id="deploy_site",
            run_id=ACTION,
            user="ann",
            created=created,
            started=created,
            ended=None,
            state=ActionState.RUNNING,
            verdict=None,
            has_report=False,
            context_marker=None,
            dry_run=False,
            whole_site=True,
            step=None,
            paused=None,
        )

    def get(self, action_id: str) -> ActionRecord:
        return self._record

    def commands(self, action_id: str) -> list[AuditRecord]:
        return self.audits


class _ProvisionerLists:
    """Which list was kept last."""

    def __init__(self) -> None:
        self.kept: Mapping[str, Mapping[str, Any]] | None = None

    def save(self, site: str, connection: str, nodes: Mapping[str, Mapping[str, Any]], asked: Any = None) -> bool:
        self.kept = nodes
        return True


class _SiteViews:
    """Nothing is published."""

    def version(self, site: str) -> Version:
        return NOTHING_PUBLISHED


class _UserStates:
    """All nodes are in use."""

    def left_out(self, site: str, kind: str) -> dict[str, str]:
        return {}


class _Events:
    def __init__(self) -> None:
        self.messages: list[str] = []

    def add(self, site: str, kind: str, message: str, **about: Any) -> None:
        self.messages.append(message)


def _column(phase: Phase) -> str:
    """Return the phase whose task an operation claims."""
    return str(Phase.PREPARE if phase is Phase.RELEASE else phase)
