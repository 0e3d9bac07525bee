"""Commands to an action, and its creation: one whose run is over or gone is closed first (rule 24)."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

import pytest

from site_engine.errors import AirflowApiError
from site_engine.node_lists import keep_list
from site_store import ActionState, NewAction, SiteStore
from slipway_api.actions import creation
from slipway_api.actions.control import COMMANDS, give_command
from slipway_api.actions.creation import create, dry_run
from slipway_api.actions.request import ActionRequest
from slipway_api.http.api_errors import ApiError
from tests.support.airflow_answers import airflow
from tests.support.revisions import commit_design
from tests.support.sites import group, node, site


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


CALLER = cast(Any, SimpleNamespace(require_create=lambda _: None, name="ann"))
REQUEST = ActionRequest("deploy_site", {}, "alpha", allow_intermediate=False, context_marker="")


class Reached(Exception):
    """Creation came as far as asking for the site's connection."""


@pytest.fixture
def dead(store: SiteStore) -> str:
    """Return the id of a dead action on revision 3 of a site, whose newest is 4."""
    for number in range(1, 5):
        commit_design(store, "alpha", site([node(f"n{number}")], [group("all")]))
    action = store.actions.create(NewAction("deploy_site", "alpha", 3, {}, "ann", context_marker=None), exclusive=True)
    store.locks.acquire(action.id)
    return action.id


def test_a_dead_action_on_the_site_has_passed_over_commits_as_one_that_is_closed(store: SiteStore, dead: str) -> None:
    keep_list(store, "alpha", "slipway_provisioner", {})
    assert dry_run(REQUEST, store, airflow(None), CALLER)["revision"] == 4
    assert store.actions.get(dead).state is ActionState.CANCELLED
    assert store.locks.owner("alpha") is None


def test_creating_an_action_settles_the_one_on_the_site_too(
    store: SiteStore, dead: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def provisioners() -> Any:
        raise Reached

    monkeypatch.setattr(creation, "provisioners", provisioners)
    with pytest.raises(Reached):
        create(REQUEST, store, airflow("failed"), CALLER)
    assert store.actions.get(dead).state is ActionState.CANCELLED


@pytest.mark.parametrize("answer", ["running", AirflowApiError("Airflow does not answer")])
def test_an_action_that_goes_on_or_may_do_so_is_left_alone(
    store: SiteStore, dead: str, answer: str | Exception
) -> None:
    with pytest.raises(ApiError, match="never deployed") as refused:
        dry_run(REQUEST, store, airflow(answer), CALLER)
    assert (refused.value.status, refused.value.reason) == (409, "Intermediate Commits")
    assert store.actions.get(dead).state is ActionState.RUNNING


@pytest.mark.parametrize(("name", "reason"), [(None, "Bad Request"), ("", "Bad Request"), ("x", "Unsupported Action")])
def test_a_request_without_a_name_is_bad_and_one_with_a_wrong_name_unsupported(name: str | None, reason: str) -> None:
    with pytest.raises(ApiError) as refused:
        create(replace(REQUEST, kind=name), cast(Any, None), airflow(None), CALLER)
    assert (refused.value.status, refused.value.reason) == (400, reason)
