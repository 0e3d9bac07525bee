"""A new kind of action is one row and one DAG file: DAG, API and report know it."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import httpx
import pytest
from airflow.api.common.delete_dag import delete_dag
from airflow.dag_processing.dagbag import DagBag, sync_bag_to_db

from site_engine import kinds
from site_engine.actions.reports import make_dry_run_report
from site_engine.kinds import ActionKind, kind_of
from site_engine.plans.site_rehearsals import simulate_plan
from site_store import SiteStore
from tests.integration.api.airflow_runs import ACTIONS, AirflowRuns, ask, commit, create

NAME = "verify_and_destroy"
ROW = ActionKind(
    NAME,
    "Verify a site, then destroy servers of it.",
    ("acquire", "load_design", "validate_design", "verify_site", "destroy_nodes"),
    targeted=True,
)
DAG_FILE = f"""
from slipway_airflow.site_dag import site_dag

dag = site_dag("{NAME}", doc_md="Destroys the target nodes.")
"""
STEPS = [*ROW.steps, "report", "release"]
TASKS = [*kinds.tasks_of(STEPS), "verdict"]


@pytest.fixture
def bag(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, dags: list[str]) -> Iterator[DagBag]:
    """Add the row, and have Airflow read the DAG file."""
    assert NAME not in dags
    table = kinds.KINDS
    added = kinds.table("kind of action", (*table.values(), ROW))
    # The table is a constant: each module that reads it has its own name for it.
    for module in [*sys.modules.values()]:
        if vars(module).get("KINDS") is table:
            monkeypatch.setattr(module, "KINDS", added)
    folder = tmp_path / "dags"
    folder.mkdir()
    (folder / f"{NAME}.py").write_text(DAG_FILE)
    bag = DagBag(dag_folder=str(folder), bundle_name="slipway", bundle_path=folder)
    assert bag.import_errors == {}
    sync_bag_to_db(bag, "slipway", None)
    yield bag
    delete_dag(NAME)


@pytest.mark.usefixtures("connected")
def test_a_new_kind_is_one_row_and_one_dag_file(
    bag: DagBag, user: httpx.Client, store: SiteStore, airflow_runs: AirflowRuns
) -> None:
    dag = bag.dags[NAME]
    assert (sorted(dag.task_ids), dag.description) == (sorted(TASKS), ROW.description)
    commit(store)
    refused = ask(user, NAME)
    assert (refused.status_code, "verify_and_destroy needs the parameter target_nodes" in refused.text) == (400, True)
    made = create(user, NAME, target_nodes="n3", dry_run="true")["id"]
    assert sorted(airflow_runs.states(NAME, made)) == sorted(TASKS)
    (listed,) = user.get(ACTIONS).json()
    assert [step["id"] for step in listed["steps"]] == STEPS
    rehearsal = simulate_plan((), {}, kind_of(NAME).node_step, ["n3"])
    report = make_dry_run_report(store.reports.facts(made), {}, datetime.now(UTC), rehearsal)
    assert report.verdict_text == "dry run: nothing was submitted"
    assert [(one.phase, one.nodes) for one in report.rehearsal or ()] == [("destroy_nodes", ("n3",))]
