"""Where the link of a task leads."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from slipway_airflow.plugin import StatusTreeLink


@pytest.mark.parametrize(
    ("dag_id", "map_index", "leads_to"),
    [
        ("deploy_site", -1, "run?dag_id=deploy_site&run_id=alpha__01%262&task_id=report"),
        ("deploy_site", 3, "run?dag_id=deploy_site&run_id=alpha__01%262&task_id=report&map_index=3"),
        ("somebody_elses", -1, ""),
    ],
)
def test_names_are_quoted_and_the_path_that_airflow_is_served_below_is_kept(
    monkeypatch: pytest.MonkeyPatch, dag_id: str, map_index: int, leads_to: str
) -> None:
    monkeypatch.setenv("AIRFLOW__API__BASE_URL", "https://ops.example/airflow/")
    key = SimpleNamespace(dag_id=dag_id, run_id="alpha__01&2", task_id="report", map_index=map_index)
    link = StatusTreeLink().get_link(cast(Any, None), ti_key=cast(Any, key))
    assert link == (leads_to and f"/airflow/plugin/slipway/slipway/ui/{leads_to}")
