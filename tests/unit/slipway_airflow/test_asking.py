"""What Slipway uses of Airflow's way to wait for a person, none of which is in the top level of its SDK."""

from __future__ import annotations

import inspect
from datetime import timedelta

from airflow.sdk.exceptions import TaskAwaitingInput
from airflow.sdk.execution_time.hitl import upsert_hitl_detail

from slipway_airflow.operators.group import as_text


def test_airflow_still_asks_as_slipway_has_it_ask() -> None:
    taken = inspect.signature(upsert_hitl_detail).parameters
    assert {"ti_id", "options", "subject", "body", "defaults", "multiple", "params", "assigned_users"} <= set(taken)
    waiting = TaskAwaitingInput(method_name="answered", timeout=timedelta(seconds=5))
    assert (waiting.method_name, waiting.timeout) == ("answered", timedelta(seconds=5))
    assert not isinstance(waiting, Exception), "as TaskDeferred, it passes what catches errors"


def test_what_a_document_says_is_shown_as_it_stands() -> None:
    assert as_text("![x](http://a.b/c) <b> #1") == r"\!\[x\]\(http\://a\.b/c\) \<b\> \#1"
