"""What is said of an event."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from site_engine.controller.notifications import headline, message_of, pause_before, text_of
from site_store import OutboxRecord
from strategy_lib.parsing.notifications import NotificationKind


def event(kind: str, group: str | None = None, /, **data: Any) -> OutboxRecord:
    return OutboxRecord(1, "01EVENT", "north", kind, "01ACTION", group, datetime(2026, 1, 1, tzinfo=UTC), data)


@pytest.mark.parametrize(
    ("told", "said"),
    [
        (event("verdict", kind="deploy_site", state="failed", verdict="no"), "deploy_site is failed: no"),
        (event("critical_group_failed", "a", reason="deploy_criteria"), "critical group a failed (deploy_criteria)"),
        (event("critical_group_failed", "a", reason=None), "critical group a failed (no reason is known)"),
        (event("gate_waiting", "a", text="go?"), "group a waits for approval: go?"),
        (event("owner_unresponsive", owner="airflow:deploy_site"), "airflow:deploy_site is unresponsive"),
        (event("owner_back", owner="airflow:deploy_site"), "airflow:deploy_site is back"),
    ],
)
def test_a_sentence_for_every_kind(told: OutboxRecord, said: str) -> None:
    assert headline(told) == f"Site north: {said} [action 01ACTION]"


def test_no_kind_is_without_a_sentence() -> None:
    for kind in NotificationKind:
        assert headline(event(kind.value, "a")) != f"Site north: {kind.value} [action 01ACTION]"


def test_a_message_is_json_with_a_line_for_each_fact() -> None:
    message = message_of(event("critical_group_failed", "a", reason="r", criteria=[{"needed": 2, "actual": 1}]))
    assert json.loads(json.dumps(message)) == message
    assert (message["id"], message["site"], message["group"]) == ("01EVENT", "north", "a")
    assert text_of(message).splitlines() == [
        "Site north: critical group a failed (r) [action 01ACTION]",
        "",
        "time: 2026-01-01T00:00:00+00:00",
        "event: 01EVENT",
        "reason: r",
        "criteria: needed 2, actual 1",
    ]


def test_a_hostile_text_makes_no_line_of_its_own() -> None:
    message = message_of(event("gate_waiting", "a\nBcc: everybody", text="x\r\nSubject: y"))
    assert message["text"].count("\n") == message["text"].count("\r") == 0
    assert "Subject: y" not in text_of(message).splitlines()


def test_pauses_grow_to_an_hour() -> None:
    assert [pause_before(attempt).total_seconds() for attempt in (1, 2, 3)] == [10, 20, 40]
    assert pause_before(1000) == timedelta(hours=1)
