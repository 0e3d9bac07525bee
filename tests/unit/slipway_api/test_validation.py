"""Collections as text, of which the last is kept, and the messages of a validation: ordered, bounded, no secrets."""

from __future__ import annotations

import time

import pytest
import yaml

from design_rendering.reading.documents import Document, DocumentError, load_documents
from provisioner_client.connection import ConnectionValues
from site_engine.errors import ConnectionLookupFailed
from slipway_api.documents import validation
from slipway_api.documents.provisioner_check import NODE_NAMES
from slipway_api.documents.validation import (
    MOST_MESSAGES,
    SMALL,
    ReadOnce,
    _in_order,
    _without_secrets,
    names_said_once,
    read_collection,
    unknown_connections,
)
from slipway_api.http.api_errors import plain_message
from strategy_lib.errors import Problem
from strategy_lib.parsing.notifications import parse_notifications
from tests.support.sites import document


def test_errors_first_and_a_bound() -> None:
    levels = ("Info", "Error", "Warning")
    messages = [plain_message(f"m{number}", levels[number % 3]) for number in range(3 * MOST_MESSAGES)]
    ordered = _in_order(messages)
    assert len(ordered) == MOST_MESSAGES + 1
    assert {message["level"] for message in ordered[:MOST_MESSAGES]} == {"Error"}
    assert ordered[-1]["message"] == f"and {2 * MOST_MESSAGES} more, of which 0 are errors"
    few = [plain_message("i", "Info"), plain_message("w", "Warning"), plain_message("e"), plain_message("f")]
    assert [message["message"] for message in _in_order(few)] == ["e", "f", "w", "i"]


def test_a_secret_is_taken_out_of_every_text() -> None:
    message = plain_message("not hunter2-hunter2, as here: hunter2-hunter2") | {"text": "hunter2-hunter2"}
    (shown,) = _without_secrets([message], ["hunter2-hunter2"])
    assert shown["message"] == "not ***, as here: ***"
    assert shown["text"] == "***"


def test_a_longer_secret_goes_before_one_that_it_contains() -> None:
    (shown,) = _without_secrets([plain_message("is secret-and-more")], ["secret", "secret-and-more"])
    assert shown["message"] == "is ***"


def test_a_secret_as_short_as_a_word_leaves_sentences_readable() -> None:
    (shown,) = _without_secrets([plain_message("there is no node")], ["node"])
    assert shown["message"] == "there is no node"


def test_a_placeholder_is_found_wherever_it_stands() -> None:
    data = {"a": [{"b": "[redacted]"}], "not one": "x [redacted]", "list": ["redacted"]}
    text = yaml.safe_dump(document("x/Y/v1", "d", data))
    with pytest.raises(DocumentError) as caught:
        read_collection("c", text)
    (problem,) = caught.value.problems
    assert (problem.path, problem.source) == ("$.data.a[0].b", "c")
    assert problem.line is not None
    assert "[redacted]" in text.splitlines()[problem.line - 1]


def test_the_layer_tells_documents_apart() -> None:
    site, kind = (
        yaml.safe_dump(document("x/Y/v1", "d", 1, layeringDefinition={"layer": layer})) for layer in ("site", "type")
    )
    assert len(read_collection("c", f"{site}---\n{kind}")) == 2
    with pytest.raises(DocumentError, match="of layer 'site' at line 1"):
        read_collection("c", f"{site}---\n{site}")


class Connections:
    """Knows the connection `there`, and cannot look up `unsure`."""

    def find(self, conn_id: str) -> ConnectionValues | None:
        if conn_id == "unsure":
            raise ConnectionLookupFailed("the database does not answer")
        return ConnectionValues("http", conn_id, "http://hooks.invalid") if conn_id == "there" else None


def test_a_target_whose_connection_does_not_exist_is_a_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(validation, "provisioners", Connections)
    targets = [
        {"name": "a", "webhook": {"connection": "there"}},
        {"name": "b", "webhook": {"connection": "unsure"}},
        {"name": "c", "webhook": {"connection": "chat_hok"}},
        {"name": "d", "notifier": {"name": "smtp"}},
        {"name": "e", "notifier": {"name": "smtp", "connection": "smpt"}},
    ]
    text = yaml.safe_dump(document("slipway/Notifications/v1", "n", {"targets": targets}))
    documents = load_documents(text, "c")
    found = unknown_connections(documents, parse_notifications(documents[0].data))
    assert [(one.path, one.level) for one in found] == [
        ("$.data.targets[2].webhook.connection", "warning"),
        ("$.data.targets[4].notifier.connection", "warning"),
    ]
    assert "there is no Airflow connection 'chat_hok'" in found[0].message


def test_a_name_that_is_too_long_is_said_once_and_with_its_line() -> None:
    names, other = plain_message("x", "Error", "Drydock", NODE_NAMES), plain_message("y", "Error", "Drydock")
    told = [Problem("$.metadata.name", "has 33 characters", 4)]
    assert names_said_once([names, other], told) == [other]
    assert names_said_once([names, other], []) == [names, other]


LARGE = "schema: x/Y/v1\nmetadata: {name: n}\ndata:\n" + "  a: &a\n" + "  - some text\n" * (SMALL // 12)


def read_anew(once: ReadOnce, name: str, text: str, known: list[Document]) -> bool:
    (document,) = once.read(name, text)
    assert (document.name, document.source) == ("n", name)
    return document is not known[0]


def test_what_was_put_last_is_read_once() -> None:
    once = ReadOnce()
    known = once.put("c", LARGE.encode())
    assert not read_anew(once, "c", LARGE, known)
    assert not read_anew(once, "c", LARGE, known)
    assert read_anew(once, "d", LARGE, known)
    assert read_anew(once, "c", f"{LARGE}  - more\n", known)
    other = once.put("d", LARGE.encode())
    assert read_anew(once, "c", LARGE, known)
    once.forget()
    assert read_anew(once, "d", LARGE, other)


def test_the_list_that_is_kept_is_nobody_elses() -> None:
    once = ReadOnce()
    known = once.put("c", LARGE.encode())
    once.read("c", LARGE).clear()
    assert not read_anew(once, "c", LARGE, known)


def test_a_small_collection_is_not_kept() -> None:
    once = ReadOnce()
    text = "schema: x/Y/v1\nmetadata: {name: n}\n"
    assert read_anew(once, "c", text, once.put("c", text.encode()))


def test_a_collection_that_cannot_be_read_leaves_nothing_kept() -> None:
    once = ReadOnce()
    known = once.put("c", LARGE.encode())
    with pytest.raises(DocumentError):
        once.put("c", b"{")
    assert read_anew(once, "c", LARGE, known)
    with pytest.raises(DocumentError):
        once.read("c", "\ud800" * SMALL)


def test_it_is_kept_for_a_while() -> None:
    once = ReadOnce(seconds=0.05)
    known = once.put("c", LARGE.encode())
    deadline = time.monotonic() + 300
    while not read_anew(once, "c", LARGE, known):
        assert time.monotonic() < deadline
