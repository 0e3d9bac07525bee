"""A group that asks a person, in a real Airflow: it waits without a worker, and goes on with the answer."""

from __future__ import annotations

import contextlib
import itertools
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from api_client.session import ApiRefused
from site_engine.groups.approvals import answer_gate
from site_store import ApprovalRecord, SiteStore, StepState
from tests.e2e.running import DAG, HANGS, OwnSite, RunningSlipway, wait_until
from tests.support.releases import releases
from tests.support.sites import group, node, site

AB = [node("a"), node("b")]


def asking(name: str, node_name: str, **more: Any) -> dict[str, Any]:
    """Return a group that asks a person."""
    return group(name, [node_name], minimum_successful_nodes=1) | more


def answer(slipway: RunningSlipway, store: SiteStore, run_id: str, name: str, *, approved: bool) -> ApprovalRecord:
    """Answer as Slipway's API does, once Airflow waits for it."""
    slipway.wait_for_task(run_id, "deploy_group", "awaiting_input", name)
    action = slipway.action(run_id)
    return answer_gate(store, slipway.airflow, action.id, name, "admin", approved=approved, comment="seen")


def assert_an_upgrade_names(slipway: RunningSlipway, run_id: str) -> None:
    """An upgrade of a store asks the Airflow of its environment, past its API server, for tasks that are not over."""
    scheduler = Path(f"/proc/{slipway.runtime.components['scheduler']}/environ").read_text()
    environ = dict(one.split("=", 1) for one in scheduler.split("\0") if "=" in one)
    command = [sys.executable, "-m", "slipway_cli", "store", "upgrade", "--url", releases()[-1].restore()]
    done = subprocess.run(command, env=environ, capture_output=True, text=True, timeout=HANGS, check=False)
    assert (done.returncode, "nothing was upgraded" in done.stderr) == (1, True)
    assert f"- task deploy_group[0] of {DAG} in Airflow, run {run_id}: awaiting_input, try " in done.stdout, done.stdout


def test_a_group_waits_for_a_person_and_goes_on_with_the_answer(slipway: RunningSlipway, own: OwnSite) -> None:
    groups = [
        asking("one", "a", approval="before", approval_text="<b>Cabled?</b>", approvers=["admin"]),
        asking("two", "b", approval="after"),
    ]
    run_id = own.start(site(AB, groups))
    with slipway.open_store() as store:
        slipway.wait_for_task(run_id, "deploy_group", "awaiting_input", "one")
        assert own.simulator.submissions() == []
        (step,) = [step for step in store.steps.of_action(slipway.action(run_id).id) if step.group == "one"]
        assert step.state is StepState.AWAITING
        assert_an_upgrade_names(slipway, run_id)
        assert answer(slipway, store, run_id, "one", approved=True).answered_by == "admin"
        answer(slipway, store, run_id, "two", approved=True)
        assert slipway.airflow.wait_for_run(DAG, run_id, HANGS) == "success"
        asked = store.approvals.of_action(slipway.action(run_id).id)
    assert [(one.group, one.answer, one.answered_by, one.comment) for one in asked] == [
        ("one", "approved", "admin", "seen"),
        ("two", "approved", "admin", "seen"),
    ]


def test_a_refusal_in_airflows_own_page_fails_the_group(slipway: RunningSlipway, own: OwnSite) -> None:
    run_id = own.start(site(AB, [asking("one", "a", approval="before")]))
    times = itertools.count(1)

    def is_over_once_refused() -> bool:
        asks = [task for task in slipway.tasks(run_id, "deploy_group") if task.state == "awaiting_input"]
        if not asks:
            return slipway.airflow.run_state(DAG, run_id) == "failed"
        # Who answers before the scheduler has noticed that the asking process ended is asked again: Airflow takes that
        # end for a failure of the task that goes on. So the question is read first, longer each time.
        time.sleep(5 * next(times))
        with contextlib.suppress(ApiRefused):
            answer = ["Refuse"], {"comment": "not today"}
            slipway.airflow.answer_task(DAG, run_id, ("deploy_group", asks[0].map_index), *answer)
        return False

    wait_until(is_over_once_refused, "the run has failed")
    report = slipway.report(run_id)
    assert [(each["name"], each["reason"]) for each in report["groups"]] == [("one", "approval")]
    assert "Group one was not approved: refused by admin: not today" in report["notes"]
    assert own.simulator.submissions() == []


def test_nobodys_answer_in_time_is_a_refusal_and_a_stopped_run_waits_no_more(
    slipway: RunningSlipway, own: OwnSite
) -> None:
    run_id, state = own.deploy(site(AB, [asking("one", "a", approval="before", approval_timeout=2)]))
    assert state == "failed"
    assert "Group one was not approved: nobody answered in time" in slipway.report(run_id)["notes"]
    again = own.start(site(AB, [asking("one", "a", approval="before")]))
    slipway.wait_for_task(again, "deploy_group", "awaiting_input", "one")
    slipway.cancel(again)
    with slipway.open_store() as store:
        wait_until(lambda: store.locks.owner(own.name) is None, "the stopped action has freed its site")
    assert slipway.airflow.wait_for_run(DAG, again, HANGS) == "failed"
    assert own.simulator.submissions() == []
