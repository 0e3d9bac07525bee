"""Whole runs of the real DAGs in this process."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from site_engine.kinds import DEPLOY_GROUP_BESIDE, KINDS, kind_of
from site_store import ActionRecord, SiteStore
from tests.support.revisions import commit_design
from tests.support.simulators import Simulator

if TYPE_CHECKING:
    from airflow.dag_processing.dagbag import DagBag


@dataclass
class Runs:
    """Starts runs, and looks at what became of them."""

    bag: DagBag
    simulator: Simulator

    def commit(self, text: str, site_name: str = "alpha") -> int:
        """Commit a design."""
        with SiteStore.open() as store:
            return commit_design(store, site_name, text).number

    def run(self, dag_id: str = "deploy_site", **conf: Any) -> tuple[str, dict[str, str]]:
        """Run a DAG to its end; return its state and the states of its tasks (of a mapped one, the last)."""
        # All of them, each time: a test run leaves its parameters behind in the DAG.
        nothing: dict[str, Any] = {"revision": None, "target_nodes": None, "force": False, "dry_run": False}
        if dag_id in KINDS:
            nothing |= {each.value: False for each in kind_of(dag_id).overrides}
            nothing |= {"max_parallel_groups": None} if kind_of(dag_id).has_parallel_groups else {}
        run = self.bag.dags[dag_id].test(run_conf={"site": "alpha", **nothing, **conf}, logical_date=None)
        states = {ti.task_id: str(ti.state) for ti in run.get_task_instances()}
        # One of the two tasks that are mapped over the groups is always left out.
        if states.get(DEPLOY_GROUP_BESIDE) == "skipped":
            del states[DEPLOY_GROUP_BESIDE]
        return str(run.state), states

    def last_action(self) -> ActionRecord:
        """Return the newest action."""
        with SiteStore.open() as store:
            return store.actions.newest(None, 1)[0].action

    def last_report(self) -> Mapping[str, Any]:
        """Return the newest action's report."""
        with SiteStore.open() as store:
            report = store.reports.get(self.last_action().id)
        assert report is not None
        return report
