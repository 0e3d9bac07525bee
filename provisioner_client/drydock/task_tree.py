"""Drydock's tree of tasks: as a `TaskTree`, also for one node alone, and what it proves of nodes. Pure.

What cannot be read is left out of the tree.

`apply_node_storage` and `identify_node` are not in it: Drydock makes them without a parent (trap 10).
"""

from __future__ import annotations

import logging
import re
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, Final

from design_rendering.drydock_kinds import BOOT_ACTION_SCHEMA
from design_rendering.reading.documents import load_documents
from provisioner_client.designs import DesignSource, HiddenAddress
from provisioner_client.drydock.wire import design_of, mapping_of, messages_of, names_of, task_from
from provisioner_client.errors import ProvisionerProtocolError
from provisioner_client.http_errors import one_line
from provisioner_client.protocol import ACTIONS, ListedNode, ProvisionerTask, TaskLink, TaskState, TaskTree
from strategy_lib.errors import StrategyLibError
from strategy_lib.goals.node_errors import join_messages
from strategy_lib.node_condition import NodeCondition
from strategy_lib.outcome import Evidence
from strategy_lib.phase import Phase

log = logging.getLogger(__name__)

_DEEPEST: Final = 8
"""Levels: Drydock's trees have four."""
_STARTED: Final = "Started subtask "
"""How a message begins that says what the tree says already."""

_Children = Mapping[str, Sequence[Mapping[str, Any]]]


def tree_from(data: object, task_id: str, node: str | None = None) -> TaskTree:
    """Read a task and those below it.

    Parameters
    ----------
    data : answer to `GET /tasks/<id>?layers=…`; a plain task where layers are not known.
    task_id : the root.
    node : tasks that are only about other nodes are left out, and so are messages about those. None: nothing is.

    Raises
    ------
    ProvisionerProtocolError : when the root is not in it, or cannot be read.
    """
    tree = mapping_of(data, "a tree of tasks")
    raw_root = tree if "task_id" in tree else tree.get(task_id)
    children: defaultdict[str, list[Mapping[str, Any]]] = defaultdict(list)
    for raw in tree.values() if raw_root is not tree else ():
        # Among the tasks stand the root's id and the errors of subtasks.
        if isinstance(raw, dict) and "status" in raw and raw.get("task_id") != task_id:
            children[str(raw.get("parent_task_id"))].append(raw)
    return _tree(raw_root, children, node, _DEEPEST)


def task_of_node(tree: TaskTree, node: str) -> str | None:
    """Return the id of the task that does the root's whole work for one node; None where no task is for it alone."""
    return next((child.task.task_id for child in tree.children if _is_whole_work(child, tree, node)), None)


def with_task_of_node(tree: TaskTree, of_node: TaskTree) -> TaskTree:
    """Put a task with all that is below it into the place of the same task in a tree of two levels."""
    known = of_node.task.task_id
    return replace(tree, children=tuple(of_node if child.task.task_id == known else child for child in tree.children))


def _is_whole_work(child: TaskTree, root: TaskTree, node: str) -> bool:
    return child.task.action == root.task.action and child.nodes == {node}


def _tree(raw: object, children: _Children, node: str | None, levels: int) -> TaskTree:
    task = task_from(raw)
    assert isinstance(raw, dict)
    nodes = frozenset(_names_in(raw.get("node_filter")))
    below = []
    for child in sorted(children.get(task.task_id, ()), key=_order) if levels > 1 else ():
        try:
            tree = _tree(child, children, node, levels - 1)
        except ProvisionerProtocolError as trouble:
            log.warning("a task below %s is left out: %s", task.task_id, trouble)
            continue
        if node is None or _is_about(tree, node):
            below.append(tree)
    retry = raw.get("retry")
    return TaskTree(
        task=_for_people(task, node if len(nodes) > 1 else None),
        nodes=nodes,
        attempt=retry + 1 if isinstance(retry, int) and retry >= 0 else 1,
        created=_text(raw.get("created")),
        updated=_text(raw.get("updated")),
        links=tuple(_links(raw.get("result"), HiddenAddress(str(raw.get("design_ref") or "")))),
        children=tuple(below),
    )


def _is_about(tree: TaskTree, node: str) -> bool:
    """Whether a task is about a node. One that names no node may be."""
    return not tree.nodes or node in tree.nodes or bool(tree.children)


def _for_people(task: ProvisionerTask, node: str | None) -> ProvisionerTask:
    """Leave out of a task of several nodes what it says of others, and that it has begun the tasks below it."""
    said = [
        message
        for message in task.messages
        if (node is None or message.context == node) and not (message.context is None and _begins(message.text))
    ]
    return replace(task, messages=tuple(said))


def _begins(text: str) -> bool:
    return text.startswith(_STARTED)


def _order(raw: Mapping[str, Any]) -> tuple[str, str]:
    # Times are compared as text: they share one format.
    return str(raw.get("created")), str(raw.get("task_id"))


def _names_in(node_filter: object) -> Iterator[str]:
    if not isinstance(node_filter, dict):
        return
    filters = node_filter.get("filter_set")
    for one in filters if isinstance(filters, list) else ():
        names = one.get("node_names") if isinstance(one, dict) else None
        yield from (name for name in (names if isinstance(names, list) else ()) if isinstance(name, str))


def _links(result: object, design: HiddenAddress) -> Iterator[TaskLink]:
    listed = result.get("links") if isinstance(result, dict) else None
    for link in listed if isinstance(listed, list) else ():
        if isinstance(link, dict) and isinstance(link.get("href"), str):
            yield TaskLink(one_line(link.get("rel") or "link"), design.hide(link["href"]))


def _text(value: object) -> str | None:
    return one_line(value) if isinstance(value, str) and value else None


NO_BOOT_ACTIONS: Final = (
    "the design has no drydock/BootAction/v1, and Drydock's driver fails without a word then, as its warning DD4001 "
    "announces: add one, commit, and deploy again"
)

# How the retries of Drydock's MAAS driver say that they only found a machine as the first attempt had left it.
_ECHO: Final = re.compile(r"\bun(?:expected|known) status\b.*\bskipping\b", re.IGNORECASE)


def evidence_from(data: object, task_id: str, sent: Collection[str]) -> tuple[ProvisionerTask, Evidence]:
    """Read what a task and the tasks below it say about the nodes that were sent (rule 13).

    Parameters
    ----------
    data : answer to `GET /tasks/<id>?layers=2&subtaskerrors=true`; a plain task where layers are not known.
    task_id : str
    sent : messages about other nodes are left out.

    Returns
    -------
    tuple
        The task itself, and the evidence without the node list.

    Raises
    ------
    ProvisionerProtocolError : when the task itself is not in it, or cannot be read.
    """
    tree = mapping_of(data, "a tree of tasks")
    raw_root = tree.get(task_id) if "task_id" not in tree else tree
    root = task_from(raw_root)
    over = root.state is TaskState.COMPLETE
    succeeded: set[str] = set()
    failed: set[str] = set()
    voices: list[Any] = [mapping_of(raw_root, "a task").get("result")]
    for raw in tree.values() if raw_root is not tree else ():
        # One child per node has the root's own action; other children are steps, and prove nothing about the whole.
        if not isinstance(raw, dict) or "status" not in raw or raw.get("task_id") == task_id:
            continue
        voices.append(raw.get("result"))
        if raw.get("parent_task_id") != task_id or raw.get("action") != root.action:
            continue
        try:
            child = task_from(raw)
        except ProvisionerProtocolError as trouble:
            log.warning("a child of task %s is left out: %s", task_id, trouble)
            continue
        if child.state is TaskState.COMPLETE:
            succeeded |= child.successes
            failed |= child.failures
    errors = tree.get("subtask_errors")
    wrong = [one for one in errors.values() if isinstance(one, dict)] if isinstance(errors, dict) else []
    voices.extend(wrong)
    given_up = _given_up(wrong) if root.action == ACTIONS[Phase.DESTROY] else frozenset()
    failed |= given_up
    said = list(_errors(voices, frozenset(sent), design_of(mapping_of(raw_root, "a task"))))
    return root, Evidence(
        over=over,
        # Empty until the task is complete; should they ever not be, they are not final.
        reported_success=root.successes - given_up if over else frozenset(),
        reported_failure=root.failures if over else frozenset(),
        child_success=frozenset(succeeded - failed),
        child_failure=frozenset(failed),
        messages=_causes(said),
        texts=_texts(said),
    )


def _given_up(errors: list[dict[str, Any]]) -> frozenset[str]:
    """Return the nodes that a leaf of a destroy deleted although their release had failed (trap 30).

    Such a leaf has them in both lists. Its retry finds no machine, and reports success.
    """
    found: set[str] = set()
    for error in errors:
        with suppress(ProvisionerProtocolError):
            found |= names_of(error.get("successes"), "successes") & names_of(error.get("failures"), "failures")
    return frozenset(found)


def _errors(results: list[Any], names: frozenset[str], design: HiddenAddress) -> Iterator[tuple[str, str, str]]:
    """Yield the error messages about these nodes, each with its node and its time.

    Times are compared as text: they share one format.
    """
    for result in results:
        for message in messages_of(result, design) if isinstance(result, dict) else ():
            if message.error and message.text and message.context in names:
                yield message.context, (message.at or "").replace("T", " "), message.text


def _causes(said: list[tuple[str, str, str]]) -> dict[str, str]:
    """Why each of these nodes failed: the latest error message about it that is no echo, else its first echo.

    An echo is what a retry says that is refused because of what the first attempt has left behind.
    """
    causes: dict[str, tuple[bool, str, str]] = {}
    for name, at, text in said:
        cause = not _ECHO.search(text)
        entry, known = (cause, at, text), causes.get(name)
        if known is None or (max(entry, known) if cause or known[0] else min(entry, known)) == entry:
            causes[name] = entry
    return {name: text for name, (_, _, text) in sorted(causes.items())}


def _texts(said: list[tuple[str, str, str]]) -> dict[str, str]:
    """Return all error messages about each of these nodes by their times, one a line; of nodes with several only."""
    by_node: dict[str, list[str]] = {}
    # Sorted by time alone: those of one moment, or without one, stay in the order in which they were given.
    for name, _, text in sorted(said, key=lambda one: one[1]):
        by_node.setdefault(name, []).append(text)
    joined = {name: join_messages(texts) for name, texts in sorted(by_node.items())}
    return {name: text for name, text in joined.items() if "\n" in text}


def with_list(evidence: Evidence, listed: Mapping[str, ListedNode], sent: Collection[str]) -> Evidence:
    """Add what the list of nodes says of the nodes that were sent."""
    seen = {name: listed[name] for name in sent if name in listed}
    return replace(
        evidence,
        condition={name: node.condition for name, node in seen.items()},
        status_names={name: node.status_name for name, node in seen.items()},
        listed=True,
    )


def with_cause(evidence: Evidence, phase: Phase | None, design: DesignSource | None) -> Evidence:
    """Say of nodes that a deploy left allocated without a word if that is due to their design (trap 25).

    The design is read only where there are such nodes.
    """
    left = {name for name, condition in evidence.condition.items() if condition is NodeCondition.ALLOCATED}
    spoken = evidence.reported_success | evidence.reported_failure | evidence.child_success | evidence.child_failure
    silent = left - spoken - evidence.messages.keys()
    if phase is not Phase.DEPLOY or design is None or not evidence.over or not silent or _has_boot_actions(design):
        return evidence
    return replace(evidence, messages={**evidence.messages, **dict.fromkeys(silent, NO_BOOT_ACTIONS)})


def _has_boot_actions(design: DesignSource) -> bool:
    try:
        return any(one.schema == BOOT_ACTION_SCHEMA for one in load_documents(design.read(), "the design"))
    except (LookupError, StrategyLibError) as error:
        log.warning("whether the design has boot actions cannot be told: %s", error)
        return True
