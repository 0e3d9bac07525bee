"""The nodes of a site from a plain list, and what is asked of a provisioner."""

from __future__ import annotations

from typing import Any

import pytest

from strategy_lib.errors import InventoryError
from strategy_lib.node import Node
from strategy_lib.parsing.strategy_parser import nodes_from_inventory
from strategy_lib.phase import GROUP_PHASES, NODE_STEPS, Phase


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


def test_the_stored_values_never_change() -> None:
    assert {phase.name: phase.value for phase in Phase} == {
        "PREPARE": "prepare",
        "DEPLOY": "deploy",
        "READY": "ready",
        "RELEASE": "release",
        "VERIFY_SITE": "verify_site",
        "PREPARE_SITE": "prepare_site",
        "DESTROY": "destroy_nodes",
        "RELABEL": "relabel_nodes",
    }


def test_each_phase_is_of_a_group_of_named_nodes_or_of_a_site() -> None:
    of_a_site = {phase for phase in Phase if not phase.is_of_nodes}
    assert of_a_site == {Phase.VERIFY_SITE, Phase.PREPARE_SITE}
    assert {phase for phase in Phase if phase.is_node_step} == set(NODE_STEPS)
    assert set(Phase) - of_a_site - set(NODE_STEPS) - set(GROUP_PHASES) == {Phase.RELEASE}
