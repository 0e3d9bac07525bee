"""The nodes of a design, whichever provisioner's documents describe them: Drydock's or Slipway's own."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Final

from design_rendering import drydock_kinds, slipway_kinds
from design_rendering.kinds import drydock_nodes
from design_rendering.kinds.node_metadata import depends_on_nodes
from design_rendering.kinds.slipway_nodes import slipway_nodes
from design_rendering.reading.documents import Document, find_documents
from strategy_lib.errors import InventoryError, Problem
from strategy_lib.node import Node

NODE_SCHEMAS: Final = (drydock_kinds.NODE_SCHEMA, slipway_kinds.NODE_SCHEMA)
NODE_MAKERS: Final = (*drydock_kinds.NODE_MAKERS, *slipway_kinds.NODE_MAKERS)
"""The kinds of documents of which tags, labels and racks of nodes are made."""


def has_nodes(documents: Iterable[Document]) -> bool:
    """Return whether any of the documents, abstract ones included, is a node."""
    return any(document.schema in NODE_SCHEMAS for document in documents)


def node_documents(documents: Iterable[Document]) -> dict[str, Document]:
    """Return the document of each node by its name.

    Raises `DocumentError` when two of one kind have the same schema, layer and name.
    """
    read = list(documents)
    return {name: document for schema in NODE_SCHEMAS for name, document in find_documents(read, schema).items()}


def nodes_from_documents(documents: Iterable[Document]) -> list[Node]:
    """Return the nodes that a design describes, as groups select them, in document order.

    What is missing adds nothing: see `missing_makers`.

    Raises `DocumentError` when two nodes, or two documents that they are made of, have the same name; `InventoryError`
    with everything that is wrong with them.
    """
    read = list(documents)
    found = {node.name: node for node in drydock_nodes.nodes_from_documents(read)}
    own = slipway_nodes(read)[0]
    problems: dict[Problem, None] = {}
    written = find_documents(read, slipway_kinds.NODE_SCHEMA)
    for name, node in own.items():
        waits_for = depends_on_nodes(written[name], problems)
        found[name] = Node(name, node.tags, node.labels, node.rack, waits_for)
    if problems:
        raise InventoryError(problems)
    return list(found.values())


def missing_makers(documents: Sequence[Document]) -> list[Problem]:
    """Return a warning for each host profile, node set or user data that nodes name and that is not there.

    Raises `StrategyLibError`: documents are wrong in themselves.
    """
    _, missing = slipway_nodes(documents)
    return [*drydock_nodes.missing_profiles(documents), *(replace(one, level="warning") for one in missing)]
