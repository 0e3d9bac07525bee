"""Rules 1-3: what a strategy is, and that everything wrong with it is said at once."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

from design_rendering.reading.documents import load_documents
from strategy_lib.errors import StrategyError
from strategy_lib.parsing.strategy_parser import group_from_data, parse_label, parse_strategy
from strategy_lib.strategy import (
    Approval,
    ApprovalMoment,
    Group,
    Label,
    Selector,
    Strategy,
    default_strategy,
    group_to_data,
    strategy_to_data,
    targeted_strategy,
)


def group(name: str, *depends_on: str, **more: Any) -> dict[str, Any]:
    return {"name": name, "critical": True, "depends_on": list(depends_on), "selectors": [], **more}


CRITERIA = ".success_criteria"


def criteria(wanted: dict[str, Any]) -> dict[str, Any]:
    return {"success_criteria": wanted}


def problems_of(*groups: Any) -> list[tuple[str, str]]:
    with pytest.raises(StrategyError) as caught:
        parse_strategy({"groups": list(groups)})
    return [(problem.path, problem.message) for problem in caught.value.problems]


def test_rule_01_a_group_with_every_field() -> None:
    selector = {"node_names": ["n1"], "node_tags": ["t"], "node_labels": ["k: v"], "rack_names": ["r"]}
    wanted = {"percent_successful_nodes": 90.0, "minimum_successful_nodes": 0, "maximum_failed_nodes": 1}
    strategy = parse_strategy({"groups": [group("a", selectors=[selector, {}], success_criteria=wanted)]})
    (read,) = strategy.groups
    assert read.selectors == (Selector(("n1",), ("t",), (Label("k", "v"),), ("r",)), Selector())
    assert read.criteria is not None
    assert read.criteria.percent_successful_nodes == 90
    assert type(read.criteria.percent_successful_nodes) is int
    assert (read.criteria.minimum_successful_nodes, read.criteria.maximum_failed_nodes) == (0, 1)
    assert strategy.group("a") is read


@pytest.mark.parametrize("field", ["name", "critical", "depends_on", "selectors"])
def test_rule_01_these_fields_are_required(field: str) -> None:
    broken = group("a")
    del broken[field]
    ((path, message),) = problems_of(broken)
    assert path == "$.data.groups[0]"
    assert message.startswith(f"{field} is missing")


def test_rule_01_success_criteria_is_optional_and_an_empty_one_asks_for_nothing() -> None:
    assert parse_strategy({"groups": [group("a")]}).groups[0].criteria is None
    read = parse_strategy({"groups": [group("a", success_criteria={})]}).groups[0].criteria
    assert read is not None
    assert read.percent_successful_nodes is None


def test_rule_01_no_groups_is_a_strategy() -> None:
    assert parse_strategy({"groups": []}).groups == ()


@pytest.mark.parametrize(
    ("value", "label"),
    [
        ("key: value", Label("key", "value")),
        ("key:value", Label("key", "value")),
        ("key:  a:b: c ", Label("key", "a:b: c")),
        ("key:", Label("key", "")),
        ({"key": "value"}, Label("key", "value")),
        ({"key": "a: b"}, Label("key", "a: b")),
        ({" key": " v "}, Label(" key", " v ")),
        ({"key": True}, Label("key", "true")),
        ({"key": 7}, Label("key", "7")),
        ({"a.b/c": "x"}, Label("a.b/c", "x")),
        ("no colon", None),
        (": value", None),
        ("  : value", None),
        ("", None),
        ({}, None),
        ({"a": "1", "b": "2"}, None),
        ({"": "x"}, None),
        ({" ": "x"}, None),
        ({"a": None}, None),
        ({"a": ["x"]}, None),
        (7, None),
        (None, None),
    ],
)
def test_rule_02_label(value: object, label: Label | None) -> None:
    assert parse_label(value) == label
    data = {"groups": [group("a", selectors=[{"node_labels": [value]}])]}
    if label is None:
        with pytest.raises(StrategyError):
            parse_strategy(data)
    else:
        assert parse_strategy(data).groups[0].selectors[0].node_labels == (label,)


@pytest.mark.parametrize("label", ["\x1c: v", {"\x1f": "v"}, {"\x1c \x1d": True}])
def test_rule_03_a_label_without_a_visible_key_is_refused_and_never_dropped(label: object) -> None:
    ((path, message),) = problems_of(group("a", selectors=[{"node_labels": ["a: b", label]}]))
    assert path == "$.data.groups[0].selectors[0].node_labels[1]"
    assert "a key that can be seen" in message


def test_rule_03_a_label_without_a_visible_key_is_found_beside_other_problems() -> None:
    rows: list[Any] = ["\x1c: v", " : v", {" ": "x"}, {"\x1f": None}, {"a": None}, 7, "a: b"]
    found = problems_of(
        {
            "name": "a",
            "critical": "no",
            "depends_on": [],
            "selectors": [{"node_labels": rows}, None, {"node_labels": 1}],
        },
        group("b", selectors={}),
        None,
    )
    labels = "$.data.groups[0].selectors[0].node_labels"
    invisible = [path for path, message in found if "a key that can be seen" in message]
    assert invisible == [f"{labels}[0]", f"{labels}[3]"]
    # What the schema has refused already is not said a second time.
    assert [path for path, _ in found if path.startswith(f"{labels}[1]")] == [f"{labels}[1]"]
    assert [path for path, _ in found if path.startswith(f"{labels}[2]")] == [f"{labels}[2]"]
    assert "$.data.groups[0].critical" in dict(found)


def test_rule_03_more_than_a_thousand_problems_are_counted() -> None:
    found = problems_of(*[{**group(f"g{i}"), "critical": "no"} for i in range(1500)])
    assert len(found) == 1001
    assert found[-1] == ("$.data", "there are 500 more problems like these")


@pytest.mark.parametrize(
    ("change", "path", "words"),
    [
        ({"name": ""}, ".name", "must not be empty"),
        ({"name": "é" * 251}, ".name", "must have at most 250 characters, and has 251"),
        ({"name": 5}, ".name", "must be text, not 5; put it in quotes"),
        ({"critical": "yes"}, ".critical", "must be true or false, not the text 'yes'"),
        ({"depends_on": None}, ".depends_on", "write [] for an empty list"),
        ({"depends_on": "b"}, ".depends_on", "must be a list, not the text 'b'"),
        ({"selectors": {}}, ".selectors", "must be a list, not a mapping"),
        ({"selectors": [None]}, ".selectors[0]", "must be a mapping, not empty"),
        ({"selectors": [{"node_name": []}]}, ".selectors[0].node_name", "did you mean node_names?"),
        ({"selectors": [{"node_tags": None}]}, ".selectors[0].node_tags", "write [] for an empty list"),
        ({"selectors": [{"rack_names": [3]}]}, ".selectors[0].rack_names[0]", "must be text, not 3"),
        ({"selectors": [{"node_labels": ["x"]}]}, ".selectors[0].node_labels[0]", 'must be a label, "key: value"'),
        ({"success_criteria": None}, ".success_criteria", "must be a mapping, not empty"),
        (criteria({"percent_successful_nodes": 101}), f"{CRITERIA}.percent_successful_nodes", "0 to 100"),
        (criteria({"percent_successful_nodes": -1}), f"{CRITERIA}.percent_successful_nodes", "0 to 100"),
        (criteria({"percent_successful_nodes": 5.5}), f"{CRITERIA}.percent_successful_nodes", "whole"),
        (criteria({"minimum_successful_nodes": True}), f"{CRITERIA}.minimum_successful_nodes", "whole"),
        (criteria({"maximum_failed_nodes": "1"}), f"{CRITERIA}.maximum_failed_nodes", "0 or more"),
        (criteria({"maximum_failed": 1}), f"{CRITERIA}.maximum_failed", "did you mean maximum_failed_nodes?"),
        ({"colour": 1}, ".colour", "known are name, critical, depends_on, selectors, success_criteria"),
    ],
)
def test_rule_03_schema_error(change: dict[str, Any], path: str, words: str) -> None:
    ((found, message),) = problems_of({**group("a"), **change})
    assert found == f"$.data.groups[0]{path}"
    assert words in message


@pytest.mark.parametrize(
    ("data", "path"),
    [
        (None, "$.data"),
        ([], "$.data"),
        ({}, "$.data"),
        ({"groups": {}}, "$.data.groups"),
        ({"groups": [], "x": 1}, "$.data.x"),
    ],
)
def test_rule_03_schema_error_above_the_groups(data: object, path: str) -> None:
    with pytest.raises(StrategyError) as caught:
        parse_strategy(data)
    assert [problem.path for problem in caught.value.problems] == [path]


@pytest.mark.parametrize("data", [{1: 2}, {"groups": [{"name": {1, 2}}]}, {"groups": [{"name": float("nan")}]}])
def test_rule_03_values_that_json_does_not_have(data: object) -> None:
    with pytest.raises(StrategyError) as caught:
        parse_strategy(data)
    assert caught.value.problems


def test_rule_03_duplicate_names() -> None:
    ((path, message),) = problems_of(group("a"), group("b"), group("a"))
    assert path == "$.data.groups[2].name"
    assert "already taken by $.data.groups[0]" in message


def test_rule_03_dependencies_that_are_unknown_own_or_double() -> None:
    assert problems_of(group("a", "nope", "a", "b", "b"), group("b")) == [
        ("$.data.groups[0].depends_on[0]", "there is no group 'nope'; name a group of this strategy"),
        ("$.data.groups[0].depends_on[1]", "'a' depends on itself; name only other groups"),
        ("$.data.groups[0].depends_on[3]", "'b' is listed twice; once is enough"),
    ]


def test_rule_03_a_misspelt_dependency_is_recognised() -> None:
    found = problems_of(group("control-nodes"), group("a", "contol-nodes"), group("b", "compute-nodes"))
    assert [message for _, message in found] == [
        "there is no group 'contol-nodes'; did you mean 'control-nodes'?",
        "there is no group 'compute-nodes'; name a group of this strategy",
    ]


def test_rule_03_every_cycle_is_named() -> None:
    found = problems_of(
        group("a", "b"),
        group("b", "c", "a"),
        group("c", "a"),
        group("d", "e"),
        group("e", "d"),
        group("f", "a"),
    )
    assert {message.split(": ")[1].split(";")[0] for _, message in found} == {
        "a -> b -> a",
        "a -> b -> c -> a",
        "d -> e -> d",
    }
    assert {path for path, _ in found} == {"$.data.groups[0].depends_on[0]", "$.data.groups[3].depends_on[0]"}


def test_rule_03_more_than_100_cycles_are_cut_and_the_cut_is_said() -> None:
    names = [f"g{i}" for i in range(12)]
    everyone = [group(name, *(other for other in names if other != name)) for name in names]
    found = problems_of(*everyone, group("x", "y"), group("y", "x"))
    assert len(found) == 101
    assert any("x -> y -> x" in message for _, message in found)
    assert found[-1] == ("$.data.groups", "there are more cycles of groups; only the first 100 are listed")
    assert found == problems_of(*everyone, group("x", "y"), group("y", "x"))


def test_rule_03_a_cycle_of_5000_groups() -> None:
    ((_, message),) = problems_of(*(group(f"g{i}", f"g{(i + 1) % 5000}") for i in range(5000)))
    assert message.count(" -> ") == 5000


def test_rule_03_all_problems_at_once_each_with_its_line_and_document() -> None:
    text = """\
schema: shipyard/DeploymentStrategy/v1
metadata: {name: mine}
data:
  groups:
  - name: a
    critical: maybe
    depends_on: [b]
    selectors: []
  - name: b
    critical: true
    depends_on:
    - a
    - zz
    selectors:
    - node_labels: [nonsense]
  - name: b
    critical: true
    depends_on: []
    selectors: []
    success_criteria: {percent_successful_nodes: 200}
"""
    (document,) = load_documents(text, "site.yaml")
    with pytest.raises(StrategyError) as caught:
        parse_strategy(document.data, document)
    assert [(problem.line, problem.path) for problem in caught.value.problems] == [
        (6, "$.data.groups[0].critical"),
        (7, "$.data.groups[0].depends_on[0]"),
        (13, "$.data.groups[1].depends_on[1]"),
        (15, "$.data.groups[1].selectors[0].node_labels[0]"),
        (16, "$.data.groups[2].name"),
        (20, "$.data.groups[2].success_criteria.percent_successful_nodes"),
    ]
    assert {problem.document for problem in caught.value.problems} == {"site.yaml: shipyard/DeploymentStrategy/v1 mine"}
    text_of_error = str(caught.value)
    assert "site.yaml:13: $.data.groups[1].depends_on[1]: there is no group 'zz'" in text_of_error
    assert pickle.loads(pickle.dumps(caught.value)).problems == caught.value.problems  # noqa: S301


def test_rule_21_targeted_strategy_takes_exactly_the_targets() -> None:
    (only,) = targeted_strategy(["n2", "n1", "n2"]).groups
    assert (only.name, only.critical, only.depends_on) == ("target-group", True, ())
    assert only.selectors == (Selector(node_names=("n2", "n1")),)
    assert only.criteria is not None
    assert only.criteria.percent_successful_nodes == 100
    with pytest.raises(StrategyError, match="at least one"):
        targeted_strategy([])


def test_rule_22_default_strategy_is_one_critical_group_of_all_nodes() -> None:
    (only,) = default_strategy().groups
    assert (only.name, only.critical, only.depends_on, only.selectors) == ("default", True, (), ())
    assert only.criteria is not None
    assert only.criteria.percent_successful_nodes == 100


def test_a_strategy_survives_being_written_as_data() -> None:
    selector = {"node_names": ["n"], "node_labels": ["a: b: c", {"k": False}, "a: d", {"e": ""}]}
    wanted = {"minimum_successful_nodes": 0}
    strategy = parse_strategy(
        {
            "groups": [
                group("a", "b", selectors=[selector, {}], success_criteria=wanted),
                group("b", success_criteria={}, release_failed=False),
            ]
        }
    )
    assert parse_strategy(strategy_to_data(strategy)) == strategy
    assert [group_from_data(group_to_data(each)) for each in strategy.groups] == list(strategy.groups)
    assert isinstance(strategy, Strategy)
    assert isinstance(strategy.groups[0], Group)
    assert [each.release_failed for each in strategy.groups] == [True, False]


def test_what_a_group_asks_a_person_for_survives_being_written_as_data() -> None:
    asking = group("a", approval="before", approval_text="Now?", approvers=["ann", "bob"], approval_timeout=60)
    strategy = parse_strategy({"groups": [asking, group("b", approval="after"), group("c")]})
    assert [each.approval for each in strategy.groups] == [
        Approval(ApprovalMoment.BEFORE, "Now?", ("ann", "bob"), 60),
        Approval(ApprovalMoment.AFTER),
        None,
    ]
    assert parse_strategy(strategy_to_data(strategy)) == strategy


@pytest.mark.parametrize(
    ("more", "path", "said"),
    [
        pytest.param({"approval": "later"}, ".approval", "before", id="no such moment"),
        pytest.param({"approvers": ["ann"]}, ".approvers", "there is no approval", id="nobody would be asked"),
        pytest.param({"approval_text": "Now?"}, ".approval_text", "there is no approval", id="nobody would read it"),
        pytest.param({"approval": "after", "approval_timeout": 0}, ".approval_timeout", "1", id="no time"),
        pytest.param({"approval": "after", "approvers": []}, ".approvers", "empty list", id="nobody may answer"),
    ],
)
def test_an_approval_that_cannot_be_meant_so_is_refused(more: dict[str, Any], path: str, said: str) -> None:
    ((where, message),) = problems_of(group("a", **more))
    assert where.endswith(path)
    assert said in message


def test_a_group_says_in_the_plan_that_it_asks() -> None:
    asking = Approval(ApprovalMoment.BEFORE, approvers=("ann", "bob"))
    assert asking.announcement("one") == (
        "Group one asks for approval by ann, bob before it begins; while it waits no other group starts."
    )
    assert asking.question("one") == "Shall group one be deployed?"
    assert Approval(ApprovalMoment.AFTER).question("one") == "Is group one as it should be?"


def test_a_stored_group_that_is_broken_is_refused() -> None:
    with pytest.raises(StrategyError):
        group_from_data({"name": "a"})
