"""Stores of earlier releases, with work in every state: restored from their dumps, and upgraded."""

from __future__ import annotations

import zlib
from typing import Any

import psycopg
import pytest

from site_store import ActionState, OperationStatus, SchemaNotCurrent, SiteStore
from site_store.sql.fence import CURRENT
from strategy_lib.outcome import Outcome
from tests.support.releases import SECRET, Release, releases
from tests.support.stores import done_digests


@pytest.fixture(params=releases(), ids=lambda release: release.version)
def release(request: pytest.FixtureRequest) -> Release:
    found: Release = request.param
    return found


def _rows(url: str, query: str) -> list[tuple[Any, ...]]:
    with psycopg.connect(url) as connection:
        return connection.execute(query.encode()).fetchall()


def _words(url: str, column: str, table: str) -> set[str | None]:
    return {word for (word,) in _rows(url, f"SELECT DISTINCT {column} FROM {table}")}


def test_a_dump_has_work_in_every_state(release: Release) -> None:
    url = release.restore()
    assert _rows(url, "SELECT version_num FROM slipway_schema_version") == [(release.schema,)]
    assert _words(url, "state", "action") >= {"pending", "running", "success", "failed"}
    assert _words(url, "status", "operation") >= {"intended", "submitted", "complete", "timed_out"}
    assert _words(url, "state", "group_run") >= {"pending", "running", "success", "failure"}
    assert _words(url, "status", "node") >= {None, "processing", "success", "error", "deleted"}
    assert _words(url, "status", "task") >= {"pending", "processing", "success", "error", "unknown", "withheld"}
    for table in ("approval", "node_drift", "node_error", "repair", "repair_switch", "reported", "user_state"):
        assert _rows(url, f"SELECT count(*) FROM {table}") > [(0,)], table
    # As the release wrote them: compressed, and in clear.
    texts = [zlib.decompress(text).decode() for (text,) in _rows(url, "SELECT text FROM content")]
    assert sum(SECRET in text for text in texts) > len(_rows(url, "SELECT name FROM site"))


def test_all_work_of_a_release_is_found_again_after_the_upgrade(release: Release) -> None:
    url = release.restore()
    before = _rows(url, "SELECT id, state FROM action ORDER BY id"), _rows(url, "SELECT count(*) FROM task")
    upgraded = release.schema != CURRENT
    if upgraded:
        with pytest.raises(SchemaNotCurrent, match="slipway store upgrade"):
            SiteStore.open(url)
    assert ("upgraded from" in SiteStore.upgrade(url)) is upgraded
    with SiteStore.open(url) as store:
        assert (
            _rows(url, "SELECT id, state FROM action ORDER BY id"),
            _rows(url, "SELECT count(*) FROM task"),
        ) == before
        assert store.counts.verify().differences == ()
        assert {one.site for one in store.actions.unfinished()} == {"running", "beside", "failed", "pruned"}
        (running,) = store.actions.unfinished("running")
        assert (running.state, running.paused is not None) == (ActionState.RUNNING, True)
        (under_way,) = store.operations.unfinished("running")
        assert (under_way.status, under_way.nodes) == (OperationStatus.SUBMITTED, ("w1", "w2"))
        assert under_way.provisioner_task == f"task-{under_way.op}"
        (beside,) = store.actions.unfinished("beside")
        groups = {name: store.operations.of_action(beside.id, name) for name in ("control", "compute", "storage")}
        sent = {name: [one.sending is not None for one in found] for name, found in groups.items()}
        assert sent == {"control": [False], "compute": [True], "storage": []}
        assert [one.answered for one in store.approvals.of_action(beside.id)] == [None]
        assert list(store.user_states.of_site("led")) == ["n2"]
        assert [one.nodes for one in store.repairs.under_way("led")] == [("n1",)]
        assert [one.owner for one in store.reporters.of_site("led")] == ["reporter:burn-in"]
        assert SECRET in (store.revisions.get("led", 1).text or "")
        (posted,) = store.buffers.get("failed").posted.values()
        assert SECRET in posted.text
        # Another process goes on with it.
        (unsent,) = groups["control"]
        assert store.operations.acquire_lease(unsent.op, "worker-3:1", 30, sending=True)
        done = Outcome(frozenset(under_way.nodes), frozenset(), frozenset())
        assert store.operations.record_outcome(under_way.op, done, status=OperationStatus.COMPLETE) == frozenset()
        assert {"w1", "w2"} <= set(done_digests(store, "running"))
        assert store.counts.verify().differences == ()
