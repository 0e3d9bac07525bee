"""A group that asks a person: who sees the question and its buttons, and who may answer."""

from __future__ import annotations

import httpx
import pytest

from site_store import SiteStore
from strategy_lib.approval import ApprovalMoment
from tests.integration.api.airflow_runs import commit, create, plan
from tests.integration.api.pages.test_actions import text_of

pytestmark = pytest.mark.usefixtures("dags", "connected")


@pytest.fixture
def action(user: httpx.Client, store: SiteStore) -> str:
    """Return the id of an action that is under way, with a plan."""
    commit(store)
    made = str(create(user)["id"])
    plan(store, made)
    return made


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


def test_a_group_may_name_who_answers(action: str, pages: dict[str, httpx.Client], store: SiteStore) -> None:
    path = ask(store, action, "op")
    assert pages["user"].get(path).status_code == 403
    assert pages["op"].get(path).status_code == 200
    assert ">Answer</a>" in pages["op"].get(f"/actions/{action}").text
    assert ">Answer</a>" not in pages["admin"].get(f"/actions/{action}").text
