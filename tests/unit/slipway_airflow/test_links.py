"""Where the link of a task leads."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from slipway_airflow.links import StatusTreeLink


def link(dag_id: str) -> str:
    """Return the link of a task that is not mapped."""
    key = SimpleNamespace(dag_id=dag_id, run_id="alpha__01&2", task_id="report", map_index=-1)
    return StatusTreeLink().get_link(cast(Any, None), ti_key=cast(Any, key))


def test_names_are_quoted_and_the_path_that_airflow_is_served_below_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AIRFLOW__API__BASE_URL", "https://ops.example/airflow/")
    run = "dag_id=deploy_site&run_id=alpha__01%262&task_id=report"
    assert link("deploy_site") == f"/airflow/plugin/slipway/slipway/ui/run?{run}"


def test_tasks_of_other_dags_have_none() -> None:
    assert link("somebody_elses") == ""
