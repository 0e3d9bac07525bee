"""What all tasks of Slipway's do alike, and what they use of Airflow that is not in the top level of its SDK."""

from __future__ import annotations

import inspect
import logging
from datetime import timedelta
from types import SimpleNamespace
from typing import Any, cast

import pytest
from airflow.sdk.api.datamodels._generated import DagRunState
from airflow.sdk.exceptions import TaskAwaitingInput
from airflow.sdk.execution_time.hitl import upsert_hitl_detail

from site_engine.actions.dead_actions import run_is_over
from site_engine.admission import Ground, Refusal
from site_engine.errors import StepError
from site_engine.process import Stopping
from slipway_airflow.operators.action import ReportOperator, run_states
from slipway_airflow.operators.base import SiteOperator
from slipway_airflow.operators.begin_action import BeginActionOperator, _require_none
from slipway_airflow.operators.group import as_text

DETAILS = tuple(f"there is no node n{number}" for number in range(20))


def test_airflow_still_asks_as_slipway_has_it_ask() -> None:
    taken = inspect.signature(upsert_hitl_detail).parameters
    assert {"ti_id", "options", "subject", "body", "defaults", "multiple", "params", "assigned_users"} <= set(taken)
    waiting = TaskAwaitingInput(method_name="answered", timeout=timedelta(seconds=5))
    assert (waiting.method_name, waiting.timeout) == ("answered", timedelta(seconds=5))
    assert not isinstance(waiting, Exception), "as TaskDeferred, it passes what catches errors"


def test_what_a_document_says_is_shown_as_it_stands() -> None:
    assert as_text("![x](http://a.b/c) <b> #1") == r"\!\[x\]\(http\://a\.b/c\) \<b\> \#1"


@pytest.mark.parametrize(
    "operator",
    [
        BeginActionOperator(task_id="t", kind="deploy_site", steps=["validate_design"]),
        ReportOperator(task_id="t"),
    ],
)
def test_a_task_that_only_reads_knows_that_it_was_killed(
    operator: SiteOperator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Airflow tells a task that it is killed, and lets it go on: every task has to end itself."""
    stopping = Stopping()
    monkeypatch.setattr(SiteOperator, "_stopping", stopping)
    operator.on_kill()
    assert stopping.told


@pytest.mark.parametrize("overridden", [False, True])
def test_every_detail_is_logged_however_short_the_error_is(overridden: bool, caplog: pytest.LogCaptureFixture) -> None:
    refusal = Refusal(Ground.CRITICAL_GROUPS, "name fewer nodes", DETAILS, overridden)
    log = logging.getLogger("test")
    if overridden:
        _require_none([refusal], log)
    else:
        with pytest.raises(StepError, match="and 15 more; name fewer nodes"):
            _require_none([refusal], log)
    assert caplog.messages[:20] == list(DETAILS)


@pytest.mark.parametrize("given", ["success", DagRunState.SUCCESS])
def test_the_state_of_a_run_is_airflows_plain_word_whatever_the_sdk_gives_it_as(given: str) -> None:
    ti = SimpleNamespace(get_dagrun_state=lambda *_: given)
    state = run_states(cast(Any, ti))("deploy_site", "alpha__1")
    assert type(state) is str
    assert state == "success"
    assert run_is_over(state)
