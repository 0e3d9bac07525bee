"""What a provisioner itself says of an operation: its tree of tasks, asked for on demand and kept nowhere (rule 36).

Everything else that is shown comes from the store. Where the provisioner does not answer, that is said in its place.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import closing
from datetime import UTC, datetime
from typing import Any, Final
from urllib.parse import urlsplit

from provisioner_client.errors import ProvisionerError
from provisioner_client.protocol import TaskRef, TaskResult, TaskState, TaskTree
from site_engine.errors import ConnectionLookupFailed, SettingsError
from site_engine.monitoring.owners import ProvisionerObserver
from site_engine.provisioners import Provisioners
from site_engine.redaction import redact_for_action
from site_store import ActionRecord, Operation, SiteStore
from strategy_lib.status.entry import Entry, EntryKind, entry_to_dict
from strategy_lib.status.tree import MOST_MESSAGES
from strategy_lib.status.words import Status

MOST_CHILDREN: Final = 200
"""Tasks below one task that are shown, the worst first where there are more."""
NEVER_ENDED: Final = "it never ended, though the task above it did: the provisioner lost it"

_ENDS: Final[Mapping[TaskResult, Status]] = {
    TaskResult.SUCCESS: Status.SUCCESS,
    TaskResult.PARTIAL_SUCCESS: Status.ERROR,
    TaskResult.FAILURE: Status.ERROR,
    TaskResult.DEPENDENT_FAILURE: Status.ERROR,
}


def provisioner_tasks(
    store: SiteStore, provisioners: Provisioners, action: ActionRecord, operation: Operation, node: str | None = None
) -> dict[str, Any]:
    """Ask the provisioner of an action what it made of an operation, as plain data. It raises nothing of that kind.

    Parameters
    ----------
    operation : of this action.
    node : leave out what is only about other nodes. None: all of it, down to the tasks of the single nodes.

    Returns
    -------
    dict
        Facts of the operation; `root`, an entry as `schemas/status_tree.json` describes it. Where there is none it is
        None, and `reason` says why.
    """
    root, reason = None, ""
    try:
        root = _ask(store, provisioners, action, operation, node)
    except (ProvisionerError, SettingsError, ConnectionLookupFailed) as error:
        reason = str(error)
    if root is None and not reason:
        reason = "It was not submitted to the provisioner, so there is no task."
    return asked_tasks(action, operation, node, root, reason)


def asked_tasks(
    action: ActionRecord, operation: Operation, node: str | None, root: Entry | None, reason: str
) -> dict[str, Any]:
    """Return the facts of an operation with what its provisioner said, or why it said nothing, as plain data."""
    now = datetime.now(UTC)
    return {
        "action": action.id,
        "op": operation.op,
        "phase": operation.phase.value,
        "group": operation.group,
        "attempt": operation.attempt,
        "node": node,
        "nodes": len(operation.nodes),
        "connection": action.connection,
        "provisioner_task": operation.provisioner_task,
        "read_at": now.isoformat(),
        "reason": reason,
        "root": None if root is None else entry_to_dict(root, now=now),
    }


def task_entry(tree: TaskTree, node: str | None = None, *, above_ended: bool = False) -> Entry:
    """Return a provisioner's task, and those below it, as an entry; what each shows is what the provisioner says.

    Parameters
    ----------
    node : the one that is asked about: a task of several nodes shows what it did to this one.
    above_ended : a task above it is over.
    """
    task = tree.task
    over = task.state is TaskState.COMPLETE
    children = [task_entry(child, node, above_ended=above_ended or over) for child in tree.children]
    kept = children
    if len(children) > MOST_CHILDREN:
        # The sort is stable: brothers and sisters of one status stay in their order.
        kept = sorted(children, key=lambda one: -one.status.rank if one.status is not None else 0)[:MOST_CHILDREN]
    status = _status(tree, node, above_ended=above_ended)
    said = [message.text for message in task.messages if message.text]
    if above_ended and not over:
        said.insert(0, NEVER_ENDED)
    about = f" of {next(iter(tree.nodes))}" if node is None and len(tree.nodes) == 1 else ""
    return Entry(
        EntryKind.PROVISIONER_TASK,
        f"{task.action}{about}{f', attempt {tree.attempt}' if tree.attempt > 1 else ''}",
        status,
        last_status=status,
        leaves=1,
        messages=tuple(dict.fromkeys(said))[:MOST_MESSAGES],
        provisioner={
            "task": task.task_id,
            "state": task.state.value,
            "result": task.result.value,
            "attempt": tree.attempt,
            "nodes": len(tree.nodes),
            "created": tree.created,
            "updated": tree.updated,
            "links": [
                {"rel": link.rel, "address": address}
                for link in tree.links
                if (address := web_address(link.address)) is not None
            ],
        },
        children=tuple(kept),
        left_out=len(children) - len(kept),
    )


def web_address(address: object) -> str | None:
    """Return an address that a provisioner gave if it is http or https, else None: nothing else may be followed."""
    if not isinstance(address, str) or not address.isprintable():
        return None
    try:
        parts = urlsplit(address.strip())
    except ValueError:
        return None
    return address.strip() if parts.scheme in ("http", "https") and parts.netloc else None


def _ask(
    store: SiteStore, provisioners: Provisioners, action: ActionRecord, operation: Operation, node: str | None
) -> Entry | None:
    # Nothing was submitted without a connection; looking for one would decide on it.
    if operation.provisioner_task is None or action.connection is None:
        return None
    connection = provisioners.for_action(store, action).hurried
    observer = ProvisionerObserver(store, connection)
    with closing(connection.connect(redact_for_action(store, action), action.id, observer)) as provisioner:
        ref = TaskRef(operation.provisioner_task, operation.phase, operation.reference)
        tree = provisioner.task_tree(ref, node)
    return task_entry(tree, node)


def _status(tree: TaskTree, node: str | None, *, above_ended: bool) -> Status:
    task = tree.task
    if task.state is TaskState.QUEUED:
        return Status.ERROR if above_ended else Status.PENDING
    if task.state is TaskState.RUNNING:
        return Status.ERROR if above_ended else Status.PROCESSING
    if node is not None and node in task.failures:
        return Status.ERROR
    if node is not None and node in task.successes:
        return Status.SUCCESS
    # A word that says nothing is no success.
    return _ENDS.get(task.result, Status.ERROR)
