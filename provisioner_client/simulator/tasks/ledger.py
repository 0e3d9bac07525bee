"""Tasks in the store: accepting one, reading them, ending them. When and how they run is the executor's business."""

from __future__ import annotations

import json
import sqlite3
import time
import uuid
from collections.abc import Sequence
from enum import StrEnum
from typing import Any

from provisioner_client.simulator.designs import named_nodes
from provisioner_client.simulator.machines import Work
from provisioner_client.simulator.store import Store
from provisioner_client.simulator.tasks.plans import NodePlan


class Action(StrEnum):
    """The actions that POST /tasks takes."""

    VALIDATE_DESIGN = "validate_design"
    VERIFY_SITE = "verify_site"
    PREPARE_SITE = "prepare_site"
    VERIFY_NODES = "verify_nodes"
    PREPARE_NODES = "prepare_nodes"
    DEPLOY_NODES = "deploy_nodes"
    DESTROY_NODES = "destroy_nodes"
    RELABEL_NODES = "relabel_nodes"


NODE_PHASES = {
    Action.PREPARE_NODES.value: Work.PREPARE,
    Action.DEPLOY_NODES.value: Work.DEPLOY,
    Action.DESTROY_NODES.value: Work.DESTROY,
    Action.RELABEL_NODES.value: Work.RELABEL,
}
# Phases that Drydock splits into one task for each node; of the others one driver task goes from node to node.
PARALLEL = frozenset({Work.PREPARE, Work.DEPLOY})
_PLANS_KEPT = 32
SITE_ACTIONS = frozenset({Action.VALIDATE_DESIGN.value, Action.VERIFY_SITE.value, Action.PREPARE_SITE.value})


def tree_of(task_id: str) -> str:
    """Return what all task ids of one tree have in common (see `task_tree`)."""
    return task_id[:8] + task_id[18:]


class TaskLedger:
    """Root tasks and the node runs below them."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._plans: dict[str, list[NodePlan]] = {}

    def accept(self, action: str, design_ref: str | None, node_filter: object, created_by: str) -> sqlite3.Row:
        """Store a new task at the end of the queue and return its row."""
        # Root ids leave the two middle groups blank, children number them: a child is found without being stored.
        random_id = str(uuid.uuid4())
        task_id = f"{random_id[:8]}-0000-4000{random_id[18:]}"
        reference = reference_of(node_filter)
        now = time.time()
        with self._store.transaction():
            self._store.execute(
                "INSERT INTO task"
                " (task_id, tree, action, design_ref, node_filter, reference, status, result,"
                " created, created_by, updated)"
                " VALUES (?, ?, ?, ?, ?, ?, 'queued', 'incomplete', ?, ?, ?)",
                (
                    task_id,
                    tree_of(task_id),
                    action,
                    design_ref,
                    json.dumps(node_filter),
                    reference,
                    now,
                    created_by,
                    now,
                ),
            )
            names = None if action in SITE_ACTIONS else named_nodes(node_filter)
            if names is not None:
                self.note_submissions(task_id, reference, action, names, now)
            return self._existing(task_id)

    def accept_noop(self) -> None:
        """Leave the finished task that every GET /health leaves."""
        with self._store.transaction():
            row = self.accept("noop", None, None, "noauth")
            self._store.execute("UPDATE task SET started = created WHERE seq = ?", (row["seq"],))
            self.plan(row["task_id"], None, [], row["created"], "success", [], [])
            self.complete(row["task_id"], row["created"])

    def note_submissions(
        self, task_id: str, reference: str | None, action: str, names: Sequence[str], at: float
    ) -> None:
        """Note which nodes a task holds, for the detector of double submissions."""
        phase = NODE_PHASES.get(action, action)
        self._store.execute_many(
            "INSERT INTO submission (task_id, reference, phase, node, at) VALUES (?, ?, ?, ?, ?)",
            [(task_id, reference, phase, name, at) for name in names],
        )

    def has_submissions(self, task_id: str) -> bool:
        return self._store.row("SELECT 1 FROM submission WHERE task_id = ? LIMIT 1", (task_id,)) is not None

    def root(self, task_id: str) -> sqlite3.Row | None:
        return self._store.row("SELECT * FROM task WHERE task_id = ?", (task_id,))

    def root_of(self, task_id: str) -> sqlite3.Row | None:
        """Return the row of the tree's root that any task id, root or not, belongs to."""
        return self._store.row("SELECT * FROM task WHERE tree = ?", (tree_of(task_id),))

    def nodes_held(self) -> dict[str, list[str]]:
        """Return the nodes that each task was submitted for, in the order given."""
        held: dict[str, list[str]] = {}
        for row in self._store.rows("SELECT task_id, node FROM submission ORDER BY id"):
            held.setdefault(row["task_id"], []).append(row["node"])
        return held

    def roots(self) -> list[sqlite3.Row]:
        return self._store.rows("SELECT * FROM task ORDER BY seq")

    def running(self) -> sqlite3.Row | None:
        """Return the task that holds the executor."""
        return self._store.row("SELECT * FROM task WHERE status = 'running' AND frozen_at IS NULL ORDER BY seq LIMIT 1")

    def queue(self) -> list[str]:
        return [
            row["task_id"] for row in self._store.rows("SELECT task_id FROM task WHERE status = 'queued' ORDER BY seq")
        ]

    def claim(self, now: float) -> sqlite3.Row | None:
        """Make the first waiting task the running one and return it; None when nothing waits or something runs."""
        with self._store.transaction():
            if self.running() is not None:
                return None
            row = self._store.row("SELECT task_id FROM task WHERE status = 'queued' ORDER BY seq LIMIT 1")
            if row is None:
                return None
            self._store.execute(
                "UPDATE task SET status = 'running', started = ?, updated = ? WHERE task_id = ?",
                (now, now, row["task_id"]),
            )
            # One runs at a time: what a killed process left running is dead from now on, though it does not say so.
            self._store.execute(
                "UPDATE submission SET over = ? WHERE over IS NULL"
                " AND task_id IN (SELECT task_id FROM task WHERE frozen_at IS NOT NULL)",
                (now,),
            )
            return self._existing(row["task_id"])

    def plan(
        self,
        task_id: str,
        site: str | None,
        plans: Sequence[NodePlan],
        ends_at: float | None,
        result: str,
        successes: Sequence[str],
        failures: Sequence[str],
        note: str | None = None,
    ) -> None:
        """Store the course of a task; its result shows only once it is complete."""
        now = time.time()
        with self._store.transaction():
            self._plans.pop(task_id, None)
            self._store.execute("DELETE FROM node_run WHERE task_id = ?", (task_id,))
            self._store.execute_many(
                "INSERT INTO node_run (task_id, position, site, node, plan) VALUES (?, ?, ?, ?, ?)",
                [(task_id, i, site, plan.node, json.dumps(plan.to_data())) for i, plan in enumerate(plans)],
            )
            self._store.execute(
                "UPDATE task SET site = ?, node_count = ?, ends_at = ?, result = ?, successes = ?, failures = ?,"
                " note = ?, planned = 1, updated = ? WHERE task_id = ?",
                (site, len(plans), ends_at, result, json.dumps(successes), json.dumps(failures), note, now, task_id),
            )

    def plans(self, task_id: str) -> list[NodePlan]:
        """Return the courses of a task's nodes, in order."""
        with self._store.transaction():
            known = self._plans.get(task_id)
            if known is None:
                rows = self._store.rows("SELECT plan FROM node_run WHERE task_id = ? ORDER BY position", (task_id,))
                known = [NodePlan.from_data(json.loads(row["plan"])) for row in rows]
                if len(self._plans) >= _PLANS_KEPT:
                    self._plans.pop(next(iter(self._plans)))
                self._plans[task_id] = known
            return known

    def replace_plan(self, task_id: str, position: int, plan: NodePlan) -> None:
        self._plans.pop(task_id, None)
        self._store.execute(
            "UPDATE node_run SET plan = ? WHERE task_id = ? AND position = ?",
            (json.dumps(plan.to_data()), task_id, position),
        )

    def not_begun(self, task_id: str) -> list[tuple[int, NodePlan]]:
        """Return the courses whose machine MAAS has not been told to work on yet, with their positions."""
        rows = self._store.rows("SELECT position, plan FROM node_run WHERE task_id = ? AND begun = 0", (task_id,))
        return [(row["position"], NodePlan.from_data(json.loads(row["plan"]))) for row in rows]

    def mark_begun(self, task_id: str, position: int) -> None:
        """Note that MAAS was told to work on the machine."""
        self._store.execute("UPDATE node_run SET begun = 1 WHERE task_id = ? AND position = ?", (task_id, position))

    def complete(self, task_id: str, at: float) -> None:
        """End a task: its lists show from now on."""
        self._store.execute(
            "UPDATE task SET status = 'complete', ended = ?, updated = ? WHERE task_id = ?", (at, at, task_id)
        )
        self._store.execute("UPDATE submission SET over = ? WHERE task_id = ?", (at, task_id))

    def remove(self, task_id: str, at: float) -> None:
        """Forget a task and its tree; the detector remembers that it held its nodes until now."""
        with self._store.transaction():
            self._plans.pop(task_id, None)
            self._store.execute("UPDATE submission SET over = ? WHERE task_id = ? AND over IS NULL", (at, task_id))
            self._store.execute("DELETE FROM node_run WHERE task_id = ?", (task_id,))
            self._store.execute("DELETE FROM task WHERE task_id = ?", (task_id,))

    def purge(self, before: float) -> None:
        """Forget the complete tasks that ended before a time."""
        for row in self._store.rows("SELECT task_id FROM task WHERE status = 'complete' AND ended < ?", (before,)):
            self.remove(row["task_id"], before)

    def _existing(self, task_id: str) -> sqlite3.Row:
        row = self.root(task_id)
        if row is None:
            raise KeyError(task_id)
        return row


def reference_of(node_filter: object) -> str | None:
    """Return the client's reference that travels in a node filter."""
    found = node_filter.get("x_client_ref") if isinstance(node_filter, dict) else None
    return found if isinstance(found, str) else None


def describe_root(row: sqlite3.Row, nodes: list[str]) -> dict[str, Any]:
    """Return a root task as the admin API shows it, with the nodes that it holds."""
    return {
        "task_id": row["task_id"],
        "action": row["action"],
        "design_ref": row["design_ref"],
        "status": row["status"],
        "result": row["result"],
        "reference": row["reference"],
        "nodes": nodes,
        "created": row["created"],
        "started": row["started"],
        "ended": row["ended"],
        "successes": json.loads(row["successes"]),
        "failures": json.loads(row["failures"]),
        "orphaned": row["frozen_at"] is not None,
    }


def reference_in(body: bytes) -> str | None:
    """Return the client's reference in a request's body, if there is one."""
    if b"x_client_ref" not in body:
        return None
    try:
        return reference_of(json.loads(body).get("node_filter"))
    except (ValueError, AttributeError):
        return None
