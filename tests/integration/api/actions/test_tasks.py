"""The provisioner's own tasks of an operation, over HTTP and as a page: asked for on demand, from a real simulator."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import jsonschema_rs
import pytest

from site_engine.process import SharedClock
from site_store import SiteStore
from strategy_lib.phase import Phase
from tests.conftest import ROOT
from tests.integration.api.airflow_runs import ACTIONS
from tests.integration.api.http.test_service import assert_failure
from tests.support.driving import Driving, begin_with, simulated
from tests.support.simulators import Simulator
from tests.support.sites import group, node, site

CONNECTION = "slipway_provisioner"
DESIGN = site([node("n1"), node("n2")], [group("all")])


@pytest.fixture
def driving(store: SiteStore, tmp_path: Path, connected: Simulator) -> Driving:
    """Return an action whose group was deployed; one of its nodes failed."""
    connected.script("n2", "deploy", "fail", message="n2: no <b>PXE</b> answer")
    driving = begin_with(store, tmp_path, simulated(connected), SharedClock(store))(DESIGN)
    assert store.actions.decide_connection(driving.action.id, CONNECTION) == CONNECTION
    driving.group("all")
    return driving


def op_of(store: SiteStore, driving: Driving, phase: Phase) -> int:
    return next(one.op for one in store.operations.of_action(driving.action.id) if one.phase is phase)


def ask(client: httpx.Client, driving: Driving, op: int, **query: str) -> dict[str, Any]:
    answer = client.get(f"{ACTIONS}/{driving.action.id}/operations/{op}/tasks", params=query)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


def entries(entry: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield entry
    for child in entry.get("children", ()):
        yield from entries(child)


def test_the_tasks_of_one_node(viewer: httpx.Client, store: SiteStore, driving: Driving) -> None:
    found = ask(viewer, driving, op_of(store, driving, Phase.DEPLOY), node="n2")
    assert (found["phase"], found["group"], found["nodes"], found["reason"]) == ("deploy", "all", 2, "")
    jsonschema_rs.validator_for(json.loads((ROOT / "schemas" / "status_tree.json").read_text())).validate(found["root"])
    assert found["root"]["provisioner"]["task"] == found["provisioner_task"]
    wrong = [entry["name"] for entry in entries(found["root"]) if "n2: no <b>PXE</b> answer" in entry["messages"]]
    assert wrong[0] == "deploy_node"
    assert {entry["status"] for entry in entries(found["root"]) if entry["name"] == "apply_node_networking"} == {
        "success"
    }


def test_a_provisioner_that_cannot_be_reached_is_said_in_place(
    viewer: httpx.Client, store: SiteStore, driving: Driving, monkeypatch: pytest.MonkeyPatch
) -> None:
    nowhere = {"conn_type": "drydock", "host": "http://127.0.0.1:1"}
    monkeypatch.setenv("AIRFLOW_CONN_SLIPWAY_PROVISIONER", json.dumps(nowhere))
    op = op_of(store, driving, Phase.DEPLOY)
    found = ask(viewer, driving, op, node="n2")
    assert found["root"] is None
    assert found["reason"].startswith("The provisioner cannot be reached: ")
    monkeypatch.delenv("AIRFLOW_CONN_SLIPWAY_PROVISIONER")
    assert "is not there any more" in ask(viewer, driving, op, node="n2")["reason"]


def test_a_task_that_the_provisioner_has_forgotten(
    viewer: httpx.Client, store: SiteStore, driving: Driving, connected: Simulator
) -> None:
    connected.post("reset")
    assert "task" in ask(viewer, driving, op_of(store, driving, Phase.DEPLOY))["reason"]


def test_what_there_is_not(viewer: httpx.Client, store: SiteStore, driving: Driving) -> None:
    place = f"{ACTIONS}/{driving.action.id}/operations"
    op = op_of(store, driving, Phase.DEPLOY)
    assert_failure(viewer.get(f"{place}/999/tasks"), 404, "has no operation 999")
    assert_failure(viewer.get(f"{place}/{op}/tasks", params={"node": "n9"}), 404, "is not about a node 'n9'")


def test_the_page_shows_words_of_the_provisioner_as_text(
    origin: str, tokens: dict[str, str], store: SiteStore, driving: Driving
) -> None:
    op = op_of(store, driving, Phase.DEPLOY)
    with httpx.Client(base_url=f"{origin}/slipway/ui", cookies={"_token": tokens["viewer"]}, timeout=60) as client:
        node_page = client.get("/sites/alpha/nodes/n2").text
        place = f"/actions/{driving.action.id}/operations/{op}?node=n2"
        assert f'href="/slipway/ui{place}"' in node_page
        shown = client.get(place)
        assert shown.status_code == 200
        assert "n2: no &lt;b&gt;PXE&lt;/b&gt; answer" in shown.text
        assert "deploy_nodes of n1" not in shown.text
        assert "deploy_nodes of n1" in client.get(f"/actions/{driving.action.id}/operations/{op}").text
        assert client.get(f"/actions/{driving.action.id}/operations/999").status_code == 404
