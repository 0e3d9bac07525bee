"""`replacement: true`: a document in place of its parent, by Deckhand's rules."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.designs import (
    KIND,
    action,
    child,
    data,
    layered,
    only_problem,
    parent,
    problems,
    rendering,
    substitution,
)

PROFILE = "drydock/HostProfile/v1"


def replacing(name: str = "parent", layer: str = "site", value: Any = None, **metadata: Any) -> dict[str, Any]:
    return child(name, {"r": 1} if value is None else value, layer=layer, replacement=True, **metadata)


def test_only_the_replacement_is_part_of_the_design() -> None:
    made = rendering(parent({"p": 1}, abstract=False), replacing())
    assert [(one.document.name, one.document.layer, one.document.data) for one in made.documents] == [
        ("parent", "site", {"p": 1, "r": 1})
    ]
    assert "replacement" not in made.documents[0].document.metadata


@pytest.mark.parametrize("layer", ["type", "site"])
def test_other_children_are_made_from_the_replacement(layer: str) -> None:
    design = [child("other", {"o": 1}, layer="type"), parent({"p": 1}), replacing(layer=layer)]
    assert data(*design)["other"] == {"p": 1, "r": 1, "o": 1}


def test_substitutions_take_from_the_replacement() -> None:
    user = layered("user", "site", {}, substitutions=[substitution("parent", ".r", ".taken")])
    assert data(user, parent({"p": 1}, abstract=False), replacing())["user"] == {"taken": 1}


def test_a_replacement_takes_part_in_substitutions_itself() -> None:
    source = layered("source", "site", "value")
    made = replacing(substitutions=[substitution("source", ".", ".s")])
    assert data(source, parent({"p": 1}), made)["parent"] == {"p": 1, "r": 1, "s": "value"}


@pytest.mark.parametrize(
    ("design", "path", "message"),
    [
        ([replacing()], "replacement", "there is nothing to replace: no document in a layer above has the labels"),
        (
            [parent({}), replacing("other")],
            "replacement",
            "the parentSelector fits 'parent'; a document replaces one of its own name only",
        ),
        (
            [parent({}), child("parent", {})],
            "name",
            "'parent' is also the name of the parent; add replacement: true to replace it, or choose another name",
        ),
        (
            [
                parent({}),
                layered(
                    "parent",
                    "type",
                    {},
                    replacement=True,
                    labels={"is": "mine"},
                    parent={"is": "parent"},
                    actions=[action("merge", ".")],
                ),
                replacing(parent={"is": "mine"}),
            ],
            "replacement",
            "what is in the layer type is a replacement itself, and cannot be replaced",
        ),
        (
            [parent({}, schema=PROFILE), replacing(layer="type", schema=PROFILE), replacing(schema=PROFILE)],
            "replacement",
            "'parent' is already replaced by the one in the layer type; let one of them replace it",
        ),
    ],
)
def test_what_cannot_be_replaced(design: list[dict[str, Any]], path: str, message: str) -> None:
    assert only_problem(*design).startswith(f"$.metadata.{path}: {message}")


@pytest.mark.parametrize("order", [(0, 1, 2, 3), (3, 2, 1, 0), (2, 0, 3, 1)])
def test_of_two_layers_that_replace_one_document_the_more_specific_one_is_used_with_a_warning(
    order: tuple[int, ...],
) -> None:
    design = [
        parent({"p": 1}, abstract=False),
        replacing(layer="type", value={"r": "type", "t": 1}),
        replacing(value={"r": "site"}),
        layered("user", "site", {}, substitutions=[substitution("parent", ".r", ".taken")]),
    ]
    made = rendering(*(design[number] for number in order), child("other", {"o": 1}))
    found = {one.document.name: one.document for one in made.documents}
    assert sorted(one.document.name for one in made.documents) == ["other", "parent", "user"]
    assert (found["parent"].layer, found["parent"].data) == ("site", {"p": 1, "r": "site"})
    assert found["other"].data == {"p": 1, "r": "site", "o": 1}
    assert found["user"].data == {"taken": "site"}
    assert [(one.path, one.message) for one in made.warnings] == [
        ("$.metadata.replacement", "not used: 'parent' is replaced by the one in the layer site, too; keep one of them")
    ]


def test_two_replacements_in_one_layer_are_refused() -> None:
    assert "already replaced by the one in the layer site" in only_problem(parent({}), replacing(), replacing())


def test_what_cannot_be_read_is_told_without_its_consequences() -> None:
    wrong = substitution("gone", ".", {"path": ".x", "pattern": "("})
    base = parent({"p": 1}, substitutions=[wrong])
    (problem,) = problems(base, replacing(), child("other", {}), layered("stranger", "site", {}))
    assert problem.path == "$.metadata.substitutions[0].dest.pattern"


def test_a_replacement_needs_a_parent_selector() -> None:
    message = only_problem(parent({}), layered("parent", "site", {}, replacement=True))
    assert message.startswith("$.metadata.replacement: a document that replaces another needs a parentSelector")


def test_a_circle_through_a_replacement_is_refused() -> None:
    user = child("user", {}, layer="type")
    made = replacing(substitutions=[substitution("user", ".", ".u")])
    assert f"{KIND} user (type) -> {KIND} parent (site) -> {KIND} user (type)" in only_problem(user, parent({}), made)
