"""One action, its steps, and their logs: from Airflow while it answers, else from the store."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest

from site_engine.kinds import DEPLOY_GROUP_BESIDE, KINDS, VERDICT, kind_of, tasks_of
from site_store import ActionState, Claim, NewAction, SiteStore, StepState
from strategy_lib.phase import Phase
from tests.integration.api.airflow_runs import ACTIONS, AirflowRuns, commit, create, plan, run_of
from tests.support.lossy_proxy import LossyProxy

pytestmark = pytest.mark.usefixtures("dags", "connected")

NO_ID = "01ARZ3NDEKTSV4RRFFQ69G5FAV"


@pytest.fixture
def made(user: httpx.Client, store: SiteStore) -> str:
    """Return the id of an action that was just created."""
    commit(store)
    return str(create(user)["id"])


@pytest.fixture
def under_way(made: str, store: SiteStore, airflow_runs: AirflowRuns) -> str:
    """Return the id of an action whose first group is at work: its task was tried twice."""
    plan(store, made)
    for step in kind_of("deploy_site").steps:
        airflow_runs.begin(made, step, "success")
        store.steps.begin(made, step, 1)
        store.steps.leave(made, step, 1, StepState.SUCCESS)
    airflow_runs.begin(made, "deploy_group", "running", map_index=0, tries=2)
    store.actions.mark_step(made, "deploy_group")
    store.groups.open_attempt(made, "control", "0")
    return made


def described(client: httpx.Client, path: str) -> dict[str, Any]:
    """Return what is said about an action or a step."""
    answer = client.get(f"{ACTIONS}/{path}")
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


def test_a_new_action_has_its_steps_and_its_audit(viewer: httpx.Client, made: str) -> None:
    shown = described(viewer, made)
    assert (shown["action_lifecycle"], shown["dag_status"], shown["validations"]) == ("Pending", "QUEUED", [])
    assert [(one["command"], one["user"], one["action_id"]) for one in shown["command_audit"]] == [
        ("invoke", "user", made)
    ]
    assert [step["id"] for step in shown["steps"]] == [
        name for name in kind_of("deploy_site").all_steps if name != "deploy_group"
    ]
    assert {step["state"] for step in shown["steps"]} == {None}


def test_an_action_is_found_by_its_run(viewer: httpx.Client, made: str, store: SiteStore) -> None:
    assert described(viewer, run_of(made))["id"] == made
    assert described(viewer, f"{run_of(made)}/steps/acquire")["task_id"] == "acquire"


def test_an_action_that_was_started_in_airflows_pages_is_found_by_its_run(
    viewer: httpx.Client, user: httpx.Client, store: SiteStore
) -> None:
    run_id = "manual__2026-03-01T12:00:00.123456+00:00"
    first = store.actions.ensure("deploy_site", run_id, NewAction("deploy_site", "default", 1, {}, "ann"))
    assert user.post(f"{ACTIONS}/{run_id}/control/pause").status_code == 202
    assert store.actions.get(first.id).paused is not None
    second = store.actions.ensure("update_site", run_id, NewAction("update_site", "other", 1, {}, "ann"))
    ambiguous = viewer.get(f"{ACTIONS}/{run_id}")
    assert ambiguous.status_code == 409
    assert f"{first.id} (deploy_site), {second.id} (update_site)" in ambiguous.json()["message"]
    assert viewer.get(f"{ACTIONS}/manual__2026").status_code == 404


@pytest.mark.parametrize("kind", tuple(KINDS))
def test_the_steps_are_the_tasks_of_the_dag(
    kind: str, user: httpx.Client, store: SiteStore, airflow_runs: AirflowRuns
) -> None:
    commit(store)
    made = create(user, kind, target_nodes="n3", force="true")["id"]
    other = [DEPLOY_GROUP_BESIDE] if kind_of(kind).has_parallel_groups else []
    assert sorted(airflow_runs.states(kind, made)) == sorted([*tasks_of(kind_of(kind).all_steps), *other, VERDICT])


def test_groups_are_steps_and_have_counts(viewer: httpx.Client, under_way: str) -> None:
    shown = described(viewer, under_way)
    assert shown["action_lifecycle"] == "Processing"
    assert [step["state"] for step in shown["steps"][:6]] == ["success"] * 6
    group_step = shown["steps"][6]
    assert (group_step["id"], group_step["state"], group_step["index"]) == ("deploy_group.control", "running", 7)
    assert [(group["name"], group["critical"], group["counts"]["total"]) for group in shown["groups"]] == [
        ("control", True, 2),
        ("compute", False, 1),
    ]


def test_notes_go_with_the_verbosity(viewer: httpx.Client, store: SiteStore, under_way: str) -> None:
    store.events.add("default", "remark", "all is well", action_id=under_way)
    store.events.add("default", "remark", "fans are loud", action_id=under_way, group="control")
    store.events.add("default", "remark", "is warm", action_id=under_way, group="control", node="n1")
    texts = {}
    for verbosity in (0, 1, 5):
        shown = described(viewer, f"{under_way}?verbosity={verbosity}")
        step = described(viewer, f"{under_way}/steps/deploy_group.control?verbosity={verbosity}")
        assert shown["steps"][6]["notes"] == step["notes"]
        texts[verbosity] = [note["note_val"] for note in (*shown["notes"], *step["notes"])]
    assert texts[0] == []
    assert {"all is well", "fans are loud"} <= set(texts[1])
    assert "n1: is warm" not in texts[1]
    assert "n1: is warm" in texts[5]


def test_without_airflow_the_store_says_what_it_knows(viewer: httpx.Client, under_way: str, proxy: LossyProxy) -> None:
    proxy.lose("GET", "request", 20)
    shown = described(viewer, under_way)
    assert (shown["action_lifecycle"], shown["dag_status"]) == ("Processing", "RUNNING")
    states = {step["id"]: step["state"] for step in shown["steps"]}
    assert (states["plan_groups"], states["deploy_group.control"]) == ("success", "running")
    assert (states["deploy_group.compute"], states["report"]) == (None, None)
    step = described(viewer, f"{under_way}/steps/deploy_group.control")
    assert (step["task_id"], step["state"], step["index"]) == ("deploy_group.control", "running", 7)


def test_without_airflow_a_step_has_what_its_task_has_noted(
    viewer: httpx.Client, store: SiteStore, under_way: str, proxy: LossyProxy
) -> None:
    message = "the provisioner does not answer"
    store.steps.begin(under_way, "deploy_group", 2, "control")
    store.steps.leave(under_way, "deploy_group", 2, StepState.RETRIED, message, "control")
    noted = {row.name: row for row in store.steps.of_action(under_way)}
    proxy.lose("GET", "request", 20)
    failed = described(viewer, f"{under_way}/steps/deploy_group.control")
    planned = described(viewer, f"{under_way}/steps/plan_groups")
    row = noted["deploy_group"]
    assert row.started is not None
    assert row.ended is not None
    assert (failed["message"], failed["try_number"], failed["hostname"]) == (message, 2, None)
    assert [datetime.fromisoformat(failed[when]) for when in ("start_date", "end_date")] == [row.started, row.ended]
    assert failed["duration"] == (row.ended - row.started).total_seconds()
    assert (planned["state"], planned["message"], planned["try_number"]) == ("success", None, 1)


def test_an_action_without_a_run_is_shown_by_the_store_alone(
    viewer: httpx.Client, user: httpx.Client, store: SiteStore, proxy: LossyProxy
) -> None:
    commit(store)
    made = store.actions.create(
        NewAction("deploy_site", "default", 1, {}, "slipway", context_marker=None), exclusive=True, has_run=False
    ).id
    plan(store, made)
    store.actions.mark_step(made, "plan_groups")
    store.steps.begin(made, "plan_groups", 1)
    # Airflow is not asked: it would not answer.
    proxy.lose("GET", "request", 20)
    shown = described(viewer, made)
    assert (shown["run_id"], shown["action_lifecycle"], shown["dag_status"]) == (None, "Processing", "RUNNING")
    (listed,) = viewer.get(ACTIONS).json()
    assert (listed["id"], listed["run_id"], listed["state"]) == (made, None, "running")
    step = described(viewer, f"{made}/steps/plan_groups")
    assert (step["dag_run_id"], step["state"], step["try_number"]) == (None, "running", 1)
    log = viewer.get(f"{ACTIONS}/{made}/steps/plan_groups/logs")
    assert (log.status_code, log.json()["reason"]) == (404, "Step not found")
    assert user.post(f"{ACTIONS}/{made}/control/stop").status_code == 202
    stopped = store.actions.get(made)
    assert (stopped.state, stopped.verdict) == (ActionState.CANCELLED, "stopped by user")
    assert store.locks.owner("default") is None


def test_an_action_whose_run_was_deleted_is_still_there(
    viewer: httpx.Client, store: SiteStore, under_way: str, airflow_runs: AirflowRuns
) -> None:
    airflow_runs.delete("deploy_site", under_way)
    shown = described(viewer, under_way)
    assert (shown["action_lifecycle"], shown["dag_status"]) == ("Failed", "FAILED")
    assert shown["verdict"] == "its DAG run was deleted before there was a report"
    assert len(shown["steps"]) == 11


def test_a_step_is_airflows_task(viewer: httpx.Client, under_way: str) -> None:
    step = described(viewer, f"{under_way}/steps/deploy_group.control")
    fields = ("task_id", "index", "state", "try_number", "operator", "map_index", "dag_id", "dag_run_id")
    assert [step[field] for field in fields] == [
        "deploy_group.control",
        7,
        "running",
        2,
        "DeployGroupOperator",
        0,
        "deploy_site",
        run_of(under_way),
    ]
    assert {"start_date", "end_date", "duration", "hostname", "notes"} <= set(step)
    assert "rendered_fields" not in step
    assert described(viewer, f"{under_way}/steps/acquire")["state"] == "success"


@pytest.mark.parametrize(
    ("path", "status", "reason"),
    [
        (NO_ID, 404, "Not Found"),
        ("x", 404, "Action not found"),
        ("%00" * 26, 404, "Action not found"),
        (f"{NO_ID}/steps/acquire", 404, "Not Found"),
        (f"{NO_ID}/steps/acquire/logs", 404, "Not Found"),
        ("x/steps/acquire/logs", 400, "Bad Request"),
        (f"{NO_ID}/validations/{NO_ID}", 404, "Not Found"),
        ("ACTION/steps/nothing", 404, "Step not found"),
        ("ACTION/steps/deploy_group", 404, "Step not found"),
        ("ACTION/steps/deploy_group.nowhere", 404, "Step not found"),
        ("ACTION/steps/nothing/logs", 404, "Step not found"),
        ("ACTION/steps/acquire/logs?try=9", 404, "Step not found"),
        ("ACTION/steps/report/logs", 404, "Step not found"),
        ("ACTION/steps/acquire/logs?try=0", 400, "Bad Request"),
        ("ACTION/steps/acquire/logs?try=x", 400, "Bad Request"),
        ("ACTION/steps/acquire/logs?try=99999999999", 400, "Bad Request"),
        (f"ACTION/validations/{NO_ID}", 404, "Not Found"),
    ],
)
def test_what_is_not_there(viewer: httpx.Client, under_way: str, path: str, status: int, reason: str) -> None:
    answer = viewer.get(f"{ACTIONS}/{path.replace('ACTION', under_way)}")
    assert (answer.status_code, answer.json()["reason"]) == (status, reason)


def test_a_group_of_a_stopped_run_that_never_began_has_no_log(
    viewer: httpx.Client, store: SiteStore, made: str, airflow_runs: AirflowRuns
) -> None:
    plan(store, made)
    # As Airflow leaves it when the run is marked failed.
    airflow_runs.begin(made, "deploy_group", "failed", map_index=0, tries=1)
    answer = viewer.get(f"{ACTIONS}/{made}/steps/deploy_group.control/logs")
    assert (answer.status_code, answer.json()["reason"]) == (404, "Step not found")
    assert "has not begun" in answer.json()["message"]


def test_nodes_in_trouble_are_named_and_with_the_highest_verbosity_all(
    viewer: httpx.Client, store: SiteStore, under_way: str
) -> None:
    assert described(viewer, under_way)["nodes"] == []
    everything = described(viewer, f"{under_way}?verbosity=5")["nodes"]
    assert [(node["name"], node["state"], node["groups"]) for node in everything] == [
        ("n1", "not_started", ["control"]),
        ("n2", "not_started", ["control"]),
        ("n3", "not_started", ["compute"]),
    ]
    store.tasks.explain_pending(under_way, Phase.PREPARE, ["n3"], "held by provisioner task 7")
    (held,) = described(viewer, under_way)["nodes"]
    assert (held["name"], held["state"], held["message"]) == ("n3", "not_started", "held by provisioner task 7")
    store.tasks.explain_pending(under_way, Phase.PREPARE, ["n3"], None)
    begun = store.operations.begin(
        Claim(under_way, "default", "control", 1, Phase.PREPARE, ["n1", "n2"], "file:///design")
    )
    assert store.operations.acquire_lease(begun.op, "me", 30, sending=True)
    store.operations.mark_submitted(begun.op, "task")
    store.actions.close(under_way, ActionState.CANCELLED, "stopped")
    assert [(node["name"], node["state"]) for node in described(viewer, under_way)["nodes"]] == [
        ("n1", "unknown"),
        ("n2", "unknown"),
    ]


# Airflow's own reader of logs leaves its file to the garbage collector.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_the_log_of_a_step_is_its_last_try_or_the_one_that_was_named(
    viewer: httpx.Client, under_way: str, airflow_runs: AirflowRuns
) -> None:
    for tries in (1, 2):
        text = f'{{"timestamp": "2026-03-01T12:00:00Z", "level": "info", "event": "this is try {tries}"}}\n'
        airflow_runs.write_log("deploy_site", under_way, "deploy_group", text, map_index=0, tries=tries)
    url = f"{ACTIONS}/{under_way}/steps/deploy_group.control/logs"
    last = viewer.get(url)
    assert last.headers["Content-Type"].startswith("text/plain; charset=utf-8")
    assert "this is try 2" in last.text
    assert "this is try 2" in viewer.get(f"{url}?try=2").text


def test_a_log_that_airflow_does_not_give_is_no_empty_log(
    viewer: httpx.Client, under_way: str, proxy: LossyProxy
) -> None:
    proxy.lose("GET", "request", 20)
    answer = viewer.get(f"{ACTIONS}/{under_way}/steps/deploy_group.control/logs")
    assert (answer.status_code, answer.json()["retry"]) == (503, True)


def links(origin: str, token: str, run: str, task: str, map_index: int = -1) -> dict[str, str | None]:
    """Return the extra links of a task."""
    answer = httpx.get(
        f"{origin}/api/v2/dags/deploy_site/dagRuns/{run}/taskInstances/{task}/links",
        params={"map_index": map_index},
        headers={"Authorization": f"Bearer {token}"},
    ).raise_for_status()
    found: dict[str, str | None] = answer.json()["extra_links"]
    return found


def test_a_task_that_has_not_begun_leads_to_its_place_in_the_tree(
    user: httpx.Client, store: SiteStore, origin: str, tokens: dict[str, str]
) -> None:
    commit(store)
    run = run_of(create(user)["id"])
    link = urlsplit(links(origin, tokens["viewer"], run, "plan_groups")["Slipway"] or "")
    assert (link.netloc, link.path) == ("", "/plugin/slipway/slipway/ui/run")
    assert parse_qs(link.query) == {"dag_id": ["deploy_site"], "run_id": [run], "task_id": ["plan_groups"]}
