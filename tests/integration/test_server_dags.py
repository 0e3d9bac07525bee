"""Whole runs of the DAGs that are about named servers, and of a paused action (rules 25 and 26)."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
import yaml

from provisioner_client.drydock.submission import marker_of
from site_engine.groups import turns
from site_store import ActionRecord, NewRevision, SiteStore
from slipway_airflow.operators import group as group_operator
from slipway_airflow.operators import steps as node_step_operator
from tests.support.dag_runs import Runs
from tests.support.sites import document, group, node, site

AB = [node("a"), node("b")]
PLAIN = site(AB, [group("one", ["a"], minimum_successful_nodes=1), group("two", ["b"], critical=False)])
SECRET = "correct horse battery staple"


@pytest.fixture
def deployed(runs: Runs) -> Runs:
    """Commit a site whose two machines are deployed already, though not by Slipway."""
    runs.commit(PLAIN)
    runs.simulator.read(PLAIN, *"ab")
    return runs


def nodes_of(report: Any) -> dict[str, str]:
    """Return the state of each node in a report."""
    return {entry["name"]: entry["state"] for entry in report["nodes"]}


@pytest.mark.endurance
def test_rule_25_servers_are_destroyed_and_an_update_deploys_them_again(
    runs: Runs, capfd: pytest.CaptureFixture[str]
) -> None:
    runs.commit(PLAIN)
    runs.run()
    before = len(runs.simulator.submissions())
    state, tasks = runs.run("destroy_nodes", target_nodes=["b"])
    assert state == "success"
    assert list(tasks.values()) == ["success"] * len(tasks)
    assert runs.simulator.submissions()[before:] == [("destroy_nodes", ["b"])]
    report = runs.last_report()
    (target,) = report["groups"]
    assert (target["name"], target["critical"], target["state"]) == ("target-group", True, "success")
    assert [(one["phase"], one["needed"], one["actual"]) for one in target["criteria"]] == [
        ("destroy_nodes", 100, "1/1")
    ]
    assert nodes_of(report) == {"b": "success"}
    assert " destroyed " in "".join(capfd.readouterr())
    before = len(runs.simulator.submissions())
    assert runs.run("update_site")[0] == "success"
    assert runs.simulator.submissions()[before:] == [("prepare_nodes", ["b"]), ("deploy_nodes", ["b"])]


@pytest.mark.endurance
def test_rule_25_a_server_is_redeployed(deployed: Runs) -> None:
    state, _ = deployed.run("redeploy_server", target_nodes=["b"])
    assert state == "success"
    assert [action for action, _ in deployed.simulator.submissions()] == [
        "destroy_nodes",
        "prepare_nodes",
        "deploy_nodes",
    ]
    assert {tuple(nodes) for _, nodes in deployed.simulator.submissions()} == {("b",)}
    report = deployed.last_report()
    assert [(entry["name"], entry["state"]) for entry in report["groups"]] == [("target-group", "success")]
    assert nodes_of(report) == {"b": "success"}
    action = deployed.last_action()
    assert action.step == "report"
    sent = deployed.simulator.get("journal?method=POST&path=/api/v1.0/tasks")
    assert {entry["marker"] for entry in sent} == {marker_of(action.id)}, "the last action's, in Drydock's log"


@pytest.mark.endurance
def test_rule_25_what_cannot_be_destroyed_is_not_deployed(deployed: Runs) -> None:
    deployed.simulator.script("b", "destroy", "fail")
    state, tasks = deployed.run("redeploy_server", target_nodes=["a", "b"], force=True)
    assert (state, tasks["destroy_nodes"], tasks["plan_groups"]) == ("failed", "failed", "upstream_failed")
    assert [action for action, _ in deployed.simulator.submissions()] == ["destroy_nodes"]
    report = deployed.last_report()
    (failed,) = report["failed_steps"]
    assert failed["step"] == "destroy_nodes"
    assert "b: Error Releasing node b" in failed["message"]
    assert nodes_of(report) == {"a": "not_started", "b": "failure"}
    assert {entry["name"]: entry["message"] for entry in report["nodes"]}["a"] == "destroyed, and not deployed again"
    assert report["groups"][0]["reason"] == "node_step"


@pytest.mark.endurance
def test_rule_25_nodes_that_could_not_be_relabelled_fail_the_action_with_their_words(deployed: Runs) -> None:
    deployed.simulator.script("b", "relabel", "fail")
    state, tasks = deployed.run("relabel_nodes", target_nodes=["a", "b"])
    assert (state, tasks["relabel_nodes"], tasks["release"]) == ("failed", "failed", "success")
    report = deployed.last_report()
    assert report["verdict_text"] == "critical group target-group failed"
    assert report["failed_steps"] == []
    assert nodes_of(report) == {"a": "success", "b": "failure"}
    assert report["groups"][0]["criteria"][0]["met"] is False
    assert {entry["name"]: entry["message"] for entry in report["nodes"]}["b"] == ("Failed to label node b")


@pytest.mark.endurance
def test_a_dry_run_names_what_would_be_redeployed(deployed: Runs, capfd: pytest.CaptureFixture[str]) -> None:
    capfd.readouterr()
    state, tasks = deployed.run("redeploy_server", target_nodes=["b"], dry_run=True)
    assert (state, tasks["destroy_nodes"]) == ("success", "skipped")
    assert deployed.simulator.submissions() == []
    said = "".join(capfd.readouterr())
    for line in ("destroy_nodes: 1 node: b", "target-group: prepare 1 node: b", "target-group: deploy 1 node: b"):
        assert f"  {line}" in said


@pytest.mark.endurance
def test_rule_25_a_dry_run_is_refused_what_the_action_would_be_refused(deployed: Runs) -> None:
    assert deployed.run("destroy_nodes", target_nodes=["a"], dry_run=True)[0] == "failed"
    report = deployed.last_report()
    assert (report["verdict_text"], report["rehearsal"]) == ("dry run: validate_design failed", [])
    assert "critical group one would fall short" in report["failed_steps"][0]["message"]
    assert deployed.run("destroy_nodes", target_nodes=["a"], dry_run=True, force=True)[0] == "success"
    assert deployed.last_report()["rehearsal"] == [{"group": None, "phase": "destroy_nodes", "nodes": ["a"]}]


@pytest.mark.endurance
def test_servers_must_be_named(deployed: Runs) -> None:
    assert deployed.run("destroy_nodes", target_nodes=["b", "bb"])[0] == "failed"
    assert "did you mean 'b'?" in deployed.last_report()["failed_steps"][0]["message"]
    assert deployed.simulator.submissions() == []


@pytest.fixture
def looks(runs: Runs, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Pause an action when it is about to begin for the first time, and let it go on when it looks for the third time.

    Returns how much had been submitted at each look.
    """
    for wait in ("LOOK_AGAIN_PAUSED", "LOOK_AGAIN_BEHIND_OTHERS"):
        monkeypatch.setattr(turns, wait, timedelta(seconds=0.2))
    seen: list[int] = []

    def watched(hold_back: Callable[..., timedelta | None]) -> Callable[..., timedelta | None]:
        def look(action: ActionRecord, *others: Any) -> timedelta | None:
            seen.append(len(runs.simulator.submissions()))
            with SiteStore.open() as store:
                if len(seen) in (1, 3):
                    store.actions.set_paused(action.id, len(seen) == 1)
                return hold_back(store.actions.get(action.id), *others)

        return look

    monkeypatch.setattr(group_operator, "hold_group_back", watched(turns.hold_group_back))
    monkeypatch.setattr(node_step_operator, "hold_back", watched(turns.hold_back))
    return seen


@pytest.mark.endurance
def test_rule_26_a_paused_action_begins_no_group_until_it_goes_on(runs: Runs, looks: list[int]) -> None:
    runs.commit(PLAIN)
    assert runs.run()[0] == "success"
    assert looks[:3] == [0, 0, 0]
    assert [action for action, _ in runs.simulator.submissions()] == ["prepare_nodes", "deploy_nodes"] * 2


@pytest.mark.endurance
def test_rule_26_a_pause_holds_back_a_destruction_too(deployed: Runs, looks: list[int]) -> None:
    assert deployed.run("destroy_nodes", target_nodes=["b"])[0] == "success"
    assert looks == [0, 0, 0]


@pytest.mark.endurance
def test_a_revision_that_could_not_be_rendered_is_refused_in_words(runs: Runs) -> None:
    runs.commit(PLAIN)
    with SiteStore.open() as store:
        store.revisions.commit(
            NewRevision("alpha", {"design": "not: rendered\n"}, (), None, "tester", forced=True, problems=["no parent"])
        )
    assert runs.run()[0] == "failed"
    message = runs.last_report()["failed_steps"][0]["message"]
    assert "revision 2 of site alpha was forced although it could not be rendered" in message
    assert "no parent" in message


@pytest.mark.endurance
def test_a_secret_that_would_be_the_name_of_a_group_is_shown_to_nobody(runs: Runs) -> None:
    passphrase = document("deckhand/Passphrase/v1", "ipmi", SECRET, storagePolicy="encrypted")
    design = list(yaml.safe_load_all(site([*AB, passphrase], [group("one", ["a"])])))
    (strategy,) = (one for one in design if one["schema"] == "shipyard/DeploymentStrategy/v1")
    source = {"schema": passphrase["schema"], "name": "ipmi", "path": "."}
    strategy["metadata"]["substitutions"] = [{"src": source, "dest": {"path": ".groups[0].name"}}]
    # As after a commit that was forced; a run may be started in Airflow, where nobody asks for the problems.
    runs.commit(yaml.safe_dump_all(design))
    state, tasks = runs.run(force=True)
    assert (state, tasks["begin_action"], tasks["site_steps"]) == ("failed", "failed", "upstream_failed")
    (failed,) = runs.last_report()["failed_steps"]
    assert failed["message"].endswith(
        "groups and settings are shown to everybody: write it in plain; revision 1 of site alpha shows secrets: "
        "mend it, commit, and start a new action; force does not help here"
    )


@pytest.mark.endurance
def test_secrets_of_the_design_are_in_no_log_and_in_no_report(runs: Runs, capfd: pytest.CaptureFixture[str]) -> None:
    passphrase = document("deckhand/Passphrase/v1", "ipmi", SECRET, storagePolicy="encrypted")
    # A host profile that is missing: the provisioner's remark about it quotes its name.
    runs.commit(site([*AB, node("c", profile=SECRET), passphrase], [group("one", ["a"], minimum_successful_nodes=1)]))
    assert runs.run()[0] == "failed"
    said = "".join(capfd.readouterr())
    assert "HostProfile *** not found in design state" in said
    assert SECRET not in said
    (failed,) = runs.last_report()["failed_steps"]
    assert failed["step"] == "validate_design"
    assert "HostProfile *** not found in design state" in failed["message"]
