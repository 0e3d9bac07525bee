"""What a rendering knows of secrets, and keys that stand twice: warned about, and never shown as they are written."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from design_rendering import design_text, load_documents, redacted_text, render
from design_rendering.redaction import may_hide_secrets
from design_rendering.rendering import secret_texts
from design_rendering.validation import validate
from tests.support.designs import action, child, documents, layered, parent, substitution

PASSPHRASE = "deckhand/Passphrase/v1"
LOGIN = layered("login", "site", "root:hunter2", schema=PASSPHRASE, storagePolicy="encrypted")
PART: dict[str, Any] = {"pattern": "(.*):(.*)", "match_group": 2}

TEXT = """\
---
# a comment
schema: armada/Chart/v1
metadata: {name: plain, storagePolicy: cleartext, layeringDefinition: {layer: site}}
data: {a: 1, b: 2}
---
schema: armada/Chart/v1
metadata: {name: twice, storagePolicy: cleartext, layeringDefinition: {layer: site}}
data:
  auth: {password: hunter2hunter2}
  auth: {user: u}
"""


def texts(*design: dict[str, Any]) -> frozenset[str]:
    read = documents(*design)
    return secret_texts(read, render(read))


def taker(name: str, path: str, dest: Any = ".x", schema: str = "example/Kind/v1", **src: Any) -> dict[str, Any]:
    return layered("taker", "site", {"url": "a PW"}, substitutions=[substitution(name, path, dest, schema, **src)])


@pytest.mark.parametrize("dest", [".x", {"path": ".url", "pattern": "PW"}])
def test_a_part_of_a_secret(dest: Any) -> None:
    assert texts(LOGIN, taker("login", ".", dest, PASSPHRASE, **PART)) == {"root:hunter2", "hunter2"}


@pytest.mark.parametrize(
    ("data", "path"),
    [
        ({"password": "root:hunter2"}, ".password"),
        ({"password": {"value": "root:hunter2"}}, ".password.value"),
        ({"passwords": ["root:hunter2"]}, ".passwords[0]"),
        ({"url": "http://root:hunter2@host"}, ".url"),
    ],
)
def test_a_part_of_what_is_secret_by_its_key_or_itself(data: Any, path: str) -> None:
    design = [layered("source", "site", data), taker("source", path, pattern="hunter.")]
    assert "hunter2" in texts(*design)
    (paths,) = (one.secret_paths for one in render(documents(*design)).documents if one.secret_paths)
    assert paths == ("$.data.x",)


def test_a_part_with_several_lines() -> None:
    key = layered("key", "site", "-- first line\nlast line --", schema=PASSPHRASE)
    assert {"first line\nlast line", "first line", "last line"} <= texts(
        key, taker("key", ".", schema=PASSPHRASE, pattern="(?s)first.*line")
    )


def test_a_part_of_what_is_no_secret() -> None:
    assert texts(layered("source", "site", {"image": "a:hunter2"}), taker("source", ".image", **PART)) == frozenset()


def test_what_is_inherited_from_a_secret_document_that_is_not_rendered_itself() -> None:
    above = parent({"a": "hunter2"}, storagePolicy="encrypted")
    replacing = child("parent", {"b": 1}, replacement=True)
    assert texts(above, child("c", {"b": 1})) == {"hunter2"}
    assert texts(above | {"metadata": above["metadata"] | {"layeringDefinition": {"layer": "global"}}}, replacing) == {
        "hunter2"
    }


def test_what_is_made_in_a_secret_document() -> None:
    made = layered("made", "site", "pw-PW", schema=PASSPHRASE)
    made["metadata"]["substitutions"] = [substitution("open", ".", {"path": ".", "pattern": "PW"})]
    assert texts(layered("open", "site", "plain"), made) == {"pw-PW", "pw-plain"}


@pytest.mark.parametrize(
    ("design", "hides"),
    [
        ([LOGIN, layered("open", "site", {"a": 1})], False),
        ([LOGIN, parent({"a": 1}), child("c", {}, action("merge", "."))], False),
        ([LOGIN, taker("login", ".", schema=PASSPHRASE, **PART)], True),
        ([parent("x", storagePolicy="encrypted")], True),
        ([parent("x", schema=PASSPHRASE)], True),
        ([LOGIN, child("c", {}, replacement=True)], True),
    ],
)
def test_texts_that_may_hide_secrets(design: list[dict[str, Any]], hides: bool) -> None:
    assert may_hide_secrets([yaml.safe_dump_all(design)]) is hides
    assert may_hide_secrets([yaml.safe_dump_all(design, default_flow_style=True)]) is hides


def test_each_is_a_warning_of_the_design() -> None:
    documents = load_documents(TEXT, "s.yaml")
    for found in (render(documents).warnings, validate(documents, draft=True), validate(documents)):
        assert [str(one) for one in found if "already there" in one.message] == [
            "s.yaml:11: $.data.auth: the key 'auth' is already there on line 10; this one is taken"
        ]


def test_what_is_not_taken_is_neither_given_away_nor_given_on() -> None:
    documents = load_documents(TEXT, "s.yaml")
    for text in (redacted_text(TEXT, documents), design_text(render(documents))):
        assert "hunter2" not in text
        assert "# a comment" in redacted_text(TEXT, documents)
        assert [one["data"] for one in yaml.safe_load_all(text)] == [{"a": 1, "b": 2}, {"auth": {"user": "u"}}]
