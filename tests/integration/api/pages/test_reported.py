"""What reporters say on the pages: told apart, with its text, at the top, at a group and at a node."""

from __future__ import annotations

import re

import httpx
import pytest

from site_store import SiteStore
from site_store.status.reporters import NewLeaf
from tests.integration.api.pages.test_actions import DESIGN, end, text_of
from tests.support.driving import Begin, Driving


@pytest.fixture
def done(begin: Begin, store: SiteStore) -> Driving:
    """Return an action in which all went well."""
    driving = begin(DESIGN)
    for name in ("control", "compute", "spare"):
        driving.group(name)
    end(store, driving)
    return driving


def report(store: SiteStore, *places: str, action_id: str = "") -> None:
    """Have a reporter say that something is broken at each of these places."""
    token = store.reporters.create("alpha", "burn-in", "admin").token
    leaves = [NewLeaf(place, "fans", "error", f"fan {number} stands") for number, place in enumerate(places)]
    store.reporters.report(token, "alpha", leaves, action_id, interval=3600)


def reported(said: str) -> str:
    """Return what a page says that others reported."""
    return said[said.index("Reported by others") :]


def test_the_site_says_what_others_report_of_it_its_groups_and_nodes(
    pages: dict[str, httpx.Client], done: Driving, store: SiteStore
) -> None:
    assert "Reported by others" not in text_of(pages["viewer"].get("/sites/alpha"))
    report(store, "", "control", "control/n1")
    answer = pages["viewer"].get("/sites/alpha")
    said = reported(text_of(answer))
    for number, place in enumerate(("the whole", "control", "control/n1")):
        assert f"fans ✗ error {place} fan {number} stands reporter:burn-in@alpha" in said
    assert re.findall(r'class="group-\w+[^>]*><title>(\w+)', answer.text) == ["control", "compute", "spare"]
    assert text_of(pages["viewer"].get("/sites/alpha/nodes/n1")).count("fan 2 stands") == 1
    assert "fan" not in text_of(pages["viewer"].get("/sites/alpha/nodes/n2"))


def test_an_action_that_others_find_fault_with_says_so_and_blames_none_of_its_groups(
    pages: dict[str, httpx.Client], done: Driving, store: SiteStore
) -> None:
    group, action = "deploy_group/control", done.action.id
    places = ("", "acquire", group, f"{group}/deploy", f"{group}/deploy/n1", "deploy_group/spare")
    report(store, *places, action_id=action)
    said = text_of(pages["viewer"].get(f"/actions/{action}"))
    assert "What went wrong" not in said
    assert "met its criteria all the same" not in said
    for number in range(len(places)):
        assert f"fan {number} stands" in reported(said)
    of_group = text_of(pages["viewer"].get(f"/actions/{action}/group", params={"name": "control"}))
    phases = of_group[of_group.index("Phases") : of_group.index("Reported by others")]
    assert "fans" not in phases
    assert re.findall(r"fan (\d) stands", reported(of_group)) == ["2", "3", "4"]
    of_node = text_of(pages["viewer"].get("/sites/alpha/nodes/n1"))
    assert re.findall(r"fan (\d) stands", of_node) == ["4"]


def test_a_group_that_has_not_begun_did_not_fail_by_what_others_say(
    pages: dict[str, httpx.Client], begin: Begin, store: SiteStore
) -> None:
    driving = begin(DESIGN)
    report(store, "deploy_group/control", action_id=driving.action.id)
    said = text_of(pages["viewer"].get(f"/actions/{driving.action.id}"))
    assert "did not run" not in said
    assert "fan 0 stands" in reported(said)


def test_what_others_say_is_cut_in_words(pages: dict[str, httpx.Client], done: Driving, store: SiteStore) -> None:
    token = store.reporters.create("alpha", "burn-in", "admin").token
    leaves = [NewLeaf("", f"f{number}", "error" if number == 119 else "success") for number in range(120)]
    store.reporters.report(token, "alpha", leaves, interval=3600)
    said = reported(text_of(pages["viewer"].get("/sites/alpha")))
    assert said.index("f119") < said.index("f1 ")
    assert "and 20 more, none of them worse." in said
