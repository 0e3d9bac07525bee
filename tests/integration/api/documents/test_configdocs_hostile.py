"""Documents that nobody should send: always an answer with a message, never a failure of ours, never half a write."""

from __future__ import annotations

from collections.abc import Iterator

import httpx
import psycopg
import pytest
from fastapi import FastAPI
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from starlette.testclient import TestClient

from site_store import SiteStore
from slipway_airflow import connections
from slipway_api.app import create_app
from slipway_api.http import airflow_access as access
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
    app = create_app(connections)
    app.dependency_overrides[access.caller] = lambda: access.Caller("tester", None)
    with pytest.MonkeyPatch.context() as patch, TestClient(app) as client:
        patch.setattr(access.Caller, "may_read", lambda caller, dag_id: True)
        patch.setattr(access.Caller, "may_create", lambda caller, kind: True)
        yield client


class Facts:
    """What the store holds, read from its tables over one open connection."""

    def __init__(self, url: str) -> None:
        self.connection = psycopg.connect(url, autocommit=True)

    def __call__(self) -> tuple[int, int]:
        """Return the buffer's version and the newest revision's number."""
        newest = b"SELECT (SELECT max(version) FROM buffer), (SELECT max(number) FROM revision)"
        found = self.connection.execute(newest).fetchone()
        assert found is not None
        return found[0] or 0, found[1] or 0


@pytest.fixture
def facts(store_url: str) -> Iterator[Facts]:
    """Look into this test's store."""
    facts = Facts(store_url)
    yield facts
    facts.connection.close()


@pytest.mark.parametrize(
    "number", [4, pytest.param(100, marks=pytest.mark.endurance), pytest.param(1000, marks=pytest.mark.soak)]
)
def test_hostile_documents(anybody: httpx.Client, store: SiteStore, facts: Facts, number: int) -> None:
    """Without a provisioner every commit has an error."""

    @settings(max_examples=number, deadline=None, suppress_health_check=list(HealthCheck), database=None)
    @given(text=texts(), then=st.sampled_from(("refused", "refused", "dry run", "dry run", "forced")))
    def send(text: bytes, then: str) -> None:
        send_and_look(anybody, store, facts, text, then)

    send()


def send_and_look(anybody: httpx.Client, store: SiteStore, facts: Facts, text: bytes, then: str) -> None:
    """Put a text into the buffer, do with it what is to be done then, and look at the answers and the store."""
    version, newest = facts()
    answer = put(anybody, text, "hostile", buffermode="replace")
    if answer.status_code != 201:
        assert_failure(answer, 400)
        assert facts() == (version, newest)
        return
    assert facts() == (version + 1, newest)
    if then == "forced":
        _force(anybody, store, newest + 1)
        assert facts() == (version + 2, newest + 1)
        return
    refused = commit(anybody, dryrun=str(then == "dry run"))
    assert refused.status_code == (200 if then == "dry run" else 400), refused.text
    assert refused.json()["status"] == "Failure"
    assert refused.json()["details"]["errorCount"] > 0
    assert facts() == (version + 1, newest)


def _force(client: httpx.Client, store: SiteStore, number: int) -> None:
    """Commit in spite of errors, and look at what was taken in: as it was, rendered, and compared."""
    forced = commit(client, force="true")
    assert forced.status_code == 200, forced.text
    assert forced.json()["revision"] == number
    assert store.buffers.get("default").is_empty
    for path in ("configdocs/hostile?version=committed", f"diff/configdocs?from={max(1, number - 1)}&to={number}"):
        shown = client.get(f"{API}/{path}")
        assert shown.status_code == 200, shown.text
    rendered = client.get(f"{API}/renderedconfigdocs?version=committed")
    assert rendered.status_code == (400 if store.revisions.get("default").text is None else 200), rendered.text
