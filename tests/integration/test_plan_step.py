"""What the step `plan_groups` says and refuses in whole runs of the real DAGs in this process."""

from __future__ import annotations

import pytest
import yaml

from site_store import ActionState, AskedState, SiteStore
from strategy_lib.node_states.generated import NodeAvailability
from tests.support.dag_runs import Runs
from tests.support.sites import document, group, node, site

AB = [node("a"), node("b")]
SETTINGS = document("slipway/SiteSettings/v1", "settings", {"updates": {"redeploy_percent": 50, "redeploy_nodes": 1}})
ROLLING = {**group("all", critical=False), "allow_redeploy": True}


def rolling(tag: str) -> str:
    """Return a site whose nodes may be redeployed one at a time, in a design that this tag tells apart."""
    nodes = [node(name, tags=[tag]) for name in ("a", "b")]
    return site(nodes, [ROLLING]) + yaml.safe_dump_all([SETTINGS], explicit_start=True)


@pytest.mark.endurance
def test_groups_that_will_ask_a_person_are_announced_in_the_report(runs: Runs) -> None:
    groups = [
        {**group("one", ["a"]), "approval": "before"},
        {**group("two", ["a"]), "approval": "before"},
        {**group("three", ["b"]), "approval": "after"},
    ]
    runs.commit(site(AB, groups))
    assert runs.run(dry_run=True)[0] == "success"
    assert [note for note in runs.last_report()["notes"] if "asks for approval" in note] == [
        "Group one asks for approval before it begins; while it waits no other group starts.",
        "Group three asks for approval before its verdict; while it waits no other group starts.",
    ], "two has nothing left to submit, and asks nobody"


@pytest.mark.endurance
def test_rule_37_too_many_redeploys_are_refused_before_anything_is_touched(runs: Runs) -> None:
    runs.commit(rolling("first"))
    assert runs.run()[0] == "success"
    runs.commit(rolling("second"))
    before = runs.simulator.submissions()
    why = "update_site: it would redeploy 2 of 2 deployed nodes, more than 50 %: a, b."
    for dry_run in (False, True):
        state, tasks = runs.run("update_site", dry_run=dry_run)
        assert (state, tasks["plan_groups"], tasks["deploy_group"]) == ("failed", "failed", "upstream_failed")
        (failed,) = runs.last_report()["failed_steps"]
        assert failed["step"] == "plan_groups"
        assert failed["message"].startswith(why)
        assert runs.last_action().state is ActionState.FAILED
    assert [sent for sent in runs.simulator.submissions() if sent[1]] == [sent for sent in before if sent[1]]
    assert runs.run("update_site", dry_run=True, many_redeploys=True)[0] == "success"
    report = runs.last_report()
    assert [note for note in report["notes"] if note.startswith(f"in spite of it: {why}")]
    assert sum(len(one["nodes"]) for one in report["rehearsal"] if one["phase"] == "deploy") == 2


@pytest.mark.endurance
def test_rule_11_a_dry_run_refuses_what_the_run_would_refuse_to_prepare(runs: Runs) -> None:
    kept = {**group("one", ["a"], minimum_successful_nodes=1), "release_failed": False}
    runs.commit(site(AB, [kept, group("two", ["b"], critical=False)]))
    assert runs.run(dry_run=True)[0] == "success"
    runs.simulator.post("nodes/a", {"status": "Failed deployment"})
    assert runs.run(dry_run=True)[0] == "failed"
    report = runs.last_report()
    assert report["verdict_text"] == "dry run: critical group one would fail"
    submitted = [(one["group"], one["nodes"]) for one in report["rehearsal"] if one["nodes"]]
    assert submitted == [("two", ["b"]), ("two", ["b"])]
    (left,) = report["nodes"]
    why = (
        "the node list says Failed deployment: the provisioner refuses to prepare it, and its group has release_failed"
    )
    assert (left["name"], left["withheld"], left["message"].startswith(why)) == ("a", True, True)
    (changed,) = [one for one in report["changes"]["rows"] if left["message"] in str(one)]
    assert "withhold" in str(changed)


@pytest.mark.endurance
def test_rule_51_nodes_out_of_use_are_in_the_reports_of_a_dry_run_and_of_the_run(runs: Runs) -> None:
    runs.commit(site(AB, [group("all", critical=False)]))
    why = "set to maintenance by ann: new disk"
    with SiteStore.open() as store:
        store.user_states.change(
            "alpha", ["a"], AskedState(NodeAvailability.MAINTENANCE, "new disk", force=True), "ann"
        )
    for dry_run in (True, False):
        assert runs.run(dry_run=dry_run)[0] == "success"
        report = runs.last_report()
        (left,) = [one for one in report["nodes"] if one["name"] == "a"]
        assert (left["state"], left["withheld"], left["message"]) == ("not_started", True, why)
        assert f"Out of use, left out unless set up meanwhile: a: {why}." in report["notes"]
    assert {name for sent in runs.simulator.submissions() for name in sent[1]} == {"b"}
