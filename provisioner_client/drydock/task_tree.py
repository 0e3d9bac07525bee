"""Drydock's tree of tasks as a `TaskTree`, also for one node alone. Pure; what cannot be read is left out.

`apply_node_storage` and `identify_node` are not in it: Drydock makes them without a parent (trap 10).
"""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from provisioner_client.drydock.wire import mapping_of, task_from
from provisioner_client.errors import ProvisionerProtocolError
from provisioner_client.hidden_address import HiddenAddress
from provisioner_client.http_errors import one_line
from provisioner_client.protocol import ProvisionerTask, TaskLink, TaskTree

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
