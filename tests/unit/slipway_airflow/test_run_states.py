"""What Airflow says of a DAG run is its plain word, whatever the SDK gives it as."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest
from airflow.sdk.api.datamodels._generated import DagRunState

from site_engine.actions.dead_actions import run_is_over
from slipway_airflow.operators.action import run_states


@pytest.mark.parametrize("given", ["success", DagRunState.SUCCESS])
def test_the_state_of_a_run_is_airflows_word(given: str) -> None:
    ti = SimpleNamespace(get_dagrun_state=lambda *_: given)
    state = run_states(cast(Any, ti))("deploy_site", "alpha__1")
    assert type(state) is str
    assert state == "success"
    assert run_is_over(state)
