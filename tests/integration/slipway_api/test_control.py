"""Commands to an action: one whose run is over or gone is closed first, whatever the command is (rule 24)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from site_engine.errors import AirflowApiError
from site_store import ActionState, NewAction, SiteStore
from slipway_api.actions.control import COMMANDS, give_command
from slipway_api.http.api_errors import ApiError
from tests.support.airflow_answers import airflow
from tests.support.stores import new_store


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SiteStore]:
    with new_store() as url, SiteStore.open(url) as opened:
        yield opened


@pytest.fixture
def running(store: SiteStore) -> str:
    """Return the id of an action that holds its site."""
    action = store.actions.create(NewAction("deploy_site", "alpha", 1, {}, "ann", context_marker=None), exclusive=True)
    store.locks.acquire(action.id)
    return action.id


@pytest.mark.parametrize("verb", COMMANDS)
@pytest.mark.parametrize("run_state", ["success", "failed", None])
def test_rule_24_no_command_is_taken_for_an_action_whose_run_is_over_or_gone(
    store: SiteStore, running: str, verb: str, run_state: str | None
) -> None:
    store.actions.set_paused(running, verb == "unpause")
    with pytest.raises(ApiError, match="but is failed") as refused:
        give_command(store, airflow(run_state), store.actions.get(running), verb, "ann")
    assert (refused.value.status, refused.value.reason) == (409, f"Unable to {verb} action")
    assert store.actions.get(running).state is ActionState.CANCELLED
    assert store.locks.owner("alpha") is None
    assert verb not in [audit.command for audit in store.actions.commands(running)]


def test_while_airflow_does_not_answer_an_action_can_be_paused_and_not_stopped(store: SiteStore, running: str) -> None:
    away = airflow(AirflowApiError("Airflow does not answer"))
    give_command(store, away, store.actions.get(running), "pause", "ann")
    assert store.actions.get(running).paused is not None
    with pytest.raises(AirflowApiError):
        give_command(store, away, store.actions.get(running), "stop", "ann")
    give_command(store, away, store.actions.get(running), "unpause", "ann")
    assert store.actions.get(running).paused is None
    assert [audit.command for audit in store.actions.commands(running)][-2:] == ["pause", "unpause"]
