"""What all pages share: rights, headers, live parts, and how they stand inside Airflow's own pages."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

import httpx
import pytest
from fastapi.routing import APIRoute
from playwright.sync_api import Route

from site_store import NewAction, SiteStore
from slipway_api.http.kept import Kept
from slipway_api.pages import rendering
from slipway_api.pages import routes as pages_of_slipway
from slipway_api.pages.rendering import STATIC, static_version
from tests.integration.api.airflow_runs import AirflowRuns, commit, plan
from tests.integration.api.http.test_service import assert_failure
from tests.integration.api.pages.conftest import UI, Open

PAGES = sorted(
    route.path_format.removeprefix("/ui")
    for route in pages_of_slipway.router.routes
    if isinstance(route, APIRoute) and route.path_format.startswith("/ui/") and "GET" in route.methods
)
CONTROLLERS = "/clustercontroller-status/v1"
READ = [path for path in PAGES if not path.startswith("/static/")]


def test_there_are_pages() -> None:
    assert "/" in READ
    assert "/static/{name}" in PAGES


@pytest.mark.parametrize("path", READ)
def test_who_is_not_logged_in_is_led_to_the_login(path: str, pages: dict[str, httpx.Client]) -> None:
    answer = pages["anonymous"].get(path.replace("{", "").replace("}", ""))
    assert answer.status_code == 401
    assert "The session is over" in answer.text
    assert "www-authenticate" not in answer.headers
    (login,) = re.findall(r'href="([^"]*auth/login[^"]*)"', answer.text)
    assert login.startswith("/api/v2/auth/login?next=%2Fslipway%2Fui")


@pytest.mark.parametrize("path", READ)
def test_an_error_is_a_page_with_the_headers_of_one(path: str, pages: dict[str, httpx.Client]) -> None:
    """Also what the path names is shown as text."""
    answer = pages["viewer"].get(re.sub(r"{\w+}", "%3Cscript%3Ealert(1)%3C", path))
    assert answer.status_code in (200, 303, 400, 403, 404)
    assert "<script>alert" not in answer.text
    if answer.status_code != 303:
        assert answer.headers["content-type"] == "text/html; charset=utf-8"
        policy = answer.headers["content-security-policy"]
        assert "script-src 'self';" in policy
        assert "frame-ancestors 'self'" in policy
        assert "unsafe" not in policy
        assert answer.headers["x-content-type-options"] == "nosniff"


def test_static_files_need_no_right_and_are_kept_by_their_version(pages: dict[str, httpx.Client]) -> None:
    for file in sorted(STATIC.iterdir()):
        plain = pages["anonymous"].get(f"/static/{file.name}")
        assert (plain.status_code, plain.headers["cache-control"]) == (200, "no-cache")
        assert plain.content == file.read_bytes()
        versioned = pages["anonymous"].get(f"/static/{file.name}", params={"v": static_version(file.name)})
        assert versioned.headers["cache-control"] == "public, max-age=31536000, immutable"
    for wrong in ("nothing.css", "..%2Fsites.py", "%2Fetc%2Fpasswd"):
        assert pages["anonymous"].get(f"/static/{wrong}").status_code in (401, 404)


def test_a_live_part_that_did_not_change_is_not_sent_again(pages: dict[str, httpx.Client], store: SiteStore) -> None:
    commit(store)
    first = pages["viewer"].get("/", params={"part": "live"})
    assert first.status_code == 200
    assert "<html" not in first.text
    assert "default" in first.text
    again = pages["viewer"].get("/", params={"part": "live"}, headers={"If-None-Match": first.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")
    assert first.text in pages["viewer"].get("/").text


def test_sites_are_paged(pages: dict[str, httpx.Client], store: SiteStore, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("c", "a", "b"):
        commit(store, name)
    monkeypatch.setattr("slipway_api.pages.sites.SITES_SHOWN", 2)

    def shown(**query: str) -> list[str]:
        return re.findall(r'<tr id="site-(\w+)"', pages["viewer"].get("/", params=query).text)

    assert (shown(), shown(after="b"), shown(after="c")) == (["a", "b"], ["c"], [])
    first = pages["viewer"].get("/").text
    assert ('href="?after=b"' in first, "1 more" in first) == (True, True)
    assert "There are no more sites." in pages["viewer"].get("/", params={"after": "c"}).text


def test_what_is_kept_is_good_for_a_while_and_not_for_who_asks_for_what_is_fresh(
    pages: dict[str, httpx.Client], store: SiteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit(store)
    parts: Kept[rendering._Part] = Kept(8)
    monkeypatch.setattr(rendering, "PARTS", parts)

    def ask(**headers: str) -> str:
        plain = {"Accept-Encoding": "identity", **headers}
        return pages["viewer"].get("/sites/default", params={"part": "live"}, headers=plain).text

    first = ask()
    for place in parts._places.values():
        assert place.kept is not None
        place.kept = (place.kept[0], replace(place.kept[1], html="as it was kept"))
    assert ask() == "as it was kept"
    assert ask(**{"Cache-Control": "no-cache"})[:40] == first[:40]


@pytest.mark.endurance
def test_the_nav_item_shows_the_sites_and_follows_the_colours(open_page: Open, store: SiteStore) -> None:
    commit(store, "alpha")
    watched = open_page("/", dark=True)
    watched.page.get_by_role("link", name="Sites").click()
    watched.page.wait_for_url("**/plugin/slipway")
    frame = watched.frame()
    frame.get_by_text("alpha").first.wait_for()
    assert frame.locator("html").get_attribute("data-theme") == "dark"
    frame.locator("#connection[data-state=live]").wait_for()
    assert watched.complaints == []


@pytest.mark.endurance
def test_a_change_is_shown_without_a_reload(open_page: Open, store: SiteStore) -> None:
    watched = open_page(f"{UI}/")
    watched.page.locator(".empty").wait_for()
    watched.page.evaluate("window.same = true")
    commit(store, "beta")
    watched.page.get_by_text("beta").first.wait_for()
    assert watched.page.evaluate("window.same") is True
    assert watched.complaints == []


@pytest.mark.endurance
def test_the_page_says_that_the_session_is_over(open_page: Open) -> None:
    watched = open_page(f"{UI}/")
    watched.page.locator("#connection[data-state=live]").wait_for()
    assert watched.page.locator("#session-over").is_hidden()
    watched.page.context.clear_cookies()
    watched.page.locator("#session-over").wait_for()
    assert watched.page.locator("#connection").inner_text() == "the session is over"


@pytest.mark.endurance
def test_the_page_says_that_it_is_disconnected_and_comes_back(open_page: Open) -> None:
    watched = open_page(f"{UI}/")
    watched.page.locator("#connection[data-state=live]").wait_for()
    watched.page.context.set_offline(True)
    watched.page.locator("#connection[data-state=lost]").wait_for()
    assert "disconnected since" in watched.page.locator("#connection").inner_text()
    watched.page.context.set_offline(False)
    watched.page.locator("#connection[data-state=live]").wait_for()


def refusing(status: int) -> Callable[[Route], None]:
    """Return a way to answer requests with this status, and with a page that is none of Slipway's."""

    def answer(route: Route) -> None:
        route.fulfill(status=status, body="<h1>A proxy</h1>")

    return answer


@pytest.mark.endurance
def test_what_the_server_refuses_is_said_in_words_and_is_no_disconnection(open_page: Open, store: SiteStore) -> None:
    commit(store, "beta")
    watched = open_page(f"{UI}/sites/beta")
    page, light = watched.page, watched.page.locator("#connection")
    page.locator("#connection[data-state=live]").wait_for()
    # What is gone is asked for where it is not: the answer is Slipway's own.
    gone = re.compile(r"/sites/beta\?.*part=live")
    page.route(gone, lambda route: route.continue_(url=route.request.url.replace("/sites/beta", "/sites/%3Cb%3Egone")))
    page.locator("#connection[data-state=refused]").wait_for()
    assert light.inner_text() == "this is not there any more: there is no site '<b>gone'; there is beta"
    said = {
        409: "this cannot be shown as things stand",
        418: "the server refuses this (418)",
        422: "this address is not understood",
        429: "this is asked for too often",
    }
    for status, words in said.items():
        page.unroute(gone)
        page.route(gone, refusing(status))
        page.evaluate("window.dispatchEvent(new Event('online'))")
        page.get_by_text(words, exact=True).wait_for()
        assert light.get_attribute("data-state") == "refused"
    assert page.get_by_role("heading", name="beta").is_visible(), "what was there stays"
    page.unroute(gone)
    page.evaluate("window.dispatchEvent(new Event('online'))")
    page.locator("#connection[data-state=live]").wait_for()
    assert watched.complaints == []


def test_a_run_of_another_dag_has_no_action(pages: dict[str, httpx.Client], dags: list[str]) -> None:
    answer = pages["viewer"].get("/run", params={"dag_id": "somebody_elses", "run_id": "r"})
    assert answer.status_code == 200
    assert "No action here" in answer.text
    answer = pages["viewer"].get("/run", params={"dag_id": "deploy_site", "run_id": "<b>r</b>"})
    assert "No action here" in answer.text


def test_the_tab_of_a_run_leads_to_its_action(
    pages: dict[str, httpx.Client], store: SiteStore, airflow_runs: AirflowRuns
) -> None:
    action = store.actions.ensure("deploy_site", "manual__tab", NewAction("deploy_site", "alpha", None, {}, "tester"))
    answer = pages["viewer"].get("/run", params={"dag_id": "deploy_site", "run_id": "manual__tab"})
    assert (answer.status_code, answer.headers["location"]) == (303, f"{UI}/actions/{action.id}")


def test_the_link_of_a_task_leads_to_its_group_or_step(
    pages: dict[str, httpx.Client], store: SiteStore, airflow_runs: AirflowRuns
) -> None:
    action = store.actions.ensure("deploy_site", "manual__link", NewAction("deploy_site", "alpha", None, {}, "tester"))
    plan(store, action.id)

    def place(**task: str) -> str:
        params = {"dag_id": "deploy_site", "run_id": "manual__link", **task}
        return str(pages["viewer"].get("/run", params=params).headers["location"])

    page = f"{UI}/actions/{action.id}"
    assert place(task_id="plan_groups") == f"{page}#step-plan_groups"
    assert place(task_id="deploy_group", map_index="1") == f"{page}/group?name=compute"
    assert place(task_id="deploy_group", map_index="9") == f"{page}#step-deploy_group"


def test_the_address_of_controllers_leads_to_the_sites_and_to_the_nodes_of_one(
    viewer: httpx.Client, anonymous: httpx.Client, store: SiteStore
) -> None:
    commit(store, "north")
    assert anonymous.get(f"{CONTROLLERS}/").status_code == 401
    for path, there in ((f"{CONTROLLERS}/", f"{UI}/"), (f"{CONTROLLERS}/north/", f"{UI}/sites/north/states")):
        answer = viewer.get(path)
        assert (answer.status_code, answer.headers["location"]) == (303, there)
        without = viewer.get(path.rstrip("/"))
        assert (without.status_code, without.headers["location"]) == (307, f"/slipway{path}")


def test_there_a_site_that_does_not_exist_has_the_nearest_named(viewer: httpx.Client, store: SiteStore) -> None:
    commit(store, "north")
    assert_failure(viewer.get(f"{CONTROLLERS}/nroth/"), 404, "there is no site 'nroth'; did you mean 'north'?")
