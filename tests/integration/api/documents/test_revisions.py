"""Revisions: listing and going back, what differs between two, and their rendered documents."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import httpx
import yaml

from site_store import SiteStore
from tests.support.configdocs import API, assert_failure, commit, committed, put
from tests.support.simulators import Simulator
from tests.support.sites import document, group, node, site

NODES = [node("n1"), node("n2")]
GROUPS = [group("all", percent_successful_nodes=50)]
DESIGN = site(NODES, GROUPS)
NETWORK = yaml.safe_dump(document("drydock/Network/v1", "storage", {}))
BAD = site(NODES, [group("all", after=["ghost"]), group("spare", ["nobody"])])


def test_revisions(connected: Simulator, user: httpx.Client, viewer: httpx.Client, store: SiteStore) -> None:
    for count in range(3):
        committed(user, f"{DESIGN}# {count}\n")
    page = viewer.get(f"{API}/revisions", params={"limit": 2})
    assert [entry["revision"] for entry in page.json()] == [3, 2]
    assert 'rel="next"' in page.headers["Link"]
    following = page.headers["Link"].partition(">")[0].removeprefix("<").removeprefix("/slipway")
    rest = viewer.get(following)
    assert [entry["revision"] for entry in rest.json()] == [1]
    assert "Link" not in rest.headers
    newest = viewer.get(f"{API}/revisions/3").json()
    assert (newest["base_revision"], newest["versions"], newest["user"]) == (2, ["committed"], "user")
    assert [entry["name"] for entry in newest["collections"]] == ["site"]
    assert viewer.get(f"{API}/revisions/1").json()["versions"] == []
    assert_failure(viewer.get(f"{API}/revisions/4"), 404)
    assert viewer.get(f"{API}/revisions?site=elsewhere").status_code == 404
    for query in ("limit=0", "limit=501", "before=x"):
        assert_failure(viewer.get(f"{API}/revisions?{query}"), 400)


def test_rollback_is_a_new_revision(connected: Simulator, user: httpx.Client, store: SiteStore) -> None:
    committed(user, DESIGN)
    put(user, f"{DESIGN}# changed\n")
    put(user, NETWORK, "networks", buffermode="append")
    commit(user)
    assert [entry.number for entry in store.revisions.newest("default")] == [2, 1]
    dry = user.post(f"{API}/revisions/1/rollback?dryrun=true")
    assert (dry.status_code, dry.json()["message"]) == (200, "Validations succeeded DRYRUN")
    answer = user.post(f"{API}/revisions/1/rollback")
    assert answer.status_code == 201, answer.text
    assert (answer.json()["revision"], answer.json()["rollback_of"]) == (3, 1)
    assert (answer.json()["deployable"], answer.json()["intermediate_commits"]) == (True, [1, 2])
    assert user.get(f"{API}/configdocs/site?version=committed").text == DESIGN
    assert user.get(f"{API}/configdocs/networks?version=committed").status_code == 404
    assert user.get(f"{API}/revisions/3").json()["rollback_of"] == 1
    again = user.post(f"{API}/revisions/1/rollback")
    assert_failure(again, 409)
    assert "nothing to go back to" in again.json()["message"]
    put(user, NETWORK, "networks")
    refused = user.post(f"{API}/revisions/2/rollback")
    assert_failure(refused, 409)
    assert "holds networks" in refused.json()["message"]
    assert_failure(user.post(f"{API}/revisions/9/rollback"), 404)
    assert_failure(user.post(f"{API}/revisions/0/rollback"), 400)


def test_rollback_is_judged_as_a_commit_is(connected: Simulator, user: httpx.Client, store: SiteStore) -> None:
    put(user, BAD)
    commit(user, force="true")
    committed(user, DESIGN)
    answer = user.post(f"{API}/revisions/1/rollback")
    assert (answer.status_code, answer.json()["message"]) == (400, "Validations failed")
    answer = user.post(f"{API}/revisions/1/rollback?force=true")
    assert (answer.status_code, answer.json()["forced"]) == (201, True)
    assert len(store.revisions.newest("default")) == 3


def _documents(answer: httpx.Response) -> Iterable[tuple[str, str, list[Any]]]:
    assert answer.status_code == 200, answer.text
    return [(entry["name"], entry["change"], entry["fields"]) for entry in answer.json()["documents"]]


def test_differences(connected: Simulator, user: httpx.Client, viewer: httpx.Client) -> None:
    diff = f"{API}/diff/configdocs"
    assert viewer.get(diff).json()["documents"] == []
    committed(user, DESIGN)
    assert viewer.get(diff).json()["collections"] == []
    moved = site([node("n1", rack="r7")], GROUPS)
    put(user, moved)
    put(user, yaml.safe_dump(node("n2")), "more", buffermode="append")
    answer = viewer.get(diff)
    body = answer.json()
    assert (body["from"], body["to"]) == (
        {"version": "committed", "revision": 1},
        {"version": "buffer", "revision": 2},
    )
    assert body["collections"] == [{"name": "more", "change": "added"}, {"name": "site", "change": "modified"}]
    field = {"path": "$.data.metadata.rack", "change": "modified", "from": "r1", "to": "r7"}
    assert _documents(answer) == [("n2", "moved", []), ("n1", "modified", [field])]
    assert body["documents"][0]["moved_from"] == "site"
    assert answer.headers["ETag"] == '"4"'
    commit(user)
    assert _documents(viewer.get(diff, params={"from": "1", "to": "2"})) == _documents(answer)
    back = viewer.get(diff, params={"from": "2", "to": "1", "rendered": "true"})
    assert ("n1", "modified", [field | {"from": "r7", "to": "r1"}]) in _documents(back)
    assert_failure(viewer.get(diff, params={"from": "9"}), 404)
    assert_failure(viewer.get(diff, params={"from": "bufer"}), 400)


def test_differences_show_no_secret(connected: Simulator, op: httpx.Client) -> None:
    def text(password: str) -> str:
        secret = document("deckhand/Passphrase/v1", "ipmi", password, storagePolicy="encrypted")
        return f"{DESIGN}---\n{yaml.safe_dump(secret)}"

    committed(op, text("first-password"))
    put(op, text("second-password"))
    for rendered in ("false", "true"):
        answer = op.get(f"{API}/diff/configdocs", params={"rendered": rendered})
        assert "-password" not in answer.text
        field = {"path": "$.data", "change": "modified", "from": "[redacted]", "to": "[redacted]"}
        assert _documents(answer) == [("ipmi", "modified", [field])]


def test_rendered_documents(connected: Simulator, op: httpx.Client, user: httpx.Client, store: SiteStore) -> None:
    secret = yaml.safe_dump(document("deckhand/Passphrase/v1", "ipmi", "hunter2-hunter2", storagePolicy="encrypted"))
    put(user, f"{DESIGN}---\n{secret}")
    for version in ("buffer", "committed", "1"):
        path = f"{API}/renderedconfigdocs?version={version}"
        answer = user.get(path)
        assert answer.status_code == 200, answer.text
        assert answer.headers["Content-Type"] == "application/x-yaml"
        names = {entry["metadata"]["name"] for entry in yaml.safe_load_all(answer.text)}
        assert names >= {"n1", "n2", "ipmi"}
        assert "hunter2" not in answer.text
        assert_failure(user.get(f"{path}&cleartext-secrets=true"), 403)
        assert "hunter2-hunter2" in op.get(f"{path}&cleartext-secrets=true").text
        if version == "buffer":
            assert answer.headers["ETag"] == '"1"'
            assert commit(user).status_code == 200
    assert_failure(user.get(f"{API}/renderedconfigdocs"), 404)
    assert (
        op.get(f"{API}/renderedconfigdocs?version=1&cleartext-secrets=true").text == store.revisions.get("default").text
    )
    stored = store.revisions.secrets("default", 1)
    assert stored is not None
    assert (stored.texts, stored.exposed) == (frozenset({"hunter2-hunter2"}), ())
