"""Drydock's task documents: a root task and the tree below it, made from the root's plans for a moment. Pure.

Subtasks are not stored. The ids of a tree share their first and last groups, the middle ones are numbers:
`<head>-<node>-4<stage><attempt>-<tail>`, from 1; node 0 is the root, stage 0 the node's task, attempt 0 the stage's.
Where one driver task serves all nodes (`PARALLEL`), that is node 0, stage 1, and the attempts stand right below it.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from typing import Any

from provisioner_client.simulator.machines import Work
from provisioner_client.simulator.scripts import STAGES
from provisioner_client.simulator.tasks.ledger import NODE_PHASES, PARALLEL
from provisioner_client.simulator.tasks.plans import Attempt, NodePlan

LONGEST_MESSAGE = 127
_STORAGE_STAGE = 15
# A stage whose task the real server forgets to register below its node's task.
_PARENTLESS_STAGE = "identify_node"


@dataclass(slots=True)
class TaskNode:
    """One task of a tree as it stands at the moment asked for.

    `apart`: it is not below the root, but a task without a parent, or below one. `asked` has the filter of the request.
    """

    task_id: str
    action: str
    parent: str | None
    names: tuple[str, ...]
    started: float
    ended: float | None
    status: str
    successes: Sequence[str] = ()
    failures: Sequence[str] = ()
    result: str = "incomplete"
    retry: int = 0
    messages: list[dict[str, Any]] = field(default_factory=list)
    subtasks: list[str] = field(default_factory=list)
    level: int = 1
    apart: bool = False
    asked: bool = False


class TaskTree:
    """A root task's row with its plans; a plain look at the root of a large task needs no plans.

    Parameters
    ----------
    row : the root task as stored.
    load_plans : fetches the plans of the task's nodes.
    now : the moment asked for; a frozen tree is shown as it was when it froze.
    """

    def __init__(self, row: sqlite3.Row, load_plans: Callable[[str], Sequence[NodePlan]], now: float) -> None:
        self.row, self.now = row, now
        self._load_plans = load_plans
        self._count: int = row["node_count"]
        self._split = NODE_PHASES.get(row["action"]) in PARALLEL

    @cached_property
    def plans(self) -> Sequence[NodePlan]:
        return self._load_plans(self.row["task_id"]) if self._count else ()

    @property
    def moment(self) -> float:
        """The time at which the tree is looked at."""
        frozen: float | None = self.row["frozen_at"]
        return self.now if frozen is None else min(frozen, self.now)

    def root(self) -> TaskNode:
        """Return the root; its lists are empty and its result incomplete until it is complete."""
        row = self.row
        over = row["status"] == "complete"
        root = TaskNode(
            task_id=row["task_id"],
            action=row["action"],
            parent=None,
            names=(),
            started=row["created"],
            ended=row["ended"],
            status=row["status"],
            successes=json.loads(row["successes"]) if over else (),
            failures=json.loads(row["failures"]) if over else (),
            result=row["result"] if over else "incomplete",
        )
        if row["planned"] and row["note"]:
            root.messages.append(_message(row["note"], row["task_id"], row["started"], error=False))
        if self._count and not self._split:
            driver = self._driver_task()
            starts = [(driver.task_id, driver.action, driver.started)]
        elif self._count == 1:
            stages = [task for task in self._stages(0) if task.parent == row["task_id"]]
            starts = [(stage.task_id, stage.action, stage.started) for stage in stages]
        else:
            starts = [(self._id(i, 0, 0), row["action"], row["started"]) for i in range(self._count)]
        for task_id, action, at in starts:
            root.subtasks.append(task_id)
            root.messages.append(
                _message(f"Started subtask {task_id} for action {action}", row["task_id"], at, error=False)
            )
        return root

    def descendants(self, levels: int | None = None) -> Iterator[TaskNode]:
        """Yield everything below the root, down to a level (the root is level 1; None: all of it)."""
        if self._count and not self._split:
            yield from self._driver_tree(levels)
            return
        several = self._count > 1
        for index in range(self._count):
            if several:
                yield self._node_task(index)
            if levels is None or levels > (2 if several else 1):
                below = (task for task in self._stages(index) if not task.apart)
                yield from (task for task in below if levels is None or task.level <= levels)

    def parentless(self) -> Iterator[TaskNode]:
        """Yield the tasks that the real server forgets to register as children, each with what is below it.

        Those are the storage tasks of a deploy, and the identification of each node in a prepare.
        """
        phase = NODE_PHASES.get(self.row["action"])
        if phase is Work.PREPARE:
            for index in range(self._count):
                yield from (task for task in self._stages(index) if task.apart)
        if phase is not Work.DEPLOY:
            return
        for index, plan in enumerate(self.plans):
            begun = [attempt for attempt in plan.attempts if attempt.stage == 2 and attempt.start <= self.moment]
            if begun:
                task = self._task(
                    index, _STORAGE_STAGE, 0, "apply_node_storage", None, begun[0].start, begun[0].start, 0
                )
                task.successes, task.result = (plan.node,), "success"
                yield task

    def find(self, task_id: str) -> TaskNode | None:
        if task_id == self.row["task_id"]:
            return self.root()
        try:
            index, stage = int(task_id[9:13], 16) - 1, int(task_id[15], 16)
        except ValueError:
            return None
        if self._count and not self._split:
            return next((task for task in self._driver_tree(None) if task.task_id == task_id), None)
        if not 0 <= index < self._count:
            return None
        if stage == _STORAGE_STAGE:
            candidates = list(self.parentless())
        elif stage == 0:
            candidates = [self._node_task(index)] if self._count > 1 else []
        else:
            candidates = self._stages(index)
        return next((task for task in candidates if task.task_id == task_id), None)

    def _node_task(self, index: int) -> TaskNode:
        plan = self.plans[index]
        started = self.row["started"] if plan.start is None else plan.start
        task = self._task(index, 0, 0, self.row["action"], self.row["task_id"], started, plan.end, 2)
        if plan.start is None or plan.start > self.moment:
            task.status = "queued"
        if task.status == "complete":
            task.successes = (plan.node,) if plan.succeeded else ()
            task.failures = (plan.node,) if plan.failed else ()
            task.result = _result(plan.succeeded, plan.failed)
        for stage in self._stages(index):
            if stage.parent == task.task_id:
                task.subtasks.append(stage.task_id)
                text = f"Started subtask {stage.task_id} for action {stage.action}"
                task.messages.append(_message(text, task.task_id, stage.started, error=False))
        return task

    def _stages(self, index: int) -> list[TaskNode]:
        """Return the stage tasks of a node begun so far, each followed by its leaves."""
        plan, phase = self.plans[index], NODE_PHASES[self.row["action"]]
        several = self._count > 1
        parent = self._id(index, 0, 0) if several else self.row["task_id"]
        found: list[TaskNode] = []
        for number, name in enumerate(STAGES[phase], start=1):
            attempts = [one for one in plan.attempts if one.stage == number and one.start <= self.moment]
            if not attempts:
                break
            all_of_it = [one for one in plan.attempts if one.stage == number]
            apart = name == _PARENTLESS_STAGE
            above, level = (None, 1) if apart else (parent, 3 if several else 2)
            stage = self._task(index, number, 0, name, above, attempts[0].start, all_of_it[-1].end, level)
            leaves = [self._leaf(index, attempt, name, stage) for attempt in attempts]
            # About one node, it is made with the very filter of the request, and so carries the client's reference.
            stage.apart, stage.asked = apart, apart and not several
            for leaf in leaves:
                leaf.apart = apart
            stage.subtasks = [leaf.task_id for leaf in leaves]
            if stage.status == "complete":
                ok = all_of_it[-1].ok
                stage.successes, stage.failures = ((plan.node,) if ok else ()), ((plan.node,) if ok is False else ())
                stage.result = _result(ok is True, ok is False)
            found += [stage, *leaves]
        return found

    def _driver_task(self) -> TaskNode:
        """Return the task of the driver that goes from node to node."""
        (action,) = STAGES[NODE_PHASES[self.row["action"]]]
        ends = [plan.end for plan in self.plans]
        end = None if None in ends else max(end for end in ends if end is not None)
        task = self._task(-1, 1, 0, action, self.row["task_id"], self.row["started"], end, 2)
        task.names = tuple(plan.node for plan in self.plans)
        if task.status == "complete":
            task.successes = [plan.node for plan in self.plans if plan.succeeded]
            task.failures = [plan.node for plan in self.plans if plan.failed]
            task.result = _result(bool(task.successes) or not task.failures, bool(task.failures))
        return task

    def _driver_tree(self, levels: int | None) -> Iterator[TaskNode]:
        driver = self._driver_task()
        yield driver
        if levels is None or levels > driver.level:
            for index, plan in enumerate(self.plans):
                begun = [attempt for attempt in plan.attempts if attempt.start <= self.moment]
                for leaf in (self._leaf(index, attempt, driver.action, driver) for attempt in begun):
                    driver.subtasks.append(leaf.task_id)
                    yield leaf

    def _leaf(self, index: int, attempt: Attempt, action: str, stage: TaskNode) -> TaskNode:
        node = self.plans[index].node
        # A crashed leaf never ends, though its parents do.
        end = None if attempt.ok is None else attempt.end
        leaf = self._task(
            index, attempt.stage, attempt.retry + 1, action, stage.task_id, attempt.start, end, stage.level + 1
        )
        leaf.retry = attempt.retry
        if leaf.status == "complete":
            succeeded = attempt.ok is True or attempt.both
            leaf.successes, leaf.failures = ((node,) if succeeded else ()), (() if attempt.ok else (node,))
            leaf.result = _result(succeeded, attempt.ok is False)
            if attempt.message:
                message = _message(attempt.message, node, end, error=not attempt.ok)
                leaf.messages.append({**message, "context_type": "node"})
        return leaf

    def _task(
        self,
        index: int,
        stage: int,
        attempt: int,
        action: str,
        parent: str | None,
        started: float,
        end: float | None,
        level: int,
    ) -> TaskNode:
        over = end is not None and end <= self.moment
        return TaskNode(
            task_id=self._id(index, stage, attempt),
            action=action,
            parent=parent,
            names=(self.plans[index].node,),
            started=started,
            ended=end if over else None,
            status="complete" if over else "running",
            level=level,
        )

    def _id(self, index: int, stage: int, attempt: int) -> str:
        root: str = self.row["task_id"]
        return f"{root[:8]}-{index + 1:04x}-4{stage:x}{attempt:02x}{root[18:]}"


def task_document(row: sqlite3.Row, task: TaskNode, *, fresh: bool = False) -> dict[str, Any]:
    """Return a task in Drydock's JSON; `fresh` for the answer to its POST, the only one whose times carry a zone."""
    is_root = task.task_id == row["task_id"]
    return {
        "kind": "Task",
        "apiVersion": "v1",
        "task_id": task.task_id,
        "action": task.action,
        "parent_task_id": task.parent,
        "design_ref": row["design_ref"],
        "status": task.status,
        "result": result_document(task),
        "node_filter": json.loads(row["node_filter"]) if is_root or task.asked else _name_filter(task.names),
        "subtask_id_list": task.subtasks,
        "created": _timestamp(task.started, zone=fresh),
        "created_by": row["created_by"],
        "updated": _timestamp(row["updated"] if is_root else (task.ended or task.started), zone=fresh),
        "terminated": None,
        "terminated_by": None,
        "terminate": False,
        "retry": task.retry,
    }


def result_document(task: TaskNode) -> dict[str, Any]:
    return {
        "kind": "Status",
        "apiVersion": "v1.0",
        "metadata": {},
        "message": None,
        "reason": None,
        "status": task.result,
        "successes": list(task.successes),
        "failures": list(task.failures),
        "links": [],
        "details": {"errorCount": sum(one["error"] for one in task.messages), "messageList": task.messages},
    }


def _result(succeeded: bool, failed: bool) -> str:
    if failed:
        return "partial_success" if succeeded else "failure"
    return "success"


def _name_filter(names: Sequence[str]) -> dict[str, Any]:
    return {"filter_set_type": "intersection", "filter_set": [{"filter_type": "union", "node_names": list(names)}]}


def _message(text: str, context: str, at: float | None, *, error: bool) -> dict[str, Any]:
    return {
        "message": text[:LONGEST_MESSAGE],
        "error": error,
        "context_type": "task",
        "context": context,
        "ts": _timestamp(at or 0.0),
        "extra": "{}",
    }


def _timestamp(at: float, *, zone: bool = False) -> str:
    moment = datetime.fromtimestamp(at, UTC)
    text = moment.strftime("%Y-%m-%d %H:%M:%S.%f")
    return f"{text}+00:00" if zone else text
