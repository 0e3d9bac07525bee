"""Substitution by Deckhand's rules: values of one document in another."""

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

SOURCE = layered(
    "source",
    "site",
    {"a": {"b": "value", "n": 5, "t": True}, "l": ["zero", {"one": 1}], "image": "docker.io/hello:latest", "e": None},
)
TEXT = layered("text", "site", "the text")


def into(value: Any, *substitutions: dict[str, Any], **metadata: Any) -> dict[str, Any]:
    return layered("c", "site", value, substitutions=list(substitutions), **metadata)


@pytest.mark.parametrize(
    ("path", "dest", "before", "expected"),
    [
        (".a.b", ".x", {}, {"x": "value"}),
        ("a.b", ".x", {}, {"x": "value"}),
        ("image", ".x", {}, {"x": "docker.io/hello:latest"}),
        (".a", ".x", {"x": {"old": 1}}, {"x": {"b": "value", "n": 5, "t": True}}),
        ("$.a.n", "$.x.y", {"x": {"z": 1}}, {"x": {"z": 1, "y": 5}}),
        (".l[1].one", ".x", {}, {"x": 1}),
        (".l", ".x", {}, {"x": ["zero", {"one": 1}]}),
        (".a.b", ".x.y.z", None, {"x": {"y": {"z": "value"}}}),
        (".a.b", ".keys[0]", {"keys": []}, {"keys": ["value"]}),
        (".a.b", ".keys[1]", {"keys": []}, {"keys": [{}, "value"]}),
        (
            ".a.b",
            ".files[1].content",
            {"files": [{"p": 1}, {"p": 2}]},
            {"files": [{"p": 1}, {"p": 2, "content": "value"}]},
        ),
        (".a.b", ".x.'odd.key'", {}, {"x": {"odd.key": "value"}}),
        (".a.b", ".x['odd key']", {}, {"x": {"odd key": "value"}}),
        (".a.b", ".x", {"x": None}, {"x": "value"}),
        (".a.b", ".x.y", {"x": None}, {"x": {"y": "value"}}),
        (".a", ".", {"x": 1, "b": "own"}, {"x": 1, "b": "value", "n": 5, "t": True}),
        (".a.b", ".", "own text", "value"),
        (".a.b", "[0]", ["own"], ["value"]),
    ],
)
def test_values_and_places(path: str, dest: str, before: Any, expected: Any) -> None:
    assert data(SOURCE, into(before, substitution("source", path, dest)))["c"] == expected


def test_a_source_that_is_all_text() -> None:
    assert data(TEXT, into({}, substitution("text", ".", ".x")))["c"] == {"x": "the text"}


def test_several_destinations_of_one_source() -> None:
    dest = [{"path": ".x"}, {"path": ".url", "pattern": "HOST"}]
    assert data(SOURCE, into({"url": "https://HOST/"}, substitution("source", ".a.b", dest)))["c"] == {
        "url": "https://value/",
        "x": "value",
    }


@pytest.mark.parametrize(
    ("text", "pattern", "path", "expected"),
    [
        ("http://INSERT_HOST_HERE:80/INSERT_HOST_HERE", "INSERT_[A-Z]+_HERE", ".a.b", "http://value:80/value"),
        ("port=PORT", "PORT", ".a.n", "port=5"),
        ("on=ON", "ON", ".a.t", "on=True"),
        ("first\nSECOND\n", "SECOND", ".a.b", "first\nvalue\n"),
        ("a.b axb", r"a\.b", ".a.b", "value axb"),
        ("ünï HOST ünï", "H.*T", ".a.b", "ünï value ünï"),
    ],
)
def test_patterns(text: str, pattern: str, path: str, expected: str) -> None:
    made = into({"t": text}, substitution("source", path, {"path": ".t", "pattern": pattern}))
    assert data(SOURCE, made)["c"] == {"t": expected}


def test_what_is_put_in_for_a_pattern_is_taken_literally() -> None:
    source = layered("odd", "site", r"back\1slash \g<0> \n $1")
    made = into({"t": "<X1>"}, substitution("odd", ".", {"path": ".t", "pattern": "X[0-9]"}))
    assert data(source, made)["c"] == {"t": r"<back\1slash \g<0> \n $1>"}


def test_a_pattern_that_fits_nothing_is_warned_about() -> None:
    made = rendering(SOURCE, into({"t": "text"}, substitution("source", ".a.b", {"path": ".t", "pattern": "XYZ"})))
    assert made.documents[1].document.data == {"t": "text"}
    assert made.warnings[0].path == "$.metadata.substitutions[0].dest.pattern"
    assert made.warnings[0].message == "fits nothing in the text at $.t, which stays as it is"


@pytest.mark.parametrize(("group", "expected"), [(0, "docker.io/hello:latest"), (1, "docker.io/hello"), (2, "latest")])
def test_a_part_of_the_source(group: int, expected: str) -> None:
    made = substitution("source", ".image", ".x", pattern="^(.*):(.*)", match_group=group)
    assert data(SOURCE, into({}, made))["c"] == {"x": expected}


def test_a_source_pattern_that_does_not_fit_takes_the_whole_text() -> None:
    made = rendering(SOURCE, into({}, substitution("source", ".image", ".x", pattern="sha256:.*")))
    assert made.documents[1].document.data == {"x": "docker.io/hello:latest"}
    assert made.warnings[0].message == "does not fit the text in 'source'; the whole text is taken"


def test_substitutions_come_after_layering_in_their_order_and_are_inherited_as_values() -> None:
    above = parent({"x": "own"}, substitutions=[substitution("source", ".a.b", ".x")])
    below = child("c", {"y": "X and X"}, substitutions=[substitution("source", ".a.n", {"path": ".y", "pattern": "X"})])
    assert data(SOURCE, above, below)["c"] == {"x": "value", "y": "5 and 5"}
    twice = into({}, substitution("source", ".a", ".x"), substitution("source", ".a.n", ".x.b"))
    assert data(SOURCE, twice)["c"] == {"x": {"b": 5, "n": 5, "t": True}}


def test_sources_are_rendered_first_whatever_the_order_of_documents() -> None:
    design = [
        into({}, substitution("second", ".x", ".x")),
        layered("second", "global", {}, substitutions=[substitution("third", ".x", ".x")]),
        child("third", {}),
        parent({"x": "from afar"}),
    ]
    assert data(*design)["c"] == {"x": "from afar"}
    assert data(*reversed(design))["c"] == {"x": "from afar"}


def test_a_source_is_never_changed_by_what_takes_from_it() -> None:
    design = [
        SOURCE,
        into({}, substitution("source", ".a", ".x"), substitution("source", ".l[0]", ".x.b", deepcopy=True)),
    ]
    made = data(*design)
    assert made["c"] == {"x": {"b": "zero", "n": 5, "t": True}}
    assert made["source"]["a"]["b"] == "value"


def test_of_a_text_all_is_taken_whatever_the_path() -> None:
    made = rendering(TEXT, into({}, substitution("text", ".a", ".x")))
    assert made.documents[1].document.data == {"x": "the text"}
    (warning,) = made.warnings
    assert warning.path == "$.metadata.substitutions[0].src.path"
    assert warning.message == "the data of 'text' is text, and all of it is taken; write . to say so"


def test_a_source_that_is_not_there_is_warned_about_once() -> None:
    made = rendering(
        into({"x": 1}, substitution("gone", ".", ".x"), substitution("gone", ".a", ".y")),
        layered("d", "site", {}, substitutions=[substitution("gone", ".", ".x")]),
    )
    assert [(one.changed, one.document.data) for one in made.documents] == [(False, {"x": 1}), (False, {})]
    (warning,) = made.warnings
    assert (warning.level, warning.path) == ("warning", "$.metadata.substitutions[0].src")
    assert warning.message == (
        f"there is no {KIND} named 'gone', so that nothing is put in here (substitutions that want it: 3)"
    )


@pytest.mark.parametrize(
    ("made", "before", "where", "message"),
    [
        (substitution("source", ".a.x", ".x"), {}, "src.path", f"there is no .a.x in {KIND} source"),
        (substitution("source", ".e", ".x"), {}, "src.path", f"there is no .e in {KIND} source"),
        (substitution("source", ".l[7]", ".x"), {}, "src.path", f"there is no .l[7] in {KIND} source"),
        (substitution("abstract", ".", ".x"), {}, "src", f"{KIND} abstract is abstract; a source of substitutions"),
        (
            substitution("source", ".a", ".x.y"),
            {"x": "text"},
            "dest.path",
            "$.x is text, so that there is no $.x.y in it",
        ),
        (substitution("source", ".a", ".x"), "text", "dest.path", "$ is text, so that there is no $.x in it"),
        (substitution("source", ".a", ".x[999999]"), {}, "dest.path", "$.x has only 0 entries"),
        (
            substitution("source", ".a", {"path": ".x", "pattern": "X"}),
            {"x": "X"},
            "dest.pattern",
            "a pattern is replaced by text, and what the source has there is a mapping",
        ),
        (
            substitution("source", ".a.b", {"path": ".x", "pattern": "X"}),
            {"x": 5},
            "dest.path",
            "there is a number at $.x; a pattern needs a text there",
        ),
        (
            substitution("source", ".a.b", {"path": ".x", "pattern": "X"}),
            {},
            "dest.path",
            "there is nothing at $.x; a pattern needs a text there",
        ),
        (
            substitution("source", ".a", ".x", pattern="v.*"),
            {},
            "src.pattern",
            "a pattern takes a part of a text, and $.a of 'source' is a mapping",
        ),
    ],
)
def test_what_cannot_be_substituted(made: dict[str, Any], before: Any, where: str, message: str) -> None:
    found = only_problem(SOURCE, TEXT, layered("abstract", "global", {}, abstract=True), into(before, made))
    assert found.startswith(f"$.metadata.substitutions[0].{where}: {message}"), found


@pytest.mark.parametrize(
    ("made", "where", "message"),
    [
        ("text", "", "must be a mapping such as"),
        ({"src": {}}, ".src.schema", "must be the schema of the document that is the source"),
        ({"source": {}}, ".source", "'source' is not supported here; did you mean src?"),
        (substitution("source", "", ".x"), ".src.path", "must not be empty; write . for all data"),
        (substitution("source", ".a", "x"), ".dest.path", "must begin with a dot, as in .x"),
        (substitution("source", ".a..b", ".x"), ".src.path", "'..' is not supported; write the path of one value"),
        (substitution("source", ".a", ".x[?(@.y)]"), ".dest.path", "'?' is not supported"),
        (substitution("source", ".a", ".x[1:2]"), ".dest.path", "':' is not supported"),
        (substitution("source", ".a", ".x y"), ".dest.path", "cannot be read from ' y' on"),
        (substitution("source", ".a", []), ".dest", "must not be an empty list"),
        (substitution("source", ".a", 5), ".dest", "must be a mapping such as {path: .a.b}, not a number"),
        (substitution("source", ".a", {"path": ".x", "pattern": "("}), ".dest.pattern", "is no regular expression"),
        (substitution("source", ".a", {"path": ".x", "pattern": "(?=a)"}), ".dest.pattern", "is no regular expression"),
        (
            substitution("source", ".a", {"path": ".x", "pattern": r"(a)\1"}),
            ".dest.pattern",
            "is no regular expression",
        ),
        (
            substitution("source", ".a", {"path": ".x", "pattern": "a*"}),
            ".dest.pattern",
            "also fits where there is nothing",
        ),
        (substitution("source", ".a", {"path": ".x", "pattern": 5}), ".dest.pattern", "must be a regular expression"),
        (substitution("source", ".a", ".x", match_group=1), ".src.match_group", "must be a whole number from 0 to 0"),
        (
            substitution("source", ".a", ".x", pattern="(a)", match_group=2),
            ".src.match_group",
            "must be a whole number",
        ),
    ],
)
def test_substitutions_that_cannot_be_read(made: Any, where: str, message: str) -> None:
    found = problems(SOURCE, into({}, made))
    shown = [f"{problem.path}: {problem.message}" for problem in found]
    assert any(text.startswith(f"$.metadata.substitutions[0]{where}: {message}") for text in shown), shown


def test_a_circle_is_named_in_full() -> None:
    def one(name: str, source: str) -> dict[str, Any]:
        return layered(name, "site", {}, substitutions=[substitution(source, ".", ".x")])

    message = only_problem(one("a", "b"), one("b", "c"), one("c", "a"), one("user", "a"))
    assert message == (
        f"$.metadata: each of these is made from the next, all the way round: {KIND} a (site) -> {KIND} b (site) -> "
        f"{KIND} c (site) -> {KIND} a (site); take one step out"
    )
    assert f"{KIND} a (site) -> {KIND} a (site)" in only_problem(one("a", "a"))


def test_a_circle_through_a_parent_is_refused() -> None:
    above = parent({}, substitutions=[substitution("c", ".x", ".y")])
    assert "all the way round" in only_problem(above, child("c", {"x": 1}, action("merge", ".")))
