"""Steps without work have no process, and steps that share a task go on where it was left, in runs of the real DAGs."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from design_rendering.design import read_design
from design_rendering.reading.documents import load_documents
from site_engine.kinds import DEPLOY_GROUP, KINDS, REPORT, kind_of, tasks_of
from site_engine.operations.wait import StillRunning
from site_engine.plans.planning import make_plan
from site_store import ActionState, NewAction, NewPlan, SiteStore, StepState
from slipway_airflow.operators.steps import SiteStepsOperator
from strategy_lib.phase import Phase
from tests.support.dag_runs import Runs
from tests.support.driving import Begin, Driving
from tests.support.simulators import Simulator
from tests.support.sites import group, node, site
from tests.support.stores import done_digests

if TYPE_CHECKING:
    from site_store import StepRecord

AB = [node("a"), node("b")]
PLAIN = site(AB, [group("one", ["a"]), group("two", ["b"], after=["one"])])
SITE = ("verify_site", "prepare_site")


def rows(runs: Runs) -> dict[str, StepRecord]:
    """Return the newest action's steps outside of groups."""
    with SiteStore.open() as store:
        return {row.name: row for row in store.steps.of_action(runs.last_action().id) if row.group is None}


def lists_read(runs: Runs) -> int:
    """Return how often the list of nodes was asked for."""
    return len([one for one in runs.simulator.get("journal", method="GET") if one["path"] == "/api/v1.0/nodes"])


def test_an_update_with_nothing_to_do_submits_nothing_and_reads_the_list_once(runs: Runs) -> None:
    runs.commit(PLAIN)
    assert runs.run()[0] == "success"
    before, lists = runs.simulator.posts_of_tasks(), lists_read(runs)
    state, tasks = runs.run("update_site")
    assert state == "success"
    assert {name for name, ended in tasks.items() if ended == "success"} == {
        "begin_action",
        "plan_groups",
        "report",
        "release",
        "verdict",
    }
    assert runs.simulator.posts_of_tasks() == before
    assert lists_read(runs) - lists == 1
    noted = rows(runs)
    assert {noted[name].state for name in (*SITE, "relabel_nodes", "destroy_nodes")} == {StepState.SKIPPED}
    assert noted["verify_site"].message == "no node is to be sent, and it succeeded for revision 1 before"
    assert noted["relabel_nodes"].message == "no node differs by its labels alone"


def test_the_site_is_made_ready_for_a_revision_for_which_it_was_not(runs: Runs) -> None:
    runs.commit(PLAIN)
    assert runs.run()[0] == "success"
    runs.commit(PLAIN + "# the same\n")
    assert runs.run("update_site")[1]["site_steps"] == "success"
    assert runs.run("update_site")[1]["site_steps"] == "skipped"
    assert runs.run("update_site", revision=1)[1]["site_steps"] == "success", "another one was made ready since"


@pytest.mark.endurance
def test_rule_24_a_task_whose_provisioner_was_killed_is_proven_dead_though_no_node_is_to_be_sent(
    runs: Runs, begin: Begin, simulator: Simulator
) -> None:
    """Its nodes are deployed: without a newer task each update would leave them alone, for ever."""
    first = begin(PLAIN)
    store = first.store
    ended(first)
    assert runs.run(target_nodes=["a"])[0] == "success"
    action = store.actions.ensure("deploy_site", "run-2", NewAction("deploy_site", "alpha", 1, {}, "tester"))
    store.locks.acquire(action.id)
    design = read_design(load_documents(PLAIN, "site.yaml")).keyed(store.secret_texts.digest_key())
    store.groups.save_plan(action.id, NewPlan(make_plan(design.strategy, design.nodes).groups, (), design.digests))
    killed = replace(first, action=action, patience=0.3)
    simulator.script("b", "deploy", "stuck", attempt=1)
    killed.group("one")
    assert isinstance(killed.group("two"), StillRunning)
    ended(killed)
    while {one["name"]: one["status"] for one in simulator.get("nodes")}["b"] != "Deploying":
        pass
    simulator.kill()
    simulator.start("--restart-mode", "orphan", "--grace", "0")
    simulator.post("nodes/b", {"status": "Deployed"})
    before = simulator.submissions()
    assert runs.run("update_site")[1]["site_steps"] == "success"
    assert store.operations.unfinished("alpha") == []
    assert done_digests(store, "alpha").keys() == {"a", "b"}
    assert [one["state"] for one in runs.last_report()["groups"]] == ["success", "success"]
    assert (simulator.submissions(), simulator.double()) == (before, {})
    assert runs.run("update_site")[1]["site_steps"] == "skipped"


def ended(driving: Driving) -> None:
    """Have an action end without a report, and its site be free."""
    driving.store.actions.close(driving.action.id, ActionState.CANCELLED, "cancelled")
    driving.store.locks.release(driving.action.id)


@pytest.mark.endurance
def test_a_step_that_is_proven_done_is_not_done_again_when_its_task_starts_again(
    runs: Runs, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs.commit(PLAIN)
    whole = SiteStepsOperator.carry_out
    died: list[object] = []

    def dies(self: SiteStepsOperator, *args: object) -> object:
        if self.step_name() == "prepare_site" and not died:
            died.append(self)
            raise RuntimeError("the process was killed")
        return whole(self, *args)  # type: ignore[arg-type]

    monkeypatch.setattr(SiteStepsOperator, "carry_out", dies)
    assert runs.run()[0] == "success"
    with SiteStore.open() as store:
        done = [one.phase for one in store.operations.of_action(runs.last_action().id) if one.group is None]
    assert sorted(done) == sorted([Phase.VERIFY_SITE, Phase.PREPARE_SITE])
    assert (rows(runs)["verify_site"].attempt, rows(runs)["prepare_site"].attempt) == (1, 2)


def test_a_dry_run_has_no_process_for_what_it_does_not_submit(runs: Runs) -> None:
    runs.commit(PLAIN)
    state, tasks = runs.run(dry_run=True)
    assert (state, tasks["site_steps"], tasks["deploy_group"], tasks["after_success"]) == ("success", *["skipped"] * 3)
    with SiteStore.open() as store:
        noted = store.steps.of_action(runs.last_action().id)
    assert {row.group for row in noted if row.state is StepState.SKIPPED} == {None, "one", "two"}


@pytest.mark.parametrize("name", sorted(KINDS))
def test_what_runs_whatever_happened_waits_for_all_before_it(name: str, runs: Runs) -> None:
    dag, kind = runs.bag.dags[name], kind_of(name)
    before = {*tasks_of(kind.steps), *([DEPLOY_GROUP] if kind.has_groups else [])}
    for last in (*kind.steps_behind, REPORT):
        assert dag.get_task(last).upstream_task_ids >= before, last
        before.add(last)
