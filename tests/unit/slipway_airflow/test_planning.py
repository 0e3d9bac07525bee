"""The plan of an action: order, members, what is already done."""

from __future__ import annotations

from slipway_airflow.planning import already_done, make_plan
from strategy_lib.inventory import nodes_from_inventory
from strategy_lib.outcome import NodeCondition
from strategy_lib.strategy import parse_strategy

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


def test_rule_21_same_design_and_still_deployed_is_done() -> None:
    wanted = {"a": "1", "b": "1", "c": "1", "d": "1"}
    done = {"a": "1", "b": "0", "c": "1"}
    deployed = NodeCondition.DEPLOYED
    conditions = {"a": deployed, "b": deployed, "c": NodeCondition.READY, "d": deployed}
    assert already_done(wanted, done, conditions) == {"a"}
