"""A node is asked for again from its page: said first, confirmed, audited, and refused to who may not."""

from __future__ import annotations

import re
from datetime import datetime, timedelta

import httpx
import pytest
import yaml
from sqlalchemy import update

from site_store import SiteStore
from site_store.tables import node
from tests.integration.api.pages.conftest import UI, Open
from tests.integration.api.pages.test_actions import DESIGN, text_of
from tests.support.driving import Begin
from tests.support.fake_provisioner import FakeProvisioner
from tests.support.revisions import commit_design
from tests.support.sites import document
from tests.support.stores import errors_of

PATH = "/sites/alpha/touch"


@pytest.fixture
def committed(store: SiteStore) -> None:
    """Commit the design."""
    commit_design(store, "alpha", DESIGN)


def version(store: SiteStore, name: str) -> int | None:
    return next(one.wanted_version for one in store.nodes.of_site("alpha") if one.name == name)


@pytest.mark.usefixtures("committed")
def test_the_question_says_what_follows_and_changes_nothing(pages: dict[str, httpx.Client], store: SiteStore) -> None:
    said = text_of(pages["user"].get(PATH, params={"node": "n1"}))
    assert "is wanted as version 2 of the node" in said
    assert "It is not as wanted now: never done." in said
    assert "The next update prepares and deploys it." in said
    assert "Nothing is started by this." in said
    assert version(store, "n1") == 1


@pytest.mark.usefixtures("committed")
def test_confirmed_it_is_done_and_audited(pages: dict[str, httpx.Client], store: SiteStore) -> None:
    done = pages["user"].post(PATH, params={"node": "n1"})
    assert (done.status_code, done.headers["location"]) == (303, f"{UI}/sites/alpha/nodes/n1")
    assert (version(store, "n1"), version(store, "n2")) == (2, 1)
    (asked,) = store.wishes.audit("alpha")
    assert (asked.command, asked.nodes, asked.user) == ("touch", ("n1",), "user")


@pytest.mark.usefixtures("committed")
def test_who_may_not_is_refused_and_sees_no_button(pages: dict[str, httpx.Client], store: SiteStore) -> None:
    assert "touch?node=n1" in pages["user"].get("/sites/alpha/nodes/n1").text
    assert "touch?node=" not in pages["viewer"].get("/sites/alpha/nodes/n1").text
    for answer in (pages["viewer"].get(PATH, params={"node": "n1"}), pages["viewer"].post(PATH, params={"node": "n1"})):
        assert (answer.status_code, "You may not see this" in answer.text) == (403, True)
    assert version(store, "n1") == 1


@pytest.mark.usefixtures("committed")
def test_a_node_that_nobody_wants_is_not_asked_for(pages: dict[str, httpx.Client]) -> None:
    assert pages["user"].get(PATH, params={"node": "nobody"}).status_code == 404
    assert pages["user"].post(PATH, params={"node": "nobody"}).status_code == 404
    assert pages["user"].get("/sites/nothing/touch", params={"node": "n1"}).status_code == 404


def test_errors_stand_by_operation_and_one_of_an_older_version_says_so(
    pages: dict[str, httpx.Client], begin: Begin, fake: FakeProvisioner, store: SiteStore
) -> None:
    fake.script("n2", "deploy", "fail")
    begin(DESIGN).group("control")
    (error,) = errors_of(store, "alpha", "n2")
    shown = text_of(pages["viewer"].get("/sites/alpha/nodes/n2"))
    errors = shown[shown.index("Errors, by operation") : shown.index("What happened to it")]
    assert f" {error.error.op} " in errors
    assert "deploy 1 provisioner" in errors
    assert "stands 1 not yet" in errors
    assert "Failed once" in shown
    assert "Next try by nobody: repair only observes on this site: the next update takes it up" in shown
    store.wishes.touch("alpha", ["n2"], "op")
    shown = text_of(pages["viewer"].get("/sites/alpha/nodes/n2"))
    assert "superseded by a newer version of the node 1 not yet" in shown
    assert "Next try" not in shown


@pytest.fixture
def repaired(begin: Begin, fake: FakeProvisioner) -> None:
    """Deploy a site with repair on, of which n2 fails."""
    fake.script("n2", "deploy", "fail")
    settings = document("slipway/SiteSettings/v1", "settings", {"repair": "on"})
    begin(DESIGN + yaml.safe_dump(settings, explicit_start=True)).group("control")


def put_off(store: SiteStore, due: datetime) -> None:
    move = update(node).where(node.c.site == "alpha", node.c.name == "n2").values(next_try=due)
    store._database.write(lambda tx: tx.execute(move))


@pytest.mark.usefixtures("repaired")
def test_rule_57_where_repair_is_on_the_page_says_when_it_tries_a_failed_node_again(
    pages: dict[str, httpx.Client], store: SiteStore
) -> None:
    due = store.now() + timedelta(seconds=600)

    def shown(due: datetime) -> str:
        put_off(store, due)
        return text_of(pages["viewer"].get("/sites/alpha/nodes/n2"))

    assert f"Next try repair may try it at {due:%Y-%m-%d %H:%M:%S}" in shown(due)
    assert "Next try due now: repair may try it" in shown(due - timedelta(seconds=1200))
    store.repair_switches.stop("alpha", "ann", "a storm")
    assert "Next try by nobody: repair is stopped: the next update takes it up" in shown(due)


@pytest.mark.endurance
@pytest.mark.usefixtures("repaired")
def test_the_page_counts_down_to_the_next_try(open_page: Open, store: SiteStore) -> None:
    put_off(store, store.now() + timedelta(minutes=10))
    page = open_page(f"{UI}/sites/alpha/nodes/n2").page
    page.get_by_text(re.compile(r"repair may try it in \d+ min")).wait_for()
