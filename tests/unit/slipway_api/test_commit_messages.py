"""The messages of a validation: ordered, bounded, and without secrets."""

from __future__ import annotations

from slipway_api.documents.validation import MOST_MESSAGES, _in_order, _without_secrets
from slipway_api.http.api_errors import plain_message


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
