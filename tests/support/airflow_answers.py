"""An Airflow that gives one answer about every run, and the tasks of a run as a real one tells them."""

from __future__ import annotations

from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

from api_client.airflow import AirflowClient


@dataclass(frozen=True, slots=True)
class AirflowTask:
    """A task of a run; `name` is its group's, and else its id. `pid` is its own process."""

    task_id: str
    map_index: int
    state: str | None
    try_number: int
    pid: int | None
    start: str | None
    end: str | None
    name: str


def tasks_of(airflow: AirflowClient, dag_id: str, run_id: str) -> list[AirflowTask]:
    """Return all tasks of a run, mapped ones one by one."""
    shared = ("task_id", "map_index", "state", "try_number", "pid")
    return [
        AirflowTask(
            **{key: one[key] for key in shared},
            start=one["start_date"],
            end=one["end_date"],
            name=one.get("rendered_map_index") or one["task_id"],
        )
        for one in airflow.task_instances(dag_id, run_id)
    ]


def airflow(answer: str | Exception | None) -> Any:
    """Return an Airflow that says this of every run, or fails so; no DAG of it is switched off."""

    def run_state(*_: str) -> str | None:
        if isinstance(answer, Exception):
            raise answer
        return answer

    return SimpleNamespace(run_state=run_state, is_switched_off=lambda _: False)
