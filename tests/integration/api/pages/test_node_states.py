"""The page "Nodes" of a site: three states per node, versions and leader; and setting a state from it, in words."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import timedelta
from html import unescape

import httpx
import pytest

from site_store import AskedState, SiteStore
from slipway_api.pages import nodes
from strategy_lib.node_states.generated import NodeAvailability
from tests.integration.api.pages.conftest import UI, Open
from tests.integration.api.pages.test_actions import text_of
from tests.integration.api.pages.test_nodes import rows
from tests.support.led_sites import LedSite
from tests.support.revisions import commit_design
from tests.support.sites import group, node, site

PATH = "/sites/north/states"
SET = f"{PATH}/set"
DESIGN = site(
    [node("n1"), node("n2", rack="r2"), node("n3", rack="r2")],
    [group("control", ["n1"], minimum_successful_nodes=1), group("rest", ["n2", "n3"])],
)
WORDS = {"n1": "Deployed", "n2": "Deployed", "n3": "Ready"}
MAINTENANCE = {"nodes": "n3", "state": "maintenance", "reason": "new disk"}


@pytest.fixture
def led(store: SiteStore) -> LedSite:
    """Have a site that is led: n3 is down, as nothing is deployed on it."""
    found = LedSite(store, "north", DESIGN)
    found.sees(WORDS)
    return found


def fields_of(asked: httpx.Response) -> dict[str, str]:
    """Return what is sent when what a page asks is confirmed."""
    fields = dict(re.findall(r'name="(\w+)" value="([^"]*)"', asked.text))
    assert "confirmed" in fields, asked.text
    return {name: unescape(value) for name, value in fields.items() if name != "change"}


def confirmed(client: httpx.Client, entered: Mapping[str, str]) -> httpx.Response:
    """Enter something, and confirm what the page asks."""
    return client.post(SET, data=fields_of(client.post(SET, data=dict(entered))))


def test_a_site_that_was_never_looked_at_says_so(pages: dict[str, httpx.Client], store: SiteStore) -> None:
    commit_design(store, "north", DESIGN)
    said = text_of(pages["viewer"].get(PATH))
    assert "No controller has published the states of these nodes yet" in said
    assert "Version none yet Led by nobody" in said
    assert "n1 ? unknown — ? unknown up" in said
    assert pages["viewer"].get("/sites/nowhere/states").status_code == 404


def test_each_node_has_three_states_and_the_log_has_the_versions(pages: dict[str, httpx.Client], led: LedSite) -> None:
    led.sees(WORDS | {"n2": "Failed <b>deployment</b>"})
    led.leader.look()
    answer = pages["viewer"].get(PATH)
    said = text_of(answer)
    epoch = led.leader.held.epoch
    assert f"Version {epoch}.2 Published" in said
    assert "Led by host-1:4711 for" in said
    assert "Nodes ✗ down 2 ✓ up 1" in said
    assert rows(answer) == ["n2", "n3", "n1"]
    assert "Failed &lt;b&gt;deployment&lt;/b&gt;, power on" in answer.text
    log = said[said.index("Versions") :]
    assert log.index(f"{epoch}.2") < log.index("n2 : up → down") < log.index(f"{epoch}.1") < log.index("n1 : new → up")
    node_page = text_of(pages["viewer"].get("/sites/north/nodes/n2"))
    assert "Published ✗ down" in node_page
    assert "published: up -&gt; down" in node_page
    site_page = pages["viewer"].get("/sites/north").text
    assert f'href="{UI}/sites/north/states"' in site_page


def test_it_is_filtered_sorted_and_paged_by_the_server(
    pages: dict[str, httpx.Client], led: LedSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(nodes, "STATES_SHOWN", 2)
    viewer = pages["viewer"]
    first = viewer.get(PATH, params={"sort": "node"})
    assert rows(first) == ["n1", "n2"]
    (after,) = re.findall(r'href="[^"]*[?&;]after=([^"&#]*)', first.text)
    second = viewer.get(PATH, params={"sort": "node", "after": httpx.QueryParams(f"a={after}")["a"]})
    assert rows(second) == ["n3"]
    assert rows(viewer.get(PATH, params={"state": "up", "rack": "r2"})) == ["n2"]
    assert "No node is like that." in viewer.get(PATH, params={"q": "n9"}).text
    assert viewer.get(PATH, params={"state": "fine"}).status_code == 400
    assert (
        viewer.get(PATH, params={"versions_before": f"{led.leader.held.epoch}.1"}).text.count('<tr id="version-') == 0
    )


def test_it_renews_itself_and_is_the_same_until_something_changes(pages: dict[str, httpx.Client], led: LedSite) -> None:
    live = {"part": "live"}
    first = pages["viewer"].get(PATH, params=live)
    tag = {"If-None-Match": first.headers["ETag"]}
    assert pages["viewer"].get(PATH, params=live, headers=tag).status_code == 304
    led.store.user_states.change(
        "north", ["n3"], AskedState(NodeAvailability.MAINTENANCE, "new disk", force=True), "anna"
    )
    changed = pages["viewer"].get(PATH, params=live, headers=tag)
    assert (changed.status_code, "by anna" in changed.text) == (200, True)
    led.leader.look()
    assert "new → down" in pages["viewer"].get(PATH, params=live).text
    assert "script-src 'self'" in first.headers["Content-Security-Policy"]
    assert re.findall(r"<script|style=|onclick", first.text) == []


def test_who_leads_is_said_also_when_nobody_does(pages: dict[str, httpx.Client], led: LedSite) -> None:
    led.store.leases.give_up(led.leader.held)
    assert "No controller leads this site now" in text_of(pages["viewer"].get(PATH))
    led.lead("host-2:1")
    said = text_of(pages["viewer"].get(PATH))
    assert "The controller host-2:1 leads since" in said
    assert "has published nothing yet" in said


def test_a_viewer_sees_no_buttons_and_is_refused(pages: dict[str, httpx.Client], led: LedSite) -> None:
    shown = pages["viewer"].get(PATH).text
    assert "states/set?" not in shown
    assert re.findall(r'type="checkbox"|Set the marked', shown) == []
    assert "states/set?node=n3" not in pages["viewer"].get("/sites/north/nodes/n3").text
    assert "states/set?node=n3" in pages["user"].get("/sites/north/nodes/n3").text
    assert pages["user"].get(PATH).text.count("data-mark ") == 3
    for answer in (pages["viewer"].get(SET), pages["viewer"].post(SET, data=MAINTENANCE)):
        assert (answer.status_code, "You may not see this" in answer.text) == (403, True)
    assert led.store.user_states.of_site("north") == {}


def test_it_says_what_it_will_do_and_does_it_when_that_is_confirmed(
    pages: dict[str, httpx.Client], led: LedSite
) -> None:
    form = pages["user"].get(SET, params={"node": ["n2", "n3"], "rack": "r2"})
    assert (">n2\nn3</textarea>" in form.text, 'name="rack" value="r2"' in form.text) == (True, True)
    entered = {**MAINTENANCE, "nodes": "", "rack": "r2", "until": "8h"}
    asked = pages["user"].post(SET, data=entered)
    said = text_of(asked)
    assert "Set 2 nodes to maintenance?" in said
    assert "Every action leaves these nodes out from now on" in said
    assert "It stays so until 20" in said
    assert "Reason: new disk 2 nodes n2, n3" in said
    assert led.store.user_states.of_site("north") == {}, "nothing is done before it is confirmed"
    done = confirmed(pages["user"], entered)
    assert 'name="rack" value="r2"' in pages["user"].post(SET, data={**entered, "change": "yes"}).text
    assert (done.status_code, done.headers["location"]) == (303, f"{UI}{PATH}?user=maintenance")
    found = led.store.user_states.of_site("north")
    assert {name: (one.state, one.reason, one.set_by) for name, one in found.items()} == dict.fromkeys(
        ("n2", "n3"), ("maintenance", "new disk", "user")
    )
    until = found["n2"].until
    assert until is not None
    assert timedelta(hours=7) < until - led.store.now() <= timedelta(hours=8)


def test_a_refusal_stands_in_words_and_force_says_what_it_overrides(
    pages: dict[str, httpx.Client], led: LedSite
) -> None:
    entered = {"nodes": "n1", "state": "down", "reason": "<i>burnt</i>"}
    refused = pages["user"].post(SET, data=entered)
    said = text_of(refused)
    assert "Set 1 node to down: refused" in said
    assert "n1: it is up, and only a retired node is set down" in said
    assert "confirmed" not in refused.text
    forced = pages["user"].post(SET, data={**entered, "force": "yes"})
    said = text_of(forced)
    assert "Set 1 node to down by force?" in said
    assert "This is overridden: n1: it is up" in said
    assert "&lt;i&gt;burnt&lt;/i&gt;" in forced.text
    assert led.store.user_states.of_site("north") == {}
    assert confirmed(pages["user"], {**entered, "force": "yes"}).status_code == 303
    assert led.store.user_states.in_force("north")["n1"].state == "down"


def test_what_has_changed_since_it_was_asked_is_asked_again(pages: dict[str, httpx.Client], led: LedSite) -> None:
    entered = {**MAINTENANCE, "nodes": "", "rack": "r2"}
    asked = pages["user"].post(SET, data=entered)
    moved = DESIGN.replace('"rack": "r2"', '"rack": "r3"', 1).replace("rack: r2", "rack: r3", 1)
    commit_design(led.store, "north", moved)
    again = pages["user"].post(SET, data=fields_of(asked))
    assert "Something has changed since you were asked" in text_of(again)
    assert led.store.user_states.of_site("north") == {}


@pytest.mark.parametrize(
    ("wrong", "expected"),
    [
        ({"nodes": ""}, "name at least one node, a group or a rack"),
        ({"nodes": "n1\nn33"}, "has no node &#39;n33&#39;; did you mean"),
        ({"nodes": "", "rack": "r7"}, "has no rack &#39;r7&#39;"),
        ({"state": ""}, "choose the state that is to be set"),
        ({"reason": " "}, "say why nodes are set to maintenance"),
        ({"reason": "x" * 1001}, "the reason has more than 1000 characters"),
        ({"until": "tomorrow"}, "until &#39;tomorrow&#39; is no time: write 90m, 8h, 2d"),
        ({"until": "2001-01-01"}, "is over or ten years away"),
    ],
)
def test_what_cannot_be_meant_is_said_beside_what_was_entered(
    pages: dict[str, httpx.Client], led: LedSite, wrong: dict[str, str], expected: str
) -> None:
    answer = pages["user"].post(SET, data={**MAINTENANCE, **wrong})
    assert (answer.status_code, expected in answer.text) == (200, True), answer.text
    assert 'role="alert"' in answer.text
    assert led.store.user_states.of_site("north") == {}


@pytest.mark.endurance
def test_by_keyboard_and_marks_stay_while_the_page_renews_itself(open_page: Open, led: LedSite) -> None:
    watched = open_page(f"{UI}{PATH}")
    page = watched.page
    page.get_by_label("Mark n3").focus()
    page.keyboard.press("Space")
    led.sees(WORDS | {"n2": "Failed deployment"})
    page.get_by_text("Failed deployment, power on").wait_for()
    assert page.get_by_label("Mark n3").is_checked()
    assert not page.get_by_label("Mark n2").is_checked()
    page.get_by_role("button", name="Set the marked nodes…").focus()
    page.keyboard.press("Enter")
    assert page.get_by_label("Nodes, one on each line").input_value() == "n3"
    page.get_by_role("radio", name="maintenance").focus()
    page.keyboard.press("Space")
    page.get_by_label("Why (not needed for up)").fill("new disk")
    page.get_by_role("button", name="Show what it will do").press("Enter")
    page.get_by_role("button", name="Set 1 node to maintenance").press("Enter")
    page.get_by_role("heading", name="Nodes of north").wait_for()
    assert page.url.endswith(f"{PATH}?user=maintenance")
    assert led.store.user_states.in_force("north")["n3"].reason == "new disk"
    page.get_by_label("Name contains").fill("n1")
    page.locator("#node-n3").wait_for(state="detached")
    assert watched.complaints == []
