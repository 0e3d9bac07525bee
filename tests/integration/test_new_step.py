"""A new step has its status in the tree without code for it: the base class of the operators records it (rule 31)."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from airflow.api.common.delete_dag import delete_dag

# The fixture of runs replaces it where it is looked up later.
from airflow.dag_processing.dagbag import DagBag, sync_bag_to_db

from site_engine import kinds
from site_engine.errors import StepError
from site_engine.kinds import ActionKind, Step
from site_engine.trees.status_trees import action_tree
from site_store import NewAction, SiteStore
from slipway_airflow import site_dag
from slipway_airflow.operators.base import SiteOperator
from strategy_lib.status.words import Status
from tests.support.dag_runs import Runs
from tests.support.sites import group, node, site

if TYPE_CHECKING:
    from airflow.sdk import Context

NAME, STEP = "inspect_racks", "look_at_racks"
DAG_FILE = f"""
from slipway_airflow.site_dag import site_dag

dag = site_dag("{NAME}", doc_md="Looks at the racks.")
"""
PLAIN = site([node("a")], [group("one", ["a"])])
problem: list[str] = []


class LookAtRacksOperator(SiteOperator):
    """A step as somebody would write it: it does its work, and raises what is wrong."""

    def run_step(self, context: Context, store: SiteStore) -> None:
        """Look at the racks. Raises `StepError`: one is not as it should be."""
        if problem:
            raise StepError(problem[0])


def put(monkeypatch: pytest.MonkeyPatch, name: str, old: Any, new: Any) -> None:
    """Replace a constant table in each module that has read it."""
    for module in [*sys.modules.values()]:
        if vars(module).get(name) is old:
            monkeypatch.setattr(module, name, new)


@pytest.fixture
def new_step(runs: Runs, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Runs]:
    """Add the step, a kind that has it, and the kind's DAG: three rows and a file."""
    put(monkeypatch, "STEPS", kinds.STEPS, kinds.table("step", (*kinds.STEPS.values(), Step(STEP))))
    kind = ActionKind(NAME, "Look at the racks of a site.", ("acquire", "load_design", STEP))
    put(monkeypatch, "KINDS", kinds.KINDS, kinds.table("kind of action", (*kinds.KINDS.values(), kind)))
    made = site_dag._StepOperator(STEP, lambda *_: LookAtRacksOperator(task_id=STEP))
    monkeypatch.setattr(site_dag, "_OPERATORS", {**site_dag._OPERATORS, STEP: made})
    folder = tmp_path / "more-dags"
    folder.mkdir()
    (folder / f"{NAME}.py").write_text(DAG_FILE)
    # Two of one bundle would be taken for one that lost its DAGs.
    bag = DagBag(dag_folder=str(folder), bundle_name="slipway", bundle_path=folder)
    assert bag.import_errors == {}
    sync_bag_to_db(bag, "slipway", None)
    problem.clear()
    yield Runs(bag, runs.simulator)
    problem.clear()
    delete_dag(NAME)


def statuses(store: SiteStore, action_id: str) -> dict[str, Status | None]:
    """Return how each step of an action stands in its tree."""
    return {entry.name: entry.status for entry in action_tree(store, action_id).root.children}


def test_a_new_step_has_its_status_without_code_for_it(new_step: Runs) -> None:
    new_step.commit(PLAIN)
    with SiteStore.open() as store:
        planned = store.actions.create(NewAction(NAME, "beta", 1, {}, "ann", context_marker=None), exclusive=True)
        assert statuses(store, planned.id)[STEP] is Status.PENDING, "from the creation of the action on"
    new_step.run(NAME)
    done = new_step.last_action()
    with SiteStore.open() as store:
        assert statuses(store, done.id)[STEP] is Status.SUCCESS


@pytest.mark.endurance
def test_what_a_new_step_raises_is_its_error_and_its_message(new_step: Runs) -> None:
    new_step.commit(PLAIN)
    problem.append("rack r1 has no power")
    assert new_step.run(NAME)[0] == "failed"
    with SiteStore.open() as store:
        tree = action_tree(store, new_step.last_action().id)
    (entry,) = [entry for entry in tree.root.children if entry.name == STEP]
    assert (entry.status, entry.messages) == (Status.ERROR, ("rack r1 has no power",))
    assert tree.root.status is Status.ERROR


def test_rule_42_two_operators_of_one_step_are_refused_and_it_is_said_where_both_stand() -> None:
    other = site_dag._StepOperator("plan_groups", lambda *_: LookAtRacksOperator(task_id="plan_groups"))
    both = r"slipway_airflow\.site_dag, line \d+ and \S*test_new_step, line \d+$"
    with pytest.raises(ValueError, match=rf"step's operator 'plan_groups' is registered twice: {both}"):
        kinds.table("step's operator", (*site_dag._OPERATORS.values(), other))
