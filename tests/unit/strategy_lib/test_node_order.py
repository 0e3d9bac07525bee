"""Which nodes wait for which: names and selectors of groups and nodes, and orders that cannot be kept."""

from __future__ import annotations

from typing import Any

import pytest

from strategy_lib.errors import StrategyError
from strategy_lib.groups.node_order import node_edges, require_order
from strategy_lib.node import Node
from strategy_lib.parsing.strategy_parser import nodes_from_inventory, parse_strategy
from strategy_lib.simulation import simulate
from strategy_lib.strategy import strategy_to_data

ROLES = {"gw1": "gateway", "gw2": "gateway", "n1": "worker", "n2": "worker"}
NODES = nodes_from_inventory([{"name": name, "labels": {"role": role}} for name, role in ROLES.items()])
GATEWAYS = {"node_labels": ["role: gateway"]}


def group(name: str, *nodes: str, **more: Any) -> dict[str, Any]:
    selectors = [{"node_names": list(nodes)}] if nodes else []
    return {"name": name, "critical": True, "depends_on": [], "selectors": selectors} | more


def edges_of(*groups: dict[str, Any], nodes: list[Node] = NODES) -> dict[str, tuple[str, ...]]:
    return dict(node_edges(parse_strategy({"groups": list(groups)}), nodes))


@pytest.mark.parametrize("choice", [["gw1", "gw2"], [GATEWAYS], ["gw1", GATEWAYS]], ids=str)
def test_rule_39_members_wait_for_the_named_nodes_which_do_not_wait_for_each_other(choice: list[Any]) -> None:
    expected = {"n1": ("gw1", "gw2"), "n2": ("gw1", "gw2")}
    assert edges_of(group("all", depends_on_nodes=choice)) == expected


def test_rule_39_a_node_waits_for_those_of_all_its_groups_and_its_own() -> None:
    nodes = [*NODES[:3], Node("n2", depends_on_nodes=("n1",))]
    first, second = group("a", "n1", "n2", depends_on_nodes=["gw1"]), group("b", "n2", depends_on_nodes=["gw2"])
    assert edges_of(first, second, nodes=nodes) == {"n1": ("gw1",), "n2": ("gw1", "gw2", "n1")}


def test_rule_39_without_a_word_about_it_nothing_waits() -> None:
    assert edges_of(group("all")) == {}


def test_the_fields_survive_being_written_and_read_again() -> None:
    more = {"depends_on_nodes": ["gw1", GATEWAYS], "retries": {"deploy": 2}, "allow_redeploy": True}
    strategy = parse_strategy({"groups": [group("a", max_unavailable="25%", **more), group("b", max_unavailable=3)]})
    assert parse_strategy(strategy_to_data(strategy)) == strategy
    assert (strategy.groups[0].retries.prepare, strategy.groups[0].retries.deploy) == (0, 2)


@pytest.mark.parametrize(
    ("more", "path", "said"),
    [
        ({"depends_on_nodes": "gw1"}, "depends_on_nodes", "must be a list, not the text 'gw1'"),
        ({"depends_on_nodes": [{}]}, "depends_on_nodes[0]", "must be text or a mapping"),
        ({"depends_on_nodes": [{"node_names": []}]}, "depends_on_nodes[0]", "all nodes cannot wait for all nodes"),
        ({"retries": {"deploy": -1}}, "retries.deploy", "a whole number from 0 to 10, not -1"),
        ({"retries": {"verify": 1}}, "retries.verify", "'verify' is not known here"),
        ({"max_unavailable": 0}, "max_unavailable", '1 or more, or a percentage such as "25%", not 0'),
        ({"canary": -1}, "canary", '1 or more, or a percentage such as "25%", not -1'),
        ({"max_unavailable": "0%"}, "max_unavailable", "not the text '0%'"),
        ({"allow_redeploy": "yes"}, "allow_redeploy", "must be true or false"),
    ],
    ids=str,
)
def test_rule_03_a_wrong_field_is_refused_with_its_path(more: dict[str, Any], path: str, said: str) -> None:
    with pytest.raises(StrategyError) as error:
        parse_strategy({"groups": [group("a", **more)]})
    (problem,) = error.value.problems
    assert problem.path == f"$.data.groups[0].{path}"
    assert said in problem.message


@pytest.mark.parametrize(
    ("groups", "nodes", "said"),
    [
        ([group("a", depends_on_nodes=["gw3"])], NODES, "there is no node 'gw3'; did you mean 'gw2'?"),
        ([group("a")], [Node("a", depends_on_nodes=("a",))], "'a' depends on itself"),
        (
            [group("a")],
            [Node("a", depends_on_nodes=("b",)), Node("b", depends_on_nodes=("a",))],
            "nodes that depend on each other: a -> b -> a",
        ),
        (
            [group("a", "n1", depends_on_nodes=["gw1"]), group("b", "gw1", depends_on=["a"])],
            NODES,
            "groups that wait for each other: a -> b -> a (a comes after b, as n1 depends on gw1)",
        ),
    ],
    ids=["no such node", "itself", "nodes", "groups and nodes together"],
)
def test_rule_39_an_order_that_cannot_be_kept_is_refused_with_its_path(
    groups: list[dict[str, Any]], nodes: list[Node], said: str
) -> None:
    with pytest.raises(StrategyError) as error:
        require_order(parse_strategy({"groups": groups}), nodes)
    assert [said in problem.message for problem in error.value.problems] == [True]


def test_rule_03_an_unknown_name_hides_no_cycle_of_nodes_or_groups() -> None:
    groups = [group("g1", "n1", depends_on_nodes=["gw1", "gw3"]), group("g2", "gw1", depends_on=["g1"])]
    nodes = [*NODES, Node("x", depends_on_nodes=("y", "z")), Node("y", depends_on_nodes=("x",))]
    with pytest.raises(StrategyError) as error:
        require_order(parse_strategy({"groups": groups}), nodes)
    assert [problem.message.split(" (")[0] for problem in error.value.problems] == [
        "there is no node 'gw3'; did you mean 'gw2'?",
        "there is no node 'z'; name a node of this site",
        "nodes that depend on each other: x -> y -> x",
        "groups that wait for each other: g1 -> g2 -> g1",
    ]


def sent(result: dict[str, Any]) -> list[tuple[str, str, str]]:
    return [(one["group"], one["phase"], " ".join(one["nodes"])) for one in result["submissions"]]


INVENTORY: list[dict[str, Any]] = [{"name": name, "labels": {"role": role}} for name, role in ROLES.items()]


def test_rule_39_nodes_are_deployed_in_waves_and_prepared_together() -> None:
    result = simulate({"groups": [group("all", depends_on_nodes=[GATEWAYS])]}, INVENTORY)
    assert sent(result) == [
        ("all", "prepare", "gw1 gw2 n1 n2"),
        ("all", "deploy", "gw1 gw2"),
        ("all", "deploy", "n1 n2"),
    ]


def test_rule_39_only_dependants_of_a_failed_node_are_held_with_the_reason() -> None:
    nodes: list[dict[str, Any]] = [{"name": "gw1"}, {"name": "gw2"}, {"name": "n1", "depends_on_nodes": ["gw1"]}]
    nodes += [{"name": "n2", "depends_on_nodes": ["gw2"]}, {"name": "n3", "depends_on_nodes": ["n1"]}]
    result = simulate({"groups": [group("all")]}, nodes, {"deploy": {"gw1": "failure"}})
    assert sent(result)[1:] == [("all", "deploy", "gw1 gw2"), ("all", "deploy", "n2")]
    why = "waits for gw1, which failed: deploy failed"
    assert result["held"] == {"n1": why, "n3": why}
    assert result["nodes"] == {"gw1": "failure", "gw2": "success", "n1": "prepared", "n2": "success", "n3": "prepared"}


@pytest.mark.parametrize("at_once", [1, 2])
def test_rule_39_the_group_of_what_is_waited_for_goes_first_and_its_failure_is_not_passed_on(at_once: int) -> None:
    groups = [group("workers", "n1", "n2", depends_on_nodes=["gw1"]), group("gateways", "gw1", "gw2")]
    groups[1]["success_criteria"] = {"percent_successful_nodes": 100}
    groups[0]["success_criteria"] = {"percent_successful_nodes": 0}
    result = simulate({"groups": groups}, INVENTORY, {"deploy": {"gw2": "failure"}}, max_parallel_groups=at_once)
    assert result["order"] == ["gateways", "workers"]
    assert result["groups"]["gateways"]["state"] == "failure"
    assert result["nodes"]["n1"] == result["nodes"]["n2"] == "success"


def test_rule_39_what_waits_for_a_failed_node_of_another_group_is_held() -> None:
    groups = [group("gateways", "gw1", "gw2"), group("workers", "n1", "n2", depends_on_nodes=["gw1"])]
    result = simulate({"groups": groups}, INVENTORY, {"prepare": {"gw1": "failure"}})
    assert result["held"] == dict.fromkeys(("n1", "n2"), "waits for gw1, which failed: prepare failed")
    assert sent(result)[-1] == ("workers", "prepare", "n1 n2")


def test_rule_44_only_failed_nodes_are_tried_again_before_the_criteria_are_judged() -> None:
    groups = [group("all", retries={"prepare": 1, "deploy": 1}, success_criteria={"percent_successful_nodes": 50})]
    fates = {"prepare": {"gw1": "failure"}, "deploy": {"n1": "failure", "n2": "unknown"}}
    result = simulate({"groups": groups}, INVENTORY, fates)
    assert [(phase, nodes) for _, phase, nodes in sent(result)] == [
        ("prepare", "gw1 gw2 n1 n2"),
        ("prepare", "gw1"),
        ("deploy", "gw2 n1 n2"),
        ("prepare", "n1"),
        ("deploy", "n1"),
    ]
    assert result["groups"]["all"]["reason"] == "deploy_criteria"


def test_rule_44_a_node_waits_while_what_it_waits_for_may_be_tried_again() -> None:
    groups = [group("all", depends_on_nodes=["gw1"], retries={"deploy": 1})]
    result = simulate({"groups": groups}, INVENTORY[:1] + INVENTORY[2:], {"deploy": {"gw1": "failure"}})
    assert [nodes for _, phase, nodes in sent(result) if phase == "deploy"] == ["gw1", "gw1"]
    assert set(result["held"]) == {"n1", "n2"}
