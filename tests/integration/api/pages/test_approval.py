"""A group that asks a person: who sees the question and its buttons, and who may answer."""

from __future__ import annotations

import httpx
import pytest

from site_store import SiteStore
from strategy_lib.strategy import ApprovalMoment
from tests.integration.api.pages.test_actions import text_of

pytestmark = pytest.mark.usefixtures("dags", "connected")


def ask(store: SiteStore, action: str, *approvers: str) -> str:
    """Let the group control ask; return the path of its question."""
    attempt = store.groups.get(action, "control").attempt
    store.approvals.ask(action, "control", attempt, ApprovalMoment.BEFORE, "Is it <i>cabled</i>?", approvers, 3600)
    return f"/actions/{action}/approval?group=control"


def test_who_may_start_such_an_action_is_asked(action: str, pages: dict[str, httpx.Client], store: SiteStore) -> None:
    assert pages["user"].get(f"/actions/{action}/approval?group=control").status_code == 409
    path = ask(store, action)
    question = pages["user"].get(path)
    assert "Is it &lt;i&gt;cabled&lt;/i&gt;?" in question.text
    assert "the group starts, with 2 nodes" in text_of(question)
    assert ">Answer</a>" in pages["user"].get(f"/actions/{action}").text
    for answer in (pages["viewer"].get(path), pages["viewer"].post(path, data={"answer": "approve"})):
        assert answer.status_code == 403
    shown = pages["viewer"].get(f"/actions/{action}").text
    assert "control asks for approval" in shown
    assert ">Answer</a>" not in shown
    assert pages["user"].post(path, data={"answer": "perhaps"}).status_code == 400
    # No task waits in Airflow: there is no scheduler here.
    early = pages["user"].post(path, data={"answer": "approve"})
    assert (early.status_code, "try again in a moment" in early.text) == (409, True)


def test_every_view_says_that_a_group_waits_for_a_person_and_with_which_command(
    action: str, pages: dict[str, httpx.Client], user: httpx.Client, store: SiteStore
) -> None:
    ask(store, action)
    command = f"slipway approve action/{action} --group control"
    site = store.actions.get(action).site
    for path in (f"/actions/{action}", f"/actions/{action}/group?name=control", f"/sites/{site}"):
        assert command in text_of(pages["user"].get(path)), path
    assert "waits for approval" in text_of(pages["user"].get("/"))
    described = user.get(f"/api/v1.0/actions/{action}").json()
    assert command in described["notes"][0]["note_val"]
    assert command in next(one["waits"] for one in described["groups"] if one["name"] == "control")
    listed = user.get("/api/v1.0/actions", params={"site": site, "status": True}).json()
    assert command in next(one["waits"] for one in listed if one["id"] == action)
    tree = user.get(f"/api/v1.0/actions/{action}/tree").json()["root"]
    assert command in tree["messages"][0]


def test_a_group_may_name_who_answers(action: str, pages: dict[str, httpx.Client], store: SiteStore) -> None:
    path = ask(store, action, "op")
    assert pages["user"].get(path).status_code == 403
    assert pages["op"].get(path).status_code == 200
    assert ">Answer</a>" in pages["op"].get(f"/actions/{action}").text
    assert ">Answer</a>" not in pages["admin"].get(f"/actions/{action}").text
