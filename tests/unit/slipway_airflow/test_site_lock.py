"""Actions whose DAG run is gone, and those whose DAG run is only about to be (rule 24)."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from site_store import ActionState, SiteStore
from slipway_airflow.site_lock import TRIGGER_TIME, reconcile, take_site

LOG = logging.getLogger("site-lock")


class Clock:
    """Says what time it is."""

    def __init__(self) -> None:
        self.ago = timedelta()

    def __call__(self) -> datetime:
        return datetime.now(UTC) - self.ago


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def store(tmp_path: Path, clock: Clock) -> Iterator[SiteStore]:
    url = f"sqlite:///{tmp_path / 'slipway.db'}"
    SiteStore.upgrade(url)
    with SiteStore.open(url, clock) as opened:
        yield opened


def ask(store: SiteStore) -> str:
    """Ask for an action."""
    return store.create_action("deploy_site", "alpha", 1, {}, "tester", context_marker=None, exclusive=False).id


def no_run(dag_id: str, run_id: str) -> None:
    """There is no such DAG run."""


@pytest.mark.parametrize(
    ("age", "state"),
    [
        (timedelta(), ActionState.PENDING),
        (TRIGGER_TIME - timedelta(seconds=5), ActionState.PENDING),
        (TRIGGER_TIME + timedelta(seconds=1), ActionState.CANCELLED),
    ],
)
def test_a_request_without_a_run_is_left_alone_while_its_trigger_may_be_on_the_way(
    store: SiteStore, clock: Clock, age: timedelta, state: ActionState
) -> None:
    clock.ago = age
    action_id = ask(store)
    reconcile(store, action_id, no_run)
    assert store.action(action_id).state is state


@pytest.mark.parametrize("run", ["success", "failed"])
def test_a_request_whose_run_is_over_is_closed_however_young(store: SiteStore, run: str) -> None:
    action_id = ask(store)
    reconcile(store, action_id, lambda *_: run)
    assert store.action(action_id).state is ActionState.CANCELLED


def test_a_running_action_whose_run_is_gone_is_closed_at_once(store: SiteStore) -> None:
    action_id = ask(store)
    take_site(store, action_id, no_run, LOG)
    reconcile(store, action_id, no_run)
    assert store.action(action_id).state is ActionState.CANCELLED
    assert store.site_owner("alpha") is None
