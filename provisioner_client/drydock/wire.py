"""Drydock's JSON turned into the values of `protocol`. Pure; what it cannot understand it refuses and never guesses.

Of a validation: Drydock repeats all its remarks each time that a design's content is used, and says of every check that
it succeeded.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from provisioner_client.designs import DesignMessage, DesignValidation, HiddenAddress
from provisioner_client.drydock.submission import REFERENCE_KEY
from provisioner_client.errors import ProvisionerProtocolError
from provisioner_client.http_errors import ErrorShape, ErrorText, one_line
from provisioner_client.protocol import (
    ACTIONS,
    NO_ADDRESSES,
    ListedNode,
    ProvisionerTask,
    TaskMessage,
    TaskRef,
    TaskResult,
    TaskState,
    require_action,
    size_of,
)
from strategy_lib.node_condition import LISTED_TWICE, NodeCondition, condition_of

log = logging.getLogger(__name__)

ADDRESSES: Final = ("boot_ip", "power_address")
"""What it says of a node's addresses in its list."""

_STATES: Final = {
    "requested": TaskState.QUEUED,
    "queued": TaskState.QUEUED,
    "running": TaskState.RUNNING,
    "terminating": TaskState.RUNNING,
    "complete": TaskState.COMPLETE,
    "terminated": TaskState.COMPLETE,
}


def task_from(data: object) -> ProvisionerTask:
    """Read one task. Raises `ProvisionerProtocolError` when it is not a task."""
    task = mapping_of(data, "a task")
    task_id, state = task.get("task_id"), _STATES.get(str(task.get("status")))
    if not isinstance(task_id, str) or not task_id:
        raise ProvisionerProtocolError("a task without a task_id")
    if state is None:
        raise ProvisionerProtocolError(f"task {task_id} has an unknown status {one_line(task.get('status'))!r}")
    result = mapping_of(task.get("result") or {}, f"the result of task {task_id}")
    return ProvisionerTask(
        task_id=task_id,
        action=str(task.get("action")),
        state=state,
        result=_result(result.get("status", TaskResult.INCOMPLETE)),
        successes=names_of(result.get("successes"), f"the successes of task {task_id}"),
        failures=names_of(result.get("failures"), f"the failures of task {task_id}"),
        messages=tuple(messages_of(result, design_of(task))),
        reference=reference_of(task),
    )


def checked_task(task: ProvisionerTask, ref: TaskRef) -> ProvisionerTask:
    """Return the task if it is the one that was asked for.

    A task without a reference passes: an old server may not echo it.

    Raises `ProvisionerProtocolError`: the answer is about another task: something between here and the provisioner
    answers from memory.
    """
    if task.task_id != ref.id:
        raise ProvisionerProtocolError(f"the answer for task {ref.id} is about task {one_line(task.task_id)}")
    require_action(ref, one_line(task.action))
    if ref.reference is not None and task.reference not in (None, ref.reference):
        other = one_line(task.reference)
        raise ProvisionerProtocolError(
            f"task {task.task_id} should have reference {ref.reference}, and has reference {other}"
        )
    return task


def tasks_with_reference(data: object, reference: str) -> list[ProvisionerTask]:
    """Read the top tasks that carry this reference out of a list of all tasks, oldest first.

    Subtasks may inherit their parent's filter, and with it the reference; Drydock even has parentless ones
    (`apply_node_storage`), which their action gives away.

    Raises `ProvisionerProtocolError` when it is not a list of tasks.
    """
    ours = [
        task
        for task in list_of(data, "tasks")
        if isinstance(task, dict)
        and reference_of(task) == reference
        and not task.get("parent_task_id")
        and task.get("action") in ACTIONS.values()
    ]
    return [task_from(task) for task in sorted(ours, key=lambda task: str(task.get("created")))]


def task_ids(data: object) -> frozenset[str]:
    """Read the ids of all tasks out of a list of them.

    Raises `ProvisionerProtocolError` when it is not a list of tasks.
    """
    return frozenset(str(task.get("task_id")) for task in list_of(data, "tasks") if isinstance(task, dict))


def nodes_from(data: object) -> dict[str, ListedNode]:
    """Read the node list. A name that stands there twice with different states is said to: it proves nothing.

    Raises `ProvisionerProtocolError` when it is not a list of nodes.
    """
    nodes: dict[str, ListedNode] = {}
    states: dict[str, dict[str, None]] = {}
    # Few words are said of very many nodes.
    known: dict[str, tuple[NodeCondition, str]] = {}
    for item in list_of(data, "nodes"):
        raw = mapping_of(item, "a node")
        name, status = raw.get("hostname"), raw.get("status_name")
        if not isinstance(name, str) or not name or not isinstance(status, str):
            continue  # a machine that was never given a name, or of which nothing is known
        power = raw.get("power_state")
        if status not in known:
            known[status] = condition_of(status), one_line(status)
        node = ListedNode(
            name,
            *known[status],
            power if isinstance(power, str) else None,
            _addresses(raw),
            size_of(raw.get("cpu_count")),
            size_of(raw.get("memory")),
        )
        if name in nodes and (name in states or nodes[name].condition is not node.condition):
            words = states.setdefault(name, {nodes[name].status_name: None})
            words[node.status_name] = None
        nodes[name] = node
    for name, words in states.items():
        said = f"{LISTED_TWICE}{', '.join(sorted(words))}"
        log.warning("node %s is %s", name, said)
        nodes[name] = ListedNode(name, NodeCondition.LISTED_TWICE, said, None)
    return nodes


def _addresses(raw: dict[str, Any]) -> Mapping[str, str]:
    found = {key: value for key in ADDRESSES if isinstance(value := raw.get(key), str) and value}
    return found or NO_ADDRESSES


def selected_from(data: object) -> frozenset[str]:
    """Read the answer to a node filter. Raises `ProvisionerProtocolError` when it is not a list of names."""
    if not isinstance(data, list):
        raise ProvisionerProtocolError("the selected nodes are not a list")
    return names_of(data, "the selected nodes")


def _result(status: object) -> TaskResult:
    return TaskResult(str(status)) if status in tuple(TaskResult) else TaskResult.UNREPORTED


def reference_of(task: Mapping[str, Any]) -> str | None:
    """Return the reference that travels in a task's node filter; None: it has none."""
    node_filter = task.get("node_filter")
    reference = node_filter.get(REFERENCE_KEY) if isinstance(node_filter, dict) else None
    return reference if isinstance(reference, str) else None


def design_of(task: dict[str, Any]) -> HiddenAddress:
    """Return the address of a task's design, which is hidden in texts."""
    return HiddenAddress(str(task.get("design_ref") or ""))


def messages_of(result: dict[str, Any], design: HiddenAddress) -> Iterator[TaskMessage]:
    """Yield the messages of a task's result."""
    for item in message_list(result):
        about_node = item.get("context_type") == "node" and item.get("context")
        yield TaskMessage(
            text=one_line(design.hide(str(item.get("message", "")))),
            error=bool(item.get("error")),
            context=str(item["context"]) if about_node else None,
            at=str(item["ts"]) if item.get("ts") else None,
        )


def message_list(holder: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the messages of a status, of a task's result or of a validation."""
    details = holder.get("details")
    listed = details.get("messageList") if isinstance(details, dict) else None
    yield from (item for item in (listed if isinstance(listed, list) else []) if isinstance(item, dict))


def list_of(data: object, what: str) -> list[Any]:
    """Return a list as such. Raises `ProvisionerProtocolError`: it is none."""
    if not isinstance(data, list):
        raise ProvisionerProtocolError(f"the list of {what} is not a list")
    return data


def mapping_of(data: object, what: str) -> dict[str, Any]:
    """Return a mapping as such. Raises `ProvisionerProtocolError`: it is none."""
    if not isinstance(data, dict):
        raise ProvisionerProtocolError(f"{what} is not a mapping but {type(data).__name__}")
    return data


def names_of(data: object, what: str) -> frozenset[str]:
    """Return a list of names as a set. Raises `ProvisionerProtocolError`: it is none."""
    names = [] if data is None else data
    if not isinstance(names, list) or not all(isinstance(name, str) and name for name in names):
        raise ProvisionerProtocolError(f"{what} are not a list of names")
    return frozenset(names)


MOST_MESSAGES: Final = 200
_LEVELS: Final = ("error", "warning")
# Remarks that only say that nothing is wrong.
_ALL_WELL: Final = re.compile(r"(validation successful|passed validation|is valid)\.?\s*", re.IGNORECASE)


def validation_from(status: int, given: object, design: HiddenAddress) -> DesignValidation:
    """Read the answer to a validation: valid is 200 and `Success` and no code that says otherwise.

    Each remark is taken once, errors first, and not more than `MOST_MESSAGES`; notes that a check succeeded are left
    out. The design's address is taken out of what is said about it.

    Raises `ProvisionerProtocolError` when it is neither a validation nor an error.
    """
    data = mapping_of(given, "a validation")
    if data.get("type") == "error":
        return DesignValidation(False, (DesignMessage("Error", _said(data.get("message"), design), ()),))
    if "status" not in data:
        raise ProvisionerProtocolError("a validation without a status")
    valid = status == 200 and data["status"] == "Success" and data.get("code", 200) in (200, "200")
    # Thousands of repetitions: what is equal is recognised before it is made fit to be shown.
    distinct = {_key(item): item for item in message_list(data) if not _says_only_well(item)}
    messages = sorted((_message(item, design) for item in distinct.values()), key=_rank)
    if not valid and not messages:
        reason = data.get("message") or data.get("reason") or "no reason"
        messages = [DesignMessage("Error", _said(reason, design), ())]
    return DesignValidation(valid, tuple(messages[:MOST_MESSAGES]), max(0, len(messages) - MOST_MESSAGES))


def _message(item: dict[str, Any], design: HiddenAddress) -> DesignMessage:
    text, advice = (_said(item.get(key) or "", design) for key in ("message", "diagnostic"))
    return DesignMessage(
        level=_level(item),
        text=f"{text.rstrip('.')}. {advice}" if advice else text,
        documents=tuple(one_line(design.hide(name)) for name in _document_names(item.get("documents"))),
        code=one_line(item.get("name") or ""),
    )


def _level(item: dict[str, Any]) -> str:
    return one_line(item.get("level") or ("Error" if item.get("error") else "Info"))


def _says_only_well(item: dict[str, Any]) -> bool:
    text = str(item.get("message", ""))
    if item.get("error") or _level(item).lower() != "info" or item.get("documents"):
        return False
    return _ALL_WELL.search(text) is not None and _ALL_WELL.sub("", text).count(".") == 0


def _key(item: dict[str, Any]) -> tuple[str, ...]:
    """What makes a remark: all of it but its time."""
    return (_level(item), *(str(item.get(key)) for key in ("name", "message", "diagnostic", "documents")))


def _rank(message: DesignMessage) -> int:
    level = message.level.lower()
    return _LEVELS.index(level) if level in _LEVELS else len(_LEVELS)


def _document_names(documents: object) -> Iterator[str]:
    for document in documents if isinstance(documents, list) else []:
        if isinstance(document, dict):
            yield "/".join(str(document[key]) for key in ("schema", "name") if document.get(key))


def _said(text: object, design: HiddenAddress) -> str:
    return one_line(design.hide(str(text)))


def judges_the_design(status: int, error: ErrorText) -> bool:
    """Return whether an answer is about the design: 400 for a bad one, Drydock's own 500 where it finds none."""
    if status == 400:
        return error.shape in (ErrorShape.STATUS, ErrorShape.DRYDOCK)
    return status == 500 and error.shape is ErrorShape.DRYDOCK
