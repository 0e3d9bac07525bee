"""What operators do to runs: two on one site, cancelling, deleting, clearing groups; and who may do what."""

from __future__ import annotations

import contextlib
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from urllib.parse import quote

import pytest

from api_client.session import ApiRefused, ApiSession
from site_store import ActionState, NewAction
from strategy_lib.node import NodeState
from tests.e2e.running import DAG, HANGS, OwnSite, RunningSlipway, wait_until
from tests.support.sites import group, node, site

AB = [node("a"), node("b")]
ONE = site(AB, [group("one", percent_successful_nodes=100)])


def test_a_second_action_on_a_busy_site_fails_at_once_and_names_the_first(
    slipway: RunningSlipway, own: OwnSite
) -> None:
    simulator = own.simulator
    simulator.script("a", "prepare", "stuck")
    first = own.start(ONE)
    slipway.wait_for_task(first, "deploy_group", "running")
    second, state = own.deploy(ONE)
    assert state == "failed"
    refused = slipway.report(second)
    (step,) = refused["failed_steps"]
    assert step["step"] == "acquire"
    assert first in step["message"]
    simulator.release_stuck()
    assert slipway.airflow.wait_for_run(DAG, first, HANGS) == "success"


def test_rule_24_a_cancelled_run_frees_its_site(slipway: RunningSlipway, own: OwnSite) -> None:
    simulator = own.simulator
    simulator.script("a", "deploy", "stuck", attempt=1)
    first = own.start(ONE)
    slipway.wait_for_task(first, "deploy_group", "running")
    wait_until(lambda: len(simulator.submissions()) == 2, "both phases are submitted")
    slipway.cancel(first)

    def closed() -> bool:
        return slipway.slipway.action(first).state == "cancelled"

    wait_until(closed, "the cancelled action is closed")
    # The task that is being killed lives on for seconds, and may still see this.
    simulator.release_stuck()
    assert slipway.airflow.wait_for_run(DAG, first, HANGS) == "failed", "cancelled is never green"
    second, state = own.deploy(ONE)
    assert state == "success"
    assert {entry["state"] for entry in slipway.report(second)["nodes"]} == {"success"}
    assert (slipway.slipway.action(first).state, slipway.slipway.report(first)) == ("cancelled", None)


def test_rule_24_a_deleted_run_frees_its_site(slipway: RunningSlipway, own: OwnSite) -> None:
    simulator = own.simulator
    simulator.script("a", "prepare", "stuck", attempt=1)
    first = own.start(ONE)
    slipway.wait_for_task(first, "deploy_group", "running")
    wait_until(lambda: bool(simulator.submissions()), "something is submitted")
    # Airflow deletes only what does not run, so that the teardown comes first.
    slipway.cancel(first)
    slipway.airflow.wait_for_run(DAG, first, HANGS)
    slipway.airflow.session.request("deleting", "DELETE", f"/api/v2/dags/{DAG}/dagRuns/{quote(first, safe='')}")
    with slipway.open_store() as store:
        lost = slipway.action(first)
        assert lost.state is ActionState.CANCELLED
        assert store.locks.owner(own.name) is None
        assert store.tasks.node_states(lost.id)["a"] is NodeState.UNKNOWN


def test_sixteen_actions_are_started_at_once_on_sixteen_sites(slipway: RunningSlipway, own: OwnSite) -> None:
    """With SQLite 14 of 16 were answered 503, and three of Airflow's components died."""
    sites = [f"crowd-{number:02}" for number in range(16)]
    for name in sites:
        slipway.connect(name, own.simulator.url)
        slipway.slipway.commit(name, site([node(f"{name}-a")], [group("one", [f"{name}-a"])]))
    slipway.airflow.wait_for_dag(DAG)
    before = dict(slipway.runtime.components)
    together = Barrier(len(sites), timeout=HANGS)
    token = slipway.airflow.session.token()

    def create(name: str) -> tuple[int, str]:
        with contextlib.closing(ApiSession.with_token(slipway.url, "admin", token)) as session:
            together.wait()
            answer = session.request(
                f"creating an action of {name}",
                "POST",
                "/slipway/api/v1.0/actions",
                params={"site": name},
                json={"name": DAG, "parameters": {"dry_run": True}},
                timeout=600,
            )
            return answer.status_code, answer.json()["run_id"]

    with ThreadPoolExecutor(len(sites)) as pool:
        answers = list(pool.map(create, sites))
    assert [status for status, _ in answers] == [201] * len(sites)
    runs = [run for _, run in answers]
    ended = {run: slipway.airflow.wait_for_run(DAG, run, 600) for run in runs}
    assert set(ended.values()) == {"success"}, ended
    assert slipway.runtime.components == before, "nothing of Airflow has died"
    assert own.simulator.submissions() == []


def test_rule_24_the_lock_of_a_run_that_is_gone_is_taken_over(slipway: RunningSlipway, own: OwnSite) -> None:
    slipway.slipway.commit(own.name, ONE)
    with slipway.open_store() as store:
        lost = store.actions.ensure(DAG, "a-run-that-was-deleted", NewAction(DAG, own.name, 1, {}, "tester"))
        store.locks.acquire(lost.id)
        assert slipway.slipway.action(lost.id).state == "cancelled", "each reader sees that it does not run"
        store.locks.acquire(lost.id)
        assert own.deploy(ONE)[1] == "success"
        assert store.actions.get(lost.id).state is ActionState.CANCELLED


def test_rule_23_clearing_a_failed_group_tries_again_and_clearing_all_resumes(
    slipway: RunningSlipway, own: OwnSite
) -> None:
    simulator = own.simulator
    simulator.script("a", "deploy", "flaky", times=1)
    groups = [group("one", ["a"], minimum_successful_nodes=1), group("two", ["b"], after=["one"])]
    run_id, state = own.deploy(site(AB, groups))
    assert state == "failed"
    report = slipway.report(run_id)
    assert [(g["name"], g["reason"]) for g in report["groups"]] == [("one", "deploy_criteria"), ("two", "dependency")]
    slipway.airflow.clear(DAG, run_id, ["deploy_group"])
    assert slipway.airflow.wait_for_run(DAG, run_id, HANGS) == "success"
    report = slipway.report(run_id)
    assert [(g["name"], g["state"], g["attempt"]) for g in report["groups"]] == [
        ("one", "success", 2),
        ("two", "success", 2),
    ]
    before = simulator.submissions()
    slipway.airflow.clear(DAG, run_id, ["deploy_group"])
    assert slipway.airflow.wait_for_run(DAG, run_id, HANGS) == "success"
    assert simulator.submissions() == before, "all groups had succeeded: resuming submits nothing"


def test_rule_23_a_group_that_is_cleared_alone_renews_the_report(slipway: RunningSlipway, own: OwnSite) -> None:
    simulator = own.simulator
    simulator.script("a", "deploy", "flaky", times=1)
    run_id, state = own.deploy(ONE)
    assert state == "failed"
    slipway.airflow.clear(DAG, run_id, ["deploy_group"], downstream=False)
    slipway.wait_for_task(run_id, "deploy_group", "success")
    assert slipway.slipway.action(run_id).state == "success"
    assert slipway.report(run_id)["verdict"] == "success"
    with slipway.open_store() as store:
        assert store.locks.owner(own.name) is None


def test_the_log_of_a_group_reads_as_a_story(slipway: RunningSlipway, own: OwnSite) -> None:
    own.simulator.script("b", "deploy", "fail")
    run_id, _ = own.deploy(site(AB, [group("one", percent_successful_nodes=100)]))
    (task,) = slipway.tasks(run_id, "deploy_group")
    log = slipway.airflow.log(DAG, run_id, "deploy_group", task.try_number, task.map_index)
    tasks = own.simulator.get("tasks")
    told = [
        "Group one (critical): 2 nodes: a, b.",
        "Prepare: sending 2 nodes: a, b",
        f"Provisioner task: {tasks[-2]['task_id']}.",
        "After prepare: percent_successful_nodes needed 100, actual 2/2: met.",
        "Deploy: sending 2 nodes: a, b",
        "b failed: Node b failed deployment",
        "After deploy: percent_successful_nodes needed 100, actual 1/2: NOT met.",
        "Verdict: failure (deploy_criteria).",
    ]
    positions = [log.find(line) for line in told]
    assert -1 not in positions, log
    assert positions == sorted(positions)


def test_params_that_do_not_fit_are_refused_before_a_run_exists(slipway: RunningSlipway) -> None:
    for conf in ({"site": ""}, {"site": "x", "revision": 0}, {"site": "x", "target_nodes": "a"}, {}):
        with pytest.raises(ApiRefused) as refused:
            slipway.airflow.trigger(DAG, conf)
        assert refused.value.status == 400
