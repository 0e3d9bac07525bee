"""Policies inside commits: what they change stands in the rendered design, the revision, and the comparison."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import httpx
import pytest

from design_rendering.reading.documents import Document
from site_engine.extensions import ExtensionError, PolicySet, installed_policies
from site_store import NewAction, SiteStore
from tests.support.configdocs import API, commit, committed, put, said
from tests.support.simulators import Simulator
from tests.support.sites import group, node, site

pytestmark = pytest.mark.usefixtures("connected")

GROUPS = [group("control", ["n1"]), group("rest", ["n2"], critical=False)]
DESIGN = site([node("n1"), node("n2")], GROUPS)
STRATEGY = "strategy/deployment-strategy"


def with_default(design: str) -> str:
    return design.replace("  groups:", "  default_group: rest\n  groups:")


def test_every_node_comes_into_a_group_and_it_is_said_by_which_policy(
    connected: Simulator, user: httpx.Client, store: SiteStore
) -> None:
    committed(user, DESIGN)
    larger = with_default(site([node("n1"), node("n2"), node("n3")], GROUPS))
    put(user, larger, buffermode="replace")
    assert commit(user).json()["revision"] == 2
    assert dict(store.site_groups.nodes("default")) == {"control": ("n1",), "rest": ("n2", "n3")}
    revisions = user.get(f"{API}/revisions").json()
    assert [one["by_policy"] for one in revisions] == [{STRATEGY: ["default-group"]}, {}]
    assert "n3" in (store.revisions.get("default").text or "").partition("default_group")[2]
    query = {"from": "1", "to": "2", "rendered": "true"}
    documents = user.get(f"{API}/diff/configdocs", params=query).json()["documents"]
    assert {one["name"]: one.get("by_policy") for one in documents if one["change"] == "modified"} == {
        "deployment-strategy": ["default-group"]
    }
    page = user.get("/ui/sites/default/revisions/2").text
    assert "<dt>By policy</dt><dd>default-group changed strategy/deployment-strategy</dd>" in page
    assert "<dt>By policy</dt>" not in user.get("/ui/sites/default/revisions/1").text
    objects = {str(one.key): one for one in store.objects.page("default", 1000)}
    judged = installed_policies().digest
    assert (objects[STRATEGY].by_policy, objects[STRATEGY].policed) == (("default-group",), (2, judged))
    assert (objects["node/n1"].by_policy, objects["node/n1"].policed) == ((), (1, judged))
    assert objects["node/n3"].uses


def test_a_revision_is_shown_as_it_was_committed_whatever_policies_there_are_now(
    connected: Simulator, user: httpx.Client, store: SiteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    larger = with_default(site([node("n1"), node("n2"), node("n3")], GROUPS))
    committed(user, larger)
    put(user, f"{larger}# the same again\n", buffermode="replace")

    def later(objects: Mapping[str, Document]) -> Mapping[str, Document]:
        before = objects["node/n1"]
        return {"node/n1": replace(before, data={**before.data, "looked_at": True}, marks=None)}

    now = PolicySet({"later": later}, "x")
    monkeypatch.setattr("slipway_api.documents.versions.installed_policies", lambda: now)
    shown = user.get(f"{API}/renderedconfigdocs", params={"version": "committed"}).text
    assert "looked_at" not in shown, "nobody committed it so"
    assert shown.count("n3") > larger.count("n3"), "the default group has it, by the policy of then"
    query = {"from": "committed", "to": "buffer", "rendered": "true"}
    documents = user.get(f"{API}/diff/configdocs", params=query).json()["documents"]
    assert {one["name"]: one.get("by_policy") for one in documents} == {"deployment-strategy": None, "n1": ["later"]}
    assert user.get(f"{API}/renderedconfigdocs").text.count("looked_at") == 1, "a commit would make it so now"


def test_rule_42_a_running_action_commits_nothing(user: httpx.Client, store: SiteStore) -> None:
    put(user, DESIGN)
    action = store.actions.ensure("deploy_site", "run", NewAction("deploy_site", "default", 1, {}, "ann"))
    refused = user.post(f"{API}/commitconfigdocs", params={"caused-by": action.id})
    assert (refused.status_code, action.id in refused.json()["message"]) == (409, True)
    assert not store.buffers.get("default").is_empty
    refused = user.post(f"{API}/revisions/1/rollback", params={"caused-by": action.id})
    assert (refused.status_code, action.id in refused.json()["message"]) == (409, True)


def test_rule_42_policies_without_an_end_refuse_the_commit(
    connected: Simulator, user: httpx.Client, store: SiteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    def restless(objects: Mapping[str, Document]) -> Mapping[str, Document]:
        before = objects["node/n1"]
        return {"node/n1": replace(before, data={**before.data, "round": before.data.get("round", 0) + 1}, marks=None)}

    monkeypatch.setattr(
        "slipway_api.documents.validation.installed_policies", lambda: PolicySet({"restless": restless}, "x")
    )
    put(user, DESIGN)
    answer = commit(user)
    assert answer.status_code == 400
    assert "policies restless still change node/n1 after 10 rounds" in said(answer)[0]
    assert store.sites.committed() == []


def test_rule_42_a_policy_that_cannot_be_used_refuses_each_commit_and_is_named(
    connected: Simulator, user: httpx.Client, store: SiteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse() -> PolicySet:
        raise ExtensionError("policy 'bad' (acme:policy of acme 2.1) cannot be loaded")

    monkeypatch.setattr("slipway_api.documents.validation.installed_policies", refuse)
    put(user, DESIGN)
    answer = commit(user)
    assert (answer.status_code, answer.json()["message"]) == (
        503,
        "policy 'bad' (acme:policy of acme 2.1) cannot be loaded",
    )
    assert store.sites.committed() == []
