"""What goes over the wire to the APIs of Airflow and Slipway, and what becomes of odd answers."""

import base64
import hashlib
import json
import time
from collections.abc import Iterator

import pytest
import requests
import responses

from api_client.airflow import AirflowClient
from api_client.session import ApiError, ApiRefused, ApiSession, ApiUnreachable
from api_client.slipway import DesignRefused, SlipwayClient

URL = "http://127.0.0.1:1"
RUN = f"{URL}/api/v2/dags/deploy_site/dagRuns/r%2F1"


@pytest.fixture
def wire() -> Iterator[responses.RequestsMock]:
    with responses.RequestsMock() as mock:
        yield mock


@pytest.fixture
def session(wire: responses.RequestsMock) -> ApiSession:
    wire.post(f"{URL}/auth/token", json={"access_token": "first"}, status=201)
    return ApiSession(URL + "/", "admin", "secret")


def test_an_expired_token_is_fetched_anew_once(wire: responses.RequestsMock, session: ApiSession) -> None:
    wire.get(RUN, json={"detail": "expired"}, status=401)
    wire.post(f"{URL}/auth/token", json={"access_token": "second"}, status=201)
    wire.get(RUN, json={"state": "running"})
    assert AirflowClient(session).run_state("deploy_site", "r/1") == "running"
    assert [call.request.headers.get("Authorization") for call in wire.calls] == [
        None,
        "Bearer first",
        None,
        "Bearer second",
    ]


def test_a_token_is_renewed_before_it_ends(wire: responses.RequestsMock, monkeypatch: pytest.MonkeyPatch) -> None:
    payload = base64.urlsafe_b64encode(json.dumps({"exp": 1_000_100}).encode()).decode().rstrip("=")
    wire.post(f"{URL}/auth/token", json={"access_token": f"head.{payload}.signature"}, status=201)
    wire.post(f"{URL}/auth/token", json={"access_token": "second"}, status=201)
    session, now = ApiSession(URL, "slipway", "secret"), [1_000_000.0]
    monkeypatch.setattr("api_client.session.time.time", lambda: now[0])
    first = session.token()
    now[0] += 89
    assert session.token() == first
    now[0] += 1
    assert session.token() == "second"


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


@pytest.mark.parametrize(("status", "problem"), [(200, None), (503, "Drydock does not answer"), (502, "refused")])
def test_what_is_wrong_with_a_provisioner(
    wire: responses.RequestsMock, session: ApiSession, status: int, problem: str | None
) -> None:
    wire.get(f"{URL}/slipway/api/v1.0/provisioner", json={"message": problem}, status=status)
    assert SlipwayClient(session).provisioner_problem("alpha") == problem


def test_an_api_that_refuses_says_nothing_of_the_provisioner(wire: responses.RequestsMock, session: ApiSession) -> None:
    wire.get(f"{URL}/slipway/api/v1.0/provisioner", json={"message": "no"}, status=403)
    with pytest.raises(ApiRefused, match="HTTP 403"):
        SlipwayClient(session).provisioner_problem("alpha")


def test_what_is_wrong_with_airflows_components(wire: responses.RequestsMock, session: ApiSession) -> None:
    health = {
        "metadatabase": {"status": "healthy"},
        "scheduler": {"status": "unhealthy", "latest_scheduler_heartbeat": "2026-01-01T00:00:00"},
        "triggerer": {"status": None, "latest_triggerer_heartbeat": None},
        "dag_processor": {"status": "healthy", "latest_dag_processor_heartbeat": "2026-01-01T00:00:00"},
    }
    wire.get(f"{URL}/api/v2/monitor/health", json=health)
    assert AirflowClient(session).component_problems() == {
        "metadatabase": None,
        "scheduler": "Airflow says unhealthy, its last sign of life was at 2026-01-01T00:00:00",
        "dag-processor": None,
    }


def test_a_token_that_is_never_good_is_an_error_not_a_loop(wire: responses.RequestsMock, session: ApiSession) -> None:
    wire.get(RUN, json={"detail": "no"}, status=401)
    with pytest.raises(ApiRefused, match="HTTP 401: no"):
        AirflowClient(session).run("deploy_site", "r/1")
    assert len(wire.calls) == 4


@pytest.mark.parametrize(
    ("answer", "sentence"),
    [
        ({"detail": "no such run"}, "no such run"),
        ({"detail": {"reason": "not found"}}, "not found"),
        ({"detail": [{"msg": "conf is wrong"}, {"msg": "so is note"}]}, "conf is wrong; so is note"),
        ({"message": "Slipway's own"}, "Slipway's own"),
        ("<html>", "<html>"),
    ],
)
def test_the_answers_own_words_are_in_the_message(
    wire: responses.RequestsMock, session: ApiSession, answer: object, sentence: str
) -> None:
    wire.get(RUN, body=answer if isinstance(answer, str) else json.dumps(answer), status=404)
    with pytest.raises(ApiRefused) as caught:
        AirflowClient(session).run("deploy_site", "r/1")
    assert str(caught.value) == f"reading run r/1: HTTP 404: {sentence}"


def test_no_answer_is_unreachable_and_names_no_password(wire: responses.RequestsMock) -> None:
    wire.post(f"{URL}/auth/token", body=requests.ConnectionError("refused"))
    with pytest.raises(ApiUnreachable, match=f"{URL} does not answer") as caught:
        AirflowClient(ApiSession(URL, "admin", "secret")).import_errors()
    assert "secret" not in str(caught.value)


def test_all_pages_of_tasks_are_read(wire: responses.RequestsMock, session: ApiSession) -> None:
    def item(index: int) -> dict[str, object]:
        common = {"state": None, "try_number": 0, "pid": None, "start_date": None, "end_date": None}
        return {"task_id": "deploy_group", "map_index": index, "rendered_map_index": f"g{index}"} | common

    for offset, size in ((0, 100), (100, 1)):
        wire.get(
            f"{RUN}/taskInstances",
            json={"task_instances": [item(offset + n) for n in range(size)], "total_entries": 101},
            match=[responses.matchers.query_param_matcher({"limit": 100, "offset": offset})],
        )
    tasks = AirflowClient(session).tasks("deploy_site", "r/1")
    assert [task.name for task in tasks] == [f"g{n}" for n in range(101)]


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


def test_a_redirection_is_not_followed(wire: responses.RequestsMock, session: ApiSession) -> None:
    wire.get(RUN, status=301, headers={"Location": "https://elsewhere/"})
    with pytest.raises(ApiError, match="points to https://elsewhere/; use the URL of that place"):
        AirflowClient(session).run("deploy_site", "r/1")


def test_what_is_no_airflow_is_told(wire: responses.RequestsMock) -> None:
    wire.post(f"{URL}/auth/token", body="<html>", content_type="text/html")
    with pytest.raises(ApiError, match=r"is not Slipway: it sent text/html instead of JSON\. Check the URL"):
        ApiSession(URL, "admin", "secret").token()


def test_a_given_token_is_not_fetched_anew() -> None:
    with responses.RequestsMock() as mock:
        mock.get(RUN, json={"message": "expired"}, status=401)
        with pytest.raises(ApiRefused, match="HTTP 401: expired"):
            AirflowClient(ApiSession.with_token(URL, "admin", "kept")).run("deploy_site", "r/1")
        assert [call.request.headers["Authorization"] for call in mock.calls] == ["Bearer kept"]


def test_requests_can_be_traced_without_their_secrets(wire: responses.RequestsMock, session: ApiSession) -> None:
    told: list[str] = []
    session.trace = told.append
    wire.get(RUN, json={"state": "running"}, headers={"X-Shipyard-Req": "r-1"})
    AirflowClient(session).run_state("deploy_site", "r/1")
    assert [line.partition(" in ")[0] for line in told] == [f"POST {URL}/auth/token: 201", f"GET {RUN}: 200"]
    assert told[1].endswith("request r-1")
    assert not any("first" in line or "secret" in line for line in told)


def test_a_dag_that_never_comes_is_explained_by_import_errors(
    wire: responses.RequestsMock, session: ApiSession
) -> None:
    wire.get(f"{URL}/api/v2/dags/deploy_site/details", json={"detail": "none"}, status=404)
    errors = [{"filename": "deploy_site.py", "stack_trace": "Traceback\nImportError: no module x\n"}]
    wire.get(f"{URL}/api/v2/importErrors", json={"import_errors": errors})
    with pytest.raises(ApiError, match=r"deploy_site\.py: ImportError: no module x"):
        AirflowClient(session).wait_for_dag("deploy_site", timeout=0)


API = f"{URL}/slipway/api/v1.0"
DIGEST = hashlib.sha256("name: Zoë".encode()).hexdigest()


def newest(wire: responses.RequestsMock, *revisions: dict[str, object]) -> None:
    wire.get(f"{API}/revisions", json=list(revisions))


def test_a_refused_design_names_every_error(wire: responses.RequestsMock, session: ApiSession) -> None:
    newest(wire)
    wire.post(f"{API}/configdocs/design", json={}, status=201, headers={"ETag": '"1"'})
    messages = [{"message": "design:3: bad", "error": True}, {"message": "design:9: worse", "error": True}]
    warning = {"message": "design:4: odd", "error": False}
    wire.post(
        f"{API}/commitconfigdocs",
        json={"message": "Validations failed", "details": {"messageList": [*messages, warning]}},
        status=400,
    )
    with pytest.raises(DesignRefused) as caught:
        SlipwayClient(session).commit("alpha", "a: b")
    assert str(caught.value) == "Validations failed\n  design:3: bad\n  design:9: worse"


def test_a_design_is_loaded_as_it_is_and_exactly_that_is_committed(
    wire: responses.RequestsMock, session: ApiSession
) -> None:
    newest(wire)
    loaded = wire.post(f"{API}/configdocs/design", json={}, status=201, headers={"ETag": '"7"'})
    messages = [{"message": "empty group", "error": False}]
    answer = {"site": "alpha", "revision": 3, "digest": "d", "details": {"messageList": messages}}
    wire.post(f"{API}/commitconfigdocs", json=answer)
    revision = SlipwayClient(session).commit("alpha", "name: Zoë")
    assert (revision.number, revision.created, revision.warnings) == (3, True, ("empty group",))
    request = loaded.calls[0].request
    assert (request.body, request.headers["Content-Type"]) == ("name: Zoë".encode(), "application/x-yaml")
    assert request.params == {"site": "alpha", "buffermode": "replace", "empty-collection": "false"}
    assert wire.calls[-1].request.headers["If-Match"] == '"7"'


def test_a_design_that_is_there_already_is_not_committed_again(
    wire: responses.RequestsMock, session: ApiSession
) -> None:
    newest(wire, {"revision": 4, "digest": "d", "collections": [{"name": "design", "digest": DIGEST}]})
    revision = SlipwayClient(session).commit("alpha", "name: Zoë")
    assert (revision.number, revision.created) == (4, False)


def test_a_design_takes_the_place_of_all_other_collections(wire: responses.RequestsMock, session: ApiSession) -> None:
    held = [{"name": "design", "digest": "old"}, {"name": "extra", "digest": "e"}]
    newest(wire, {"revision": 4, "digest": "d", "collections": held})
    removed = wire.post(f"{API}/configdocs/extra", json={}, status=201, headers={"ETag": '"1"'})
    loaded = wire.post(f"{API}/configdocs/design", json={}, status=201, headers={"ETag": '"2"'})
    wire.post(f"{API}/commitconfigdocs", json={"revision": 5, "digest": "d", "details": {"messageList": []}})
    SlipwayClient(session).commit("alpha", "name: Zoë")
    sent = [answer.calls[0].request.params for answer in (removed, loaded)]
    assert [(each["buffermode"], each["empty-collection"]) for each in sent] == [
        ("replace", "true"),
        ("append", "false"),
    ]
    assert wire.calls[-1].request.headers["If-Match"] == '"2"'


def test_an_action_is_created_with_a_marker(wire: responses.RequestsMock, session: ApiSession) -> None:
    answer = {
        "id": "A" * 26,
        "run_id": "alpha__" + "A" * 26,
        "name": "deploy_site",
        "state": "pending",
        "context_marker": "m",
    }
    created = wire.post(f"{API}/actions", json=answer, status=201)
    action = SlipwayClient(session).create_action("alpha", "deploy_site", {"force": True}, marker="m")
    assert (action.id, action.is_over) == ("A" * 26, False)
    request = created.calls[0].request
    assert request.headers["X-Context-Marker"] == "m"
    assert json.loads(request.body) == {"name": "deploy_site", "parameters": {"force": True}}
    assert request.params == {"site": "alpha", "allow-intermediate-commits": "false"}


def test_progress_is_none_until_slipway_has_heard_of_the_run(wire: responses.RequestsMock, session: ApiSession) -> None:
    path = f"{URL}/slipway/api/v1.0/runs/deploy_site/r%2F1"
    wire.get(path, json={"message": "unknown"}, status=404)
    wire.get(
        path, json={"action": {"state": "running", "verdict": None}, "groups": [{"name": "g", "state": "pending"}]}
    )
    assert SlipwayClient(session).progress("deploy_site", "r/1") is None
    progress = SlipwayClient(session).progress("deploy_site", "r/1")
    assert progress is not None
    assert (progress.state, [group.name for group in progress.groups]) == ("running", ["g"])
