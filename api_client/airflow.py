"""Airflow's public REST API (/api/v2): what API server, controller, command line and tests ask of it."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, TypeVar
from urllib.parse import quote

import requests

from api_client.log_lines import log_line
from api_client.session import ApiError, ApiRefused, ApiSession, ApiUnreachable, Timeout, read_json, read_object

# Airflow's own limit, unless [api] maximum_page_limit lowers it; then it sends fewer, and more pages are asked for.
_PAGE = 100
_PAUSES = (0.5, 1.0, 2.0)
"""Seconds before a change is asked for again that Airflow failed to make: its database may be away for a moment."""
_LOG_TIMEOUT: Timeout = (5.0, 60.0)
_LONGEST_LOG = 32 * 1024 * 1024
_NOT_FOUND, _CONFLICT = 404, 409

T = TypeVar("T")


class AirflowClient:
    """Requests to Airflow's API, as the user of the session. Every method blocks.

    Every method may raise `ApiError`: `ApiUnreachable`, `ApiRefused`, or `ApiError` itself where a redirection or
    something other than JSON is the answer. All are the engine's `AirflowApiError` (whether it has happened is not
    known); a refusal for good is also its `AirflowRefused` (nothing has happened).
    """

    def __init__(self, session: ApiSession) -> None:
        self.session = session

    def close(self) -> None:
        self.session.close()

    def log_in(self, user: str, password: str, headers: Mapping[str, str] | None = None) -> str:
        """Return a token for a user; `ApiRefused` with status 401 when Airflow does not accept them."""
        return _persist(lambda: self.session.log_in(user, password, headers))

    # DAGs

    def wait_for_dag(self, dag_id: str, timeout: float = 60.0, interval: float = 0.3) -> None:
        """Wait until the DAG has been parsed and can be triggered.

        Raises `ApiError` not in `timeout` seconds; the message has the import errors that Airflow reports.
        """
        end = time.monotonic() + timeout
        while True:
            if self._find(f"looking for the DAG {dag_id}", f"{_dag_path(dag_id)}/details") is not None:
                return
            if time.monotonic() > end:
                errors = "".join(f"\n  {file}: {text}" for file, text in self.import_errors().items())
                raise ApiError(f"Airflow does not know the DAG {dag_id} after {timeout:g} s{errors}")
            time.sleep(interval)

    def import_errors(self) -> dict[str, str]:
        """Return the files in the DAGs folder that cannot be imported, with the end of their traceback."""
        data = self._get("reading import errors", "/api/v2/importErrors")
        return {item["filename"]: item["stack_trace"].strip().splitlines()[-1] for item in data["import_errors"]}

    def dags(self) -> dict[str, bool]:
        """Return the DAGs that Airflow has and this user sees, each with whether it is paused."""
        return {dag["dag_id"]: bool(dag["is_paused"]) for dag in self._pages("listing DAGs", "/api/v2/dags", "dags")}

    def is_switched_off(self, dag_id: str) -> bool:
        """Return whether Airflow starts no run of a DAG, because it is paused there; False for an unknown one."""
        return bool((self._find(f"asking for the DAG {dag_id}", _dag_path(dag_id)) or {}).get("is_paused"))

    # Runs

    def trigger(self, dag_id: str, conf: Mapping[str, Any], run_id: str | None = None) -> str:
        """Start a DAG run and return its id, which is a new one unless it is given.

        Raises `ApiRefused` 400: the parameters are wrong; 403: the user may not; 404: no such DAG; 409: there is a run
        of this id. Raises `ApiError`: it is not known whether the run was started: look for it with `run_state`.
        """
        chosen = run_id or f"manual__{datetime.now(UTC).isoformat()}"
        body = {"logical_date": None, "conf": dict(conf), "dag_run_id": chosen}
        try:
            self._change(f"triggering {dag_id}", "POST", f"{_dag_path(dag_id)}/dagRuns", json=body)
        except ApiRefused as error:
            # A run of a new id can only be ours: an earlier request was accepted, and failed after that.
            if error.status != _CONFLICT or run_id is not None:
                raise
        return chosen

    def run(self, dag_id: str, run_id: str) -> dict[str, Any]:
        return self._get(f"reading run {run_id}", _run_path(dag_id, run_id))

    def run_state(self, dag_id: str, run_id: str) -> str | None:
        """Return the state of a DAG run (queued, running, success, failed); None when no run has this id."""
        found = self._find(f"reading run {run_id}", _run_path(dag_id, run_id))
        return None if found is None else str(found["state"])

    def run_states(self, runs: Collection[tuple[str, str]]) -> dict[tuple[str, str], str]:
        """Return the states of many runs, each (dag id, run id), without those that do not exist or are not shown.

        This is one request for up to a hundred runs.
        """
        states: dict[tuple[str, str], str] = {}
        run_ids = sorted({run_id for _, run_id in runs})
        for start in range(0, len(run_ids), _PAGE):
            # The pattern finds other runs as well, whose ids only begin so: all of its pages have to be read.
            query = {"run_id_prefix_pattern": "|".join(run_ids[start : start + _PAGE])}
            for run in self._pages("asking for runs", "/api/v2/dags/~/dagRuns", "dag_runs", query):
                key = (run["dag_id"], run["dag_run_id"])
                if key in runs:
                    states[key] = str(run["state"])
        return states

    def runs(
        self, dag_ids: Sequence[str], since: datetime, until: datetime | None = None, limit: int = 1000, offset: int = 0
    ) -> list[dict[str, Any]]:
        """Return the runs of some DAGs due in a span of time (aware, inclusive), newest first, as Airflow gives them.

        The `offset` newest are left out; of the others at most `limit` are returned.
        """
        body: dict[str, Any] = {"dag_ids": list(dag_ids), "run_after_gte": since.isoformat(), "order_by": "-run_after"}
        if until is not None:
            body["run_after_lte"] = until.isoformat()
        found: list[dict[str, Any]] = []
        while len(found) < limit:
            page = body | {"page_offset": offset + len(found), "page_limit": min(_PAGE, limit - len(found))}
            what = "listing runs"
            answer = read_json(what, self._change(what, "POST", "/api/v2/dags/~/dagRuns/list", json=page))
            found += answer["dag_runs"]
            if not answer["dag_runs"] or offset + len(found) >= answer["total_entries"]:
                break
        return found

    def wait_for_run(self, dag_id: str, run_id: str, timeout: float, interval: float = 0.5) -> str:
        """Wait until the run has ended and return success or failed. The API server may be away meanwhile.

        Raises `ApiError`: the run has not ended in `timeout` seconds.
        """
        end = time.monotonic() + timeout
        while True:
            try:
                state = str(self.run(dag_id, run_id)["state"])
                if state in ("success", "failed"):
                    return state
            except ApiUnreachable:
                state = "unknown, Airflow does not answer"
            if time.monotonic() > end:
                raise ApiError(f"run {run_id} of {dag_id} has not ended in {timeout:g} s (state: {state})")
            time.sleep(interval)

    def fail_run(self, dag_id: str, run_id: str) -> None:
        """Mark a run failed: Airflow ends its tasks and runs its teardown."""
        self._change(f"stopping run {run_id}", "PATCH", _run_path(dag_id, run_id), json={"state": "failed"})

    def set_note(self, dag_id: str, run_id: str, note: str) -> None:
        """Replace the note of a run, which Airflow shows beside it."""
        self._change(f"noting the end of run {run_id}", "PATCH", _run_path(dag_id, run_id), json={"note": note})

    # Tasks

    def task_instances(self, dag_id: str, run_id: str) -> list[dict[str, Any]]:
        """Return all task instances of a run, mapped ones one by one, as Airflow gives them."""
        path = f"{_run_path(dag_id, run_id)}/taskInstances"
        return list(self._pages(f"reading the tasks of run {run_id}", path, "task_instances"))

    def task_states(self, dag_id: str, run_id: str) -> dict[tuple[str, int], str | None]:
        """Return the state of each task of a run by its id and map index; None before it is scheduled."""
        return {(task["task_id"], task["map_index"]): task["state"] for task in self.task_instances(dag_id, run_id)}

    def clear(
        self, dag_id: str, run_id: str, tasks: Sequence[str | tuple[str, int]], *, downstream: bool = True
    ) -> None:
        """Have tasks run again whatever their state: by id (all of a mapped task) or as (id, map index)."""
        body = {
            "dry_run": False,
            "dag_run_id": run_id,
            "task_ids": [list(task) if isinstance(task, tuple) else task for task in tasks],
            "only_failed": False,
            "include_downstream": downstream,
            "reset_dag_runs": True,
        }
        self._change(f"clearing {tasks}", "POST", f"{_dag_path(dag_id)}/clearTaskInstances", json=body)

    def answer_task(
        self, dag_id: str, run_id: str, task: tuple[str, int], options: Sequence[str], fields: Mapping[str, Any]
    ) -> None:
        """Answer a task (id, map index) that waits for a person.

        Raises `ApiRefused` 403: the user may not; 404: it does not wait; 409: it was answered already.
        """
        task_id, map_index = task
        path = f"{_run_path(dag_id, run_id)}/taskInstances/{_quoted(task_id)}/{map_index}/hitlDetails"
        body = {"chosen_options": list(options), "params_input": dict(fields)}
        # Once: Airflow refuses an answer that is repeated, and it would be taken for another's.
        self.session.request(f"answering {task_id}", "PATCH", path, json=body)

    def log(self, dag_id: str, run_id: str, task_id: str, try_number: int, map_index: int = -1) -> str:
        """Return the log of one try of a task, a line for each message; a very long one is cut, and says so.

        Raises `ApiRefused` 404: there is no such task, or it has not been tried that often.
        """
        what = f"reading the log of {task_id}"
        answer = self.session.request(
            what,
            "GET",
            f"{_run_path(dag_id, run_id)}/taskInstances/{_quoted(task_id)}/logs/{try_number}",
            params={"map_index": map_index, "full_content": "true"},
            headers={"Accept": "application/x-ndjson"},
            timeout=_LOG_TIMEOUT,
            stream=True,
        )
        lines, size = [], 0
        with answer:
            try:
                for raw in answer.iter_lines():
                    line = log_line(raw)
                    size += len(line)
                    if size > _LONGEST_LOG:
                        lines.append(f"(cut after {_LONGEST_LOG // 1024 // 1024} MiB; the whole log is in Airflow)")
                        break
                    lines.append(line)
            except requests.RequestException as error:
                raise ApiUnreachable(f"{what}: {type(error).__name__}") from error
        return "".join(f"{line}\n" for line in lines)

    # Connections

    def connection(self, connection_id: str) -> dict[str, Any] | None:
        """Return an Airflow connection without its secrets, None when no connection has this id."""
        return self._find(f"reading connection {connection_id}", _connection_path(connection_id))

    def remove_connection(self, connection_id: str) -> None:
        """Delete an Airflow connection; nothing happens when no connection has this id."""
        try:
            self._change(f"removing connection {connection_id}", "DELETE", _connection_path(connection_id))
        except ApiRefused as error:
            if error.status != _NOT_FOUND:
                raise

    def test_connection(self, connection_id: str, fields: Mapping[str, Any]) -> tuple[bool, str]:
        """Have Airflow try a connection, as its form's "Test" does; return whether it is good, and what was said.

        Raises `ApiRefused` 403: the user may not, or Airflow's `[core] test_connection` is not Enabled.
        """
        what = f"testing connection {connection_id}"
        body = {"connection_id": connection_id, **fields}
        answer = read_object(what, self.session.request(what, "POST", "/api/v2/connections/test", json=body))
        return bool(answer["status"]), str(answer["message"])

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
            self._change(what, "PATCH", _connection_path(connection_id), json=body)
        except ApiRefused as error:
            if error.status != _NOT_FOUND:
                raise
            self._change(what, "POST", "/api/v2/connections", json=body)

    def _get(self, what: str, path: str, query: Mapping[str, Any] | None = None) -> dict[str, Any]:
        return read_object(what, self.session.request(what, "GET", path, params=query))

    def _find(self, what: str, path: str) -> dict[str, Any] | None:
        """Return what is at a path, None where there is no such thing (404)."""
        try:
            return self._get(what, path)
        except ApiRefused as error:
            if error.status != _NOT_FOUND:
                raise
            return None

    def _pages(
        self, what: str, path: str, key: str, query: Mapping[str, Any] | None = None
    ) -> Iterator[dict[str, Any]]:
        seen, total = 0, 1
        while seen < total:
            answer = self._get(what, path, {**(query or {}), "limit": _PAGE, "offset": seen})
            yield from answer[key]
            seen, total = seen + len(answer[key]), answer["total_entries"] if answer[key] else 0

    def _change(self, what: str, method: str, path: str, **arguments: Any) -> requests.Response:
        # No change made here is made twice by a second request: a new run has its id from this side.
        return _persist(lambda: self.session.request(what, method, path, **arguments))


def _persist(attempt: Callable[[], T]) -> T:
    """Try again while Airflow answers that it failed."""
    for pause in _PAUSES:
        try:
            return attempt()
        except ApiRefused as error:
            if error.status < 500:
                raise
        time.sleep(pause)
    return attempt()


def _quoted(part: str) -> str:
    return quote(part, safe="")


def _dag_path(dag_id: str) -> str:
    return f"/api/v2/dags/{_quoted(dag_id)}"


def _run_path(dag_id: str, run_id: str) -> str:
    return f"{_dag_path(dag_id)}/dagRuns/{_quoted(run_id)}"


def _connection_path(connection_id: str) -> str:
    return f"/api/v2/connections/{_quoted(connection_id)}"
