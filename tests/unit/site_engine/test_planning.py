"""The plan of an action: order, members, what is already done."""

from __future__ import annotations

import pytest

from site_engine.actions.kinds import KINDS
from site_engine.actions.parameters import parse_parameters
from site_engine.planning import Deployed, considered_differences, judge_deployed, make_plan
from site_store import NodeRecord
from strategy_lib.node import nodes_from_inventory
from strategy_lib.outcome import NodeCondition
from strategy_lib.strategy_parser import parse_strategy

NODES = nodes_from_inventory(
    [{"name": name, "tags": [], "labels": {}, "rack": rack} for name, rack in (("b", "r1"), ("a", "r1"), ("c", "r2"))]
)
STRATEGY = parse_strategy(
    {
        "groups": [
            {"name": "late", "critical": False, "depends_on": ["early"], "selectors": [{"rack_names": ["r1"]}]},
            {"name": "early", "critical": True, "depends_on": [], "selectors": [{"node_names": ["a"]}]},
        ]
    }
)


def test_rule_08_groups_stand_in_processing_order_with_sorted_nodes() -> None:
    plan = make_plan(STRATEGY, NODES, ())
    assert [(planned.group.name, planned.nodes) for planned in plan.groups] == [("early", ("a",)), ("late", ("a", "b"))]


def test_nodes_in_no_group_are_kept_for_the_report() -> None:
    assert make_plan(STRATEGY, NODES, ()).other == {"c"}


def test_rule_21_only_nodes_of_groups_count_as_done() -> None:
    assert make_plan(STRATEGY, NODES, ["a", "c"]).done == {"a"}


@pytest.mark.parametrize(
    ("kind", "overrides", "change", "submitted"),
    [
        ("update_site", {}, "none", False),
        ("update_site", {"redo_done": True}, "redo", True),
        ("redeploy_server", {}, "redo", True),
    ],
)
def test_rule_21_a_node_that_is_as_wanted_is_left_alone_unless_it_is_redone(
    kind: str, overrides: dict[str, bool], change: str, submitted: bool
) -> None:
    parameters = parse_parameters({"target_nodes": "a", **overrides}, KINDS[kind])
    record = NodeRecord("alpha", "a", 2, "1", 7, 1, "1", None, "deployed")
    found = considered_differences(
        KINDS[kind], parameters, {"a": "1", "b": "1"}, [record], {"a": NodeCondition.DEPLOYED}
    )
    assert {name: each.change for name, each in found.items()} == {"a": change}
    assert (judge_deployed(found) == Deployed()) is submitted
