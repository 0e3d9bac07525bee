"""HTTP answers as Drydock words them: its four shapes of an error, and tasks, their trees, or all of them."""

from __future__ import annotations

import sqlite3
import time
import uuid
from typing import Any

from provisioner_client.simulator.http.answer import TEXT, Answer, json_answer, phrase
from provisioner_client.simulator.tasks.ledger import TaskLedger
from provisioner_client.simulator.tasks.tree import TaskNode, TaskTree, result_document, task_document


def api_error(status: int, message: str, effect: str = "refused") -> Answer:
    """Shape a: Drydock's own error."""
    return json_answer({"type": "error", "message": message, "retry": False}, status, effect=effect)


def framework_error(status: int, effect: str = "refused") -> Answer:
    """Shape b: falcon's error."""
    return json_answer({"title": f"{status} {phrase(status)}"}, status, effect=effect)


def keystone_error() -> Answer:
    """Return the 401 of Keystone's middleware, which stands before Drydock."""
    error = {"message": "The request you have made requires authentication.", "code": 401, "title": "Unauthorized"}
    answer = json_answer({"error": error}, 401, effect="refused")
    return answer.with_headers(("WWW-Authenticate", 'Keystone uri="http://keystone.invalid"'))


def text_error(status: int, text: str = "Unexpected error.", effect: str = "refused") -> Answer:
    """Shape c: plain text, or nothing at all."""
    return Answer(status, text.encode(), TEXT if text else None, effect=effect)


def status_error(status: int, message: str, effect: str = "refused") -> Answer:
    """Shape d: a Status object with a code, as from validatedesign."""
    return json_answer(status_object("Failure", status, message, [simple_message(message)]), status, effect=effect)


def status_object(
    status: str, code: int, message: str | None, messages: list[dict[str, object]], reason: str | None = "Validation"
) -> dict[str, object]:
    """Return Drydock's Status object; errors among the messages are counted."""
    return {
        "kind": "Status",
        "apiVersion": "v1.0",
        "metadata": {},
        "status": status,
        "message": message,
        "reason": reason,
        "details": {"errorCount": sum(bool(one["error"]) for one in messages), "messageList": messages},
        "code": code,
    }


def simple_message(message: str) -> dict[str, object]:
    return {"message": message, "error": True, "kind": "SimpleMessage"}


_TRUE = frozenset({"true", "True", "yes", "on", "1"})
_FALSE = frozenset({"false", "False", "no", "off", "0", ""})


class TaskAnswers:
    """Holds the store only for reading rows; the JSON is written with the store free for others."""

    def __init__(self, ledger: TaskLedger) -> None:
        self._ledger = ledger

    def created(self, row: sqlite3.Row) -> Answer:
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
