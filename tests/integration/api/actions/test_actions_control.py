"""Stop, pause and unpause: when they are possible, who may, and what they leave behind."""

from __future__ import annotations

import httpx
import pytest

from site_store import ActionState, NewAction, SiteStore, VersionChanged
from tests.integration.api.airflow_runs import ACTIONS, AirflowRuns, commit, create

pytestmark = pytest.mark.usefixtures("dags", "connected")


@pytest.fixture
def pending(user: httpx.Client, store: SiteStore) -> str:
    """Return the id of an action that has not begun."""
    commit(store)
    return str(create(user)["id"])


def control(client: httpx.Client, action_id: str, verb: str) -> httpx.Response:
    """Give a command, as Shipyard's client does."""
    return client.post(f"{ACTIONS}/{action_id}/control/{verb}", headers={"Content-Type": "application/x-yaml"})


def refused(answer: httpx.Response) -> tuple[int, str, str]:
    """Return what is said of a command that came at the wrong time."""
    return answer.status_code, answer.json()["reason"], answer.json()["message"]


def test_a_running_action_is_stopped_by_its_run(
    user: httpx.Client, store: SiteStore, airflow_runs: AirflowRuns, action: str
) -> None:
    airflow_runs.begin(action, "acquire", "running")
    answer = control(user, action, "stop")
    assert (answer.status_code, answer.content) == (202, b"")
    assert "Content-Type" in answer.headers
    # Airflow has ended its tasks, and its teardown will close the action.
    assert airflow_runs.states("deploy_site", action)["begin_action"] == "failed"
    assert airflow_runs.states("deploy_site", action)["plan_groups"] == "skipped"
    assert [(audit.command, audit.user) for audit in store.actions.commands(action)] == [
        ("invoke", "user"),
        ("stop", "user"),
    ]
    assert "stop by user" in [event.message for event in store.events.of_action(action)]


def test_a_pending_action_is_stopped_at_once_and_its_site_is_free(
    user: httpx.Client, store: SiteStore, pending: str
) -> None:
    assert control(user, pending, "stop").status_code == 202
    stopped = store.actions.get(pending)
    assert (stopped.state, stopped.verdict) == (ActionState.CANCELLED, "stopped by user before it began")
    create(user)


def test_an_action_that_is_over_is_told_in_shipyards_words(user: httpx.Client, store: SiteStore, action: str) -> None:
    store.actions.close(action, ActionState.SUCCESS, "every group succeeded")
    said = "dag_run state must be running, but is success"
    assert refused(control(user, action, "stop")) == (409, "Unable to stop action", said)
    assert refused(control(user, action, "pause")) == (409, "Unable to pause action", said)
    said = "dag_run state must be paused, but is success"
    assert refused(control(user, action, "unpause")) == (409, "Unable to unpause action", said)
    assert [audit.command for audit in store.actions.commands(action)] == ["invoke"]


def test_an_action_whose_run_may_be_on_its_way_is_not_lost(user: httpx.Client, store: SiteStore) -> None:
    made = store.actions.create(NewAction("deploy_site", "default", 1, {}, "op", context_marker=None), exclusive=True)
    answer = control(user, made.id, "stop")
    assert (answer.status_code, answer.json()["retry"]) == (409, True)
    assert store.actions.get(made.id).state is ActionState.PENDING


def test_pause_and_unpause(user: httpx.Client, store: SiteStore, action: str) -> None:
    answer = control(user, action, "pause")
    assert (answer.status_code, answer.content) == (202, b"")
    assert store.actions.get(action).paused is not None
    (listed,) = user.get(ACTIONS).json()
    assert listed["action_lifecycle"] == "Paused"
    said = "dag_run state must be running, but is paused"
    assert refused(control(user, action, "pause")) == (409, "Unable to pause action", said)
    assert control(user, action, "unpause").status_code == 202
    assert store.actions.get(action).paused is None
    said = "dag_run state must be paused, but is running"
    assert refused(control(user, action, "unpause")) == (409, "Unable to unpause action", said)
    assert [audit.command for audit in store.actions.commands(action)] == ["invoke", "pause", "unpause"]
    control(user, action, "pause")
    assert control(user, action, "stop").status_code == 202, "a paused action can be stopped"


def test_what_has_no_groups_cannot_be_paused(user: httpx.Client, store: SiteStore) -> None:
    commit(store)
    made = create(user, "relabel_nodes", target_nodes="n1")
    answer = control(user, made["id"], "pause")
    assert (answer.status_code, answer.json()["reason"]) == (409, "Unable to pause action")
    assert store.actions.get(made["id"]).paused is None


@pytest.mark.parametrize("verb", ["resume", "STOP", "%00"])
def test_another_command_is_not_supported(user: httpx.Client, action: str, verb: str) -> None:
    answer = control(user, action, verb)
    assert (answer.status_code, answer.json()["reason"]) == (404, "Control not supported")


def test_who_may_change_runs_may_control(
    user: httpx.Client, viewer: httpx.Client, store: SiteStore, action: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert control(viewer, action, "stop").status_code == 403
    # As with an auth manager that lets a user start other DAGs, and not change this one.
    monkeypatch.setattr("slipway_api.http.airflow_access.Caller.may_control", lambda _, dag_id: dag_id != "deploy_site")
    assert control(user, action, "pause").status_code == 403
    assert store.actions.get(action).paused is None


def test_of_two_commands_for_one_version_one_is_given(store: SiteStore, action: str) -> None:
    version = store.actions.get(action).version
    store.actions.take_version(action, version)
    with pytest.raises(VersionChanged) as caught:
        store.actions.take_version(action, version)
    assert (caught.value.wanted, caught.value.version) == (version, version + 1)
