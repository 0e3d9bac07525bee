"""Layering by Deckhand's rules: which document is the parent, and what is inherited from it."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from design_rendering.rendering import render
from tests.support.designs import (
    action,
    child,
    data,
    documents,
    layered,
    only_problem,
    parent,
    policy,
    problems,
    rendering,
)

PARENT = {"a": {"x": 1, "y": 2}, "c": 9}
CHILD = {"a": {"x": 7, "z": 3}, "b": 4}


@pytest.mark.parametrize(
    ("actions", "expected"),
    [
        # The examples of Deckhand's own documentation.
        ([action("merge", ".")], {"a": {"x": 7, "y": 2, "z": 3}, "b": 4, "c": 9}),
        ([action("merge", ".a")], {"a": {"x": 7, "y": 2, "z": 3}, "c": 9}),
        ([action("merge", ".b")], {"a": {"x": 1, "y": 2}, "b": 4, "c": 9}),
        ([action("replace", ".")], {"a": {"x": 7, "z": 3}, "b": 4}),
        ([action("replace", ".a")], {"a": {"x": 7, "z": 3}, "c": 9}),
        ([action("replace", ".b")], {"a": {"x": 1, "y": 2}, "b": 4, "c": 9}),
        ([action("delete", ".")], {}),
        ([action("delete", ".a")], {"c": 9}),
        ([action("delete", ".c")], {"a": {"x": 1, "y": 2}}),
        # One after the other.
        ([action("delete", ".a"), action("merge", ".")], {"a": {"x": 7, "z": 3}, "b": 4, "c": 9}),
        ([action("merge", "."), action("delete", ".a")], {"b": 4, "c": 9}),
        # Paths may be written in these ways too.
        ([action("merge", "$.a")], {"a": {"x": 7, "y": 2, "z": 3}, "c": 9}),
        ([action("merge", "a")], {"a": {"x": 7, "y": 2, "z": 3}, "c": 9}),
        ([action("replace", ".data.a")], {"a": {"x": 7, "z": 3}, "c": 9}),
        ([action("replace", ".a.z")], {"a": {"x": 1, "y": 2, "z": 3}, "c": 9}),
        ([action("delete", ".a['x']")], {"a": {"y": 2}, "c": 9}),
    ],
)
def test_actions(actions: list[dict[str, str]], expected: dict[str, Any]) -> None:
    assert data(parent(PARENT), child("c", CHILD, *actions)) == {"c": expected}


@pytest.mark.parametrize(
    ("inherited", "own", "path", "expected"),
    [
        ({"l": [1, 2, 3]}, {"l": [4]}, ".", {"l": [4]}),
        ({"l": [1, 2, 3]}, {"l": [4]}, ".l", {"l": [4]}),
        ({"l": [{"a": 1}, {"b": 2}]}, {"l": [{"c": 3}]}, ".l[0]", {"l": [{"a": 1, "c": 3}, {"b": 2}]}),
        ({"l": [{"a": 1}]}, {"l": [0, {"a": 5}]}, ".l[1].a", {"l": [{"a": 1}, {"a": 5}]}),
        ({"a": {"b": 1}}, {"a": "text"}, ".", {"a": "text"}),
        ({"a": "text"}, {"a": {"b": 1}}, ".", {"a": {"b": 1}}),
        ({"a": 1}, {"a": None}, ".", {"a": None}),
        ({"a": None}, {"a": {"b": 1}}, ".a.b", {"a": {"b": 1}}),
        (None, {"a": 1}, ".", {"a": 1}),
        ({"a": 1}, None, ".", {"a": 1}),
        ("all of it", "other text", ".", "other text"),
    ],
)
def test_merging_what_is_not_a_mapping_takes_the_childs(inherited: Any, own: Any, path: str, expected: Any) -> None:
    assert data(parent(inherited), child("c", own, action("merge", path))) == {"c": expected}


def test_every_generation_is_made_from_the_rendered_one_above() -> None:
    design = (
        policy("global", "type", "region", "site"),
        layered("site", "site", {"s": 1}, parent={"k": "region"}, actions=[action("merge", ".")]),
        layered(
            "region", "region", {"r": 1}, labels={"k": "region"}, parent={"k": "type"}, actions=[action("merge", ".")]
        ),
        layered("type", "type", {"t": 1}, labels={"k": "type"}, parent={"k": "g"}, actions=[action("delete", ".drop")]),
        layered("global", "global", {"g": 1, "drop": 1}, labels={"k": "g"}),
    )
    assert data(*design)["site"] == {"g": 1, "r": 1, "s": 1}


def test_the_parent_is_in_the_nearest_layer_above() -> None:
    near = parent({"from": "type"}, layer="type", name="near", abstract=False)
    far = parent({"from": "global"}, name="far")
    for order in ([near, far], [far, near]):
        assert data(*order, child("c", {}))["c"] == {"from": "type"}
        assert data(*order, child("c", {}, layer="type"))["c"] == {"from": "global"}


def test_a_parent_has_all_labels_of_the_selector() -> None:
    half = layered("half", "type", {"from": "half"}, labels={"a": "1"})
    whole = layered("whole", "global", {"from": "whole"}, labels={"a": "1", "b": "2", "more": "3"})
    made = layered("c", "site", {}, parent={"a": "1", "b": "2"}, actions=[action("merge", ".")])
    assert data(half, whole, made)["c"] == {"from": "whole"}


def test_the_layers_are_those_of_the_policy() -> None:
    design = [parent({"p": 1}, layer="site"), child("c", {"c": 1}, layer="cicd")]
    assert data(policy("site", "cicd"), *design)["c"] == {"p": 1, "c": 1}
    message = problems(*design)[0].message
    assert message.startswith("there is no layer 'cicd'; without a deckhand/LayeringPolicy/v1 the layers are global,")


def test_abstract_documents_are_not_part_of_the_design_and_the_order_is_kept() -> None:
    rendered = rendering(layered("z", "site", 1), parent({}), child("c", {}), layered("a", "site", 2)).documents
    assert [one.document.name for one in rendered] == ["z", "c", "a"]
    assert [one.changed for one in rendered] == [False, True, False]


def test_a_rendered_document_keeps_its_place_and_loses_what_was_carried_out() -> None:
    made = rendering(parent({"p": 1}), child("c", {"own": 1}, labels={"l": "v"})).documents[0].document
    assert made.metadata == {
        "schema": "metadata/Document/v1",
        "name": "c",
        "storagePolicy": "cleartext",
        "layeringDefinition": {"abstract": False, "layer": "site"},
        "labels": {"l": "v"},
    }
    assert made.source == "site.yaml"
    assert made.line_of("$.data.own") == made.line_of("$.data") + 1  # type: ignore[operator]
    assert made.line_of("$.data.p") == made.line_of("$.data")


def test_a_parent_that_is_not_there_is_warned_about_once() -> None:
    made = rendering(*(child(f"c{number}", {"own": number}) for number in range(3)))
    assert [one.document.data for one in made.documents] == [{"own": 0}, {"own": 1}, {"own": 2}]
    assert not any(one.changed for one in made.documents)
    (warning,) = made.warnings
    assert warning.level == "warning"
    assert (warning.path, warning.line) == ("$.metadata.layeringDefinition.parentSelector", 10)
    assert warning.message == (
        "no example/Kind/v1 in a layer above has the labels is: parent; the document is used without a parent "
        "(documents with this parentSelector: 3)"
    )


def test_a_document_is_not_its_own_parent() -> None:
    made = rendering(child("c", {"own": 1}, labels={"is": "parent"}))
    assert made.documents[0].document.data == {"own": 1}
    assert len(made.warnings) == 1


@pytest.mark.parametrize(
    ("design", "message"),
    [
        (
            [parent({}), parent({}, name="other"), child("c", {})],
            "fits 2 documents of the layer global: 'parent', 'other'; a document has one parent",
        ),
        (
            [parent({}, layer="site"), child("c", {})],
            "fits 'parent', which is in the layer site; a parent is in a layer above site",
        ),
        (
            [parent({}, schema="other/Kind/v1"), child("c", {})],
            "fits 'parent', which is a other/Kind/v1; a parent has the schema of its child",
        ),
    ],
)
def test_a_selector_that_fits_the_wrong_documents(design: list[dict[str, Any]], message: str) -> None:
    assert only_problem(*design) == f"$.metadata.layeringDefinition.parentSelector: {message}"


def test_documents_that_cannot_be_the_parent_do_not_hide_the_one_that_can() -> None:
    design = [parent({"p": 1}), parent({}, layer="site", name="s"), parent({}, schema="o/K/v1", name="o")]
    assert data(*design, child("c", {}))["c"] == {"p": 1}


@pytest.mark.parametrize(
    ("chosen", "message"),
    [
        (
            action("merge", ".c"),
            "there is no .c in the document's own data, from where it is taken to merge",
        ),
        (
            action("replace", ".a.b.c"),
            "there is no .a.b.c in the document's own data, from where it is taken to replace",
        ),
        (action("delete", ".b"), "there is no .b to delete in what is inherited from the parent"),
        (action("delete", ".a[0]"), "there is no .a[0] to delete in what is inherited from the parent"),
    ],
)
def test_paths_that_are_not_there(chosen: dict[str, str], message: str) -> None:
    found = only_problem(parent(PARENT), child("c", CHILD, chosen))
    assert found == f"$.metadata.layeringDefinition.actions[0].path: {message}"


def test_a_value_that_does_not_fit_into_what_is_inherited() -> None:
    found = only_problem(parent({"a": "text"}), child("c", {"a": {"b": 1}}, action("replace", ".a.b")))
    assert found.endswith(
        "cannot be put into what is inherited from the parent: $.a is text, so that there is no $.a.b in it"
    )


@pytest.mark.parametrize(
    ("layering", "path", "message"),
    [
        ({"parent": {"a": "b"}}, "", "actions is missing: say what is to be done with the parent's data"),
        ({"actions": [action("merge", ".")]}, ".actions", "actions need a parentSelector with labels of the parent"),
        ({"parent": {}, "actions": [action("merge", ".")]}, ".parentSelector", "must be a mapping of labels"),
        ({"parent": "a", "actions": [action("merge", ".")]}, ".parentSelector", "must be a mapping of labels"),
        ({"parent": {"a": []}, "actions": [action("merge", ".")]}, ".parentSelector", "the label 'a' must be text"),
        ({"parent": {"a": "b"}, "actions": []}, ".actions", "must be a list of actions such as"),
        ({"parent": {"a": "b"}, "actions": {}}, ".actions", "must be a list of actions such as"),
        ({"parent": {"a": "b"}, "actions": ["merge"]}, ".actions[0]", "must be a mapping such as {method: merge"),
        (
            {"parent": {"a": "b"}, "actions": [action("prepend", ".")]},
            ".actions[0].method",
            "'prepend' is no action; there are merge, replace and delete",
        ),
        ({"parent": {"a": "b"}, "actions": [{"method": "merge"}]}, ".actions[0].path", "must be a path in the data"),
        ({"parent": {"a": "b"}, "actions": [action("merge", ".a[*]")]}, ".actions[0].path", "'*' is not supported"),
        (
            {"parent": {"a": "b"}, "actions": [{"method": "merge", "path": ".", "pth": "."}]},
            ".actions[0].pth",
            "'pth' is not supported here; did you mean path?",
        ),
    ],
)
def test_layering_that_cannot_be_read(layering: dict[str, Any], path: str, message: str) -> None:
    found = only_problem(layered("c", "site", {}, **layering))
    assert found.startswith(f"$.metadata.layeringDefinition{path}: {message}"), found


def test_keys_that_nothing_is_known_of_are_refused_by_name() -> None:
    made = layered("c", "site", {})
    made["metadata"]["layeringDefinition"]["parentSelecter"] = {"a": "b"}
    assert only_problem(made) == (
        "$.metadata.layeringDefinition.parentSelecter: "
        "'parentSelecter' is not supported here; did you mean parentSelector?"
    )
    assert only_problem(layered("c", "site", {}, substitution=[])) == (
        "$.metadata: 'substitution' is not known here; did you mean substitutions?"
    )
    assert data(layered("c", "site", 1, annotations={"anything": "else"})) == {"c": 1}


@pytest.mark.parametrize(
    ("metadata", "path"),
    [
        ({"abstract": "true"}, ".layeringDefinition.abstract"),
        ({"layer": 5}, ".layeringDefinition.layer"),
        ({"replacement": "yes"}, ".replacement"),
        ({"labels": ["a"]}, ".labels"),
        ({"substitutions": {}}, ".substitutions"),
        ({"layeringDefinition": "site"}, ".layeringDefinition"),
    ],
)
def test_wrong_types(metadata: dict[str, Any], path: str) -> None:
    made = layered("c", metadata.pop("layer", "site"), {}, **metadata)
    assert only_problem(made).startswith(f"$.metadata{path}: must be ")


def test_policies_that_cannot_be_used() -> None:
    assert "must be a list of layers" in only_problem({**policy(), "data": {}})
    assert "must be a list of layers" in only_problem(policy("site", "site"))
    assert "keep one of them" in only_problem(policy("site"), policy("site"))
    message = only_problem(policy("global", "site"), layered("c", "type", {}))
    assert message.startswith(
        "$.metadata.layeringDefinition.layer: there is no layer 'type'; the layers are global, site"
    )


def test_all_problems_are_told_at_once_and_what_follows_from_one_is_not() -> None:
    found = problems(
        parent({"a": 1}, parent={"no": "such"}, actions=[action("merge", ".x"), {"method": "no", "path": "."}]),
        child("first", {}, action("merge", ".nowhere")),
        layered("second", "site", {}, parent={"is": "parent"}),
    )
    assert [problem.path.removeprefix("$.metadata.layeringDefinition") for problem in found] == [
        ".actions[1].method",
        "",
    ]


def test_nothing_that_is_given_is_changed() -> None:
    given = documents(parent(PARENT), child("c", CHILD), child("d", {"a": {"x": 0}}, action("replace", ".a.x")))
    before = copy.deepcopy([(one.data, one.metadata) for one in given])
    render(given)
    assert [(one.data, one.metadata) for one in given] == before


def test_the_more_specific_of_two_documents_of_one_name_is_used() -> None:
    made = rendering(layered("n", "site", "site"), layered("n", "global", "global"))
    assert [one.document.data for one in made.documents] == ["site"]
    assert made.warnings[0].message.startswith("not used: the layer site has a example/Kind/v1 n too")
