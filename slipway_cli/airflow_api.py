"""A small client of Airflow's public REST API (/api/v2)."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote

from slipway_cli.api_session import ApiError, ApiRefused, ApiSession, ApiUnreachable, read_json

_PAGE = 100
_PAUSES = (0.5, 1.0, 2.0)
"""Seconds before a change is asked for again that Airflow failed to make."""


@dataclass(frozen=True, slots=True)
class TaskInstance:
    """A task of a DAG run. `map_index` is -1 for a task that is not mapped, `pid` is the task's own process."""

    task_id: str
    map_index: int
    name: str
    state: str | None
    try_number: int
    pid: int | None
    start: str | None
    end: str | None

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> TaskInstance:
        """Read one of Airflow's `task_instances`; a mapped task without a name of its own has the task's id."""
        return cls(
            task_id=data["task_id"],
            map_index=data["map_index"],
            name=data.get("rendered_map_index") or data["task_id"],
            state=data["state"],
            try_number=data["try_number"],
            pid=data["pid"],
            start=data["start_date"],
            end=data["end_date"],
        )


class AirflowApi:
    """What Slipway's command line and tests need of Airflow."""

    def __init__(self, session: ApiSession) -> None:
        self.session = session

    def _change(self, what: str, method: str, path: str, **arguments: Any) -> None:
        # Airflow's database may be away for a moment. No change made here is made twice by sending it again.
        for pause in _PAUSES:
            try:
                self.session.request(what, method, path, **arguments)
                return
            except ApiRefused as error:
                if error.status < 500:
                    raise
            time.sleep(pause)
        self.session.request(what, method, path, **arguments)

    def _run_path(self, dag_id: str, run_id: str) -> str:
        return f"/api/v2/dags/{quote(dag_id, safe='')}/dagRuns/{quote(run_id, safe='')}"

    def wait_for_dag(self, dag_id: str, timeout: float = 60.0, interval: float = 0.3) -> None:
        """Wait until the DAG has been parsed and can be triggered.

        Raises
        ------
        ApiError
            Not in `timeout` seconds; the message has the import errors that Airflow reports.
        """
        end = time.monotonic() + timeout
        while True:
            try:
                self.session.request(
                    f"looking for the DAG {dag_id}", "GET", f"/api/v2/dags/{quote(dag_id, safe='')}/details"
                )
                return
            except ApiRefused as error:
                if error.status != 404:
                    raise
            if time.monotonic() > end:
                errors = "".join(f"\n  {file}: {text}" for file, text in self.import_errors().items())
                raise ApiError(f"Airflow does not know the DAG {dag_id} after {timeout:g} s{errors}")
            time.sleep(interval)

    def import_errors(self) -> dict[str, str]:
        """Files in the DAGs folder that cannot be imported, with the end of their traceback."""
        data = self.session.request("reading import errors", "GET", "/api/v2/importErrors").json()
        return {item["filename"]: item["stack_trace"].strip().splitlines()[-1] for item in data["import_errors"]}

    def trigger(self, dag_id: str, conf: Mapping[str, Any], run_id: str | None = None) -> str:
        """Start a DAG run and return its id, which is a new one unless it is given.

        Raises
        ------
        ApiRefused
            400: the parameters are wrong; 404: no such DAG; 409: there is a run of this id.
        """
        wanted = run_id or f"manual__{datetime.now(UTC).isoformat()}"
        body = {"logical_date": None, "conf": dict(conf), "dag_run_id": wanted}
        path = f"/api/v2/dags/{quote(dag_id, safe='')}/dagRuns"
        try:
            self._change(f"triggering {dag_id}", "POST", path, json=body)
        except ApiRefused as error:
            # A run of a new id can only be ours: an earlier sending was taken, and failed after that.
            if error.status != 409 or run_id is not None:
                raise
        return wanted

    def run(self, dag_id: str, run_id: str) -> dict[str, Any]:
        """The DAG run as Airflow describes it."""
        data: dict[str, Any] = self.session.request(
            f"reading run {run_id}", "GET", self._run_path(dag_id, run_id)
        ).json()
        return data

    def run_state(self, dag_id: str, run_id: str) -> str:
        """queued, running, success or failed."""
        return str(self.run(dag_id, run_id)["state"])

    def component_problems(self) -> dict[str, str | None]:
        """What is wrong with each of Airflow's components in a sentence, None where it is well. Needs no right."""
        what = "asking for Airflow's health"
        health = read_json(what, self.session.request(what, "GET", "/api/v2/monitor/health"))
        problems: dict[str, str | None] = {}
        for name, part in health.items():
            # One that this Airflow does not have, such as a triggerer, has no status.
            status = part.get("status")
            if status is not None:
                beat = part.get(f"latest_{name}_heartbeat")
                said = f"Airflow says {status}" + (f", its last sign of life was at {beat}" if beat else "")
                problems[name.replace("_", "-")] = None if status == "healthy" else said
        return problems

    def run_states(self, runs: Collection[tuple[str, str]]) -> dict[tuple[str, str], str]:
        """The states of many runs, each (dag id, run id); one that is not there, or not shown to the user, is left out.

        This is one request for up to a hundred runs.
        """
        states: dict[tuple[str, str], str] = {}
        run_ids = sorted({run_id for _, run_id in runs})
        for start in range(0, len(run_ids), _PAGE):
            # The pattern finds other runs as well, whose ids only begin so: all of its pages have to be read.
            pattern = "|".join(run_ids[start : start + _PAGE])
            offset, total = 0, 1
            while offset < total:
                query: dict[str, str | int] = {"run_id_prefix_pattern": pattern, "limit": _PAGE, "offset": offset}
                what = "asking for runs"
                answer = read_json(what, self.session.request(what, "GET", "/api/v2/dags/~/dagRuns", params=query))
                found = {(run["dag_id"], run["dag_run_id"]): str(run["state"]) for run in answer["dag_runs"]}
                states |= {run: state for run, state in found.items() if run in runs}
                offset, total = offset + len(found), answer["total_entries"] if found else 0
        return states

    def wait_for_run(
        self,
        dag_id: str,
        run_id: str,
        timeout: float,
        interval: float = 0.5,
        while_waiting: Callable[[], None] | None = None,
    ) -> str:
        """Wait until the run has ended and return success or failed. The API server may be away meanwhile.

        Raises
        ------
        ApiError
            The run has not ended in `timeout` seconds; the message has its tasks' states.
        """
        end = time.monotonic() + timeout
        while True:
            try:
                state = self.run_state(dag_id, run_id)
                if state in ("success", "failed"):
                    return state
            except ApiUnreachable:
                state = "unknown, Airflow does not answer"
            if while_waiting is not None:
                while_waiting()
            if time.monotonic() > end:
                raise ApiError(f"run {run_id} of {dag_id} has not ended in {timeout:g} s (state: {state})")
            time.sleep(interval)

    def set_run_state(self, dag_id: str, run_id: str, state: str) -> None:
        """Mark a run success or failed (failed cancels what is running)."""
        self._change(f"marking {run_id} {state}", "PATCH", self._run_path(dag_id, run_id), json={"state": state})

    def delete_run(self, dag_id: str, run_id: str) -> None:
        """Remove the run and its tasks from Airflow."""
        self._change(f"deleting {run_id}", "DELETE", self._run_path(dag_id, run_id))

    def task_instances(self, dag_id: str, run_id: str) -> list[TaskInstance]:
        """All tasks of a run, every mapped one by itself."""
        return list(self._task_pages(dag_id, run_id))

    def _task_pages(self, dag_id: str, run_id: str) -> Iterator[TaskInstance]:
        offset = 0
        while True:
            page = self.session.request(
                f"reading tasks of {run_id}",
                "GET",
                self._run_path(dag_id, run_id) + "/taskInstances",
                params={"limit": _PAGE, "offset": offset},
            ).json()["task_instances"]
            yield from (TaskInstance.from_json(item) for item in page)
            if len(page) < _PAGE:
                return
            offset += _PAGE

    def clear(
        self, dag_id: str, run_id: str, tasks: Sequence[str | tuple[str, int]], *, downstream: bool = True
    ) -> None:
        """Have tasks run again whatever their state: by id (all of a mapped task) or as (id, map index)."""
        ids = [list(task) if isinstance(task, tuple) else task for task in tasks]
        body = {
            "dry_run": False,
            "dag_run_id": run_id,
            "task_ids": ids,
            "only_failed": False,
            "include_downstream": downstream,
            "reset_dag_runs": True,
        }
        path = f"/api/v2/dags/{quote(dag_id, safe='')}/clearTaskInstances"
        self._change(f"clearing {tasks}", "POST", path, json=body)

    def log(self, dag_id: str, run_id: str, task_id: str, try_number: int, map_index: int = -1) -> str:
        """The log of one try of a task: its messages, one a line."""
        path = f"{self._run_path(dag_id, run_id)}/taskInstances/{quote(task_id, safe='')}/logs/{try_number}"
        data = self.session.request(
            f"reading the log of {task_id}", "GET", path, params={"map_index": map_index, "full_content": True}
        ).json()
        return "\n".join(line["event"] if isinstance(line, Mapping) else str(line) for line in data["content"])

    def connection(self, connection_id: str) -> dict[str, Any] | None:
        """An Airflow connection as Airflow shows it (without its secrets), None when no connection has this id."""
        path = f"/api/v2/connections/{quote(connection_id, safe='')}"
        try:
            data: dict[str, Any] = self.session.request(f"reading connection {connection_id}", "GET", path).json()
        except ApiRefused as error:
            if error.status != 404:
                raise
            return None
        return data

    def remove_connection(self, connection_id: str) -> None:
        """Delete an Airflow connection; nothing happens when no connection has this id."""
        path = f"/api/v2/connections/{quote(connection_id, safe='')}"
        try:
            self._change(f"removing connection {connection_id}", "DELETE", path)
        except ApiRefused as error:
            if error.status != 404:
                raise

    def set_connection(self, connection_id: str, fields: Mapping[str, Any]) -> None:
        """Create or replace an Airflow connection.

        Parameters
        ----------
        fields : conn_type, host, login, password, extra (a JSON text), …
        """
        body = {"connection_id": connection_id, **fields}
        what = f"setting connection {connection_id}"
        # In this order: Airflow logs a traceback when asked to create what exists.
        try:
            self._change(what, "PATCH", f"/api/v2/connections/{quote(connection_id, safe='')}", json=body)
        except ApiRefused as error:
            if error.status != 404:
                raise
            self._change(what, "POST", "/api/v2/connections", json=body)
