"""What goes over the wire to Airflow's API."""

from __future__ import annotations

import json
import time

import pytest
import responses

from api_client.airflow import AirflowClient
from api_client.session import ApiError, ApiRefused, ApiSession
from tests.unit.api_client.conftest import RUN, URL


def test_the_states_of_many_runs(wire: responses.RequestsMock, session: ApiSession) -> None:
    wanted = {("deploy_site", f"alpha__{number:03}") for number in range(101)}

    def page(prefixes: range, offset: int, total: int, runs: list[tuple[str, str, str]]) -> None:
        pattern = "|".join(f"alpha__{number:03}" for number in prefixes)
        query = {"run_id_prefix_pattern": pattern, "limit": 100, "offset": offset}
        answer = [{"dag_id": dag_id, "dag_run_id": run_id, "state": state} for dag_id, run_id, state in runs]
        wire.get(
            f"{URL}/api/v2/dags/~/dagRuns",
            json={"dag_runs": answer, "total_entries": total},
            match=[responses.matchers.query_param_matcher(query)],
        )

    # One of another DAG, and one whose id only begins so, are not among those that were asked for.
    strangers = [("update_site", "alpha__001", "failed"), ("deploy_site", "alpha__001x", "failed")]
    page(range(100), 0, 3, [("deploy_site", "alpha__001", "running"), *strangers[:1]])
    page(range(100), 2, 3, strangers[1:])
    page(range(100, 101), 0, 1, [("deploy_site", "alpha__100", "success")])
    assert AirflowClient(session).run_states(wanted) == {
        ("deploy_site", "alpha__001"): "running",
        ("deploy_site", "alpha__100"): "success",
    }


def test_all_pages_of_tasks_are_read(wire: responses.RequestsMock, session: ApiSession) -> None:
    def item(index: int) -> dict[str, object]:
        return {"task_id": "deploy_group", "map_index": index, "state": f"g{index}"}

    for offset, size in ((0, 100), (100, 1)):
        wire.get(
            f"{RUN}/taskInstances",
            json={"task_instances": [item(offset + n) for n in range(size)], "total_entries": 101},
            match=[responses.matchers.query_param_matcher({"limit": 100, "offset": offset})],
        )
    states = AirflowClient(session).task_states("deploy_site", "r/1")
    assert states == {("deploy_group", n): f"g{n}" for n in range(101)}


def test_a_connection_is_replaced_or_else_created(wire: responses.RequestsMock, session: ApiSession) -> None:
    wire.patch(f"{URL}/api/v2/connections/c", json={"detail": "none"}, status=404)
    created = wire.post(f"{URL}/api/v2/connections", json={}, status=201)
    AirflowClient(session).set_connection("c", {"conn_type": "drydock", "host": "http://h"})
    assert created.call_count == 1
    sent = json.loads(wire.calls[-1].request.body or "")
    assert sent == {"connection_id": "c", "conn_type": "drydock", "host": "http://h"}


def test_a_busy_airflow_is_asked_again(
    wire: responses.RequestsMock, session: ApiSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    pauses: list[float] = []
    monkeypatch.setattr(time, "sleep", pauses.append)
    busy = wire.patch(f"{URL}/api/v2/connections/c", json={"detail": "the database is away"}, status=500)
    good = wire.patch(f"{URL}/api/v2/connections/c", json={})
    AirflowClient(session).set_connection("c", {})
    assert (busy.call_count, good.call_count, len(pauses)) == (1, 1, 1)


def test_a_run_is_started_once_by_an_airflow_that_fails_after_it(
    wire: responses.RequestsMock, session: ApiSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(time, "sleep", lambda _: None)
    runs = f"{URL}/api/v2/dags/deploy_site/dagRuns"
    wire.post(runs, json={"detail": "the database is away"}, status=500)
    wire.post(runs, json={"detail": "there is one"}, status=409)
    run_id = AirflowClient(session).trigger("deploy_site", {"site": "a"})
    sent = [json.loads(call.request.body or "")["dag_run_id"] for call in list(wire.calls)[1:]]
    assert sent == [run_id, run_id]
    wire.replace(responses.POST, runs, json={"detail": "there is one"}, status=409)
    with pytest.raises(ApiRefused, match="409"):
        AirflowClient(session).trigger("deploy_site", {}, run_id)


def test_a_dag_that_never_comes_is_explained_by_import_errors(
    wire: responses.RequestsMock, session: ApiSession
) -> None:
    wire.get(f"{URL}/api/v2/dags/deploy_site/details", json={"detail": "none"}, status=404)
    errors = [{"filename": "deploy_site.py", "stack_trace": "Traceback\nImportError: no module x\n"}]
    wire.get(f"{URL}/api/v2/importErrors", json={"import_errors": errors})
    with pytest.raises(ApiError, match=r"deploy_site\.py: ImportError: no module x"):
        AirflowClient(session).wait_for_dag("deploy_site", timeout=0)
