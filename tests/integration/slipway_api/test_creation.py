"""What is settled before an action is judged: the action on its site, and what a request without a name is."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from site_engine.errors import AirflowApiError
from site_engine.node_lists import keep_list
from site_store import ActionState, NewAction, SiteStore
from slipway_api.actions import creation
from slipway_api.actions.creation import create
from slipway_api.actions.dry_run import dry_run
from slipway_api.actions.request import ActionRequest
from slipway_api.http.api_errors import ApiError
from tests.support.airflow_answers import airflow
from tests.support.revisions import commit_design
from tests.support.sites import group, node, site
from tests.support.stores import new_store

CALLER = cast(Any, SimpleNamespace(require_create=lambda _: None, name="ann"))
REQUEST = ActionRequest("deploy_site", {}, "alpha", allow_intermediate=False, context_marker="")


class Reached(Exception):
    """Creation came as far as asking for the site's connection."""


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SiteStore]:
    """Open a store with a dead action on revision 3 of a site, whose newest is 4."""
    with new_store() as url, SiteStore.open(url) as opened:
        for number in range(1, 5):
            commit_design(opened, "alpha", site([node(f"n{number}")], [group("all")]))
        yield opened


@pytest.fixture
def dead(store: SiteStore) -> str:
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
