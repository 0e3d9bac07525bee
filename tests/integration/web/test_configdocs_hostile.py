"""Documents that nobody should send: always an answer with a message, never a failure of ours, never half a write."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing

import httpx
import pytest
from fastapi import FastAPI
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from starlette.testclient import TestClient

from site_store import SiteStore, Version
from slipway_airflow.web import access
from slipway_airflow.web.app import create_app
from tests.support.configdocs import API, assert_failure, commit, put
from tests.support.hostile_documents import PATHS, SPOILT, VALUES, changed, written

leaves = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False), st.text(max_size=8))
values = st.one_of(st.sampled_from(VALUES), st.sampled_from(VALUES), leaves, st.lists(leaves, max_size=2))
changes = st.lists(st.tuples(st.sampled_from(PATHS), values), max_size=3)


@st.composite
def texts(draw: st.DrawFn) -> bytes:
    """YAML of a site with a few things wrong, now and then spoilt as a text."""
    text = written(changed(draw(changes)), pure=draw(st.booleans()))
    if draw(st.integers(0, 7)) == 0:
        place = draw(st.integers(0, len(text)))
        text = text[:place] + draw(st.sampled_from(SPOILT)) + text[place:]
    return text


@pytest.fixture(scope="module")
def anybody(airflow_app: FastAPI) -> Iterator[httpx.Client]:
    """Slipway's own application, without Airflow's around it: a thousand examples have to be quick."""
    app = create_app()
    app.dependency_overrides[access.caller] = lambda: access.Caller("tester", None)
    with pytest.MonkeyPatch.context() as patch, TestClient(app) as client:
        patch.setattr(access.Caller, "may_read", lambda caller, dag_id: True)
        patch.setattr(access.Caller, "may_create", lambda caller, kind: True)
        yield client


@pytest.fixture
def quick_store(store_url: str, store: SiteStore) -> Iterator[SiteStore]:
    """Keep a connection open: the last one that is closed would have SQLite write everything to the disk, each time."""
    with closing(sqlite3.connect(store_url.removeprefix("sqlite:///"))) as connection:
        connection.execute("SELECT count(*) FROM site").fetchall()
        yield store


@settings(max_examples=1000, deadline=None, suppress_health_check=list(HealthCheck))
@given(text=texts(), then=st.sampled_from(("refused", "refused", "dry run", "dry run", "forced")))
def test_hostile_documents(anybody: httpx.Client, quick_store: SiteStore, text: bytes, then: str) -> None:
    """Without a provisioner every commit has an error."""
    store = quick_store
    version = store.buffer_version("default")
    committed = store.version_number("default", Version.COMMITTED)
    answer = put(anybody, text, "hostile", buffermode="replace")
    if answer.status_code != 201:
        assert_failure(answer, 400)
        assert store.buffer_version("default") == version
        return
    if then == "forced":
        _force(anybody, store, (committed or 0) + 1)
        return
    refused = commit(anybody, dryrun=str(then == "dry run"))
    assert refused.status_code == (200 if then == "dry run" else 400), refused.text
    assert refused.json()["status"] == "Failure"
    assert refused.json()["details"]["errorCount"] > 0
    assert store.version_number("default", Version.COMMITTED) == committed
    assert store.buffer_version("default") == version + 1


def _force(client: httpx.Client, store: SiteStore, number: int) -> None:
    """Commit in spite of errors, and look at what was taken in: as it was, rendered, and compared."""
    forced = commit(client, force="true")
    assert forced.status_code == 200, forced.text
    assert forced.json()["revision"] == number
    assert store.buffer("default").is_empty
    for path in ("configdocs/hostile?version=committed", f"diff/configdocs?from={max(1, number - 1)}&to={number}"):
        shown = client.get(f"{API}/{path}")
        assert shown.status_code == 200, shown.text
        assert "hunter2" not in shown.text
    rendered = client.get(f"{API}/renderedconfigdocs?version=committed")
    assert rendered.status_code == (400 if store.revision("default").text is None else 200), rendered.text
