"""The pages for people who do not see them, or use no mouse; and with the names that an attacker would choose."""

from __future__ import annotations

import json
import re
from collections import Counter
from html.parser import HTMLParser
from typing import Any
from urllib.parse import quote

import httpx
import pytest

from provisioner_client.protocol import ListedNode
from site_engine.node_lists import keep_list
from site_store import SiteStore
from site_store.status.reporters import NewLeaf
from strategy_lib.node_condition import NodeCondition
from tests.integration.api.pages.conftest import UI, Open
from tests.integration.api.pages.test_actions import HOSTILE, end
from tests.support.driving import Begin, Driving
from tests.support.fake_provisioner import FakeProvisioner
from tests.support.revisions import commit_design
from tests.support.sites import group, node, site

BAD = HOSTILE[:32]
QUESTION = "Is <script>alert(1)</script> cabled?"
REPORTER = "<img src=x onerror=alert(2)><i style='color:red'>"
LEAF = "<script>alert(3)<img src=y onerror=alert(4)>"
DESIGN = site(
    [node(BAD), node("n2")],
    [
        group(HOSTILE, [BAD], percent_successful_nodes=90),
        {**group("gate", ["n2"], critical=False), "approval": "before", "approval_text": QUESTION},
    ],
)
# What a screen reader or an eye would stumble over: in the browser, where styles are computed.
STUMBLES = """() => {
  const wrong = [];
  const name = (e) => (e.getAttribute("aria-label") || [...(e.labels || [])].map((l) => l.textContent).join(" ")
    || e.textContent || e.getAttribute("title") || "").trim();
  const reached = "a[href], button, input:not([type=hidden]), select, textarea, summary, [tabindex='0']";
  for (const e of document.querySelectorAll(reached)) if (!name(e)) wrong.push(`no name: ${e.outerHTML.slice(0, 99)}`);
  const ids = [...document.querySelectorAll("[id]")].map((e) => e.id);
  for (const id of ids) if (ids.indexOf(id) !== ids.lastIndexOf(id)) wrong.push(`twice: ${id}`);
  if (document.querySelectorAll("h1").length !== 1) wrong.push("not one h1");
  for (const t of document.querySelectorAll("table")) if (!t.querySelector("th[scope]")) wrong.push("no headings");
  const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const rgba = (c) => {
    canvas.clearRect(0, 0, 1, 1); canvas.fillStyle = c; canvas.fillRect(0, 0, 1, 1);
    return [...canvas.getImageData(0, 0, 1, 1).data];
  };
  const part = (v) => (v / 255 <= 0.03928 ? v / 255 / 12.92 : ((v / 255 + 0.055) / 1.055) ** 2.4);
  const light = ([r, g, b]) => 0.2126 * part(r) + 0.7152 * part(g) + 0.0722 * part(b);
  const behind = (e) => {
    for (; e; e = e.parentElement) { const c = rgba(getComputedStyle(e).backgroundColor); if (c[3] > 250) return c; }
    return [255, 255, 255, 255];
  };
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) {
    const e = texts.currentNode.parentElement, text = texts.currentNode.textContent.trim();
    if (!text || e.closest("svg, .hidden-label, .skip") || !e.checkVisibility()) continue;
    const [a, b] = [light(rgba(getComputedStyle(e).color)), light(behind(e))].sort((x, y) => y - x);
    if ((a + 0.05) / (b + 0.05) < 4.5) wrong.push(`hard to see: ${text.slice(0, 40)}`);
  }
  return [...new Set(wrong)];
}"""


@pytest.fixture
def hostile(begin: Begin, fake: FakeProvisioner, store: SiteStore) -> Driving:
    """Return an action with names, words and a question that are HTML."""
    fake.script(BAD, "deploy", "fail")
    driving = begin(DESIGN)
    listed = ListedNode(BAD, NodeCondition.OTHER, "<b>Odd</b>", "<i>on</i>")
    keep_list(store, "alpha", "slipway_provisioner", {BAD: listed})
    driving.group(HOSTILE)
    driving.group("gate")
    token = store.reporters.create("alpha", REPORTER, "<u>ann</u>").token
    leaf = NewLeaf("gate", LEAF, "error", f"{REPORTER} says {LEAF}")
    store.reporters.report(token, "alpha", [leaf], interval=3600)
    below = NewLeaf("deploy_group/gate", LEAF, "error", f"{REPORTER} says {LEAF}")
    store.reporters.report(token, "alpha", [below], driving.action.id, interval=3600)
    return driving


def places(driving: Driving, store: SiteStore) -> list[str]:
    """Return the paths of all kinds of pages about an action, its site and its nodes."""
    action = f"{UI}/actions/{driving.action.id}"
    op = store.operations.of_action(driving.action.id)[0].op
    bad, group_name = quote(BAD, safe=""), quote(HOSTILE, safe="")
    return [
        f"{UI}/",
        f"{UI}/sites/alpha",
        f"{UI}/sites/alpha/nodes/{bad}",
        f"{UI}/sites/alpha/revisions/1",
        f"{UI}/sites/alpha/start/redeploy_server?target_nodes={bad}",
        f"{UI}/sites/alpha/touch?node={bad}",
        f"{UI}/owners",
        action,
        f"{action}/group?name={group_name}",
        f"{action}/operations/{op}?node={bad}",
        f"{action}/approval?group=gate",
        f"{action}/do/stop",
    ]


class Elements(HTMLParser):
    """The elements and ids of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.names: Counter[str] = Counter()
        self.ids: Counter[str] = Counter()
        self.scripts: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Count an element; note what of it would run."""
        self.names[tag] += 1
        self.ids.update(value for name, value in attrs if name == "id" and value is not None)
        self.scripts += [f"{tag} {name}" for name, _ in attrs if name.startswith("on")]
        if tag == "script" and "src" not in dict(attrs):
            self.scripts.append(tag)


def test_on_every_page_hostile_names_are_text_and_there_is_one_heading(
    pages: dict[str, httpx.Client], hostile: Driving, store: SiteStore
) -> None:
    for path in places(hostile, store):
        answer = pages["admin"].get(path.removeprefix(UI))
        assert answer.status_code == 200, path
        found = Elements(answer.text)
        assert (found.scripts, found.names["img"], found.names["i"]) == ([], 0, 0), path
        assert found.names["h1"] == 1, path
        assert [name for name, number in found.ids.items() if number > 1] == [], path
        assert found.names["table"] == 0 or 'scope="' in answer.text, path
    shown = pages["admin"].get(f"/actions/{hostile.action.id}").text
    assert "&lt;img src=x onerror=alert(1)&gt;" in shown
    assert "Is &lt;script&gt;alert(1)&lt;/script&gt; cabled?" in shown
    for path in ("/sites/alpha", f"/actions/{hostile.action.id}", "/owners"):
        text = pages["admin"].get(path).text
        assert "&lt;img src=x onerror=alert(2)&gt;" in text, path
        assert path == "/owners" or "&lt;script&gt;alert(3)" in text, path


@pytest.fixture
def changed(hostile: Driving, store: SiteStore) -> None:
    """Commit a design that differs from the one that was done in a value that is HTML."""
    listed = {name: ListedNode(name, NodeCondition.DEPLOYED, "<b>Odd</b>", "<i>on</i>") for name in (BAD, "n2")}
    keep_list(store, "alpha", "slipway_provisioner", listed)
    assert hostile.action.revision == 1
    commit_design(store, "alpha", DESIGN.replace("role: compute", f"role: {json.dumps(HOSTILE)}"))


@pytest.mark.usefixtures("changed")
def test_what_an_action_would_do_is_text_too(pages: dict[str, httpx.Client]) -> None:
    answer = pages["admin"].post("/sites/alpha/start/update_site", data={})
    assert "What is done to the nodes, and why" in answer.text
    assert "&lt;img src=x onerror=alert(1)&gt;" in answer.text
    found = Elements(answer.text)
    assert (found.scripts, found.names["img"], found.names["i"], found.names["h1"]) == ([], 0, 0, 1)


@pytest.mark.endurance
@pytest.mark.usefixtures("changed")
@pytest.mark.parametrize(("width", "dark"), [(1280, False), (390, True)])
def test_what_an_action_would_do_can_be_read_on_any_screen(open_page: Open, width: int, dark: bool) -> None:
    watched = open_page(f"{UI}/sites/alpha/start/update_site", width=width, dark=dark)
    page = watched.page
    assert page.get_by_label("Pass over revisions").count() == 0, "an update does not ask"
    page.get_by_role("button", name="Show what it will do").click()
    page.get_by_role("heading", name="What is done to the nodes, and why").wait_for()
    assert page.locator("main img, main script, main i, main b").count() == 0
    assert page.evaluate("document.documentElement.scrollWidth > innerWidth") is False
    assert page.evaluate(STUMBLES) == []
    assert watched.complaints == []


@pytest.mark.endurance
def test_hostile_names_are_text_on_every_page_and_the_policy_reports_nothing(
    open_page: Open, hostile: Driving, store: SiteStore
) -> None:
    watched = open_page(f"{UI}/owners")
    origin = watched.page.url.partition("/slipway")[0]
    for path in places(hostile, store):
        answer = watched.page.goto(origin + path)
        assert answer is not None
        assert answer.status == 200, path
        assert watched.page.locator("main img, main script, main i, main b:not(.legend b)").count() == 0, path
        assert watched.complaints == [], path
    watched.page.goto(f"{origin}{UI}/actions/{hostile.action.id}")
    watched.page.get_by_text(QUESTION).first.wait_for()
    watched.page.get_by_text(f"{REPORTER} says {LEAF}").first.wait_for()


@pytest.mark.endurance
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_a_screen_reader_finds_names_and_headings_and_an_eye_enough_contrast(
    open_page: Open, hostile: Driving, store: SiteStore, dark: bool
) -> None:
    watched = open_page(f"{UI}/owners", dark=dark)
    origin = watched.page.url.partition("/slipway")[0]
    stumbles: dict[str, Any] = {}
    for path in places(hostile, store):
        watched.page.goto(origin + path)
        if found := watched.page.evaluate(STUMBLES):
            stumbles[path] = found
    assert stumbles == {}


@pytest.mark.endurance
@pytest.mark.parametrize("width", [390, 1280])
def test_no_page_is_wider_than_the_screen(open_page: Open, hostile: Driving, store: SiteStore, width: int) -> None:
    watched = open_page(f"{UI}/owners", width=width)
    origin = watched.page.url.partition("/slipway")[0]
    too_wide = []
    for path in places(hostile, store):
        watched.page.goto(origin + path)
        if watched.page.evaluate("document.documentElement.scrollWidth > innerWidth"):
            too_wide.append(path)
    assert too_wide == []


@pytest.mark.endurance
def test_by_keyboard_alone_a_person_gets_to_the_question_and_keeps_the_place(
    open_page: Open, begin: Begin, fake: FakeProvisioner, store: SiteStore
) -> None:
    fake.script("n2", "deploy", "fail")
    driving = begin(site([node("n1"), node("n2")], [group("one", ["n1"]), group("two", ["n2"], critical=False)]))
    page = open_page(f"{UI}/actions/{driving.action.id}").page
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to the content"
    page.keyboard.press("Enter")
    for _ in range(20):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.textContent.trim()") == "Stop":
            break
    assert page.evaluate("document.activeElement.textContent.trim()") == "Stop"
    driving.group("one")
    page.get_by_role("link", name="one: success").wait_for()
    assert page.evaluate("document.activeElement.textContent.trim()") == "Stop", "what changes leaves the focus alone"
    page.keyboard.press("Enter")
    page.get_by_role("heading", name="Stop this action?").wait_for()
    driving.group("two")
    end(store, driving)


def test_the_zone_stands_once_on_each_page_and_in_the_heading_of_each_table_that_has_times(
    pages: dict[str, httpx.Client], hostile: Driving, store: SiteStore
) -> None:
    tables = 0
    for path in (*places(hostile, store), f"{UI}/sites/alpha/states", f"{UI}/sites/alpha/plan"):
        text = pages["admin"].get(path.removeprefix(UI)).text
        said = re.sub(r"<[^>]*>", "", re.sub(r"(?s)<th\b.*?</th>", "", text))
        assert said.count("UTC") == 1, path
        for table in re.findall(r"(?s)<table\b.*?</table>", text):
            if re.search(r"<time [^>]*data-(ago|until)", table):
                tables += 1
                assert "UTC" in table.partition("</thead>")[0], (path, table[:400])
    assert tables >= 5
