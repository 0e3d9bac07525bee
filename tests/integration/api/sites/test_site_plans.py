"""`GET /sites/{site}/plan`: what an update would do now, from the store, with its reasons."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest
import yaml

from site_store import SiteStore
from tests.integration.api.http.test_service import assert_failure
from tests.support.revisions import commit_design
from tests.support.sites import document, group, node, site

PLAN = "/api/v1.0/sites/default/plan"
GROUPS = [group("gateways", ["g"]), group("rack", ["a", "b"], after=["gateways"], critical=False)]


def design(image: str = "jammy", *more: dict[str, Any]) -> str:
    """Return a site with a gateway that a waits for; a and b are made from the profile `rack`; c is in no group."""
    waiting = node("a", profile="rack")
    waiting["metadata"]["depends_on_nodes"] = ["g"]
    nodes = [node("g"), waiting, node("b", profile="rack"), node("c")]
    rack = document("drydock/HostProfile/v1", "rack", {"platform": {"image": image}})
    return site(nodes, GROUPS) + yaml.safe_dump_all([rack, *more], explicit_start=True)


def planned(client: httpx.Client, **query: Any) -> dict[str, Any]:
    answer = client.get(PLAN, params=query)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


def test_without_a_list_nothing_counts_as_deployed(viewer: httpx.Client, store: SiteStore) -> None:
    commit_design(store, "default", design())
    found = planned(viewer)
    assert (found["site"], found["revision"], found["listed"]) == ("default", 1, None)
    assert {one["name"]: (one["change"], one["submitted"], one["groups"]) for one in found["nodes"]} == {
        "a": ("add", True, ["rack"]),
        "b": ("add", True, ["rack"]),
        "c": ("add", False, []),
        "g": ("add", True, ["gateways"]),
    }
    assert found["order"] == [["b", "g"], ["a"]], "what is in no group is not submitted"
    assert found["edges"] == [
        {"kind": "group", "later": "rack", "earlier": "gateways"},
        {"kind": "node", "later": "a", "earlier": "g"},
    ]
    assert [(one["name"], one["nodes"], one["submitted"]) for one in found["groups"]] == [
        ("gateways", 1, 1),
        ("rack", 2, 2),
    ]


def test_an_unknown_site_is_named_with_the_nearest(viewer: httpx.Client, store: SiteStore) -> None:
    commit_design(store, "north", design())
    assert_failure(viewer.get("/api/v1.0/sites/nort/plan"), 404, "did you mean 'north'")
    assert planned(viewer)["revision"] is None, "the default site may be empty"


@pytest.mark.usefixtures("connected")
def test_a_new_list_is_read_only_where_it_is_asked_for(
    viewer: httpx.Client, store: SiteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit_design(store, "default", design())
    assert planned(viewer)["listed"] is None
    listed = planned(viewer, fresh=True)["listed"]
    assert listed["connection"] == "slipway_provisioner"
    assert planned(viewer)["listed"] == listed
    gone = {"conn_type": "drydock", "host": "http://127.0.0.1:9"}
    monkeypatch.setenv("AIRFLOW_CONN_SLIPWAY_PROVISIONER", json.dumps(gone))
    assert_failure(viewer.get(PLAN, params={"fresh": True}), 503, "The provisioner cannot be reached")
