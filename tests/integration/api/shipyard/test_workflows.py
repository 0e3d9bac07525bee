"""Workflows: Airflow's runs of Slipway's DAGs."""

from __future__ import annotations

import contextlib
import re
from datetime import UTC, datetime
from uuid import uuid4

import httpx
import pytest
from airflow.models.dagrun import DagRun
from airflow.utils.session import create_session
from sqlalchemy import update

from slipway_api.http.airflow_access import own_airflow
from tests.integration.api.http.test_service import assert_failure

WORKFLOWS = "/api/v1.0/workflows"


@pytest.fixture
def run_id(dags: list[str], tokens: dict[str, str]) -> str:
    """Trigger a run."""
    run_id = uuid4().hex
    calls = own_airflow(tokens["user"])
    calls.trigger("deploy_site", {"site": "alpha"}, run_id)
    calls.close()
    return run_id


def test_list_and_show(viewer: httpx.Client, run_id: str) -> None:
    listed = {flow["run_id"]: flow for flow in viewer.get(WORKFLOWS).json()}
    flow = listed[run_id]
    assert (flow["id"], flow["dag_id"], flow["state"]) == (run_id, "deploy_site", "queued")
    assert flow["external_trigger"] is True
    assert flow["conf"]["site"] == "alpha"
    dag_id, _, time = flow["workflow_id"].rpartition("__")
    assert dag_id == "deploy_site"
    assert datetime.strptime(time, "%Y-%m-%dT%H:%M:%S.%f").replace(tzinfo=UTC) == datetime.fromisoformat(
        flow["execution_date"]
    )
    # With the zone, without it, and with its plus sign unescaped.
    for workflow_id in (flow["workflow_id"], f"{flow['workflow_id']}Z", f"{flow['workflow_id']}+00:00"):
        shown = viewer.get(f"{WORKFLOWS}/{workflow_id}").json()
        assert shown.items() >= flow.items()
        assert shown["sub_dags"] == []
        assert "begin_action" in {step["task_id"] for step in shown["steps"]}


def test_since(viewer: httpx.Client, run_id: str) -> None:
    def ids(since: str) -> set[str]:
        return {flow["run_id"] for flow in viewer.get(WORKFLOWS, params={"since": since}).json()}

    assert run_id in ids(datetime.now(UTC).date().isoformat())
    assert run_id not in ids("2999-01-01T00:00:00Z")


def test_pages_lead_from_one_to_the_next_also_between_runs_of_one_moment(
    viewer: httpx.Client, tokens: dict[str, str], dags: list[str]
) -> None:
    days = [1, 2, 2, 2, 3]
    run_ids = [uuid4().hex for _ in days]
    with contextlib.closing(own_airflow(tokens["user"])) as calls:
        for run_id in run_ids:
            calls.trigger("deploy_site", {"site": "alpha"}, run_id)
    with create_session() as session:
        for run_id, day in zip(run_ids, days, strict=True):
            due = datetime(2003, 5, day, tzinfo=UTC)
            session.execute(update(DagRun).where(DagRun.run_id == run_id).values(run_after=due))
    pages, url = [], f"{WORKFLOWS}?since=2003-05-01&until=2003-05-03&limit=2&verbosity=1"
    while url:
        answer = viewer.get(url)
        assert answer.status_code == 200, answer.text
        pages.append([flow["run_id"] for flow in answer.json()])
        link = re.fullmatch(r'</slipway(.+)>; rel="next"', answer.headers.get("Link", ""))
        url = link[1] if link else ""
    assert [len(page) for page in pages] == [2, 2, 1]
    seen = [run_id for page in pages for run_id in page]
    assert set(seen) == set(run_ids)
    assert (seen[0], seen[-1]) == (run_ids[-1], run_ids[0])


def test_a_page_stays_where_it_was_when_there_are_new_runs(
    viewer: httpx.Client, tokens: dict[str, str], dags: list[str]
) -> None:
    with contextlib.closing(own_airflow(tokens["user"])) as calls:
        old, middle, new = (uuid4().hex for _ in range(3))
        for run_id in (old, middle):
            calls.trigger("deploy_site", {"site": "alpha"}, run_id)
        link = viewer.get(WORKFLOWS, params={"limit": 1}).headers["Link"]
        calls.trigger("deploy_site", {"site": "alpha"}, new)
    (following,) = viewer.get(viewer.base_url.join(link.partition(">")[0].removeprefix("<"))).json()
    assert following["run_id"] == old


@pytest.mark.parametrize("since", ["yesterday", "2026-13-01", "0001-01-01T00:00:00+14:00"])
def test_since_that_is_no_time(viewer: httpx.Client, since: str) -> None:
    assert_failure(viewer.get(WORKFLOWS, params={"since": since}), 400, "since is no time")
    assert_failure(viewer.get(WORKFLOWS, params={"until": since}), 400, "until is no time")


def test_there_is_none(viewer: httpx.Client) -> None:
    assert_failure(viewer.get(f"{WORKFLOWS}/deploy_site"), 400, "a workflow id is")
    assert_failure(viewer.get(f"{WORKFLOWS}/deploy_site__once"), 400, "is no time")
    for workflow_id in ("deploy_site__2001-01-01T00:00:00.000000", "other__2001-01-01T00:00:00.000000"):
        assert_failure(viewer.get(f"{WORKFLOWS}/{workflow_id}"), 404, "there is no workflow")


def test_airflow_is_away(viewer: httpx.Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AIRFLOW__API__BASE_URL", "http://127.0.0.1:9")
    answer = viewer.get(WORKFLOWS)
    assert_failure(answer, 503, "Airflow does not answer")
    assert answer.json()["retry"] is True
