"""The action of a run that was started in Airflow, as `acquire` writes it down."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from site_store import NewRevision, SiteStore
from slipway_airflow.operators.begin_action import BeginActionOperator
from slipway_api.actions.view import created_view

NOTHING = {"target_nodes": None, "force": False, "dry_run": False}


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ({}, NOTHING),
        ({"revision": 1, "force": True, "target_nodes": ["n1"]}, NOTHING | {"force": True, "target_nodes": ["n1"]}),
        ({"redo_done": True}, NOTHING | {"redo_done": True}),
    ],
)
def test_the_parameters_of_a_run_that_airflow_started_always_have_the_same_three_names(
    store: SiteStore, given: dict[str, Any], kept: dict[str, Any]
) -> None:
    params = {"site": "alpha", "revision": None, **NOTHING, **given}
    ti = SimpleNamespace(dag_id="deploy_site", run_id="manual", task_id="acquire", try_number=1)
    context = {"ti": ti, "params": params, "dag_run": SimpleNamespace(conf={}, triggering_user_name="ann")}
    store.revisions.commit(NewRevision("alpha", {"design": "a: 1"}, (), "a: 1", "tester"))
    BeginActionOperator(task_id="acquire", kind="deploy_site", steps=["acquire"]).run_step(cast(Any, context), store)
    action = store.actions.of_run("deploy_site", "manual")
    assert action is not None
    assert (action.revision, action.whole_site) == (1, "target_nodes" not in given)
    assert created_view(action)["parameters"] == dict(action.parameters) == kept
