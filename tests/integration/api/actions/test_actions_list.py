"""The list of actions: what it shows, in pages, and that it asks no more than it must."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest
from sqlalchemy import Table, update

from site_store import ActionState, NewAction, SiteStore
from site_store.tables import action, action_step, group_run
from strategy_lib.phase import GroupState, Reason
from tests.integration.api.airflow_runs import ACTIONS, AirflowRuns, commit, create, plan
from tests.support.lossy_proxy import LossyProxy

COMPUTE = {"name": "compute", "state": "pending"}

pytestmark = pytest.mark.usefixtures("dags", "connected")


def listed(client: httpx.Client, query: str = "") -> list[dict[str, Any]]:
    """Return the list."""
    answer = client.get(f"{ACTIONS}{query}")
    assert answer.status_code == 200, answer.text
    found: list[dict[str, Any]] = answer.json()
    return found


def over(store: SiteStore, count: int, site: str = "default", kind: str = "deploy_site") -> list[str]:
    """Store so many actions that are over; return their ids, newest first."""
    ids = []
    for _ in range(count):
        made = store.actions.create(NewAction(kind, site, 1, {}, "op", context_marker=None), exclusive=True)
        store.actions.close(made.id, ActionState.SUCCESS, "every group succeeded")
        ids.append(made.id)
    return ids[::-1]


def test_no_action_is_an_empty_list(viewer: httpx.Client) -> None:
    assert listed(viewer) == []


def test_the_list_is_of_one_site_newest_first(user: httpx.Client, store: SiteStore) -> None:
    expected = over(store, 3)
    over(store, 1, "other")
    found = listed(user)
    assert [one["id"] for one in found] == expected
    assert [one["site"] for one in listed(user, "?site=other")] == ["other"]


@pytest.mark.parametrize(
    ("table", "shown"),
    [
        pytest.param(action, {"state": "bogus", "action_lifecycle": "Undefined"}, id="action"),
        pytest.param(group_run, {"groups": [{"name": "control", "state": "bogus"}, COMPUTE]}, id="group"),
        pytest.param(action_step, {"site": "default"}, id="step"),
    ],
)
def test_rule_27_a_stored_state_that_nobody_knows_is_listed_as_undefined(
    user: httpx.Client, store: SiteStore, table: Table, shown: dict[str, Any]
) -> None:
    (good,) = over(store, 1)
    made = store.actions.create(NewAction("deploy_site", "default", 1, {}, "op", context_marker=None), exclusive=True)
    plan(store, made.id)
    store.steps.begin(made.id, "acquire", 1)
    this = (action.c.id if table is action else table.c.action_id) == made.id
    if table is not action:
        this &= table.c.name.in_(("control", "acquire"))
    store._database.write(lambda tx: tx.execute(update(table).where(this).values(state="bogus")))
    found = listed(user, "?status=true")
    assert [(one["id"], one["status"]) for one in found] == [(made.id, "undefined"), (good, None)]
    assert {name: found[0][name] for name in shown} == shown
    assert [one["id"] for one in listed(user)] == [made.id, good]


@pytest.mark.parametrize("word", ["state", "reason"])
def test_rule_27_an_action_with_a_word_of_a_group_that_nobody_knows_is_described(
    user: httpx.Client, store: SiteStore, word: str
) -> None:
    made = store.actions.create(NewAction("deploy_site", "default", 1, {}, "op", context_marker=None), exclusive=True)
    plan(store, made.id)
    control = (group_run.c.action_id == made.id) & (group_run.c.name == "control")
    store._database.write(lambda tx: tx.execute(update(group_run).where(control).values({word: "bogus"})))
    answer = user.get(f"{ACTIONS}/{made.id}")
    assert answer.status_code == 200, answer.text
    groups = {group["name"]: group for group in answer.json()["groups"]}
    assert (groups["control"][word], groups["compute"][word]) == ("bogus", {"state": "pending", "reason": None}[word])


def test_a_critical_group_that_failed_is_failed_never_complete(
    user: httpx.Client, store: SiteStore, airflow_runs: AirflowRuns
) -> None:
    commit(store)
    made = create(user)
    plan(store, made["id"])
    attempt = store.groups.open_attempt(made["id"], "control", "0").attempt
    store.actions.mark_step(made["id"], "deploy_group")
    (running,) = listed(user)
    assert (running["action_lifecycle"], running["dag_status"]) == ("Processing", "RUNNING")
    assert running["groups"] == [{"name": "control", "state": "running"}, {"name": "compute", "state": "pending"}]
    store.groups.finish(made["id"], "control", attempt, GroupState.FAILURE, Reason.PREPARE_CRITERIA)
    store.actions.close(made["id"], ActionState.FAILED, "critical group control failed")
    # Airflow may say what it likes: a run whose last task succeeded is a success there.
    airflow_runs.end("deploy_site", made["id"], "success")
    (failed,) = listed(user)
    assert (failed["action_lifecycle"], failed["dag_status"]) == ("Failed", "FAILED")
    assert [note["note_val"] for note in failed["notes"]] == ["critical group control failed"]
    states = {step["id"]: step["state"] for step in failed["steps"]}
    assert (states["deploy_group.control"], states["deploy_group.compute"]) == ("failed", None)
    assert listed(user, "?verbosity=0")[0]["notes"] == []


def test_pages_lead_from_one_to_the_next(user: httpx.Client, store: SiteStore) -> None:
    expected, found, url = over(store, 5), [], f"{ACTIONS}?limit=2&verbosity=1"
    while url:
        answer = user.get(url)
        found.append([one["id"] for one in answer.json()])
        link = re.fullmatch(r'</slipway(.+)>; rel="next"', answer.headers.get("Link", ""))
        url = link[1] if link else ""
    assert found == [expected[0:2], expected[2:4], expected[4:5]]


@pytest.mark.parametrize("query", ["limit=0", "limit=1001", "limit=x", "before=1", "verbosity=6", "site=/"])
def test_what_makes_no_sense_is_refused(user: httpx.Client, query: str) -> None:
    assert user.get(f"{ACTIONS}?{query}").status_code == 400


def test_one_query_of_ours_and_none_of_airflows_when_all_is_over(
    user: httpx.Client, store: SiteStore, proxy: LossyProxy, statements: list[str]
) -> None:
    over(store, 20)
    listed(user)
    proxy.requests.clear()
    statements.clear()
    assert len(listed(user)) == 20
    assert proxy.requests == []
    assert len([one for one in statements if "action" in one]) == 1


def test_one_call_to_airflow_however_many_look_open(
    user: httpx.Client, store: SiteStore, proxy: LossyProxy, statements: list[str]
) -> None:
    commit(store)
    made = [create(user, dry_run="true")["id"] for _ in range(4)]
    listed(user)
    proxy.requests.clear()
    statements.clear()
    assert [one["id"] for one in listed(user)] == made[::-1]
    assert [method for method, _ in proxy.requests] == ["GET"]
    assert len([one for one in statements if "action" in one]) == 1


def test_a_pending_action_without_a_run_is_over_after_two_minutes(user: httpx.Client, store: SiteStore) -> None:
    made = store.actions.create(NewAction("deploy_site", "default", 1, {}, "op", context_marker=None), exclusive=True)
    (young,) = listed(user)
    assert young["action_lifecycle"] == "Pending"
    earlier = datetime.now(UTC) - timedelta(seconds=121)
    store._database.write(lambda tx: tx.execute(action.update().where(action.c.id == made.id).values(created=earlier)))
    (old,) = listed(user)
    assert old["action_lifecycle"] == "Failed"


def test_the_list_stands_when_airflow_does_not_answer(user: httpx.Client, store: SiteStore, proxy: LossyProxy) -> None:
    commit(store)
    made = create(user)
    proxy.lose("GET", "request", 3)
    assert [one["id"] for one in listed(user)] == [made["id"]]
    assert store.actions.get(made["id"]).state is ActionState.PENDING


def test_actions_of_dags_that_the_caller_may_not_see_are_left_out(
    viewer: httpx.Client, store: SiteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = over(store, 1)
    over(store, 1, kind="relabel_nodes")
    monkeypatch.setattr("slipway_api.http.airflow_access.Caller.may_read", lambda _, dag_id: dag_id != "relabel_nodes")
    assert [one["id"] for one in listed(viewer)] == seen
