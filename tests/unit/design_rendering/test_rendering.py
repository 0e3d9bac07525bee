"""Secrets of a rendering, keys that stand twice, and taking secrets out of texts."""

from __future__ import annotations

import sys
from types import FrameType
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from design_rendering import redaction
from design_rendering.reading.documents import load_documents
from design_rendering.redaction import Redactor, may_hide_secrets, redacted_text
from design_rendering.rendering import design_text, render, secret_texts
from tests.support.designs import action, child, documents, layered, parent, substitution, validate

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


SECRET = "hunter2hunter2"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        pytest.param(
            f"cannot log in as root/{SECRET} at 10.0.0.1", "cannot log in as root/*** at 10.0.0.1", id="inside"
        ),
        pytest.param(f"{SECRET} {SECRET}", "*** ***", id="twice"),
        pytest.param("the message was cut: hunter2hunt", "the message was cut: ***", id="cut"),
        pytest.param("hunter2", "hunter2", id="too little of it to be recognised"),
    ],
)
def test_secrets_are_taken_out_of_a_text(text: str, shown: str) -> None:
    assert Redactor({SECRET, "hunter2hunter2hunter2"}).redact(text) == shown


@given(
    st.lists(st.text("ab", min_size=3, max_size=9), max_size=6),
    st.text("ab", max_size=40),
)
def test_what_is_hidden_is_exactly_what_belongs_to_a_secret(secrets: list[str], text: str) -> None:
    belongs = [False] * len(text)
    for secret in secrets:
        for start in range(len(text)):
            # Whole, or the beginning of one where the text ends.
            there = text[start : start + len(secret)]
            if there == secret or (start + len(there) == len(text) and len(there) >= 8 and secret.startswith(there)):
                belongs[start : start + len(there)] = [True] * len(there)
    shown = "".join("." if hidden else char for hidden, char in zip(belongs, text, strict=True))
    while ".." in shown:
        shown = shown.replace("..", ".")
    assert Redactor(secrets, ".", shortest=3).redact(text) == shown


def test_values_and_exceptions_with_what_they_were_raised_from() -> None:
    redactor = Redactor({SECRET})
    value = {"a": [SECRET, 7, (f"({SECRET})", None)], f"of {SECRET}": b"bytes"}
    assert redactor.redact_value(value) == {"a": ["***", 7, ("(***)", None)], "of ***": b"bytes"}
    with pytest.raises(ExceptionGroup) as raised:  # noqa: PT012 - what matters is what it was raised from
        try:
            raise KeyError(f"inner {SECRET}")
        except KeyError as inner:
            inner.add_note(f"noted {SECRET}")
            raise ExceptionGroup("several", [ValueError(f"one {SECRET}")]) from inner
    redactor.redact_exception(raised.value)
    cause = raised.value.__cause__
    assert cause is not None
    assert (cause.args, cause.__notes__) == (("inner ***",), ["noted ***"])
    assert raised.value.exceptions[0].args == ("one ***",)


def _steps_taken(redactor: Redactor, text: str) -> int:
    """Return how many lines of Python looking through a text takes.

    What the garbage collector happens to run meanwhile, such as the end of what another test has left, is none of them.
    """
    steps = 0

    def trace(frame: FrameType, event: str, _argument: Any) -> Any:
        nonlocal steps
        steps += event == "line" and frame.f_code.co_filename == redaction.__file__
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        redactor.redact(text)
    finally:
        sys.settrace(before)
    return steps


@pytest.mark.parametrize(
    "url",
    [
        "https://ann:hunter2-pw@repo.test/x",
        "deb https://ann:hunter2-pw@repo.test/ noble\n",
        "a://b@c, x://:hunter2-pw@",
    ],
)
def test_the_password_of_a_secret_address_is_hidden_where_it_stands_alone(url: str) -> None:
    redactor = Redactor({url})
    assert redactor.redact("401 for hunter2-pw of ann") == "401 for *** of ann"
    assert redactor.redact(f"at {url}") == "at ***"


def test_the_password_of_a_secret_address_is_hidden_decoded_too() -> None:
    redactor = Redactor({"https://ann:hunter2%2Fpw@repo.test/x"})
    assert redactor.redact("hunter2/pw, hunter2%2Fpw") == "***, ***"
    assert Redactor({"https://ann:four@repo.test/x"}).redact("four") == "four"


def test_ten_thousand_secrets_take_no_more_steps_than_ten() -> None:
    text = "node-1 cannot log in with secret-00001-hunter2 and is left alone, " * 50
    few, many = (
        Redactor(f"secret-{number:05}-{'hunter2' if number < 10 else 'other'}" for number in range(count))
        for count in (10, 10_000)
    )
    assert many.redact(text) == few.redact(text)
    assert _steps_taken(many, text) == _steps_taken(few, text)


def test_a_hostile_design_does_not_make_it_slow() -> None:
    """All secrets begin alike, each begins the next: what is looked at stays in proportion to the text."""
    redactor = Redactor(
        [*("a" * length for length in range(5, 500)), *("a" * length + "b" for length in range(5, 500))]
    )
    assert _steps_taken(redactor, "a" * 4000) < 20 * 4000
    assert _steps_taken(redactor, "aaaaaaac" * 500) < 40 * 4000
