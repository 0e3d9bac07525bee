"""What is wrong with nodes and needs no server to be seen: names that are too long, addresses that two have. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from design_rendering.drydock_kinds import NODE_SCHEMA
from design_rendering.kinds.nodes import node_documents
from design_rendering.kinds.stated_nodes import OWN_ADDRESS, stated_nodes
from design_rendering.reading.documents import Document
from strategy_lib.errors import Problem, StrategyLibError

LONGEST_HOST_NAME: Final = 32
"""Drydock keeps no more characters of a node's name."""


def node_limit_problems(documents: Sequence[Document]) -> list[Problem]:
    """Return an error for each name that a provisioner cannot take, and a warning for each address that two nodes have.

    Names of Slipway's own nodes are judged by their shape. Documents that cannot be read are judged elsewhere.
    """
    try:
        written = node_documents(documents)
        stated = stated_nodes(documents)
    except StrategyLibError:
        return []
    problems = []
    for name, document in written.items():
        if document.schema == NODE_SCHEMA and len(name) > LONGEST_HOST_NAME:
            message = (
                f"has {len(name)} characters, and Drydock loses nodes with more than {LONGEST_HOST_NAME}; shorten it"
            )
            problems.append(document.problem("$.metadata.name", message))
    first: dict[tuple[str, str], str] = {}
    for name, node in stated.items():
        for network, address in node.addresses.items():
            other = first.setdefault((network, address), name)
            if other != name and name in written:
                where = f" in network {network}" if network != OWN_ADDRESS else ""
                message = f"node {other} has the address {address}{where} too; give each node its own"
                path = "$.data.addressing" if network != OWN_ADDRESS else "$.data.address"
                problems.append(replace(written[name].problem(path, message), level="warning"))
    return problems
