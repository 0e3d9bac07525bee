"""The report of an action as text, JSON and a page; what anybody said in it is shown as text."""

from __future__ import annotations

import logging

import httpx
import pytest

from site_engine.actions.finalization import finalize_action
from site_store import ActionState, NewAction, SiteStore
from slipway_airflow import connections
from slipway_api.actions.report import MOST_NODES, report_page
from strategy_lib.node import NodeState
from strategy_lib.phase import GroupState, Reason
from strategy_lib.reports.report import FailedStep, ReportedAction, ReportedGroup, ReportedNode, build_report
from tests.integration.api.airflow_runs import ACTIONS
from tests.integration.api.http.test_service import assert_failure

HOSTILE = "<img src=x onerror=alert(1)>"


@pytest.fixture
def reported(store: SiteStore) -> str:
    """Return the id of an action that failed in a step, which said something hostile."""
    action = store.actions.ensure("deploy_site", "manual__report", NewAction("deploy_site", "alpha", 3, {}, "tester"))
    store.events.add("alpha", "step_failed", HOSTILE, action_id=action.id, data={"step": "verify_site"})
    finalize_action(store, action, {"verify_site": "failed"}, logging.getLogger("test"), connections)
    return action.id


def test_rule_20_the_forms_of_a_report(viewer: httpx.Client, reported: str, store: SiteStore) -> None:
    text = viewer.get(f"{ACTIONS}/{reported}/report")
    assert text.headers["content-type"] == "text/plain; charset=utf-8"
    assert text.text.startswith("deploy_site of site alpha, revision 3: FAILURE: failed before the groups: verify_site")
    kept = viewer.get(f"{ACTIONS}/{reported}/report", params={"format": "json"})
    assert kept.json() == store.reports.get(reported)
    page = viewer.get(f"{ACTIONS}/{reported}/report", params={"format": "html"})
    assert page.headers["content-type"] == "text/html; charset=utf-8"
    assert "default-src 'none'" in page.headers["content-security-policy"]
    assert HOSTILE not in page.text
    assert "&lt;img src=x onerror=alert(1)&gt;" in page.text
    refused = viewer.get(f"{ACTIONS}/{reported}/report", params={"format": "pdf"})
    assert_failure(refused, 400, "the request is not valid")


def test_an_action_without_a_report_says_why(viewer: httpx.Client, store: SiteStore) -> None:
    action = store.actions.ensure("deploy_site", "manual__none", NewAction("deploy_site", "alpha", 3, {}, "tester"))
    assert_failure(
        viewer.get(f"{ACTIONS}/{action.id}/report"), 404, f"action {action.id} has no report: it is not over"
    )
    store.actions.close(action.id, ActionState.CANCELLED, "stopped by tester before it began")
    said = "it was closed without one: stopped by tester before it began"
    assert_failure(viewer.get(f"{ACTIONS}/{action.id}/report"), 404, said)


def test_a_page_names_failures_first_and_counts_what_succeeded() -> None:
    groups = [
        ReportedGroup("spare", critical=False, state=GroupState.FAILURE, reason=Reason.DEPLOY_CRITERIA),
        ReportedGroup("control", critical=True, state=GroupState.FAILURE, reason=Reason.PREPARE_CRITERIA),
        ReportedGroup(
            "web", critical=True, state=GroupState.FAILURE, reason=Reason.DEPENDENCY, depends_on=("control",)
        ),
    ]
    failed = [ReportedNode(f"bad-{i}", NodeState.FAILURE, ("control",), HOSTILE) for i in range(MOST_NODES + 2)]
    good = [ReportedNode(f"good-{i}", NodeState.SUCCESS, ("spare",)) for i in range(2000)]
    page = report_page(build_report(ReportedAction("01", HOSTILE, "deploy_site"), groups, [*failed, *good]))
    assert HOSTILE not in page
    assert page.index("control</td>") < page.index("spare</td>"), "critical groups come first"
    assert "it depends on control, which failed, so it was not started" in page
    assert f"Nodes that failed ({MOST_NODES + 2})" in page
    assert "And 2 more" in page
    assert "good-1" not in page
    assert f"{MOST_NODES + 2} failure, 2000 success of {MOST_NODES + 2002} nodes." in page


def test_a_page_tells_steps_behind_the_groups_from_those_before_them() -> None:
    steps = [FailedStep("verify_site", "no answer"), FailedStep("after_success", "it failed", behind=True)]
    page = report_page(build_report(ReportedAction("01", "alpha", "deploy_site"), [], [], failed_steps=steps))
    before, behind = page.index("Failed before the groups"), page.index("Failed behind the groups")
    assert before < page.index("verify_site</td>") < behind < page.index("after_success</td>")


def test_rule_59_a_page_says_together_what_a_canary_kept_back() -> None:
    why = "the canaries failed: n1 (no answer)"
    group = ReportedGroup("all", critical=True, state=GroupState.FAILURE, reason=Reason.CANARY)
    kept = [ReportedNode(name, NodeState.NOT_STARTED, ("all",), why, withheld=True) for name in ("n2", "n3")]
    page = report_page(build_report(ReportedAction("01", "alpha", "deploy_site"), [group], kept))
    assert "not every canary succeeded, so it began no other node" in page
    assert "Nodes that were not submitted (2)" in page
    assert f'<tr><td>n2, n3</td><td>all</td><td class="message">{why}</td></tr>' in page
