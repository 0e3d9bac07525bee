"""Airflow's structured log messages as lines of text."""

from __future__ import annotations

import json
from typing import Any

import pytest
import structlog

from api_client.log_lines import log_line


def written(message: dict[str, Any]) -> list[str]:
    return log_line(json.dumps(message).encode()).splitlines()


def test_an_exception_follows_its_message_with_what_it_came_from() -> None:
    try:
        try:
            raise KeyError("n1")
        except KeyError as error:
            raise ValueError("no such node") from error
    except ValueError as caught:
        detail = structlog.tracebacks.ExceptionDictTransformer()((type(caught), caught, caught.__traceback__))
    lines = written({"timestamp": "10:00", "level": "error", "event": "Task failed", "error_detail": detail})
    assert [line for line in lines if "test_log_lines.py:" not in line] == [
        "[10:00] ERROR Task failed",
        "  ValueError: no such node",
        "  caused by KeyError: 'n1'",
    ]
    assert [line.endswith("in test_an_exception_follows_its_message_with_what_it_came_from") for line in lines] == [
        False,
        False,
        True,
        False,
        True,
    ]


@pytest.mark.parametrize(
    "detail", [None, [], "text", [1], [{}], [{"exc_type": "E", "frames": [7, None]}], [{"exc_value": 7, "frames": "x"}]]
)
def test_what_is_no_exception_breaks_nothing(detail: Any) -> None:
    assert written({"event": "said", "error_detail": detail})[0] == "said"
    assert log_line(b"no json") == "no json"
    assert log_line(b"[1]") == "[1]"


def test_an_exception_keeps_its_notes_and_those_of_its_group() -> None:
    problem = ExceptionGroup("two failed", [ValueError("no PXE\nanswer"), KeyError("n2")])
    problem.add_note("look at the switch\nof rack 1")
    try:
        raise problem
    except ExceptionGroup as caught:
        detail = structlog.tracebacks.ExceptionDictTransformer()((type(caught), caught, caught.__traceback__))
    lines = written({"event": "Task failed", "error_detail": detail})
    assert [line for line in lines if "test_log_lines.py:" not in line] == [
        "Task failed",
        "  ExceptionGroup: two failed (2 sub-exceptions)",
        "    look at the switch",
        "    of rack 1",
        "    ValueError: no PXE",
        "      answer",
        "    KeyError: 'n2'",
    ]


def test_warnings_and_errors_have_their_fields() -> None:
    message = {
        "event": "API server error",
        "logger": "supervisor",
        "ti_id": "01a20317",
        "map_index": 2,
        "lineno": 3,
        "status_code": 409,
        "detail": {"a": "b"},
    }
    assert written({"level": "error", **message}) == ['ERROR API server error status_code=409 detail={"a": "b"}']
    assert written({"level": "info", **message}) == ["INFO API server error"]
