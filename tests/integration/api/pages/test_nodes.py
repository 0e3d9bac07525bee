"""The table of nodes and the page of one; and the owners that somebody waits for."""

from __future__ import annotations

import html
import re
from datetime import timedelta

import httpx
import pytest
from sqlalchemy import update

from site_store import AskedState, NewAction, SiteStore
from site_store.status.leases import lease_of
from site_store.tables import node as node_table
from site_store.tables import revision
from strategy_lib.node_states.generated import NodeAvailability
from strategy_lib.node_states.node_memory import NodeHistory, NodeMemory
from strategy_lib.node_states.publication import PublishedState
from tests.integration.api.airflow_runs import commit, plan
from tests.integration.api.pages.conftest import UI, Open
from tests.integration.api.pages.test_actions import DESIGN, text_of
from tests.support.driving import Begin
from tests.support.fake_provisioner import FakeProvisioner
from tests.support.revisions import commit_design
from tests.support.sites import group, node, site

UP, DOWN, MAINTENANCE = NodeAvailability.UP, NodeAvailability.DOWN, NodeAvailability.MAINTENANCE


def rows(answer: httpx.Response) -> list[str]:
    """Return the names in the table of nodes, in its order."""
    return re.findall(r'<tr id="node-([^"]*)"', answer.text)


def test_the_table_is_filtered_sorted_and_paged_by_the_server(pages: dict[str, httpx.Client], store: SiteStore) -> None:
    nodes = [node(f"n{number:03}", rack=f"r{number % 3}") for number in range(120)]
    commit_design(store, "wide", site(nodes, [group("all"), group("few", ["n001", "n004"])]))
    viewer = pages["viewer"]

    def ask(**query: str) -> httpx.Response:
        return viewer.get("/sites/wide/nodes", params=query)

    first = ask()
    assert rows(first) == [f"n{number:03}" for number in range(50)]
    (after,) = re.findall(r'href="[^"]*[?&;]after=([^"&#]*)', first.text)
    second = viewer.get("/sites/wide/nodes", params={"after": httpx.QueryParams(f"a={after}")["a"]})
    assert rows(second)[0] == "n050"
    assert rows(ask(sort="node", order="desc"))[0] == "n119"
    assert rows(ask(group="few")) == ["n001", "n004"]
    assert rows(ask(rack="r2"))[:2] == ["n002", "n005"]
    assert rows(ask(q="n11", standing="pending")) == [f"n11{digit}" for digit in range(10)]
    assert rows(ask(standing="success")) == []
    assert "No node is like that." in ask(power="on").text
    assert ask(sort="nothing").status_code == 400
    typed = ask(wanted_revision="x")
    assert (typed.status_code, rows(typed)) == (200, [])
    assert "wanted_revision must be the number of a revision, such as 3, and not &#39;x&#39;" in typed.text
    page = viewer.get("/sites/wide", params={"sort": "node", "order": "desc", "actions_before": "Z"}).text
    hidden = dict(re.findall(r'<input type="hidden" name="(\w+)" value="(\w+)">', page))
    assert hidden == {"sort": "node", "order": "desc", "actions_before": "Z"}, "a filter leaves them as they are"
    assert re.search(r"sort=rack&amp;order=asc&amp;actions_before=Z", page)


@pytest.mark.endurance
def test_the_table_follows_what_is_typed(open_page: Open, store: SiteStore) -> None:
    commit_design(store, "typed", site([node("a1"), node("b1")], [group("all")]))
    watched = open_page(f"{UI}/sites/typed")
    page = watched.page
    page.locator("#node-a1").wait_for()
    page.get_by_label("Name contains").fill("b")
    page.locator("#node-a1").wait_for(state="detached")
    assert page.locator("#node-b1").count() == 1
    assert page.url.endswith("/sites/typed?q=b")
    assert page.get_by_label("Name contains").input_value() == "b"
    assert watched.complaints == []


def test_a_node_has_all_that_happened_to_it_and_what_differs(
    pages: dict[str, httpx.Client], viewer: httpx.Client, begin: Begin, fake: FakeProvisioner, store: SiteStore
) -> None:
    fake.script("n2", "deploy", "fail")
    begin(DESIGN).group("control")
    said = text_of(pages["viewer"].get("/sites/alpha/nodes/n2"))
    past = said[said.index("What happened to it") :]
    assert "deploy_site of revision 1" in past
    assert past.index("prepare ✓ success") < past.index("deploy ✗ error")
    done = text_of(pages["viewer"].get("/sites/alpha/nodes/n1"))
    assert "It is as wanted." in done
    commit_design(store, "alpha", DESIGN.replace("rack: r1", "rack: r9").replace("role: compute", "role: storage"))
    shown = viewer.get("/api/v1.0/sites/alpha/nodes/n1", params={"differences": "true"}).json()
    assert [(one["name"], one["fields"]) for one in shown["differences"]] == [
        ("n1", [{"path": "$.data.metadata.rack", "change": "modified", "from": "r1", "to": "r9"}]),
        (
            "compute",
            [{"path": "$.data.metadata.owner_data.role", "change": "modified", "from": "compute", "to": "storage"}],
        ),
    ]
    changed = text_of(pages["viewer"].get("/sites/alpha/nodes/n1")).replace("&#34;", '"')
    assert '$.data.metadata.rack "r9" "r1"' in changed
    assert 'drydock/HostProfile/v1 compute $.data.metadata.owner_data.role "storage" "compute"' in changed
    assert pages["viewer"].get("/sites/alpha/nodes/nobody").status_code == 404


def test_rule_56_a_node_that_is_repaired_says_why_it_is_at_work(
    pages: dict[str, httpx.Client], store: SiteStore
) -> None:
    commit_design(store, "alpha", DESIGN)
    error = "drifted: power is off, since 2026-11-23 12:00:00 UTC"
    at_work = update(node_table).where(node_table.c.name == "n2").values(status="processing", error=error)
    store._database.write(lambda tx: tx.execute(at_work))
    for place in ("/sites/alpha/nodes", "/sites/alpha/nodes/n2"):
        assert "repairing: power is off, since 2026-11-23 12:00:00 UTC" in text_of(pages["viewer"].get(place)), place


def test_owners_that_are_gone_come_first_with_what_waits_for_them(
    pages: dict[str, httpx.Client], begin: Begin, store: SiteStore
) -> None:
    begin(DESIGN)
    store.owners.check_in("provisioner:aaa", 3600.0, detail="<b>fine</b>")
    answer = pages["viewer"].get("/owners")
    said = text_of(answer)
    assert said.index("airflow:deploy_site ? unresponsive") < said.index("provisioner:aaa ✓ there")
    assert "alpha" in said
    assert "&lt;b&gt;fine&lt;/b&gt;" in answer.text


def test_owners_come_in_pages(
    pages: dict[str, httpx.Client], store: SiteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("slipway_api.pages.sites.OWNERS_SHOWN", 2)
    commit(store, "alpha")
    for name in ("b", "a", "c"):
        store.owners.check_in(f"provisioner:{name}", 3600.0)
    found, query = [], ""
    while True:
        shown = pages["viewer"].get(f"/owners{query}").text
        found.append(re.findall(r'<th scope="row">([^<]*)</th>', shown))
        following = re.search(r'href="(\?[^"]+)">Next page', shown)
        if following is None:
            break
        query = html.unescape(following[1])
    # Nobody need have looked at the site yet: the controller is not missed.
    gone, there = ["airflow:deploy_site", "provisioner:slipway_provisioner"], ["controller", "provisioner:a"]
    assert found == [gone, there, ["provisioner:b", "provisioner:c"]]
    assert "There are no more owners" in pages["viewer"].get("/owners?after=z&there=1").text


def test_nodes_that_are_not_up_have_their_published_and_their_user_state(
    pages: dict[str, httpx.Client], store: SiteStore
) -> None:
    commit_design(store, "states", site([node("a"), node("b"), node("c")], [group("all")]))
    held = store.leases.take(lease_of("states"), "me", 600)
    assert held is not None
    said = {"a": (UP, ""), "b": (DOWN, "power <off>"), "c": (MAINTENANCE, "new disk")}
    views = {name: NodeMemory("Deployed", "on", NodeHistory(UP), PublishedState(*view)) for name, view in said.items()}
    store.site_views.remember(held, "states", views)
    assert store.user_states.change(
        "states", ["c"], AskedState(MAINTENANCE, "new disk", force=True), "ann"
    ).change.modified
    shown = pages["viewer"].get("/sites/states/nodes").text
    tags = {
        name: re.findall(r'<span title="([^"]*)">(\w+)\s+<span class="badge a-(\w+)">', row)
        for name, row in re.findall(r'<tr id="node-([^"]*)">(.*?)</tr>', shown, re.DOTALL)
    }
    assert tags == {
        "a": [],
        "b": [("power &lt;off&gt;", "published", "down")],
        "c": [("new disk", "set", "maintenance"), ("new disk", "published", "maintenance")],
    }


def test_an_owner_that_owes_nothing_is_there(pages: dict[str, httpx.Client], store: SiteStore) -> None:
    store.owners.check_in("reporter:burn-in@alpha", -1.0)
    said = text_of(pages["viewer"].get("/owners"))
    assert "reporter:burn-in@alpha ✓ there" in said, "rule 30"


@pytest.mark.endurance
def test_what_the_owners_page_leaves_out_is_counted(pages: dict[str, httpx.Client], store: SiteStore) -> None:
    for number in range(23):
        commit(store, f"s{number:02}")
        action = store.actions.ensure(
            "deploy_site", f"run-{number}", NewAction("deploy_site", f"s{number:02}", 1, {}, "tester")
        )
        plan(store, action.id)
    shown = pages["viewer"].get("/owners").text.split("<tr>")
    assert (20, 20, 2) in [(row.count("/actions/"), row.count("/sites/"), row.count("and 3 more")) for row in shown]


def test_a_site_in_error_says_that_nobody_looks_at_it(pages: dict[str, httpx.Client], store: SiteStore) -> None:
    commit_design(store, "unwatched", site([node("n1"), node("n2")], [group("all")]))
    failed = update(node_table).where(node_table.c.site == "unwatched", node_table.c.name == "n1")
    told = {"status": "error", "error": "disk is broken", "done_digest": node_table.c.wanted_digest}
    long_ago = update(revision).where(revision.c.site == "unwatched").values(created=store.now() - timedelta(hours=1))
    store._database.write(lambda tx: (tx.execute(failed.values(told)), tx.execute(long_ago)))
    shown = text_of(pages["viewer"].get("/sites/unwatched"))
    assert "disk is broken" in shown
    assert "Not watched : nobody has looked at the nodes since the first commit" in shown


def test_of_two_sites_the_one_of_a_demo_that_is_over_says_so(pages: dict[str, httpx.Client], store: SiteStore) -> None:
    for name in ("example", "north"):
        commit_design(store, name, site([node("n1")], [group("all")], region=name))
    store.site_stops.put("example", "demo: simulator stopped")
    listed = text_of(pages["viewer"].get("/"))
    assert listed.count("demo: simulator stopped") == 1
    assert "example demo: simulator stopped" in listed
    assert "Not watched : demo: simulator stopped" in text_of(pages["viewer"].get("/sites/example"))
    assert "Not watched" not in text_of(pages["viewer"].get("/sites/north"))
