"""The objects of a design with what they use, and who asked for what: in pages."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from site_store import NewAction, SiteStore
from tests.support.configdocs import API, committed
from tests.support.sites import group, node, site

pytestmark = pytest.mark.usefixtures("connected")


def pages(client: httpx.Client, path: str, **query: str) -> list[list[dict[str, Any]]]:
    """Return all pages of a list."""
    found = []
    answer = client.get(f"{API}{path}", params=query)
    while True:
        assert answer.status_code == 200, answer.text
        found.append(answer.json())
        if "next" not in answer.links:
            return found
        answer = client.get(answer.links["next"]["url"].removeprefix("/slipway"))


def test_objects_are_listed_with_what_they_use(user: httpx.Client) -> None:
    committed(user, site([node("n1"), node("n2")], [group("all", ["n1", "n2"])]))
    committed(user, site([node("n1", "r2"), node("n2")], [group("all", ["n1", "n2"])]), buffermode="replace")
    (nodes,) = pages(user, "/sites/default/objects", kind="node")
    assert [(one["name"], one["version"], one["revision"], one["by_policy"]) for one in nodes] == [
        ("n1", 2, 2, []),
        ("n2", 1, 1, []),
    ]
    assert {"host_profile/compute", "network/oob"} <= set(nodes[0]["uses"])
    (whole,) = pages(user, "/sites/default/objects")
    small = pages(user, "/sites/default/objects", limit="2")
    assert len(small) > 2
    assert [one for page in small for one in page] == whole
    assert user.get(f"{API}/sites/nowhere/objects").status_code == 404


def test_who_asked_for_what_is_listed_newest_first(user: httpx.Client, store: SiteStore) -> None:
    committed(user, site([node("n1"), node("n2")], [group("all", ["n1", "n2"])]))
    user.post(f"{API}/sites/default/touch", json={"nodes": ["n2"]}).raise_for_status()
    action = store.actions.ensure("deploy_site", "run", NewAction("deploy_site", "default", 1, {}, "ann"))
    store.actions.record_command(action.id, "stop", "bob")
    (entries,) = pages(user, "/sites/default/audit")
    told = sorted((one["command"], one["user"], one["action"], tuple(one["nodes"])) for one in entries)
    assert told == [("stop", "bob", action.id, ()), ("touch", "user", None, ("n2",))]
    assert [one["id"] for one in entries] == sorted((str(one["id"]) for one in entries), reverse=True)
    assert [one for page in pages(user, "/sites/default/audit", limit="1") for one in page] == entries
