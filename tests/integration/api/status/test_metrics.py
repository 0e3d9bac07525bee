"""`/slipway/metrics`: who may ask, and what the answer is."""

from __future__ import annotations

from pathlib import Path

import httpx
import pytest

from site_engine.monitoring import metrics
from site_engine.monitoring.metrics import ACTIONS_RUNNING, CONTENT_TYPE, METRICS, Sample
from site_store import SiteStore
from site_store.status.leases import lease_of
from slipway_api.sites.view_answers import Readers
from slipway_api.status.metrics import SHORTEST_TOKEN, export
from strategy_lib.node_states.generated import NodeAvailability
from strategy_lib.node_states.publication import PublishedState, Version
from strategy_lib.settings import SLIPWAY_METRICS_TOKEN_FILE
from tests.integration.api.airflow_runs import commit
from tests.integration.api.http.test_service import assert_failure

TOKEN = "a-token-of-prometheus"


@pytest.fixture
def token_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file that the server reads the token from."""
    file = tmp_path / "token"
    file.write_text(f"{TOKEN}\n")
    monkeypatch.setenv(SLIPWAY_METRICS_TOKEN_FILE.name, str(file))
    return file


def ask(client: httpx.Client, token: str) -> httpx.Response:
    return client.get("/metrics", headers={"Authorization": f"Bearer {token}"})


def test_a_reader_gets_all_metrics_in_prometheus_format(viewer: httpx.Client, store: SiteStore) -> None:
    commit(store)
    answer = viewer.get("/metrics")
    assert (answer.status_code, answer.headers["content-type"]) == (200, CONTENT_TYPE)
    for metric in METRICS:
        assert f"# TYPE {metric.name} {metric.shape}\n" in answer.text
    assert 'slipway_owner_unresponsive{owner="airflow:deploy_site"}' in answer.text


@pytest.mark.usefixtures("token_file")
def test_the_token_of_the_file_is_enough_for_this_and_for_nothing_else(anonymous: httpx.Client) -> None:
    assert ask(anonymous, TOKEN).status_code == 200
    assert_failure(ask(anonymous, TOKEN + "x"), 401, "log in")
    other = anonymous.get("/api/v1.0/actions", headers={"Authorization": f"Bearer {TOKEN}"})
    assert_failure(other, 401, "log in")


def test_a_file_that_is_empty_short_or_gone_lets_nobody_in(anonymous: httpx.Client, token_file: Path) -> None:
    for text in ("", "\n", "x" * (SHORTEST_TOKEN - 1)):
        token_file.write_text(text)
        assert_failure(ask(anonymous, text.strip() or "x"), 401, "log in")
    token_file.unlink()
    assert_failure(ask(anonymous, TOKEN), 401, "log in")


def test_a_token_that_was_replaced_opens_nothing_any_more(anonymous: httpx.Client, token_file: Path) -> None:
    assert ask(anonymous, TOKEN).status_code == 200
    token_file.write_text("another-token-of-prometheus")
    assert_failure(ask(anonymous, TOKEN), 401, "log in")


def test_a_gauge_that_is_no_more_is_given_as_zero_once(monkeypatch: pytest.MonkeyPatch) -> None:
    taken: list[tuple[str, float]] = []
    monkeypatch.setattr(metrics, "_sinks", [lambda sample: taken.append((sample.metric.name, sample.value))])
    running = Sample(ACTIONS_RUNNING, ("default", "deploy_site"), 1)
    for samples in ([running], [], []):
        export(samples)
    assert [one for one in taken if one[0] == ACTIONS_RUNNING.name] == [
        (ACTIONS_RUNNING.name, 1),
        (ACTIONS_RUNNING.name, 0),
    ]


def test_readers_of_node_states_are_counted_while_they_wait_by_whether_they_are_behind(store: SiteStore) -> None:
    commit(store)
    held = store.leases.take(lease_of("default"), "me", 600)
    assert held is not None
    newest = store.site_views.publish(held, "default", {"nodes": {}}, PublishedState(NodeAvailability.UP), {}).version
    readers = Readers()

    def counted() -> dict[str, float]:
        return {one.labels[1]: float(str(one.value)) for one in readers.samples(store)}

    with readers.one(store.location, "default", newest), readers.one("elsewhere", "default", newest):
        with readers.one(store.location, "default", Version(newest.epoch - 1, 1)):
            assert counted() == {"true": 1.0, "false": 1.0}
        assert counted() == {"true": 0.0, "false": 1.0}
    assert counted() == {"true": 0.0, "false": 0.0}
