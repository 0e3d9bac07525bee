"""What is done from pages: said first, confirmed, by who may, and from Airflow's own pages alone."""

from __future__ import annotations

import re

import httpx
import pytest

from provisioner_client.protocol import ListedNode
from site_engine.node_lists import keep_list
from site_store import SiteStore
from strategy_lib.node_condition import NodeCondition
from tests.integration.api.airflow_runs import commit
from tests.integration.api.pages.conftest import UI, Open
from tests.integration.api.pages.test_actions import text_of
from tests.support.driving import Begin
from tests.support.revisions import commit_design
from tests.support.sites import group, node, site

pytestmark = pytest.mark.usefixtures("dags", "connected")


@pytest.mark.parametrize("verb", ["pause", "unpause", "stop", "retry"])
def test_who_may_not_is_refused_before_and_after_the_question(
    verb: str, action: str, pages: dict[str, httpx.Client], store: SiteStore
) -> None:
    path = f"/actions/{action}/do/{verb}"
    for answer in (pages["viewer"].get(path), pages["viewer"].post(path)):
        assert (answer.status_code, "You may not see this" in answer.text) == (403, True)
    assert [one.command for one in store.actions.commands(action)] == ["invoke"]


@pytest.mark.parametrize("headers", [{}, {"Sec-Fetch-Site": "cross-site"}, {"Origin": "http://evil.example"}])
def test_a_form_of_another_page_changes_nothing(
    headers: dict[str, str], action: str, origin: str, tokens: dict[str, str], store: SiteStore
) -> None:
    answer = httpx.post(
        f"{origin}{UI}/actions/{action}/do/pause", cookies={"_token": tokens["admin"]}, headers=headers, timeout=60
    )
    assert answer.status_code == 403
    assert store.actions.get(action).paused is None


def test_pause_and_go_on(action: str, pages: dict[str, httpx.Client], store: SiteStore) -> None:
    op = pages["op"]
    assert "No further group starts" in text_of(op.get(f"/actions/{action}/do/pause"))
    assert store.actions.get(action).paused is None, "a question changes nothing"
    done = op.post(f"/actions/{action}/do/pause")
    assert (done.status_code, done.headers["location"]) == (303, f"{UI}/actions/{action}")
    assert store.actions.get(action).paused is not None
    assert "Paused: no further group starts." in text_of(op.get(f"/actions/{action}"))
    assert op.post(f"/actions/{action}/do/unpause").status_code == 303
    assert store.actions.get(action).paused is None
    assert {one.user for one in store.actions.commands(action) if one.command != "invoke"} == {"op"}
    again = op.post(f"/actions/{action}/do/unpause")
    assert (again.status_code, "This does not fit" in again.text) == (409, True)
    assert op.get(f"/actions/{action}/do/nonsense").status_code == 404


def test_stop(action: str, pages: dict[str, httpx.Client], store: SiteStore) -> None:
    assert "the action ends as cancelled" in text_of(pages["op"].get(f"/actions/{action}/do/stop"))
    assert pages["op"].post(f"/actions/{action}/do/stop").status_code == 303
    assert [(one.command, one.user) for one in store.actions.commands(action)][-1] == ("stop", "op")


def test_start_says_which_nodes_and_starts_when_that_is_confirmed(
    pages: dict[str, httpx.Client], store: SiteStore
) -> None:
    commit(store)
    path = "/sites/default/start/deploy_site"
    assert "Show what it will do" in pages["user"].get(path).text
    shown = pages["user"].post(path, data={"fresh": "yes", "revision": "1"})
    said = text_of(shown)
    assert "deploy_site erases 0 (0 redeployed, 0 released first, 0 removed), deploys 3," in said
    assert "n1, n2, n3 deploy never done" in said
    assert '<input type="hidden" name="revision" value="1">' in shown.text
    assert store.actions.newest("default") == []
    done = pages["user"].post(path, data={"revision": "1", "confirmed": "yes"})
    assert done.status_code == 303, done.text
    (listed,) = store.actions.newest("default")
    assert done.headers["location"] == f"{UI}/actions/{listed.action.id}"
    assert (listed.action.user, listed.action.revision) == ("user", 1)
    busy = pages["user"].post(path, data={"confirmed": "yes"})
    assert (busy.status_code, listed.action.id in busy.text) == (409, True)


def test_what_an_action_would_do_is_said_node_by_node_with_what_differs(
    pages: dict[str, httpx.Client], begin: Begin, store: SiteStore
) -> None:
    nodes = [node("n1"), node("n2"), node("n3")]
    groups = [group("first", ["n1", "n2"]), group("second", ["n3"], after=["first"])]
    design = site(nodes, groups)
    begin(design).group("first")
    listed = {name: ListedNode(name, NodeCondition.DEPLOYED, "Deployed", "on") for name in ("n1", "n2")}
    keep_list(store, "alpha", "slipway_provisioner", listed)
    commit_design(store, "alpha", design.replace("cidr: 10.0.0.0/24", "cidr: 10.0.0.0/23"))
    said = text_of(pages["user"].post("/sites/alpha/start/update_site"))
    table = said[said.index("What is done to the nodes, and why") :]
    assert "deploys 1, labels 0, leaves 0, withholds 2" in said
    assert "n1, n2 change withheld design changed, needs redeploy" in table
    assert "--allow-redeploy changes that" in table
    assert "Network oob $.data.cidr: 10.0.0.0/24 → 10.0.0.0/23" in table
    assert "n3 deploy never done" in table
    # Of the first group nothing is submitted.
    assert "Nothing of this waits for anything else." in table


def test_what_waits_for_what_is_said_of_what_is_submitted(pages: dict[str, httpx.Client], store: SiteStore) -> None:
    groups = [group("first", ["n1"]), group("second", ["n2"], after=["first"])]
    commit_design(store, "alpha", site([node("n1"), node("n2")], groups))
    keep_list(store, "alpha", "slipway_provisioner", {})
    said = text_of(pages["user"].post("/sites/alpha/start/update_site"))
    assert "group second waits for first" in said


def test_rule_59_what_a_group_in_batches_submits_is_counted_once_for_each_phase(
    pages: dict[str, httpx.Client], store: SiteStore
) -> None:
    batched = {**group("all"), "max_in_flight": 1}
    commit_design(store, "alpha", site([node("n1"), node("n2"), node("n3")], [batched]))
    keep_list(store, "alpha", "slipway_provisioner", {})
    said = text_of(pages["user"].post("/sites/alpha/start/update_site"))
    assert "prepare: 3, deploy: 3" in said
    assert "Group all goes in 3 batches of at most 1 node." in said


def test_what_cannot_be_started_is_said_in_the_form(pages: dict[str, httpx.Client], store: SiteStore) -> None:
    commit(store)
    answer = pages["user"].post("/sites/default/start/redeploy_server", data={"target_nodes": "<i>x</i>"})
    assert answer.status_code == 200
    assert "&lt;i&gt;x&lt;/i&gt;" in answer.text
    assert "<i>x" not in answer.text
    assert pages["user"].get("/sites/nothing/start/deploy_site").status_code == 404
    assert pages["user"].get("/sites/default/start/nothing").status_code == 404
    assert pages["viewer"].get("/sites/default/start/deploy_site").status_code == 403
    assert pages["viewer"].post("/sites/default/start/deploy_site", data={"confirmed": "yes"}).status_code == 403
    assert pages["user"].post("/sites/default/start/deploy_site", content=b"\xff=1").status_code == 400


@pytest.mark.endurance
def test_in_a_browser_inside_airflow(open_page: Open, store: SiteStore) -> None:
    """From the list of sites to the action that was started; nothing of it opens another window or asks the browser."""
    commit(store)
    watched = open_page("/plugin/slipway")
    watched.frame().get_by_role("link", name="default").click()
    frame = watched.frame()
    frame.get_by_role("link", name="Start deploy_site").click()
    frame.get_by_role("button", name="Show what it will do").click()
    frame.get_by_role("button", name="Start deploy_site").click()
    frame.get_by_role("heading", name=re.compile("deploy_site of default")).wait_for()
    frame.get_by_role("link", name="Stop").focus()
    watched.page.keyboard.press("Enter")
    frame.get_by_role("heading", name="Stop this action?").wait_for()
    frame.get_by_role("link", name="Back").click()
    frame.get_by_role("link", name="the run").click()
    watched.page.wait_for_url("**/dags/deploy_site/runs/*")
    watched.page.get_by_role("tab", name="Slipway").or_(watched.page.get_by_role("link", name="Slipway")).first.click()
    frame = watched.frame()
    frame.get_by_role("heading", name=re.compile("deploy_site of default")).wait_for()
    assert watched.complaints == []
