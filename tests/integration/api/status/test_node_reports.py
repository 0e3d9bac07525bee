"""Reports of nodes over HTTP: programs outside read them, and acknowledge errors (rules 47 and 48)."""

from __future__ import annotations

from itertools import product
from typing import Any

import httpx
import pytest
from sqlalchemy import insert

from site_store import Claim, OperationStatus, SiteStore
from site_store.tables import node, node_error
from strategy_lib.outcome import Outcome
from strategy_lib.parsing.schema_check import check_data
from strategy_lib.phase import Phase
from tests.integration.api.airflow_runs import commit, create, plan
from tests.integration.api.http.test_service import assert_failure

SITE = "default"
REPORTS = f"/api/v1.0/sites/{SITE}/reports"
ACKNOWLEDGE = f"{REPORTS}/acknowledgements"


def rows(store: SiteStore, name: str, *, state: bool, removal: bool, error: bool) -> None:
    """Store a node of which exactly these parts are to be reported, and that has nothing else to tell."""
    status = "success" if state and not error else "error" if error else None
    one: dict[str, Any] = {"site": SITE, "name": name, "op": 7, "status": status}
    if not removal:
        one |= {"wanted_digest": "v1", "wanted_revision": 1, "wanted_version": 1}
    one["done_digest"] = None if not (state or removal) else "v1"
    store._database.write(lambda tx: tx.execute(insert(node).values(one)))
    if error:
        told = {"site": SITE, "node": name, "op": 7, "code": "timeout", "text": "no result", "phase": "deploy"}
        told |= {"action_id": "0" * 26, "wanted_version": 1, "time": store.now(), "state": "failed"}
        store._database.write(lambda tx: tx.execute(insert(node_error).values(told)))


def test_rule_47_every_combination_of_parts_is_as_the_schema_says(viewer: httpx.Client, store: SiteStore) -> None:
    commit(store)
    combinations = list(product([False, True], repeat=3))
    for number, (state, removal, error) in enumerate(combinations):
        rows(store, f"x{number}", state=state, removal=removal, error=error)
    answer = viewer.get(REPORTS, params={"since": 0})
    assert answer.status_code == 200, answer.text
    found = {report["node"]: report for report in answer.json()["reports"] if report["node"].startswith("x")}
    assert len(found) == len(combinations)
    for number, (_state, removal, error) in enumerate(combinations):
        report = found[f"x{number}"]
        assert check_data("node_report", report) == []
        assert ("removal" in report, "error" in report) == (removal, error), report
    # A node on which nothing was ever done has no state to tell of; what failed or goes away has one.
    assert "state" not in found["x0"]
    assert {found[f"x{number}"]["state"] for number, parts in enumerate(combinations) if parts[2]} == {"error"}
    pages: list[str] = []
    after: str | None = ""
    while after is not None:
        page = viewer.get(REPORTS, params={"since": 0, "limit": 3, "after": after}).json()
        pages += [report["node"] for report in page["reports"]]
        after = page["after"]
    assert pages == sorted(report["node"] for report in answer.json()["reports"])


@pytest.mark.usefixtures("dags", "connected")
def test_rule_48_a_reader_gets_an_error_until_it_acknowledges_that_operation(
    user: httpx.Client, viewer: httpx.Client, store: SiteStore
) -> None:
    commit(store)
    action = str(create(user)["id"])
    plan(store, action)
    record = store.groups.open_attempt(action, "control", "1")
    operation = store.operations.begin(
        Claim(action, SITE, "control", record.attempt, Phase.PREPARE, ["n1"], "file:///d")
    )
    failed = Outcome(frozenset(), frozenset({"n1"}), frozenset(), notes={"n1": "no disk"})
    store.operations.record_outcome(operation.op, failed, status=OperationStatus.COMPLETE, result="failure")
    (first,) = viewer.get(REPORTS).json()["reports"]
    assert (first["node"], first["op"], first["state"]) == ("n1", operation.op, "error")
    assert first["error"] == {
        "code": "provisioner",
        "message": "no disk",
        "action": action,
        "phase": "prepare",
        "provisioner_task": None,
    }
    assert viewer.get(REPORTS).json()["reports"] == [first]
    wrong = user.post(ACKNOWLEDGE, json={"acknowledged": [{"node": "n1", "op": operation.op + 1}]})
    assert wrong.json() == {"cleared": [], "others": ["n1"]}
    assert viewer.get(REPORTS).json()["reports"] == [first]
    own = {"acknowledged": [{"node": "n1", "op": operation.op}]}
    assert_failure(viewer.post(ACKNOWLEDGE, json=own), 403, "viewer")
    before = viewer.get(f"/api/v1.0/sites/{SITE}/nodes/n1")
    assert user.post(ACKNOWLEDGE, json=own).json() == {"cleared": ["n1"], "others": []}
    assert user.post(ACKNOWLEDGE, json=own).json() == {"cleared": ["n1"], "others": []}
    assert viewer.get(REPORTS).json()["reports"] == []
    after = viewer.get(f"/api/v1.0/sites/{SITE}/nodes/n1")
    # It is known, and still an error.
    assert after.json()["node"]["status"] == "error"
    (error,) = after.json()["errors"]
    assert (error["report"], error["acknowledged_by"], error["standing"]) == ("cleared", "user", "shown")
    assert after.headers["ETag"] == f'"{after.json()["node"]["version"]}"' != before.headers["ETag"]
    assert after.json()["node"]["failures"] == 1
    assert after.json()["node"]["next_try"] is not None


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ({}, "acknowledged must be a list"),
        ({"acknowledged": []}, "acknowledged must be a list"),
        ({"acknowledged": ["n1"]}, "acknowledged[0].node must be the name of a node"),
        ({"acknowledged": [{"node": "n1", "op": "7"}]}, "acknowledged[0].op must be the number of an operation"),
        ({"acknowledged": [{"node": "n1", "op": True}]}, "acknowledged[0].op must be"),
        ({"acknowledged": [{"node": "n1", "op": 1}, {"node": "n1", "op": 2}]}, "'n1' stands there twice"),
    ],
)
def test_what_is_no_acknowledgement(user: httpx.Client, store: SiteStore, body: dict[str, Any], words: str) -> None:
    commit(store)
    assert_failure(user.post(ACKNOWLEDGE, json=body), 400, words)
