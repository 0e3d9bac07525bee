"""A copy of a store says that it is one, in trees, lists and pages, with the command that ends it (rule 61)."""

from __future__ import annotations

import httpx
import pytest

from site_store import SiteStore
from tests.integration.api.airflow_runs import ACTIONS
from tests.integration.api.status.test_trees import SITES, action, tree
from tests.support.stores import administer

__all__ = ["action"]

COMMAND = "slipway store restored"


@pytest.fixture
def copied(store: SiteStore) -> SiteStore:
    """Make the server's store one that lives elsewhere than it says."""
    url = store._database.url.render_as_string(hide_password=False)
    skip = "SET session_replication_role = replica"
    administer(url.replace("+psycopg", ""), skip, "UPDATE store_state SET database_id = database_id + 1")
    return store


def test_a_store_that_is_at_home_says_nothing(viewer: httpx.Client, action: str) -> None:
    assert viewer.get(SITES).json()[0]["hold"] is None
    assert tree(viewer, f"{SITES}/default/tree")["header"]["hold"] is None
    assert tree(viewer, f"{ACTIONS}/{action}/tree")["header"]["hold"] is None


def test_a_copy_says_so_in_trees_and_lists(
    viewer: httpx.Client, action: str, store: SiteStore, request: pytest.FixtureRequest
) -> None:
    before = tree(viewer, f"{SITES}/default/tree")["token"]
    known = store.trees.known_action(action).token
    request.getfixturevalue("copied")
    assert COMMAND in viewer.get(SITES).json()[0]["hold"]
    found = tree(viewer, f"{SITES}/default/tree")
    assert COMMAND in found["header"]["hold"]
    assert found["token"] != before, "who waits for a change is told"
    assert store.trees.known_action(action).token != known
    assert COMMAND in tree(viewer, f"{ACTIONS}/{action}/tree")["header"]["hold"]
    store.restoring.settle()
    assert tree(viewer, f"{SITES}/default/tree")["header"]["hold"] is None


@pytest.mark.parametrize("path", ["", "sites/default", "actions/{action}"])
def test_a_copy_says_so_on_pages(viewer: httpx.Client, action: str, copied: SiteStore, path: str) -> None:
    shown = viewer.get(f"/ui/{path.format(action=action)}")
    assert COMMAND in shown.text
