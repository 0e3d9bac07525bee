"""Which connection an action uses: decided once, on definite answers alone."""

from __future__ import annotations

import json
from typing import Any

import pytest
from airflow.sdk.exceptions import AirflowRuntimeError, ErrorType
from airflow.sdk.execution_time import task_runner
from airflow.sdk.execution_time.comms import ConnectionResult, DRCount, ErrorResponse, GetConnection, GetDRCount

from site_engine.errors import ConnectionLookupFailed, SettingsError
from site_store import ActionRecord, NewAction, SiteStore
from slipway_airflow import connections
from slipway_airflow.connections import find_connection, find_for_site, for_action, for_site

OWN, SHARED = "slipway_provisioner_alpha", "slipway_provisioner"
MISSING = ErrorResponse(error=ErrorType.CONNECTION_NOT_FOUND)
COUNTED = DRCount(count=0)


class Supervisor:
    """Answers what a task asks of Airflow: for each connection the next of these answers, the last one again and again.

    An exception among them is raised, as the task SDK does. Under "database" is what a count of DAG runs is answered.
    """

    def __init__(self, **answers: list[Any]) -> None:
        self.answers: dict[str, list[Any]] = {"database": [COUNTED], SHARED: [found(SHARED)], **answers}
        self.asked: list[str] = []

    def send(self, question: Any) -> Any:
        """Answer one question."""
        if isinstance(question, GetConnection):
            self.asked.append(question.conn_id)
            key = question.conn_id
        elif isinstance(question, GetDRCount):
            key = "database"
        else:
            return None
        answers = self.answers[key]
        answer = answers.pop(0) if len(answers) > 1 else answers[0]
        if isinstance(answer, Exception):
            raise answer
        return answer


def found(conn_id: str) -> ConnectionResult:
    """Return an answer that has the connection."""
    nothing = dict.fromkeys(("login", "password", "schema"))
    given = {"conn_id": conn_id, "conn_type": "drydock", "host": f"http://{conn_id}", "extra": "{}", "port": 0}
    return ConnectionResult.model_validate({**nothing, **given})


@pytest.fixture(autouse=True)
def _in_a_task(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "_BETWEEN_LOOKS", 0.0)
    monkeypatch.delenv("AIRFLOW_CONN_SLIPWAY_PROVISIONER", raising=False)


def ask(monkeypatch: pytest.MonkeyPatch, **answers: list[Any]) -> Supervisor:
    """Let what follows run in a task whose supervisor answers this."""
    supervisor = Supervisor(**answers)
    monkeypatch.setattr(task_runner, "SUPERVISOR_COMMS", supervisor, raising=False)
    return supervisor


def test_a_sites_own_connection_comes_first(monkeypatch: pytest.MonkeyPatch) -> None:
    supervisor = ask(monkeypatch, **{OWN: [found(OWN)]})
    connection = find_for_site("alpha")
    assert connection is not None
    assert (connection.id, connection.values.url) == (OWN, f"http://{OWN}")
    assert supervisor.asked == [OWN]


def test_the_one_for_all_sites_is_used_where_there_is_certainly_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    supervisor = ask(monkeypatch, **{OWN: [MISSING]})
    connection = find_for_site("alpha")
    assert connection is not None
    assert connection.id == SHARED
    assert supervisor.asked == [OWN, OWN, OWN, SHARED]


@pytest.mark.parametrize(
    "trouble",
    [
        pytest.param([ErrorResponse(error=ErrorType.API_SERVER_ERROR)], id="the API server fails"),
        pytest.param([AirflowRuntimeError(ErrorResponse(error=ErrorType.GENERIC_ERROR))], id="as the SDK raises it"),
        pytest.param([ErrorResponse(error=ErrorType.PERMISSION_DENIED)], id="not allowed"),
        pytest.param([ConnectionResetError("the supervisor is gone")], id="the supervisor is gone"),
        pytest.param([None], id="no answer"),
        pytest.param([MISSING, ErrorResponse(error=ErrorType.API_SERVER_ERROR)], id="only once not found"),
    ],
)
def test_trouble_is_never_taken_for_not_found(monkeypatch: pytest.MonkeyPatch, trouble: list[Any]) -> None:
    supervisor = ask(monkeypatch, **{OWN: trouble})
    with pytest.raises(ConnectionLookupFailed, match=f"whether there is an Airflow connection '{OWN}' is not known"):
        find_for_site("alpha")
    assert SHARED not in supervisor.asked


@pytest.mark.parametrize(
    "database", [ErrorResponse(error=ErrorType.API_SERVER_ERROR), ConnectionResetError("gone"), None]
)
def test_not_found_is_not_believed_while_airflows_database_does_not_answer(
    monkeypatch: pytest.MonkeyPatch, database: Any
) -> None:
    """The API server answers 404 for whatever goes wrong in its look-up."""
    supervisor = ask(monkeypatch, **{OWN: [MISSING], "database": [COUNTED, database]})
    with pytest.raises(ConnectionLookupFailed):
        find_for_site("alpha")
    assert SHARED not in supervisor.asked


def test_a_connection_that_was_not_found_for_a_moment_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    ask(monkeypatch, **{OWN: [MISSING, found(OWN)]})
    connection = find_for_site("alpha")
    assert connection is not None
    assert connection.id == OWN


def test_neither_exists(monkeypatch: pytest.MonkeyPatch) -> None:
    ask(monkeypatch, **{OWN: [MISSING], SHARED: [MISSING]})
    assert find_for_site("alpha") is None
    with pytest.raises(SettingsError, match=f"create an Airflow connection '{OWN}' or '{SHARED}'"):
        for_site("alpha")


def test_a_connection_in_the_environment_is_no_question_to_airflow(monkeypatch: pytest.MonkeyPatch) -> None:
    supervisor = ask(monkeypatch)
    monkeypatch.setenv(
        "AIRFLOW_CONN_SLIPWAY_PROVISIONER", json.dumps({"conn_type": "drydock", "host": "http://drydock:9000"})
    )
    connection = find_connection(SHARED)
    assert connection is not None
    assert connection.host == "http://drydock:9000"
    assert supervisor.asked == []


@pytest.fixture
def action(store: SiteStore) -> ActionRecord:
    """Begin an action that was started in Airflow's pages: its connection is not decided."""
    return store.actions.ensure("deploy_site", "manual__1", NewAction("deploy_site", "alpha", 1, {}, "tester"))


def test_the_first_task_decides_and_no_other_connection_is_used_then(
    store: SiteStore, action: ActionRecord, monkeypatch: pytest.MonkeyPatch
) -> None:
    ask(monkeypatch, **{OWN: [found(OWN)]})
    assert for_action(store, action).id == OWN
    decided = store.actions.get(action.id)
    assert decided.connection == OWN
    supervisor = ask(monkeypatch, **{OWN: [MISSING]})
    for record in (decided, action):
        with pytest.raises(ConnectionLookupFailed, match=f"'{OWN}', which action {action.id} uses, is not there any"):
            for_action(store, record)
    assert SHARED not in supervisor.asked


def test_what_was_decided_first_stays(store: SiteStore, action: ActionRecord, monkeypatch: pytest.MonkeyPatch) -> None:
    ask(monkeypatch, **{OWN: [found(OWN)]})
    assert store.actions.decide_connection(action.id, SHARED) == SHARED
    assert store.actions.decide_connection(action.id, OWN) == SHARED
    assert for_action(store, action).id == SHARED


def test_nothing_is_decided_in_an_outage(
    store: SiteStore, action: ActionRecord, monkeypatch: pytest.MonkeyPatch
) -> None:
    ask(monkeypatch, **{OWN: [ErrorResponse(error=ErrorType.API_SERVER_ERROR)]})
    with pytest.raises(ConnectionLookupFailed):
        for_action(store, action)
    assert store.actions.get(action.id).connection is None
