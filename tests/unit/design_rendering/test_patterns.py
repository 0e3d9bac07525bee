"""`dest.recurse`: a pattern in every text below a path, by Deckhand's rules."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from design_rendering.reading.documents import load_documents
from design_rendering.redaction import PLACEHOLDER, redacted, secret_values
from design_rendering.rendering import Rendering, render
from tests.support.designs import data, documents, layered, only_problem, problems, rendering, substitution

PASSPHRASE = "deckhand/Passphrase/v1"
SOURCE = layered("source", "site", {"a": "value", "n": 5, "map": {"b": 1}})

TEXTS = {
    "own": "X, and X again",
    "other": "Y",
    "number": 7,
    "X": "a key is never replaced",
    "list": ["X", "y", ["X"], {"deep": "X"}],
    "map": {"one": "aX", "two": {"three": "X"}},
}


def below(path: str, pattern: str, recurse: Any, source: str = ".a") -> dict[str, Any]:
    return substitution("source", source, {"path": path, "pattern": pattern, "recurse": recurse})


def made(value: Any, *substitutions: dict[str, Any]) -> Any:
    return data(SOURCE, layered("c", "site", value, substitutions=list(substitutions)))["c"]


@pytest.mark.parametrize(
    ("path", "depth", "expected"),
    [
        # As Deckhand's _replace_pattern_recursively: depth counts the lists and mappings, the one at the path first.
        (".", 0, TEXTS),
        (".", 1, {**TEXTS, "own": "value, and value again"}),
        (
            ".",
            2,
            {
                **TEXTS,
                "own": "value, and value again",
                "list": ["value", "y", ["X"], {"deep": "X"}],
                "map": {"one": "avalue", "two": {"three": "X"}},
            },
        ),
        (
            ".",
            -1,
            {
                **TEXTS,
                "own": "value, and value again",
                "list": ["value", "y", ["value"], {"deep": "value"}],
                "map": {"one": "avalue", "two": {"three": "value"}},
            },
        ),
        (".list", 1, {**TEXTS, "list": ["value", "y", ["X"], {"deep": "X"}]}),
        (".map.two", -1, {**TEXTS, "map": {"one": "aX", "two": {"three": "value"}}}),
        (".list[3]", 9, {**TEXTS, "list": ["X", "y", ["X"], {"deep": "value"}]}),
        (".own", -1, {**TEXTS, "own": "value, and value again"}),
        (".own", 0, {**TEXTS, "own": "value, and value again"}),
        (".gone", -1, {**TEXTS, "gone": {}}),
    ],
)
def test_every_text_down_to_a_depth(path: str, depth: int, expected: Any) -> None:
    assert made(TEXTS, below(path, "X", {"depth": depth})) == expected


def test_a_number_is_put_as_text() -> None:
    assert made({"l": ["v=X"]}, below(".l", "X", {"depth": 1}, ".n")) == {"l": ["v=5"]}


def test_only_texts_that_hold_the_pattern_as_it_is_written_are_looked_at() -> None:
    # Deckhand looks for the pattern itself before it takes it for a regular expression.
    assert made({"l": ["aXcb", "X.b aXcb"]}, below(".l", "X.b", {"depth": -1})) == {"l": ["aXcb", "value avalue"]}


def test_what_fits_nowhere_is_warned_about() -> None:
    found = rendering(SOURCE, layered("c", "site", {"l": ["a"]}, substitutions=[below(".l", "X", {"depth": -1})]))
    (warning,) = found.warnings
    assert warning.path == "$.metadata.substitutions[0].dest.pattern"
    assert warning.message.startswith("fits nothing in the texts below $.l, which stay as they are")
    gone = rendering(SOURCE, layered("c", "site", {}, substitutions=[below(".l", "X", {"depth": -1})]))
    assert [one.message.partition(";")[0] for one in gone.warnings] == ["there is nothing at $.l"]


def test_without_a_pattern_it_does_not_count() -> None:
    recursing = substitution("source", ".map", {"path": ".m", "recurse": {"depth": -1}})
    found = rendering(SOURCE, layered("c", "site", {"m": ["X"]}, substitutions=[recursing]))
    assert found.documents[1].document.data == {"m": {"b": 1}}
    assert [one.path for one in found.warnings] == ["$.metadata.substitutions[0].dest.recurse"]


@pytest.mark.parametrize(
    ("recurse", "where", "message"),
    [
        (5, "", "must be a mapping such as {depth: -1}, not a number"),
        ({}, ".depth", "must be a whole number, -1 (all the way down) or more, not empty"),
        ({"depth": None}, ".depth", "must be a whole number"),
        ({"depth": -2}, ".depth", "must be a whole number"),
        ({"depth": True}, ".depth", "must be a whole number"),
        ({"depth": "1"}, ".depth", "must be a whole number"),
        ({"deph": 1}, ".deph", "'deph' is not supported here; did you mean depth?"),
    ],
)
def test_what_cannot_be_read(recurse: Any, where: str, message: str) -> None:
    found = problems(SOURCE, layered("c", "site", {}, substitutions=[below(".l", "X", recurse)]))
    shown = [f"{problem.path}: {problem.message}" for problem in found]
    assert any(text.startswith(f"$.metadata.substitutions[0].dest.recurse{where}: {message}") for text in shown), shown


def test_a_mapping_cannot_stand_for_a_pattern() -> None:
    user = layered("c", "site", {"l": ["X"]}, substitutions=[below(".l", "X", {"depth": -1}, ".map")])
    assert "a pattern is replaced by text" in only_problem(SOURCE, user)


def test_the_design_that_is_given_is_not_changed() -> None:
    read = documents(SOURCE, layered("c", "site", TEXTS, substitutions=[below(".", "X", {"depth": -1})]))
    render(read)
    assert read[1].data == TEXTS


def _secret(recurse: dict[str, Any], value: Any) -> Rendering:
    hidden = layered("pw", "site", "hunter2hunter2", schema=PASSPHRASE, storagePolicy="encrypted")
    src = {"schema": PASSPHRASE, "name": "pw", "path": "."}
    dest = {"path": ".l", "pattern": "X", "recurse": recurse}
    again = layered("again", "site", {}, substitutions=[substitution("c", ".l", ".copy")])
    return rendering(hidden, layered("c", "site", value, substitutions=[{"src": src, "dest": dest}]), again)


def test_every_text_that_a_secret_was_put_into_is_secret() -> None:
    value = {"l": [{"user": "u", "line": "login X"}, "plain", "X"], "own": "plain"}
    found = {one.document.name: one for one in _secret({"depth": -1}, value).documents}
    assert set(found["c"].secret_paths) == {"$.data.l[0].line", "$.data.l[2]"}
    assert set(found["again"].secret_paths) == {"$.data.copy[0].line", "$.data.copy[2]"}
    shown = redacted(found["c"].document, found["c"].secret_paths)
    assert shown.data == {"l": [{"user": "u", "line": PLACEHOLDER}, "plain", PLACEHOLDER], "own": "plain"}
    assert "hunter2hunter2" in secret_values([found["pw"].document])


def test_what_was_secret_before_stays_secret() -> None:
    hidden = [
        layered(name, "site", f"{name}-hunter2", schema=PASSPHRASE, storagePolicy="encrypted") for name in ("a", "b")
    ]
    taken = [
        {"src": {"schema": PASSPHRASE, "name": "a", "path": "."}, "dest": {"path": ".m.first"}},
        {
            "src": {"schema": PASSPHRASE, "name": "b", "path": "."},
            "dest": {"path": ".m", "pattern": "X", "recurse": {"depth": -1}},
        },
    ]
    user = layered("c", "site", {"m": {"second": {"x": "X"}, "third": "y"}}, substitutions=taken)
    found = rendering(*hidden, user).documents[2]
    assert set(found.secret_paths) == {"$.data.m.first", "$.data.m.second.x"}


@pytest.mark.timeout(60)
def test_what_aliases_repeat_is_looked_at_once() -> None:
    levels = ["  l0: &l0 [X, X, X]", *(f"  l{i}: &l{i} [{', '.join([f'*l{i - 1}'] * 3)}]" for i in range(1, 13))]
    made_of = {"src": {"schema": SOURCE["schema"], "name": "source", "path": ".a"}}
    dest = {"path": ".", "pattern": "X", "recurse": {"depth": -1}}
    user = layered("c", "site", None, substitutions=[{**made_of, "dest": [dest, {**dest, "pattern": "v"}]}])
    head = yaml.safe_dump({"schema": user["schema"], "metadata": user["metadata"]})
    text = f"---\n{yaml.safe_dump(SOURCE)}---\n{head}data:\n" + "\n".join(levels) + "\n"
    found = render(load_documents(text)).documents[1].document.data
    assert found["l0"] == ["valuealue"] * 3
    assert found["l2"][1][2] == ["valuealue"] * 3
