"""What `update_site` does in place, and to nodes that left the design: new labels, removals (rules 21, 25, 33, 40)."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from site_engine.plans.erasures import nodes_to_remove, removal_of
from site_store import ActionState, RevisionRecord, SiteStore, StepState
from strategy_lib.phase import Phase
from strategy_lib.status.node_row import NodeRow
from strategy_lib.status.words import Status
from tests.support.dag_runs import Runs
from tests.support.driving import Begin, Driving, verdict
from tests.support.revisions import commit_design
from tests.support.simulators import Simulator
from tests.support.sites import group, node, site

ALL = [group("all", percent_successful_nodes=100)]
ABC = site([node("a"), node("b"), node("c")], ALL)
AB = site([node("a"), node("b")], ALL)
LABELLED = AB.replace("role: compute", "role: storage")
LEFT = "No longer in the design: c: it stays as it is (prune destroys it)."


def records(store: SiteStore) -> dict[str, NodeRow]:
    """Return what the store knows of each node."""
    return {record.name: record for record in store.nodes.of_site("alpha")}


def sent(runs: Runs, before: int) -> list[tuple[str, list[str]]]:
    """Return what was submitted for nodes since then."""
    return [one for one in runs.simulator.submissions()[before:] if one[1]]


@pytest.mark.endurance
def test_an_update_gives_new_labels_in_place_and_removes_what_it_is_asked_to(runs: Runs) -> None:
    """One test for the whole way, as every run takes seconds."""
    runs.commit(ABC)
    assert runs.run()[0] == "success"
    runs.commit(LABELLED)
    before = len(runs.simulator.submissions())
    assert runs.run("update_site", dry_run=True, prune=True)[0] == "success"
    assert runs.last_report()["rehearsal"] == [
        {"group": None, "phase": "relabel_nodes", "nodes": ["a", "b"]},
        {"group": None, "phase": "destroy_nodes", "nodes": ["c"]},
        {"group": "all", "phase": None, "nodes": []},
    ]

    state, tasks = runs.run("update_site")
    assert (state, tasks["relabel_nodes"], tasks["destroy_nodes"]) == ("success", "success", "skipped")
    assert tasks["deploy_group"] == "skipped", "nothing is left to submit"
    assert sent(runs, before) == [("relabel_nodes", ["a", "b"])]
    report = runs.last_report()
    assert report["verdict_text"] == "every group succeeded; 2 nodes were relabelled"
    assert [(one["name"], one["state"]) for one in report["relabelled"]] == [("a", "success"), ("b", "success")]
    assert [(one["state"], one["as_wanted"]) for one in report["nodes"]] == [("success", False)] * 2
    assert report["notes"] == [LEFT], "what left the design is named, and stays"
    with SiteStore.open() as store:
        assert {name: known.done_version for name, known in records(store).items()} == {"a": 2, "b": 2, "c": 1}
        assert records(store)["a"].is_up_to_date

    before = len(runs.simulator.submissions())
    state, tasks = runs.run("update_site")
    assert (state, tasks["relabel_nodes"], sent(runs, before)) == ("success", "skipped", [])
    assert runs.last_report()["verdict_text"].endswith("nothing was submitted, as every node was as wanted already")

    state, tasks = runs.run("update_site", prune=True)
    assert (state, tasks["destroy_nodes"]) == ("success", "success")
    assert sent(runs, before) == [("destroy_nodes", ["c"])], "by the design of revision 1: revision 2 does not have it"
    report = runs.last_report()
    assert report["verdict_text"] == "every group succeeded; 1 node was removed"
    assert [(one["name"], one["state"]) for one in report["removed"]] == [("c", "success")]
    with SiteStore.open() as store:
        gone = records(store)["c"]
        assert (gone.done_digest, gone.status, gone.standing) == (None, Status.DELETED, Status.DELETED)

    before = len(runs.simulator.submissions())
    state, tasks = runs.run("update_site", prune=True)
    assert (state, tasks["destroy_nodes"], sent(runs, before)) == ("success", "skipped", [])
    assert runs.simulator.double() == {}


@pytest.mark.endurance
def test_what_fails_in_place_counts_where_it_belongs_and_is_done_by_the_next_update(runs: Runs) -> None:
    """Labels that are not proven count in their group (rule 15); a removal that fails fails the action behind them."""
    some = [group("one", ["a"]), group("two", ["b"], critical=False, maximum_failed_nodes=0)]
    runs.commit(site([node("a"), node("b"), node("c")], [*some, group("three", ["c"], critical=False)]))
    assert runs.run()[0] == "success"
    runs.commit(site([node("a"), node("b")], some).replace("role: compute", "role: storage"))
    runs.simulator.script("b", "relabel", "fail", attempt=1)
    runs.simulator.script("c", "destroy", "fail", attempt=1)
    state, tasks = runs.run("update_site", prune=True)
    assert (state, tasks["relabel_nodes"], tasks["destroy_nodes"]) == ("failed", "success", "failed")
    report = runs.last_report()
    assert [(one["name"], one["state"]) for one in report["groups"]] == [("one", "success"), ("two", "failure")]
    assert report["verdict_text"].startswith(
        "every critical group succeeded; non-critical group two failed, and what follows failed: destroy_nodes"
    )
    (unlabelled,) = [one for one in report["nodes"] if one["name"] == "b"]
    assert (unlabelled["state"], unlabelled["withheld"]) == ("not_started", True)
    assert unlabelled["message"].startswith("its new labels are not proven: ")
    assert [(one["name"], one["state"]) for one in report["removed"]] == [("c", "failure")]
    with SiteStore.open() as store:
        assert records(store)["c"].standing == Status.ERROR, "it stands under what is to be removed"
        steps = {step.name: step.state for step in store.steps.of_action(runs.last_action().id)}
        assert steps["destroy_nodes"] is StepState.FAILED

    before = len(runs.simulator.submissions())
    assert runs.run("update_site", prune=True)[0] == "success"
    assert sent(runs, before) == [("relabel_nodes", ["b"]), ("destroy_nodes", ["c"])]
    assert runs.simulator.double() == {}


@pytest.fixture
def left(begin: Begin) -> Driving:
    """Deploy three nodes, of which c waits for b; then begin an update to a design that has neither of the two."""
    waiting = node("c")
    waiting["metadata"]["depends_on_nodes"] = ["b"]
    first = begin(site([node("a"), node("b"), waiting], ALL))
    first.group("all")
    first.store.actions.close(first.action.id, ActionState.SUCCESS, "done")
    driving = begin(site([node("a")], ALL), "run-2")
    driving.store.tasks.plan_step(driving.action.id, Phase.DESTROY, ["b", "c"])
    return driving


Asked = Callable[[Sequence[str]], dict[str, Any]]


@pytest.fixture
def asked_for(left: Driving) -> Iterator[Asked]:
    """Give how nodes are removed; designs have short addresses, as a Drydock takes no others."""
    with tempfile.TemporaryDirectory() as folder:
        published = Path(folder, "slipway", "d")
        published.mkdir(parents=True)

        def address(revision: RevisionRecord) -> str:
            assert revision.number == 1, "the design that has them"
            # Where its token leads to; stored is the address with the handle.
            (published / left.store.secret_texts.token_of(revision.design_handle)).write_text(revision.text or "")
            return (published / revision.design_handle).as_uri()

        def asked(nodes: Sequence[str]) -> dict[str, Any]:
            removal = removal_of(left.store, left.action, nodes, address)
            return {"design_refs": removal.design_refs, "waits_for": removal.waits_for}

        yield asked


def test_rule_40_what_left_the_design_is_destroyed_by_the_design_it_was_done_for_dependants_first(
    left: Driving, simulator: Simulator, asked_for: Asked
) -> None:
    nodes = nodes_to_remove(left.store, left.action)
    before = len(simulator.submissions())
    assert verdict(left, Phase.DESTROY, *nodes, **asked_for(nodes)) == ""
    assert simulator.submissions()[before:] == [("destroy_nodes", ["c"]), ("destroy_nodes", ["b"])]
    known = records(left.store)
    assert [(known[name].done_digest, known[name].doubt, known[name].standing) for name in "bc"] == [
        (None, None, Status.DELETED)
    ] * 2


def test_a_removal_that_starts_again_goes_on_where_it_was(
    left: Driving, simulator: Simulator, asked_for: Asked
) -> None:
    """What is destroyed is done for nothing any more: the order still follows from the design that it had."""
    simulator.script("b", "destroy", "fail", attempt=1)
    nodes = nodes_to_remove(left.store, left.action)
    before = len(simulator.submissions())
    assert "b: " in verdict(left, Phase.DESTROY, *nodes, **asked_for(nodes))
    kept = records(left.store)["b"]
    assert (kept.done_revision, kept.doubt, kept.standing) == (1, "its removal was begun", Status.ERROR)
    again = nodes_to_remove(left.store, left.action)
    assert (again, verdict(left, Phase.DESTROY, *again, **asked_for(again)) != "") == (nodes, True)
    assert len(simulator.submissions()) == before + 2, "the same attempt has its verdict"
    assert verdict(left, Phase.DESTROY, *again, attempt=41, **asked_for(again)) == ""
    assert simulator.submissions()[before:] == [("destroy_nodes", [name]) for name in "cbb"]
    assert simulator.double() == {}


def test_a_node_that_is_wanted_again_by_now_is_not_destroyed(left: Driving) -> None:
    commit_design(left.store, "alpha", AB)
    assert nodes_to_remove(left.store, left.action) == ("c",)
    ((_, kept), _) = left.store.tasks.of_step(left.action.id, Phase.DESTROY)
    assert kept.error == "not destroyed: a newer revision has it again"
