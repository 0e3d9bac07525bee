"""Asking for nodes again, and taking over deployed ones: versions, who asked, and what makes a node dirty (rule 37)."""

from __future__ import annotations

import pytest

from design_rendering.kinds.objects import VERSION
from site_engine.plans.differences import node_difference
from site_store import ActionState, Claim, NewAction, OperationStatus, SiteBusy, SiteStore
from strategy_lib.goals.node_errors import Standing
from strategy_lib.goals.update import Change
from strategy_lib.node_condition import NodeCondition
from strategy_lib.outcome import Outcome
from strategy_lib.phase import Phase
from strategy_lib.status.node_row import NodeRow
from tests.integration.site_store.scenario import SITE, Scenario, outcome, want
from tests.support.revisions import commit_design
from tests.support.stores import errors_of

DESIGN = "schema: drydock/BaremetalNode/v1\nmetadata: {name: n1}\ndata: {}\n"


def node(store: SiteStore, name: str = "n1") -> NodeRow:
    return {record.name: record for record in store.nodes.of_site(SITE)}[name]


def change(store: SiteStore, condition: NodeCondition | None = NodeCondition.DEPLOYED) -> Change:
    """Return what a plan made now would do to the node, by what the store knows of it."""
    record = node(store)
    return node_difference(record.name, record.wanted_digest, record, condition).change


def deploy(site: Scenario, run: str, digest: str) -> None:
    """Deploy the node for a digest, from the plan of an action to its end."""
    action, record = site.opened({"a": ["n1"]}, run, digests={"n1": digest})
    for phase in (Phase.PREPARE, Phase.DEPLOY):
        begun = site.begin(record, phase, found={"n1": "ready"})
        site.record(begun, outcome(["n1"]))
    site.store.actions.close(action.id, ActionState.SUCCESS, "done")


def test_rule_37_what_is_asked_for_again_is_dirty_until_it_was_done_for_that_version(
    store: SiteStore, site: Scenario
) -> None:
    want(store, 1, {"n1": "a", "n2": "b"})
    assert change(store) is Change.ADD
    deploy(site, "first", "a")
    assert (node(store).done_version, node(store).standing, change(store)) == (1, "success", Change.NONE)
    assert store.wishes.touch(SITE, ["n1", "unknown"], "ann") == {"n1": 2}
    touched = node(store)
    assert (touched.wanted_version, touched.touched, touched.touched_by) == (2, 2, "ann")
    assert (touched.standing, touched.is_up_to_date, change(store)) == ("pending", False, Change.REDO)
    deploy(site, "second", "a")
    assert (node(store).done_version, node(store).standing, change(store)) == (2, "success", Change.NONE)
    assert [(one.command, one.nodes, one.user) for one in store.wishes.audit(SITE)] == [("touch", ("n1",), "ann")]
    assert "asked for again by ann" in store.site_nodes.past(SITE, "n1").events[-1].message


def relabel(site: Scenario, digest: str) -> None:
    """Give the node the labels of a digest, as `relabel_nodes` does with the nodes that it names."""
    action = site.store.actions.ensure("relabel_nodes", "labels", NewAction("relabel_nodes", SITE, 2, {}, "ann"))
    site.store.locks.acquire(action.id)
    begun = site.store.operations.begin(
        Claim(action.id, SITE, None, 1, Phase.RELABEL, ["n1"], "file:///d", {"n1": "deployed"}, {"n1": digest})
    )
    site.record(begun, outcome(["n1"]))
    site.store.actions.close(action.id, ActionState.SUCCESS, "done")


@pytest.mark.parametrize("labels", ["before the wish", "after the wish"])
def test_rule_37_new_labels_do_not_end_a_wish(store: SiteStore, site: Scenario, labels: str) -> None:
    blue, red = f"{VERSION}:disks:blue", f"{VERSION}:disks:red"
    want(store, 1, {"n1": blue})
    deploy(site, "first", blue)
    if labels == "before the wish":
        want(store, 2, {"n1": red})
    store.wishes.touch(SITE, ["n1"], "ann")
    if labels == "after the wish":
        want(store, 2, {"n1": red})
    assert change(store) is Change.CHANGE
    relabel(site, red)
    assert (node(store).done_digest, node(store).standing, change(store)) == (red, "pending", Change.REDO)
    deploy(site, "second", red)
    assert (node(store).done_version, node(store).standing, change(store)) == (3, "success", Change.NONE)


def test_rule_37_a_wish_during_a_run_leaves_the_node_dirty(store: SiteStore, site: Scenario) -> None:
    want(store, 1, {"n1": "a"})
    record = site.open(site.running({"a": ["n1"]}, "run", digests={"n1": "a"}), "a")
    store.wishes.touch(SITE, ["n1"], "ann")
    for phase in (Phase.PREPARE, Phase.DEPLOY):
        begun = site.begin(record, phase, found={"n1": "ready"})
        store.operations.record_outcome(begun.op, outcome(["n1"]))
    assert (node(store).done_version, node(store).wanted_version, change(store)) == (1, 2, Change.REDO)


def test_rule_37_a_commit_during_a_run_leaves_the_node_dirty_and_a_return_does_not(
    store: SiteStore, site: Scenario
) -> None:
    want(store, 1, {"n1": "a"})
    want(store, 2, {"n1": "b"})
    want(store, 3, {"n1": "a"})
    assert (node(store).wanted_version, change(store)) == (3, Change.ADD)
    action = site.running({"a": ["n1"]}, "run", digests={"n1": "a"})
    want(store, 4, {"n1": "b"})
    record = site.open(action, "a")
    for phase in (Phase.PREPARE, Phase.DEPLOY):
        begun = site.begin(record, phase, found={"n1": "ready"})
        store.operations.record_outcome(begun.op, outcome(["n1"]))
    assert (node(store).done_version, node(store).wanted_version, change(store)) == (3, 4, Change.CHANGE)
    want(store, 5, {"n1": "a"})
    assert (node(store).wanted_version, node(store).standing, change(store)) == (5, "success", Change.NONE)


def test_an_error_is_superseded_by_asking_again(store: SiteStore, site: Scenario) -> None:
    want(store, 1, {"n1": "a"})
    record = site.open(site.running({"a": ["n1"]}, digests={"n1": "a"}), "a")
    begun = site.begin(record, Phase.PREPARE)
    store.operations.record_outcome(begun.op, outcome(failed=["n1"], notes={"n1": "no power"}))
    assert (node(store).standing, node(store).error_version) == ("error", 1)
    store.wishes.touch(SITE, ["n1"], "ann")
    assert node(store).standing == "pending"


def test_a_node_that_left_the_design_is_not_asked_for_and_its_versions_go_on(store: SiteStore) -> None:
    want(store, 1, {"n1": "a", "n2": "a"})
    want(store, 2, {"n2": "a"})
    assert store.wishes.touch(SITE, ["n1"], "ann") == {}
    assert store.wishes.adopt(SITE, ["n1"], "ann") == {}
    assert store.wishes.audit(SITE) == []
    want(store, 3, {"n1": "a", "n2": "a"})
    assert (node(store).wanted_version, node(store, "n2").wanted_version) == (2, 1)


def test_what_is_adopted_counts_as_done_in_the_newest_revision(store: SiteStore) -> None:
    commit_design(store, SITE, DESIGN)
    commit_design(store, SITE, DESIGN + "# the same nodes\n")
    store.wishes.touch(SITE, ["n1"], "ann")
    assert store.wishes.adopt(SITE, ["n1"], "ann", "listed as deployed") == {"n1": 2}
    adopted = node(store)
    assert (adopted.done_revision, adopted.done_digest, adopted.done_version) == (2, adopted.wanted_digest, 2)
    assert (adopted.standing, change(store)) == ("success", Change.NONE)
    assert change(store, None) is Change.REDO, "it is no longer as it was left"
    newest = store.wishes.audit(SITE)[0]
    assert (newest.command, newest.nodes, newest.detail) == ("adopt", ("n1",), "listed as deployed")


@pytest.mark.parametrize(
    "late", [outcome(["n1"]), outcome(failed=["n1"], notes={"n1": "no disk"})], ids=["success", "failure"]
)
def test_rule_45_what_is_learnt_late_of_an_older_operation_undoes_no_adoption(
    store: SiteStore, site: Scenario, late: Outcome
) -> None:
    want(store, 1, {"n1": "a"})
    action, record = site.opened({"a": ["n1"]}, digests={"n1": "a"})
    site.do(record, Phase.PREPARE)
    lost = site.submit(site.begin(record, Phase.DEPLOY, found={"n1": "ready"}))
    unknown = outcome(unknown=["n1"])
    store.operations.record_outcome(lost.op, unknown, status=OperationStatus.TIMED_OUT, result="timed_out")
    store.actions.close(action.id, ActionState.FAILED, "failed")
    store.wishes.adopt(SITE, ["n1"], "ann")
    adopted = node(store)
    assert (adopted.op or 0) > lost.op
    assert [error.standing for error in errors_of(store, SITE, "n1")] == [Standing.HISTORY]
    store.operations.record_late_outcome(lost.op, late)
    assert node(store) == adopted
    assert [error.standing for error in errors_of(store, SITE, "n1")] == [Standing.HISTORY]
    assert "late_result" in {event.kind for event in store.site_nodes.past(SITE, "n1").events}


def test_rule_45_what_is_done_after_an_adoption_is_newer(store: SiteStore, site: Scenario) -> None:
    want(store, 1, {"n1": "a"})
    store.wishes.adopt(SITE, ["n1"], "ann")
    first = node(store).op
    store.wishes.adopt(SITE, ["n1"], "ann")
    second = node(store).op
    deploy(site, "run", "a")
    assert sorted(op or 0 for op in (node(store).op, second, first)) == [first, second, node(store).op]


def test_nothing_is_adopted_while_an_action_is_at_work(store: SiteStore, site: Scenario) -> None:
    want(store, 1, {"n1": "a"})
    site.running({"a": ["n1"]}, digests={"n1": "a"})
    with pytest.raises(SiteBusy):
        store.wishes.adopt(SITE, ["n1"], "ann")
