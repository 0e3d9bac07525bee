"""Airflow's notifiers: which may be used, and what they are told."""

from __future__ import annotations

from typing import Any

import pytest
from airflow.providers.smtp.notifications.smtp import SmtpNotifier

from site_engine.errors import StepError
from slipway_airflow.operators.notify import make_notifier
from strategy_lib.parsing.notifications import Notifier

MESSAGE = {
    "text": "Site <b>north</b>: verdict {{ conn.slipway_provisioner.password }}",
    "at": "2026-01-01T00:00:00+00:00",
    "id": "01EVENT",
    "data": {"verdict": "<script>alert(1)</script>"},
}


class Recording:
    """A notifier of an administrator's."""

    def __init__(self, **arguments: Any) -> None:
        self.arguments = arguments


def test_smtp_gets_subject_and_text_without_markup_and_never_a_template() -> None:
    made = make_notifier(Notifier("smtp", "mail", {"to": ["ops@example.com"]}), MESSAGE, {})
    assert isinstance(made, SmtpNotifier)
    assert (made.to, made.smtp_conn_id, made.subject) == (["ops@example.com"], "mail", MESSAGE["text"])
    assert made.html_content is not None
    assert "<script>" not in made.html_content
    assert "&lt;script&gt;" in made.html_content
    assert "{{ conn.slipway_provisioner.password }}" in made.html_content, "it is not rendered"


def test_an_administrator_adds_notifiers_by_name() -> None:
    listed = {"SLIPWAY_NOTIFIERS": f" mine = {__name__}:Recording, "}
    made = make_notifier(Notifier("mine", "c", {"text": "{text}", "more": "{details}", "n": 3}), MESSAGE, listed)
    assert isinstance(made, Recording)
    assert made.arguments["text"] == MESSAGE["text"]
    assert made.arguments["more"].splitlines()[0] == MESSAGE["text"]
    assert (made.arguments["n"], made.arguments["mine_conn_id"]) == (3, "c")


@pytest.mark.parametrize(
    ("way", "listed", "words"),
    [
        (Notifier("os:system"), "", "there is no notifier 'os:system'"),
        (Notifier("smtpp"), "", "did you mean 'smtp'?"),
        (Notifier("x"), "x=no.such.module:Class", "is not installed"),
        (Notifier("x"), f"x={__name__}:Missing", "is not installed"),
        (Notifier("smtp", None, {"nonsense": 1, "to": "a"}), "", "does not take these arguments"),
        (Notifier("smtp"), "", "does not take these arguments"),
    ],
)
def test_what_cannot_be_made(way: Notifier, listed: str, words: str) -> None:
    with pytest.raises(StepError, match=words.replace("?", r"\?")):
        make_notifier(way, MESSAGE, {"SLIPWAY_NOTIFIERS": listed})
