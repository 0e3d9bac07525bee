"""The nodes of a site from a plain list."""

from __future__ import annotations

from typing import Any

import pytest

from strategy_lib.errors import InventoryError
from strategy_lib.node import Node
from strategy_lib.parsing.strategy_parser import nodes_from_inventory


def test_inventory_of_plain_entries() -> None:
    nodes = nodes_from_inventory(
        [
            {"name": "n1", "tags": ["t"], "labels": {"k": " v ", "n": 5, "b": False}, "rack": "r"},
            {"name": "n2"},
            {"name": "n3", "tags": None, "labels": None, "rack": None},
        ]
    )
    assert nodes == [
        Node("n1", frozenset({"t"}), {"k": " v ", "n": "5", "b": "false"}, "r"),
        Node("n2"),
        Node("n3"),
    ]


def test_inventory_names_every_problem() -> None:
    inventory: list[Any] = [{"name": "n"}, {"name": 3}, {}, {"name": "x", "tags": "t"}, {"name": "y", "rak": "r"}, "z"]
    with pytest.raises(InventoryError) as caught:
        nodes_from_inventory(inventory)
    assert {problem.path for problem in caught.value.problems} == {"$[1].name", "$[2]", "$[3].tags", "$[4].rak", "$[5]"}
    with pytest.raises(InventoryError) as caught:
        nodes_from_inventory([{"name": "n"}, {"name": "m"}, {"name": "n"}])
    assert [str(problem) for problem in caught.value.problems] == [
        "$[2].name: there is already a node 'n'; names must be unique"
    ]
    for wrong in ({"name": "n"}, None, "n", [{1: 2}]):
        with pytest.raises(InventoryError):
            nodes_from_inventory(wrong)  # type: ignore[arg-type]
