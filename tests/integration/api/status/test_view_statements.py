"""What a view costs: at most three statements, counted at the route, look-ups included."""

from __future__ import annotations

from collections.abc import Sequence

import httpx
import pytest
from sqlalchemy import Connection, insert

from site_store import ActionRecord, Claim, NewAction, OperationStatus, SiteStore
from site_store.status.reporters import NewLeaf
from site_store.tables import node
from strategy_lib.outcome import Outcome
from strategy_lib.phase import Phase
from tests.integration.api.airflow_runs import commit, plan
from tests.integration.api.http.described import operations

SITE = "north"
RUN = "manual__run"
MOST = 3

# Every GET route of the status part must be named here, with what it is asked for.
VIEWS: dict[str, Sequence[str]] = {
    "GET /api/v1.0/sites": ("", "?after=a&limit=1"),
    "GET /api/v1.0/owners": ("", "?after=a&limit=1"),
    "GET /api/v1.0/sites/{site}/tree": ("", "?depth=0", "?depth=2"),
    "GET /api/v1.0/sites/{site}/nodes": (
        "",
        "?q=N",
        "?sort=error",
        "?sort=-group&limit=2",
        "?status=unresponsive",
        "?limit=1&after=%5Bnull,%22n1%22%5D&where=node=n",
    ),
    "GET /api/v1.0/sites/{site}/nodes/{node}": ("", "?limit=1&before=7ZZZZZZZZZZZZZZZZZZZZZZZZZ"),
    "GET /api/v1.0/sites/{site}/plan": ("", "?all=true"),
    "GET /api/v1.0/sites/{site}/reports": ("", "?since=0&limit=1"),
    "GET /api/v1.0/sites/{site}/reporters": ("",),
    "GET /api/v1.0/actions/{action_id}/tree": ("", "?depth=1", "?depth=4"),
    "GET /api/v1.0/actions/{action_id}/nodes": ("", "?troubled=true", "?group=control&limit=1"),
    "GET /api/v1.0/actions/{action_id}/operations/{op}/tasks": ("",),
}


@pytest.fixture
def action(store: SiteStore) -> ActionRecord:
    """Return an action on a site of which a node failed, one is in no group, and reporters have said something."""
    commit(store, SITE)
    action = store.actions.ensure("deploy_site", RUN, NewAction("deploy_site", SITE, 1, {}, "tester"))
    plan(store, action.id)
    store.owners.check_in("airflow:deploy_site", 60)
    attempt = store.groups.open_attempt(action.id, "control", "first").attempt
    nodes = ["n1", "n2"]
    begun = store.operations.begin(Claim(action.id, SITE, "control", attempt, Phase.PREPARE, nodes, "file:///d", None))
    assert store.operations.acquire_lease(begun.op, "me", 30, sending=True)
    failed = Outcome(frozenset({"n1"}), frozenset({"n2"}), frozenset(), notes={"n2": "no answer"})
    store.operations.record_outcome(begun.op, failed, status=OperationStatus.COMPLETE, result="failure")
    reporter = store.reporters.create(SITE, "fans", "tester")
    for at, parent in (("", "control/n2"), (action.id, "deploy_group/control/prepare/n2")):
        store.reporters.report(reporter.token, SITE, [NewLeaf(parent, "fans", "error", "3 of 4", 1)], at, interval=60)
    change(store)
    return action


def change(store: SiteStore) -> None:
    """Let a node in no group fail, so that no view that was kept will do."""
    failed = {"wanted_revision": 1, "wanted_digest": "a", "status": "error", "error": "bad", "error_revision": 1}

    def work(tx: Connection) -> None:
        tx.execute(insert(node).values(site=SITE, name=f"Alone-{store.now().timestamp()}", **failed))

    store._database.write(work)


@pytest.mark.parametrize("view", VIEWS)
def test_a_view_takes_three_statements_at_most(
    user: httpx.Client, store: SiteStore, statements: list[str], action: ActionRecord, view: str
) -> None:
    (operation,) = store.operations.of_action(action.id)
    for named in (action.id, RUN) if "action_id" in view else (action.id,):
        path = view.removeprefix("GET ").format(site=SITE, node="n2", action_id=named, op=operation.op)
        for query in VIEWS[view]:
            for change_it in (False, False, True):
                if change_it:
                    change(store)
                statements.clear()
                answer = user.get(f"{path}{query}")
                assert answer.status_code == 200, answer.text
                read = [one for one in statements if one.lstrip().startswith(("SELECT", "WITH"))]
                assert 0 < len(read) <= MOST, (query, change_it, *read)


def test_no_view_is_left_out() -> None:
    status = {"status", "reporters"}
    described = {name for name, one in operations().items() if name.startswith("GET") and status & {*one["tags"]}}
    assert described == set(VIEWS)
