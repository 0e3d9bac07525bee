"""The page of what an update would do: for everybody who reads, and without a button."""

from __future__ import annotations

import re

import httpx

from site_store import SiteStore
from tests.integration.api.pages.conftest import UI
from tests.integration.api.pages.test_actions import text_of
from tests.support.revisions import commit_design
from tests.support.sites import group, node, site


def test_a_viewer_reads_what_an_update_would_do_and_sees_no_button(
    pages: dict[str, httpx.Client], store: SiteStore
) -> None:
    nodes = [node("n1"), node("n2"), node("n3")]
    commit_design(store, "alpha", site(nodes, [group("control", ["n1"]), group("compute", ["n2", "n3"])]))
    viewer = pages["viewer"]
    answer = viewer.get("/sites/alpha/plan")
    said = text_of(answer)
    assert "What an update of alpha would do" in said
    assert "3 nodes to add" in said
    assert said.index("control") < said.index("compute")
    assert "No list of the provisioner was read yet" in said
    assert re.findall(r"<form|<button|class=\"button", answer.text) == []
    assert f'href="{UI}/sites/alpha/plan"' in viewer.get("/sites/alpha").text


def test_a_site_that_does_not_exist_has_no_plan(pages: dict[str, httpx.Client]) -> None:
    assert pages["viewer"].get("/sites/nowhere/plan").status_code == 404


def test_who_is_not_logged_in_is_told_that_the_session_is_over(origin: str, store: SiteStore) -> None:
    commit_design(store, "alpha", site([node("n1")], [group("all")]))
    answer = httpx.get(f"{origin}{UI}/sites/alpha/plan", timeout=60)
    assert (answer.status_code, "The session is over" in answer.text) == (401, True)
