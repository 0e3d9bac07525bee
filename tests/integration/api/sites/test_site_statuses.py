"""Site statuses, asked of a real simulator process through an Airflow connection."""

from __future__ import annotations

import json
import time
from pathlib import Path

import httpx
import pytest

from provisioner_client.designs import DesignSource
from provisioner_client.drydock.provisioner import DrydockProvisioner
from provisioner_client.http_settings import RetryPolicy
from provisioner_client.protocol import TaskRef, TaskState
from site_store import SiteStore
from strategy_lib.phase import Phase
from tests.integration.api.http.test_service import assert_failure
from tests.support.revisions import commit_design
from tests.support.simulators import Simulator
from tests.support.sites import group, node, site

STATUSES = "/api/v1.0/site_statuses"


@pytest.fixture
def machines(connected: Simulator, tmp_path: Path) -> Simulator:
    """Let the simulator prepare one machine of two."""
    design = tmp_path / "site.yaml"
    design.write_text(site([node("b"), node("a")], [group("all")]))
    drydock = DrydockProvisioner(connected.url)
    task = drydock.submit(Phase.PREPARE, DesignSource(design.as_uri()), ["a"], "slipway-test-1")
    end = time.monotonic() + 30
    while drydock.task(TaskRef(task)).state is not TaskState.COMPLETE:
        assert time.monotonic() < end
    drydock.close()
    return connected


def test_all_statuses(viewer: httpx.Client, machines: Simulator) -> None:
    answer = viewer.get(STATUSES)
    assert answer.status_code == 200, answer.text
    assert answer.json() == {
        "nodes_provision_status": [{"hostname": "a", "status": "Ready"}, {"hostname": "b", "status": "New"}],
        "machines_powerstate": [{"hostname": "a", "power_state": "off"}, {"hostname": "b", "power_state": "off"}],
    }


@pytest.mark.parametrize(
    ("filters", "keys"),
    [
        ("nodes-provision-status", {"nodes_provision_status"}),
        ("machines-power-state", {"machines_powerstate"}),
        ("machines-power-state,nodes-provision-status", {"nodes_provision_status", "machines_powerstate"}),
        (["machines-power-state", "nodes-provision-status"], {"nodes_provision_status", "machines_powerstate"}),
        ("", {"nodes_provision_status", "machines_powerstate"}),
    ],
)
def test_filters(viewer: httpx.Client, connected: Simulator, filters: str | list[str], keys: set[str]) -> None:
    answer = viewer.get(STATUSES, params={"filters": filters})
    assert (answer.status_code, answer.json().keys()) == (200, keys)


def test_unknown_filter(viewer: httpx.Client) -> None:
    answer = viewer.get(STATUSES, params={"filters": "nodes-provision-status,colour"})
    assert_failure(answer, 400, "there is no filter 'colour'")


def test_a_site_with_a_provisioner_of_its_own(
    viewer: httpx.Client, connected: Simulator, store: SiteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("alpha", "beta"):
        commit_design(store, name, "a: 1\n", [])
    monkeypatch.setenv("AIRFLOW_CONN_SLIPWAY_PROVISIONER_BETA", json.dumps({"conn_type": "drydock", "host": ""}))
    assert viewer.get(STATUSES, params={"site": "alpha"}).status_code == 200
    assert_failure(viewer.get(STATUSES, params={"site": "beta"}), 503, "has no Drydock URL")


def test_no_provisioner(viewer: httpx.Client) -> None:
    answer = viewer.get(STATUSES)
    assert_failure(answer, 503, "no provisioner for site default: create an Airflow connection")
    assert answer.json()["retry"] is False


def test_a_provisioner_that_does_not_answer(viewer: httpx.Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(RetryPolicy, "wait", lambda *_: 0.0)
    connection = {"conn_type": "drydock", "host": "http://127.0.0.1:9", "extra": {"connect_timeout": 1}}
    monkeypatch.setenv("AIRFLOW_CONN_SLIPWAY_PROVISIONER", json.dumps(connection))
    answer = viewer.get(STATUSES)
    assert_failure(answer, 503, "at 127.0.0.1:9 (Airflow connection 'slipway_provisioner'): no connection")
    assert answer.json()["retry"] is True


def test_a_connection_kept_in_airflows_database(
    viewer: httpx.Client, op: httpx.Client, connected: Simulator, store: SiteStore
) -> None:
    commit_design(store, "gamma", "a: 1\n", [])
    body = {"connection_id": "slipway_provisioner_gamma", "conn_type": "drydock", "host": connected.url}
    connections = f"{str(op.base_url).removesuffix('/slipway/')}/api/v2/connections"
    op.post(connections, json=body).raise_for_status()
    try:
        assert viewer.get(STATUSES, params={"site": "gamma"}).status_code == 200
    finally:
        op.delete(f"{connections}/slipway_provisioner_gamma").raise_for_status()


def test_a_check_of_the_provisioner_lists_no_machines(viewer: httpx.Client, connected: Simulator) -> None:
    answer = viewer.get("/api/v1.0/provisioner")
    assert answer.status_code == 200, answer.text
    assert "accepts the credentials" in answer.json()["message"]
    asked = [one["path"] for one in connected.get("journal")]
    assert "/versions" in asked
    assert "/api/v1.0/nodes" not in asked
    assert connected.get("tasks") == []


def test_a_check_of_no_provisioner(viewer: httpx.Client) -> None:
    assert_failure(viewer.get("/api/v1.0/provisioner"), 503, "no provisioner for site default")
