"""What a view or page costs: its statements are counted at the route, look-ups included; a view takes three at most."""

from __future__ import annotations

from collections.abc import Sequence

import httpx
import pytest
from fastapi.routing import APIRoute
from sqlalchemy import Connection, insert

from provisioner_client.protocol import ListedNode
from site_engine.node_lists import keep_list
from site_store import ActionRecord, Claim, NewAction, OperationStatus, SiteStore
from site_store.status.reporters import NewLeaf
from site_store.tables import node
from slipway_api.pages.routes import router
from strategy_lib.node_condition import NodeCondition
from strategy_lib.outcome import Outcome
from strategy_lib.phase import Phase
from tests.integration.api.airflow_runs import commit, plan
from tests.integration.api.http.described import operations
from tests.integration.api.sites.test_site_plans import design
from tests.support.revisions import commit_design

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


#: Every page that shows something, and how many statements it takes at most; docs/pages.md says why some take more.
PAGES = {
    "/": MOST,
    "/sites/{site}": 7,
    "/sites/{site}/nodes": MOST,
    "/sites/{site}/nodes/{node:path}": MOST,
    "/sites/{site}/states": MOST,
    "/sites/{site}/plan": MOST,
    "/sites/{site}/revisions/{number}": MOST,
    "/actions/{action_id}": MOST,
    "/actions/{action_id}/group": MOST,
    "/actions/{action_id}/nodes": MOST,
    "/actions/{action_id}/operations/{op}": MOST,
    "/owners": MOST,
}
#: Those that ask before something is done, the tab that leads to an action, and files.
OTHERS = {
    *("/actions/{action_id}/approval", "/actions/{action_id}/do/{verb}", "/sites/{site}/start/{kind}"),
    *("/repair/{verb}", "/sites/{site}/repair/{verb}", "/sites/{site}/states/set", "/sites/{site}/touch"),
    *("/run", "/static/{name}"),
}
_NOT_KEPT = ("/", "/owners", "/sites/{site}/plan", "/sites/{site}/nodes/{node:path}")
_ASKED = {
    "/actions/{action_id}/group": "?name=control",
    "/actions/{action_id}/operations/{op}": "?node=n2",
    "/sites/{site}/nodes": "?q=n&sort=power",
}


@pytest.mark.parametrize("page", PAGES)
def test_a_page_takes_few_statements_and_one_that_is_kept_fewer(
    user: httpx.Client, store: SiteStore, statements: list[str], action: ActionRecord, page: str
) -> None:
    (operation,) = store.operations.of_action(action.id)
    path = page.replace(":path", "").format(site=SITE, node="n2", number=1, action_id=action.id, op=operation.op)
    taken = []
    for change_it in (False, True, False):
        if change_it:
            change(store)
        statements.clear()
        answer = user.get(f"/ui{path}{_ASKED.get(page, '')}")
        assert answer.status_code == 200, answer.text
        taken.append(sum(1 for one in statements if one.lstrip().startswith(("SELECT", "WITH"))))
    assert 0 < max(taken) <= PAGES[page], taken
    if page not in _NOT_KEPT and PAGES[page] > MOST:
        assert taken[-1] < PAGES[page], "what is kept is not read again"


def test_a_plan_takes_one_statement_more_for_each_earlier_design_that_it_compares(
    user: httpx.Client, store: SiteStore, statements: list[str]
) -> None:
    taken = []
    for number, (image, adopted) in enumerate((("jammy", "a"), ("noble", "b"), ("oracular", ""))):
        commit_design(store, "default", design(image))
        listed = {name: ListedNode(name, NodeCondition.DEPLOYED, "Deployed", "on") for name in "ab"[: number + 1]}
        keep_list(store, "default", "slipway_provisioner", listed)
        if adopted:
            store.wishes.adopt("default", [adopted], "tester")
        statements.clear()
        shown = user.get("/ui/sites/default/plan").text
        assert shown.count("$.data.platform.image") >= number
        taken.append(sum(1 for one in statements if one.lstrip().startswith(("SELECT", "WITH"))))
    assert taken == [MOST, MOST + 1, MOST + 2]


def test_no_page_is_left_out() -> None:
    routes = [route for route in router.routes if isinstance(route, APIRoute) and "GET" in route.methods]
    pages = {route.path.removeprefix("/ui") for route in routes}
    assert pages == {*PAGES, *OTHERS}
