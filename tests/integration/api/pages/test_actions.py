"""The page of an action: what went wrong first, in words; and names that are no HTML."""

from __future__ import annotations

import html
import logging
import re
from collections.abc import Sequence

import httpx
import pytest
from sqlalchemy import Connection, update

from site_engine.actions.finalization import finalize_action
from site_store import NewAction, SiteStore
from site_store.tables import node as node_table
from slipway_airflow import connections
from slipway_api.pages.actions import failures
from strategy_lib.phase import Phase
from strategy_lib.status.entry import Entry, EntryKind, GroupDetails
from strategy_lib.status.words import Status
from tests.integration.api.pages.conftest import UI, Open
from tests.support.driving import Begin, Driving
from tests.support.fake_provisioner import FakeProvisioner
from tests.support.revisions import commit_design
from tests.support.sites import group, node, site

HOSTILE = "<img src=x onerror=alert(1)>\"'&{{7*7}}"
DESIGN = site(
    [node("n1"), node("n2"), node("n3"), node("n4")],
    [
        group("control", ["n1", "n2"], percent_successful_nodes=90),
        group("compute", ["n3"], after=["control"], critical=False),
        group("spare", ["n4"], critical=False),
    ],
)


def end(store: SiteStore, driving: Driving) -> None:
    """End the action, as its run's last task does."""
    finalize_action(store, store.actions.get(driving.action.id), {}, logging.getLogger("test"), connections)


@pytest.fixture
def failed(begin: Begin, fake: FakeProvisioner, store: SiteStore) -> Driving:
    """Return an action whose first group missed its criteria."""
    fake.script("n2", "deploy", "fail")
    driving = begin(DESIGN)
    driving.group("control")
    driving.group("spare")
    end(store, driving)
    return driving


def text_of(answer: httpx.Response) -> str:
    """Return what a page says, without its elements."""
    assert answer.status_code == 200, answer.text
    return " ".join(re.sub(r"<[^>]*>", " ", answer.text.partition("<main")[2]).split())


def test_an_action_says_what_failed_and_why_before_all_else(pages: dict[str, httpx.Client], failed: Driving) -> None:
    said = text_of(pages["viewer"].get(f"/actions/{failed.action.id}"))
    assert "deploy_site of alpha ✗ error" in said
    wrong, groups = said.index("What went wrong"), said.index("Timeline")
    assert said.index("critical group control failed") < wrong < groups
    assert "deploy: at least 90 % of the nodes succeed; 1 of 2 did" in said[wrong:groups]
    assert "n2 deploy" in said[wrong:groups]
    assert "1 group did not run because of it compute" in said[wrong:groups]


def test_a_group_that_another_one_blocks_is_told_apart_from_the_one_to_blame(
    pages: dict[str, httpx.Client], begin: Begin, fake: FakeProvisioner
) -> None:
    fake.script("n2", "deploy", "fail")
    driving = begin(DESIGN)
    driving.group("control")
    driving.group("compute")  # Its task finds that it cannot run.
    answer = pages["viewer"].get(f"/actions/{driving.action.id}")
    said = text_of(answer)
    wrong = said[said.index("What went wrong") : said.index("Groups")]
    assert "1 group did not run because of it compute : blocked by control" in wrong
    assert re.findall(r'<li id="failed-([^"]*)"', answer.text) == ["control"]
    assert "not run: blocked by control" in said
    assert re.findall(r'class="group-error( victim)?"[^>]*><title>([a-z]*)', answer.text) == [
        ("", "control"),
        (" victim", "compute"),
    ]
    assert re.findall(r'<text class="label ([a-z]*)"', answer.text) == ["bad", "victim"]


def test_a_report_that_is_red_for_the_groups_is_not_blamed_beside_them(begin: Begin) -> None:
    action, verdict = begin(DESIGN).action, "critical group control failed"
    details = GroupDetails(critical=True, state="failure", started=action.created, nodes=2)
    missed = Entry(EntryKind.GROUP, "control", Status.ERROR, group=details, counts={Status.ERROR: 2})

    def blamed(said: str, groups: Sequence[Entry]) -> list[str]:
        report = Entry(EntryKind.STEP, "report", Status.ERROR, messages=(said,))
        root = Entry(EntryKind.ACTION, action.id, Status.ERROR, children=(report,))
        return [one.entry.name for one in failures(root, groups, {}, action, "", verdict)]

    assert blamed(verdict, [missed]) == ["control"]
    assert set(blamed("the report could not be stored", [missed])) == {"report", "control"}
    assert blamed(verdict, []) == ["report"]


def test_nodes_that_failed_where_criteria_were_met_stand_behind_the_groups_to_blame(
    pages: dict[str, httpx.Client], begin: Begin, fake: FakeProvisioner, store: SiteStore
) -> None:
    fake.script("n2", "deploy", "fail")
    driving = begin(site([node("n1"), node("n2")], [group("control", ["n1", "n2"], percent_successful_nodes=50)]))
    driving.group("control")
    end(store, driving)
    answer = pages["admin"].get(f"/actions/{driving.action.id}")
    said = text_of(answer)
    assert "1 node failed in 1 group that met its criteria all the same" in said
    assert "✓ deploy: 50 % needed, 1 of 2" in said
    assert "do/retry" not in answer.text, "there is nothing to be tried again"


def test_nodes_that_never_began_in_a_group_that_met_its_criteria_are_not_said_to_have_failed(
    pages: dict[str, httpx.Client], begin: Begin, fake: FakeProvisioner, store: SiteStore
) -> None:
    fake.script("n2", "deploy", "fail")
    nodes = ["n1", "n2", "n3"]
    control = group("control", nodes, percent_successful_nodes=0) | {"depends_on_nodes": ["n2"]}
    driving = begin(site([node(name) for name in nodes], [control]))
    driving.group("control")
    end(store, driving)
    said = text_of(pages["admin"].get(f"/actions/{driving.action.id}"))
    assert "3 nodes did not succeed in 1 group that met its criteria all the same" in said
    assert "2 more in control did not succeed: all nodes of the group" in said


def test_an_action_that_never_began_its_groups_says_so(
    pages: dict[str, httpx.Client], begin: Begin, store: SiteStore
) -> None:
    driving = begin(DESIGN)
    end(store, driving)
    answer = pages["admin"].get(f"/actions/{driving.action.id}")
    said = text_of(answer)
    wrong = said[said.index("What went wrong") : said.index("Groups")]
    assert "3 groups did not run control : interrupted" in wrong
    assert f"/actions/{driving.action.id}/do/retry" in answer.text


def test_rule_31_the_nodes_of_a_step_that_is_in_no_group_are_named(
    pages: dict[str, httpx.Client], begin: Begin, store: SiteStore
) -> None:
    driving = begin(DESIGN)
    assert "Nodes of" not in text_of(pages["viewer"].get(f"/actions/{driving.action.id}"))
    end(store, driving)
    removal = store.actions.ensure("destroy_nodes", "run-9", NewAction("destroy_nodes", "alpha", 1, {}, "tester"))
    store.tasks.plan_step(removal.id, Phase.DESTROY, [f"n{number}" for number in range(100, 201)])
    said = text_of(pages["viewer"].get(f"/actions/{removal.id}"))
    listed = said[said.index("Nodes of destroy_nodes") :]
    assert "n100 destroy_nodes" in listed
    assert "n200 destroy_nodes" not in listed
    assert "and more: all of them" in listed
    first = pages["viewer"].get(f"/actions/{removal.id}/nodes")
    assert "n100 destroy_nodes" in text_of(first)
    following = re.search(r'href="(\?after=[^"]*)">Next page', first.text)
    assert following is not None
    rest = text_of(pages["viewer"].get(f"/actions/{removal.id}/nodes{html.unescape(following[1])}"))
    assert "n200 destroy_nodes" in rest
    assert "n100 " not in rest


@pytest.mark.endurance
def test_older_actions_and_revisions_of_a_site_can_be_reached(pages: dict[str, httpx.Client], store: SiteStore) -> None:
    for number in range(1, 23):
        commit_design(store, "alpha", f"{DESIGN}# {number}\n")
        store.actions.ensure(
            "deploy_site", f"run-{number}", NewAction("deploy_site", "alpha", number, {}, f"user-{number:02}")
        )
    viewer = pages["viewer"]
    first = viewer.get("/sites/alpha").text
    assert ("user-22" in first, "user-02" in first) == (True, False)
    (actions,) = re.findall(r'href="(\?actions_before=[^"#]*)', first)
    older = viewer.get(f"/sites/alpha{actions}").text
    assert ("user-22" in older, "user-02" in older, "Newest actions" in older) == (False, True, True)
    (revisions,) = re.findall(r'href="(\?revisions_before=[^"#]*)', first)
    older = viewer.get(f"/sites/alpha{revisions}").text
    assert 'href="/slipway/ui/sites/alpha/revisions/1"' in older
    assert "There are no older ones." in viewer.get("/sites/alpha?revisions_before=1").text


def test_a_group_has_its_nodes_the_worst_first(pages: dict[str, httpx.Client], failed: Driving) -> None:
    answer = pages["viewer"].get(f"/actions/{failed.action.id}/group", params={"name": "control"})
    said = text_of(answer)
    deploy = said[said.index("Nodes that failed") :]
    assert deploy.index("n2") < deploy.index("n1")
    assert 'href="/slipway/ui/sites/alpha/nodes/n2"' in answer.text
    missing = pages["viewer"].get(f"/actions/{failed.action.id}/group", params={"name": "nothing"})
    assert (missing.status_code, "has no group &#39;nothing&#39;" in missing.text) == (404, True)


def test_the_site_has_its_groups_actions_and_revisions(pages: dict[str, httpx.Client], failed: Driving) -> None:
    said = text_of(pages["viewer"].get("/sites/alpha"))
    assert "critical group control failed" in said
    assert "behind the design: 2 nodes serve nothing" in said
    assert "not healthy: " in said
    assert "1 deploy_site" in text_of(pages["viewer"].get("/")) or "deploy_site" in said
    assert "It is the first revision" in text_of(pages["viewer"].get("/sites/alpha/revisions/1"))
    assert pages["viewer"].get("/sites/alpha/revisions/7").status_code == 404
    assert pages["viewer"].get("/sites/nothing").status_code == 404


def test_who_may_not_change_runs_sees_no_buttons(pages: dict[str, httpx.Client], begin: Begin) -> None:
    driving = begin(DESIGN)
    buttons = re.compile(r'class="button[^"]*" href="[^"]*/(?:do|start)/(\w+)"')
    path = f"/actions/{driving.action.id}"
    assert set(buttons.findall(pages["op"].get(path).text)) == {"pause", "stop"}
    assert buttons.findall(pages["viewer"].get(path).text) == []
    assert buttons.findall(pages["viewer"].get("/sites/alpha").text) == []


@pytest.mark.endurance
def test_groups_change_without_a_reload_and_what_is_open_stays_open(
    open_page: Open, begin: Begin, fake: FakeProvisioner
) -> None:
    fake.script("n2", "deploy", "fail")
    driving = begin(DESIGN)
    watched = open_page(f"{UI}/actions/{driving.action.id}", height=500)
    page = watched.page
    page.get_by_role("link", name="control: pending").wait_for()
    page.evaluate("window.same = true; scrollTo(0, 300)")
    driving.group("control")
    page.get_by_role("link", name="control: error").wait_for()
    page.locator("#not-run").evaluate("element => { element.open = true }")
    driving.group("spare")
    page.get_by_role("link", name="spare: success").wait_for()
    assert page.locator("#not-run").evaluate("element => element.open") is True
    assert page.evaluate("window.same") is True
    assert page.evaluate("scrollY") >= 300, "the browser keeps in view what it showed"
    assert watched.complaints == []


def test_rule_59_a_group_in_batches_says_so_on_every_page(
    pages: dict[str, httpx.Client], begin: Begin, fake: FakeProvisioner, store: SiteStore
) -> None:
    names = [f"n{number}" for number in range(1, 8)]
    batched = {**group("compute", maximum_failed_nodes=1), "max_in_flight": 3, "canary": 1}
    driving = begin(site([node(name) for name in names], [batched]))
    viewer, of_action = pages["viewer"], f"/actions/{driving.action.id}"
    goes = "in batches of at most 3 nodes, 1 canary first"
    assert f"goes {goes}" in text_of(viewer.get(of_action))
    assert f"goes {goes}" in text_of(viewer.get("/sites/alpha"))
    planned = "Group compute goes in 3 batches of at most 3 nodes, first its canaries: n1. If one of them fails,"
    assert planned in text_of(viewer.get("/sites/alpha/plan"))
    # The third of the nodes that follow the canary is under way, and nobody waits for it any longer.
    fake.script("n3", "deploy", "stuck")
    driving.patience = 2.0
    driving.group("compute")
    said = text_of(viewer.get(of_action))
    assert "Working on group compute: batch 2 of about 3, deploy, 1 of 7 nodes. 0 of 1 group done." in said
    assert f"batch 2 of about 3; {goes}" in said
    assert f"Batches batch 2 of about 3; {goes}" in text_of(viewer.get(f"{of_action}/group?name=compute"))


def test_rule_59_a_bad_canary_is_told_with_what_it_kept_back(
    pages: dict[str, httpx.Client], begin: Begin, fake: FakeProvisioner, store: SiteStore
) -> None:
    fake.script("n1", "deploy", "fail")
    driving = begin(site([node("n1"), node("n2"), node("n3")], [{**group("compute"), "canary": 1}]))
    driving.group("compute")
    end(store, driving)
    said = text_of(pages["viewer"].get(f"/actions/{driving.action.id}"))
    wrong = said[said.index("What went wrong") : said.index("Groups")]
    assert "canaries failed: n1; no other node was begun" in wrong
    assert "2 more did not succeed" in wrong
    assert "ended with batch 1, and 2 nodes never began; 1 canary first, then all others" in said
    of_group = text_of(pages["viewer"].get(f"/actions/{driving.action.id}/group?name=compute"))
    assert "not started: the canaries failed: n1 (Error deploying node n1)" in of_group


MAIN = re.compile(r'class="button main" href="[^"]*/(?:do|start)/([\w?=]+)"')


def test_an_action_that_is_paused_before_its_plan_can_go_on_and_be_stopped(
    pages: dict[str, httpx.Client], store: SiteStore
) -> None:
    commit_design(store, "alpha", DESIGN)
    made = store.actions.ensure("deploy_site", "run-1", NewAction("deploy_site", "alpha", 1, {}, "ann"))
    store.locks.acquire(made.id)
    store.actions.set_paused(made.id, True)
    shown = pages["op"].get(f"/actions/{made.id}").text
    assert set(re.findall(r'href="[^"]*/do/(\w+)"', shown)) == {"unpause", "stop"}


def test_the_first_button_of_a_site_is_what_comes_next_and_none_while_an_action_is_open(
    pages: dict[str, httpx.Client], begin: Begin, store: SiteStore, fake: FakeProvisioner
) -> None:
    commit_design(store, "alpha", DESIGN)
    path = "/sites/alpha"
    assert MAIN.findall(pages["admin"].get(path).text) == ["deploy_site?next=yes"]
    fake.script("n2", "deploy", "fail")
    driving = begin(DESIGN)
    assert MAIN.findall(pages["admin"].get(path).text) == []
    driving.group("control")
    end(store, driving)
    store.locks.release(driving.action.id)
    assert MAIN.findall(pages["admin"].get(path).text) == ["update_site?next=yes"]


def test_what_is_wrong_with_a_site_leads_to_its_nodes_and_says_each_name_once(
    pages: dict[str, httpx.Client], store: SiteStore
) -> None:
    names = ["n1", "n2", "n3"]
    commit_design(store, "alpha", site([node(name) for name in names], [group("all"), group("more", ["n1"])]))
    said = {"n1": "disk is broken", "n2": "disk is broken", "n3": "n3 does not answer"}

    def fail(tx: Connection) -> None:
        for name, error in said.items():
            this = update(node_table).where(node_table.c.site == "alpha", node_table.c.name == name)
            tx.execute(this.values(status="error", error=error))

    store._database.write(fail)
    shown = pages["viewer"].get("/sites/alpha").text
    wrong = shown[shown.index("What is wrong") :].partition("</section>")[0]
    assert re.findall(r'href="[^"]*/sites/alpha/nodes/(\w+)"', wrong) == names
    words = [" ".join(re.sub("<[^>]*>", "", one).split()) for one in wrong.split("<li")[1:]]
    assert [one.partition(">")[2] for one in words] == ["n1, n2: disk is broken", "n3: does not answer"]
