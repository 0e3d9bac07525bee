"""What a page costs: its statements are counted at the route, look-ups included; most take three, as views do."""

from __future__ import annotations

import httpx
import pytest
from fastapi.routing import APIRoute

from provisioner_client.protocol import ListedNode
from site_engine.node_lists import keep_list
from site_store import ActionRecord, SiteStore
from slipway_api.pages.routes import router
from strategy_lib.outcome import NodeCondition
from tests.integration.api.sites.test_site_plans import design
from tests.integration.api.status.test_view_statements import MOST, SITE, action, change
from tests.support.revisions import commit_design

__all__ = ["action"]

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
