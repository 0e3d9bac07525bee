"""Answers that show tasks: one, its tree, or all of them."""

from __future__ import annotations

import sqlite3
import time
import uuid
from typing import Any

from provisioner_client.simulator.answers import Answer, api_error, json_answer, text_error
from provisioner_client.simulator.task_ledger import TaskLedger
from provisioner_client.simulator.task_tree import TaskNode, TaskTree, result_document, task_document

_TRUE = frozenset({"true", "True", "yes", "on", "1"})
_FALSE = frozenset({"false", "False", "no", "off", "0", ""})


class TaskAnswers:
    """Holds the store only for reading rows; the JSON is written with the store free for others."""

    def __init__(self, ledger: TaskLedger) -> None:
        self._ledger = ledger

    def created(self, row: sqlite3.Row) -> Answer:
        """Return the answer to the POST of a task."""
        tree = TaskTree(row, self._ledger.plans, row["created"])
        effect = f"created task {row['task_id']}"
        return json_answer(task_document(row, tree.root(), fresh=True), 201, effect=effect, reference=row["reference"])

    def everything(self) -> tuple[Answer, int]:
        """Return all tasks and all their subtasks, without pages, filters or order; and how many they are."""
        trees = [self._tree(row) for row in self._ledger.roots()]
        documents = []
        for tree in trees:
            documents += [task_document(tree.row, task) for task in tree.descendants()]
            documents += [task_document(tree.row, task) for task in tree.parentless()]
            documents.append(task_document(tree.row, tree.root()))
        return json_answer(documents), len(documents)

    def one(self, task_id: str, parameters: dict[str, str]) -> Answer:
        """Return a task, with its tree when `layers` asks for it."""
        flags = {}
        for flag in ("builddata", "subtaskerrors"):
            value = parameters.get(flag, "false")
            if value not in _TRUE | _FALSE:
                return api_error(500, f"The value of {flag} is not a boolean")
            flags[flag] = value in _TRUE
        row = self._ledger.root_of(task_id)
        tree = None if row is None else self._tree(row)
        task = None if tree is None else tree.find(task_id)
        if tree is None or task is None:
            return api_error(404, f"Task {task_id} not found")
        document = task_document(tree.row, task)
        if flags["builddata"]:
            document["build_data"] = []
        answer: dict[str, Any] = document
        layers = _layers(parameters.get("layers"))
        deepest = None if layers < 0 else task.level + max(layers - 1, 0)
        # Error messages are in the leaves, so that asking for them means looking at the whole tree.
        looked_at = None if flags["subtaskerrors"] else deepest
        below = _below(tree, task, looked_at) if layers or flags["subtaskerrors"] else []
        if layers:
            answer = {"init_task_id": task_id, task_id: document}
            answer |= {
                one.task_id: task_document(tree.row, one) for one in below if deepest is None or one.level <= deepest
            }
        if flags["subtaskerrors"]:
            answer["subtask_errors"] = {
                one.task_id: _error(one) for one in below if any(m["error"] for m in one.messages)
            }
        return json_answer(answer, reference=tree.row["reference"])

    def builddata(self, task_id: str) -> Answer:
        """Return a task's build data: the simulator has none."""
        try:
            uuid.UUID(task_id)
        except ValueError:
            return text_error(500)
        return text_error(404, "")

    def _tree(self, row: sqlite3.Row) -> TaskTree:
        return TaskTree(row, self._ledger.plans, time.time())


def _below(tree: TaskTree, task: TaskNode, levels: int | None) -> list[TaskNode]:
    """Return the descendants of a task down to a level of its tree (None: all)."""
    parents, found = {task.task_id}, []
    tasks = tree.parentless() if task.apart else tree.descendants(levels)
    for one in tasks:  # parents come before their children
        if one.parent in parents:
            parents.add(one.task_id)
            found.append(one)
    return found


def _layers(text: str | None) -> int:
    """Return the layers asked for: -1 for all, 0 for a plain task; garbage counts as 0."""
    try:
        layers = int(text or 0)
    except ValueError:
        return 0
    return layers if layers >= -1 else 0


def _error(task: TaskNode) -> dict[str, Any]:
    return {**result_document(task), "task_id": task.task_id}
