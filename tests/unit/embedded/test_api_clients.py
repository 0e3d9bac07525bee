"""What goes over the wire to the APIs of Airflow and Slipway, and what becomes of odd answers."""

import json
from collections.abc import Iterator

import pytest
import requests
import responses

from slipway_cli.airflow_api import AirflowApi
from slipway_cli.api_session import ApiError, ApiRefused, ApiSession, ApiUnreachable
from slipway_cli.slipway_api import DesignRefused, SlipwayApi

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
    assert AirflowApi(session).run_state("deploy_site", "r/1") == "running"
    assert [call.request.headers.get("Authorization") for call in wire.calls] == [
        None,
        "Bearer first",
        None,
        "Bearer second",
    ]


def test_a_token_that_is_never_good_is_an_error_not_a_loop(wire: responses.RequestsMock, session: ApiSession) -> None:
    wire.get(RUN, json={"detail": "no"}, status=401)
    with pytest.raises(ApiRefused, match="HTTP 401: no"):
        AirflowApi(session).run("deploy_site", "r/1")
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
        AirflowApi(session).run("deploy_site", "r/1")
    assert str(caught.value) == f"reading run r/1: HTTP 404: {sentence}"


def test_no_answer_is_unreachable_and_names_no_password(wire: responses.RequestsMock) -> None:
    wire.post(f"{URL}/auth/token", body=requests.ConnectionError("refused"))
    with pytest.raises(ApiUnreachable, match=f"{URL} does not answer") as caught:
        AirflowApi(ApiSession(URL, "admin", "secret")).import_errors()
    assert "secret" not in str(caught.value)


def test_all_pages_of_tasks_are_read(wire: responses.RequestsMock, session: ApiSession) -> None:
    def item(index: int) -> dict[str, object]:
        common = {"state": None, "try_number": 0, "pid": None, "start_date": None, "end_date": None}
        return {"task_id": "deploy_group", "map_index": index, "rendered_map_index": f"g{index}"} | common

    for offset, size in ((0, 100), (100, 1)):
        wire.get(
            f"{RUN}/taskInstances",
            json={"task_instances": [item(offset + n) for n in range(size)]},
            match=[responses.matchers.query_param_matcher({"limit": 100, "offset": offset})],
        )
    tasks = AirflowApi(session).task_instances("deploy_site", "r/1")
    assert [task.name for task in tasks] == [f"g{n}" for n in range(101)]


def test_a_connection_is_replaced_or_else_created(wire: responses.RequestsMock, session: ApiSession) -> None:
    wire.patch(f"{URL}/api/v2/connections/c", json={"detail": "none"}, status=404)
    created = wire.post(f"{URL}/api/v2/connections", json={}, status=201)
    AirflowApi(session).set_connection("c", {"conn_type": "drydock", "host": "http://h"})
    assert created.call_count == 1
    sent = json.loads(wire.calls[-1].request.body or "")
    assert sent == {"connection_id": "c", "conn_type": "drydock", "host": "http://h"}


def test_a_dag_that_never_comes_is_explained_by_import_errors(
    wire: responses.RequestsMock, session: ApiSession
) -> None:
    wire.get(f"{URL}/api/v2/dags/deploy_site/details", json={"detail": "none"}, status=404)
    errors = [{"filename": "deploy_site.py", "stack_trace": "Traceback\nImportError: no module x\n"}]
    wire.get(f"{URL}/api/v2/importErrors", json={"import_errors": errors})
    with pytest.raises(ApiError, match=r"deploy_site\.py: ImportError: no module x"):
        AirflowApi(session).wait_for_dag("deploy_site", timeout=0)


def test_a_refused_design_names_every_problem(wire: responses.RequestsMock, session: ApiSession) -> None:
    messages = [{"message": "site.yaml:3: bad", "error": True}, {"message": "site.yaml:9: worse", "error": True}]
    wire.post(
        f"{URL}/slipway/api/v1.0/sites/alpha/revisions",
        json={"message": "refused", "details": {"messageList": messages}},
        status=400,
    )
    with pytest.raises(DesignRefused) as caught:
        SlipwayApi(session).commit("alpha", "a: b")
    assert str(caught.value) == "refused\n  site.yaml:3: bad\n  site.yaml:9: worse"


def test_a_commit_sends_yaml_and_reads_the_revision(wire: responses.RequestsMock, session: ApiSession) -> None:
    answer = {"site": "alpha", "revision": 3, "digest": "d", "created": False, "warnings": [{"message": "empty group"}]}
    wire.post(f"{URL}/slipway/api/v1.0/sites/alpha/revisions", json=answer)
    revision = SlipwayApi(session).commit("alpha", "name: Zoë")
    assert (revision.number, revision.created, revision.warnings) == (3, False, ("empty group",))
    request = wire.calls[-1].request
    assert (request.body, request.headers["Content-Type"]) == ("name: Zoë".encode(), "application/x-yaml")


def test_progress_is_none_until_slipway_has_heard_of_the_run(wire: responses.RequestsMock, session: ApiSession) -> None:
    path = f"{URL}/slipway/api/v1.0/runs/deploy_site/r%2F1"
    wire.get(path, json={"message": "unknown"}, status=404)
    wire.get(
        path, json={"action": {"state": "running", "verdict": None}, "groups": [{"name": "g", "state": "pending"}]}
    )
    assert SlipwayApi(session).progress("deploy_site", "r/1") is None
    progress = SlipwayApi(session).progress("deploy_site", "r/1")
    assert progress is not None
    assert (progress.state, [group.name for group in progress.groups]) == ("running", ["g"])
