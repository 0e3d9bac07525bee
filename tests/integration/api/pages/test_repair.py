"""Repair is stopped, and goes on, from the pages: said first, confirmed, audited, and refused to who may not."""

from __future__ import annotations

import httpx
import pytest

from site_store import SiteStore
from site_store.nodes.repair_switches import ALL_SITES
from tests.integration.api.pages.conftest import UI
from tests.integration.api.pages.test_actions import DESIGN, text_of
from tests.support.revisions import commit_design

ONE, ALL = "/sites/alpha/repair", "/repair"


@pytest.fixture(autouse=True)
def _committed(store: SiteStore) -> None:
    commit_design(store, "alpha", DESIGN)


def test_the_question_says_what_follows_and_changes_nothing(pages: dict[str, httpx.Client], store: SiteStore) -> None:
    said = text_of(pages["user"].get(f"{ALL}/stop"))
    assert "No repair begins any more on any site, also on those that come later" in said
    assert "No repair is at work now." in said
    assert "It is not stopped: nothing changes." in text_of(pages["user"].get(f"{ONE}/start"))
    assert store.repair_switches.all() == {}
    assert pages["user"].get(f"{ALL}/burn").status_code == 404


def test_all_sites_are_stopped_and_go_on(pages: dict[str, httpx.Client], store: SiteStore) -> None:
    assert "repair/stop" in pages["user"].get("/").text
    # No query makes a stop of one site of it.
    assert "on any site" in text_of(pages["user"].get(f"{ALL}/stop?site=alpha"))
    done = pages["user"].post(f"{ALL}/stop?site=alpha", data={"reason": " <b>a storm</b> "})
    assert (done.status_code, done.headers["location"]) == (303, f"{UI}/")
    assert store.repair_switches.all()[ALL_SITES].reason == "<b>a storm</b>"
    listed = pages["user"].get("/")
    assert "Repair of all sites is stopped by user" in text_of(listed)
    assert "<b>a storm" not in listed.text
    assert "repair/start" in listed.text
    assert "stopped by user since" in text_of(pages["viewer"].get("/sites/alpha"))
    assert "for all sites" in text_of(pages["viewer"].get("/sites/alpha"))
    assert "It stays stopped, as it is stopped for all sites." in text_of(pages["user"].get(f"{ONE}/start"))
    pages["user"].post(f"{ALL}/start", data={})
    assert store.repair_switches.all() == {}
    assert [one.command for one in store.wishes.audit("alpha")] == ["start repair", "stop repair"]


def test_one_site_is_stopped(pages: dict[str, httpx.Client], store: SiteStore) -> None:
    done = pages["user"].post(f"{ONE}/stop", data={"reason": "power"})
    assert (done.status_code, done.headers["location"]) == (303, f"{UI}/sites/alpha")
    assert store.repair_switches.all().keys() == {"alpha"}
    assert "repair stopped" in text_of(pages["viewer"].get("/"))
    assert "Let it go on" in text_of(pages["user"].get("/sites/alpha"))
    assert "It stays stopped on sites with a stop of their own: alpha." in text_of(pages["user"].get(f"{ALL}/start"))
    assert "shorten it" in text_of(pages["user"].post(f"{ONE}/stop", data={"reason": "x" * 1001}))


def test_who_may_not_is_refused_and_sees_no_button(pages: dict[str, httpx.Client], store: SiteStore) -> None:
    for path in (ALL, ONE):
        for answer in (pages["viewer"].get(f"{path}/stop"), pages["viewer"].post(f"{path}/stop")):
            assert (answer.status_code, "You may not see this" in answer.text) == (403, True)
    assert "repair/stop" not in pages["viewer"].get("/").text
    assert "repair/stop" not in pages["viewer"].get("/sites/alpha").text
    assert store.repair_switches.all() == {}
