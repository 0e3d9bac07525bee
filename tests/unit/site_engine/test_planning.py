"""The plan of an action: order, members, what is already done."""

from __future__ import annotations

import pytest

from site_engine.planning import judge_deployed, make_plan
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


def known(name: str, done: str | None, doubt: str | None = None) -> NodeRecord:
    return NodeRecord("alpha", name, 2, "1", 7, 1 if done else None, done, None, "deployed", doubt)


@pytest.mark.parametrize(
    ("record", "condition", "as_wanted", "reason"),
    [
        (known("a", "1"), NodeCondition.DEPLOYED, True, None),
        (
            known("a", "0"),
            NodeCondition.DEPLOYED,
            False,
            "design changed, needs redeploy (redeploy_server)",
        ),
        (
            known("a", None),
            NodeCondition.DEPLOYED,
            False,
            "deployed already, but no action on record",
        ),
        (None, NodeCondition.DEPLOYED, False, "deployed already, but no action on record"),
        (known("a", "1", "why"), NodeCondition.DEPLOYED, False, "its design is in doubt, needs redeploy"),
        (known("a", "1"), NodeCondition.READY, False, None),
        (known("a", "0"), NodeCondition.FAILED_DEPLOYMENT, False, None),
        (known("a", "1"), None, False, None),
    ],
    ids=["same", "changed", "undone", "unknown", "doubtful", "not deployed any more", "failed", "not listed"],
)
def test_rule_21_a_deployed_node_is_as_wanted_or_needs_a_redeploy(
    record: NodeRecord | None, condition: NodeCondition | None, as_wanted: bool, reason: str | None
) -> None:
    found = judge_deployed({"a": "1"}, [record] if record else [], {"a": condition} if condition else {})
    assert (found.as_wanted == {"a"}) is as_wanted
    assert found.withheld.keys() == ({"a"} if reason else set())
    assert all(said.startswith(reason or "?") for said in found.withheld.values())


def test_rule_25_a_change_of_labels_alone_needs_only_new_labels() -> None:
    deployed = {"a": NodeCondition.DEPLOYED}
    found = judge_deployed({"a": "2:rest:new"}, [known("a", "2:rest:old")], deployed)
    assert found.withheld == {"a": "labels changed: relabel_nodes brings them about"}
    both = judge_deployed({"a": "2:other:new"}, [known("a", "2:rest:old")], deployed)
    assert both.withheld["a"].startswith("design changed, needs redeploy")
