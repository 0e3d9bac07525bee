"""Tasks of a store that is a copy: they wait without a worker, as those of a paused action do, and fail at nothing."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest
from airflow.sdk.exceptions import AirflowFailException, AirflowRescheduleException

from site_engine.kinds import DEPLOY_GROUP, PLAN_GROUPS, RELEASE, REPORT
from site_store import NewAction, SiteStore, StepState
from slipway_airflow.operators.action import ReleaseSiteOperator, ReportOperator
from slipway_airflow.operators.base import SiteOperator
from slipway_airflow.operators.group import DeployGroupOperator
from slipway_airflow.operators.plan import PlanGroupsOperator
from slipway_airflow.operators.steps import NodeStepOperator
from strategy_lib.phase import Phase
from tests.support.stores import administer

FAR = "UPDATE store_state SET database_id = database_id + 1"


@pytest.fixture
def context(store: SiteStore, store_url: str, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Return what Airflow gives a task of an action, whose store lives elsewhere than it says."""
    monkeypatch.setenv("SLIPWAY_DATABASE_URL", store_url)
    made = store.actions.ensure("deploy_site", "run-1", NewAction("deploy_site", "alpha", None, {}, "ann"))
    store.locks.acquire(made.id)
    administer(store_url, "SET session_replication_role = replica", FAR)
    run = {"dag_id": "deploy_site", "run_id": "run-1", "try_number": 1, "max_tries": 20}
    return {"ti": SimpleNamespace(**run, task_id="", map_index=-1, get_task_states=lambda **_: {})}


@pytest.mark.parametrize(
    "operator",
    [
        PlanGroupsOperator(task_id=PLAN_GROUPS, design={}),
        NodeStepOperator(task_id=Phase.DESTROY.value, configuration={}),
        ReportOperator(task_id=REPORT),
    ],
    ids=lambda operator: operator.task_id,
)
def test_rule_61_a_task_of_a_copy_is_started_again_later(
    store: SiteStore, context: dict[str, Any], operator: SiteOperator
) -> None:
    context["ti"].task_id = operator.task_id
    with pytest.raises(AirflowRescheduleException):
        operator.execute(cast(Any, context))
    (action,) = store.actions.newest("alpha", 1)
    (step,) = store.steps.of_action(action.action.id)
    assert (step.name, step.state) == (operator.task_id, StepState.RESCHEDULED)
    assert "slipway store restored" in (step.message or "")
    assert action.action.verdict is None
    store.restoring.settle()
    with pytest.raises(Exception, match=r".") as ended:
        operator.execute(cast(Any, context))
    assert not isinstance(ended.value, AirflowRescheduleException), "it is not held any more"


def test_rule_61_a_site_is_freed_by_a_copy_too(store: SiteStore, context: dict[str, Any]) -> None:
    context["ti"].task_id = RELEASE
    with pytest.raises(Exception, match="report"):
        ReleaseSiteOperator(task_id=RELEASE).execute(cast(Any, context))
    assert store.locks.owner("alpha") is None


def test_a_group_whose_plan_was_lost_says_so_and_is_not_tried_again(store: SiteStore, context: dict[str, Any]) -> None:
    """A store that was put back knows less than Airflow, which goes on with the run."""
    store.restoring.settle()
    context["ti"].task_id = DEPLOY_GROUP
    with pytest.raises(AirflowFailException, match="the store has no plan of group control of action"):
        DeployGroupOperator(task_id=DEPLOY_GROUP, group="control").execute(cast(Any, context))
    (action,) = store.actions.newest("alpha", 1)
    assert "`slipway stop action/" in (store.steps.of_action(action.action.id)[0].message or "")
