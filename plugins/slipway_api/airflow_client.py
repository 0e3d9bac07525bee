"""Ask Airflow's public REST API, from within its API server, with the caller's own token: Airflow says who may."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Annotated, Any
from urllib.parse import quote, urlsplit

import requests
from fastapi import Depends, Request

from site_engine.errors import AirflowApiError, AirflowRefused
from slipway_api.actions.log_lines import log_line
from slipway_api.airflow_access import token_of
from slipway_api.airflow_settings import own_url
from slipway_api.keystone.airflow_login import PROOF, proof_of

_TIMEOUT = (5.0, 20.0)
_LOG_TIMEOUT = (5.0, 60.0)
# Airflow's own limit, unless [api] maximum_page_limit lowers it; then it sends fewer, and more pages are asked for.
_PAGE = 100
_LOOPBACK = {"localhost", "127.0.0.1", "::1"}
_PAUSES = (0.3, 1.0)
"""Seconds before a change is asked for again that Airflow failed to make: its database may be away for a moment."""
_LONGEST_LOG = 32 * 1024 * 1024


class AirflowCalls:
    """What Slipway's API needs of Airflow's. Every method blocks; one object serves one request.

    Every method may raise ``AirflowApiError`` when Airflow does not say, and ``AirflowRefused`` when it says no.
    """

    def __init__(self, token: str | None) -> None:
        self._base = own_url()
        self._http = requests.Session()
        # A proxy cannot reach this machine's own loopback.
        self._http.trust_env = urlsplit(self._base).hostname not in _LOOPBACK
        if token:
            self._http.headers["Authorization"] = f"Bearer {token}"

    def close(self) -> None:
        """Give the connections back."""
        self._http.close()

    def log_in(self, user: str, password: str) -> str:
        """Return a token for a user; ``AirflowRefused`` with status 401 when Airflow does not accept them."""
        body, headers = {"username": user, "password": password}, {PROOF: proof_of(user, password)}
        answer = self._send("logging in", "POST", "/auth/token", json=body, headers=headers)
        return str(self._json("logging in", answer)["access_token"])

    def is_switched_off(self, dag_id: str) -> bool:
        """Whether Airflow starts no run of a DAG, because somebody has paused it there; False for an unknown one."""
        what = f"asking for the DAG {dag_id}"
        try:
            return bool(self._json(what, self._send(what, "GET", f"/api/v2/dags/{_quoted(dag_id)}")).get("is_paused"))
        except AirflowRefused as refused:
            if refused.status == 404:
                return False
            raise

    def trigger(self, dag_id: str, run_id: str, conf: Mapping[str, Any]) -> None:
        """Start a DAG run.

        Raises
        ------
        AirflowRefused
            There is certainly no such run by this call: 400 the parameters are wrong, 403 the caller may not,
            404 no such DAG, 409 there is already a run of this id.
        AirflowApiError
            It is not known whether the run was started: look for it with `run_state`.
        """
        body = {"dag_run_id": run_id, "logical_date": None, "conf": dict(conf)}
        self._send(f"triggering {dag_id}", "POST", f"/api/v2/dags/{_quoted(dag_id)}/dagRuns", json=body)

    def run_state(self, dag_id: str, run_id: str) -> str | None:
        """Return the state of a DAG run (queued, running, success, failed); None when no run has this id."""
        what = f"asking for the state of run {run_id!r}"
        try:
            return str(self._json(what, self._send(what, "GET", _run_path(dag_id, run_id)))["state"])
        except AirflowRefused as refused:
            if refused.status == 404:
                return None
            raise

    def run_states(self, runs: Collection[tuple[str, str]]) -> dict[tuple[str, str], str]:
        """Return the states of many DAG runs, each (dag id, run id); one that does not exist is left out.

        This is one call to Airflow for up to a hundred runs.
        """
        states: dict[tuple[str, str], str] = {}
        run_ids = sorted({run_id for _, run_id in runs})
        for start in range(0, len(run_ids), _PAGE):
            query = {"run_id_prefix_pattern": "|".join(run_ids[start : start + _PAGE])}
            for run in self._pages("asking for runs", "/api/v2/dags/~/dagRuns", query, "dag_runs"):
                key = (run["dag_id"], run["dag_run_id"])
                if key in runs:
                    states[key] = run["state"]
        return states

    def runs(
        self, dag_ids: Sequence[str], since: datetime, until: datetime | None = None, limit: int = 1000, offset: int = 0
    ) -> list[dict[str, Any]]:
        """Return the runs of some DAGs due in a span of time (aware, inclusive), newest first, in Airflow's words.

        So many of the newest as `offset` says are left out, and of the others `limit` are returned.
        """
        body: dict[str, Any] = {"dag_ids": list(dag_ids), "run_after_gte": since.isoformat(), "order_by": "-run_after"}
        if until is not None:
            body["run_after_lte"] = until.isoformat()
        found: list[dict[str, Any]] = []
        while len(found) < limit:
            page = body | {"page_offset": offset + len(found), "page_limit": min(_PAGE, limit - len(found))}
            what = "listing runs"
            answer = self._json(what, self._send(what, "POST", "/api/v2/dags/~/dagRuns/list", json=page))
            found += answer["dag_runs"]
            if not answer["dag_runs"] or offset + len(found) >= answer["total_entries"]:
                break
        return found

    def fail_run(self, dag_id: str, run_id: str) -> None:
        """Mark a DAG run failed: Airflow ends its tasks and runs its teardown."""
        self._send(f"stopping run {run_id!r}", "PATCH", _run_path(dag_id, run_id), json={"state": "failed"})

    def task_instances(self, dag_id: str, run_id: str) -> list[dict[str, Any]]:
        """Return all task instances of a run, mapped ones one by one, as Airflow gives them."""
        path = f"{_run_path(dag_id, run_id)}/taskInstances"
        return list(self._pages(f"listing the tasks of run {run_id!r}", path, {}, "task_instances"))

    def log(self, dag_id: str, run_id: str, task_id: str, map_index: int, try_number: int) -> str:
        """Return the log of one try of a task, a line for each message; a very long one is cut, and says so.

        Raises
        ------
        AirflowRefused
            404: there is no such task, or it has not been tried that often.
        """
        path = f"{_run_path(dag_id, run_id)}/taskInstances/{_quoted(task_id)}/logs/{try_number}"
        what = f"reading the log of {task_id}"
        answer = self._send(
            what,
            "GET",
            path,
            params={"map_index": map_index, "full_content": "true"},
            headers={"Accept": "application/x-ndjson"},
            timeout=_LOG_TIMEOUT,
            stream=True,
        )
        lines, size = [], 0
        try:
            for raw in answer.iter_lines():
                line = log_line(raw)
                size += len(line)
                if size > _LONGEST_LOG:
                    lines.append(f"(cut after {_LONGEST_LOG // 1024 // 1024} MiB; the whole log is in Airflow)")
                    break
                lines.append(line)
        except requests.RequestException as error:
            raise AirflowApiError(f"{what}: {type(error).__name__}") from error
        finally:
            answer.close()
        return "".join(f"{line}\n" for line in lines)

    def _pages(self, what: str, path: str, query: Mapping[str, Any], key: str) -> Iterator[dict[str, Any]]:
        seen = 0
        while True:
            answer = self._json(what, self._send(what, "GET", path, params={**query, "limit": _PAGE, "offset": seen}))
            yield from answer[key]
            seen += len(answer[key])
            if not answer[key] or seen >= answer["total_entries"]:
                return

    def _send(self, what: str, method: str, path: str, **arguments: Any) -> requests.Response:
        arguments.setdefault("timeout", _TIMEOUT)
        # No change made here is made twice by sending it again: a new run has its id from this side.
        for pause in (*(_PAUSES if method != "GET" else ()), None):
            try:
                answer = self._http.request(method, self._base + path, allow_redirects=False, **arguments)
            except requests.RequestException as error:
                raise AirflowApiError(f"{what}: Airflow does not answer ({type(error).__name__})") from error
            if answer.status_code < 500 or pause is None:
                break
            answer.close()
            time.sleep(pause)
        if answer.ok and not answer.is_redirect:
            return answer
        with answer:
            message = f"{what}: Airflow answered {answer.status_code}: {_detail(answer)}"
            if 400 <= answer.status_code < 500 and answer.status_code not in (408, 429):
                raise AirflowRefused(answer.status_code, message)
            raise AirflowApiError(message)

    @staticmethod
    def _json(what: str, answer: requests.Response) -> dict[str, Any]:
        try:
            data = answer.json()
        except ValueError as error:
            raise AirflowApiError(f"{what}: Airflow's answer is no JSON") from error
        if not isinstance(data, dict):
            raise AirflowApiError(f"{what}: Airflow's answer is no JSON object")
        return data


def airflow_calls(request: Request) -> Iterator[AirflowCalls]:
    """Give a route its way to Airflow's API, as the caller."""
    calls = AirflowCalls(token_of(request))
    try:
        yield calls
    finally:
        calls.close()


Airflow = Annotated[AirflowCalls, Depends(airflow_calls)]


def _quoted(part: str) -> str:
    return quote(part, safe="")


def _run_path(dag_id: str, run_id: str) -> str:
    return f"/api/v2/dags/{_quoted(dag_id)}/dagRuns/{_quoted(run_id)}"


def _detail(answer: requests.Response) -> str:
    """Return the words for people in one of Airflow's error bodies, on one line."""
    try:
        detail: Any = answer.json()
    except ValueError:
        detail = answer.text
    while isinstance(detail, Mapping):
        detail = next((detail[key] for key in ("detail", "message", "reason", "title", "msg") if detail.get(key)), "")
    if isinstance(detail, list):
        detail = "; ".join(str(part.get("msg", part)) if isinstance(part, Mapping) else str(part) for part in detail)
    return " ".join(str(detail).split())[:1000] or str(answer.reason)
