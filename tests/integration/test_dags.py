"""Whole runs of the real DAGs in this process, with a real store, a real simulator process and the real REST API."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
import yaml

from site_engine.designs import ADDRESSES, INGESTER
from site_engine.kinds import KINDS, RELEASE, REPORT, kind_of
from site_engine.parameters import known_in_run
from site_engine.provisioners import opening_address
from site_store import ActionState, SiteStore, StepState
from slipway_airflow import triggers
from tests.support.dag_runs import Runs
from tests.support.file_server import FileServer
from tests.support.node_agents import ON_LOOPBACK, asking_site
from tests.support.sites import document, group, node, site

if TYPE_CHECKING:
    from airflow.dag_processing.dagbag import DagBag

AB = [node("a"), node("b")]
PLAIN = site(AB, [group("one", ["a"], minimum_successful_nodes=1), group("two", ["b"], after=["one"], critical=False)])


def test_a_site_is_deployed(runs: Runs) -> None:
    runs.commit(PLAIN)
    state, tasks = runs.run()
    assert state == "success"
    assert tasks.pop("after_success") == "skipped", "the site names nothing to come after it"
    assert set(tasks.values()) == {"success"}
    action = runs.last_action()
    assert action.state is ActionState.SUCCESS
    assert [(g["name"], g["state"]) for g in runs.last_report()["groups"]] == [("one", "success"), ("two", "success")]
    with SiteStore.open() as store:
        assert store.locks.owner("alpha") is None


@pytest.mark.endurance
def test_after_a_503_in_the_very_fetch_of_the_design_this_action_and_a_later_one_succeed(
    runs: Runs, api: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Drydock keeps the 503 as a design without nodes for ever, by its address."""
    runs.commit(PLAIN)
    with FileServer(upstream=api) as between:
        monkeypatch.setenv("SLIPWAY_URL", between.url)
        between.refuse(503, b'{"detail": "no worker is free"}')
        for force in (False, True):
            state, _ = runs.run(force=force)
            assert state == "success"
    assert len(between.asked) == 2, "each address once; the later action goes on with the one that was good"
    last = runs.last_action()
    assert last.design_fetch > 0
    with SiteStore.open() as store:
        refs = {operation.design_ref for operation in store.operations.of_action(last.id)}
        opened = {opening_address(ref, store.secret_texts.token_of) for ref in refs}
        assert opened == {between.url + between.asked[1]}
        assert not refs & opened, "none that is stored opens anything"


@pytest.mark.endurance
def test_an_outage_of_slipways_route_does_not_outlast_its_action(
    runs: Runs, api: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs.commit(PLAIN)
    with FileServer(upstream=api) as between:
        monkeypatch.setenv("SLIPWAY_URL", between.url)
        between.refuse(503, b"{}", count=ADDRESSES)
        assert runs.run()[0] == "failed"
        (failed,) = runs.last_report()["failed_steps"]
        assert (failed["step"], INGESTER in failed["message"]) == ("validate_design", True)
        assert runs.run()[0] == "success"


@pytest.mark.endurance
def test_rule_19_a_failed_critical_group_fails_the_run_and_stops_no_other(
    runs: Runs, capfd: pytest.CaptureFixture[str]
) -> None:
    runs.simulator.script("a", "deploy", "fail")
    others = [group("one", ["a"], minimum_successful_nodes=1), group("two", ["b"])]
    runs.commit(site(AB, others))
    state, tasks = runs.run()
    assert (state, tasks["report"]) == ("failed", "failed")
    assert (tasks["release"], tasks["verdict"]) == ("success", "upstream_failed"), "the site is free, the run is red"
    with SiteStore.open() as store:
        assert store.locks.owner("alpha") is None, "released all the same"
    action = runs.last_action()
    assert (action.state, action.verdict) == (ActionState.FAILED, "critical group one failed")
    assert "AirflowFailException: critical group one failed" in "".join(capfd.readouterr())
    assert {n["name"]: n["state"] for n in runs.last_report()["nodes"]} == {"a": "failure", "b": "success"}
    with SiteStore.open() as store:
        steps = {(step.name, step.group): step for step in store.steps.of_action(action.id)}
    behind = ["deploy_group", "deploy_group", "after_success", REPORT, RELEASE]
    assert sorted(name for name, _ in steps) == sorted([*kind_of(action.kind).steps, *behind])
    failed = {key: step.message for key, step in steps.items() if step.state is StepState.FAILED}
    assert failed.keys() == {("deploy_group", "one"), ("report", None)}
    assert failed["report", None] == "critical group one failed"
    assert all(step.ended for step in steps.values())


@pytest.mark.endurance
def test_rule_9_groups_behind_a_failed_one_are_skipped_and_name_the_culprit(
    runs: Runs, capfd: pytest.CaptureFixture[str]
) -> None:
    runs.simulator.script("a", "deploy", "fail", message="no disk with 100% health")
    groups = [
        group("one", ["a"], minimum_successful_nodes=1),
        group("two", ["b"], after=["one"], critical=False),
        group("three", ["b"], after=["two"], critical=False),
    ]
    runs.commit(site(AB, groups))
    state, tasks = runs.run()
    assert (state, tasks["deploy_group"], tasks["release"]) == ("failed", "skipped", "success")
    with SiteStore.open() as store:
        steps = {step.group: step for step in store.steps.of_action(runs.last_action().id) if step.group}
    assert [steps[name].state for name in ("one", "two", "three")] == ["failed", "skipped", "skipped"]
    blocked = "group three is blocked by one: deploy_criteria"
    assert steps["three"].message == blocked, "the culprit is the one at the root"
    said = "".join(capfd.readouterr())
    assert blocked in said
    for sentence in ("a failed: no disk with 100% health", "actual 0: NOT met", "(deploy_criteria)."):
        assert re.search(rf"\[error *\].*{re.escape(sentence)}", said), sentence


@pytest.mark.endurance
@pytest.mark.parametrize("kind", ["deploy_site", "update_site"])
def test_rule_11_a_node_whose_deploy_failed_is_deployed_by_the_next_action(runs: Runs, kind: str) -> None:
    runs.simulator.script("a", "deploy", "fail", attempt=1, message="no disk with the serial number 42")
    runs.commit(site(AB, [group("one", ["a"], minimum_successful_nodes=1), group("two", ["b"])]))
    assert runs.run()[0] == "failed"
    said = {n["name"]: n["message"] for n in runs.last_report()["nodes"]}
    assert said == {"a": "no disk with the serial number 42", "b": None}
    note = "Erased and released before they are prepared: a."
    assert runs.run(kind, dry_run=True)[0] == "success"
    assert note in runs.last_report()["notes"]
    before = len(runs.simulator.submissions())
    assert runs.run(kind)[0] == "success"
    assert [sent for sent in runs.simulator.submissions()[before:] if "_nodes" in sent[0]] == [
        ("destroy_nodes", ["a"]),
        ("prepare_nodes", ["a"]),
        ("deploy_nodes", ["a"]),
    ]
    assert note in runs.last_report()["notes"]
    assert runs.simulator.double() == {}


@pytest.mark.endurance
def test_rule_08_groups_side_by_side_are_the_task_with_16_places(runs: Runs, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(triggers, "QUIET_SECONDS", 0.0)
    settings = yaml.safe_dump(document("slipway/SiteSettings/v1", "settings", {"max_parallel_groups": 3}))
    runs.commit(f"{site(AB, [group('one', ['a']), group('two', ['a', 'b'])])}---\n{settings}")
    state, tasks = runs.run()
    assert (state, tasks["deploy_group"], tasks["deploy_group_beside"]) == ("success", "skipped", "success")
    action = runs.last_action()
    assert action.parameters["max_parallel_groups"] == 3
    sent = runs.simulator.submissions()
    one_first = [(f"{phase}_nodes", [name]) for name in ("a", "b") for phase in ("prepare", "deploy")]
    two_first = [(f"{phase}_nodes", ["a", "b"]) for phase in ("prepare", "deploy")]
    assert sent in (one_first, two_first), "Airflow starts groups side by side in any order"
    with SiteStore.open() as store:
        steps = {(step.name, step.group) for step in store.steps.of_action(action.id)}
    assert ("deploy_group", "one") in steps, "it is the same step"
    assert not [name for name, _ in steps if name == "deploy_group_beside"]


@pytest.mark.parametrize("dag_id", [name for name, kind in KINDS.items() if kind.has_groups])
def test_rule_08_the_dags_own_limits(dagbag: DagBag, dag_id: str) -> None:
    tasks = dagbag.dags[dag_id].task_dict
    limits = {name: tasks[name].max_active_tis_per_dagrun for name in tasks if name.startswith("deploy_group")}
    expected = {"deploy_group": 1} | ({"deploy_group_beside": 16} if kind_of(dag_id).has_parallel_groups else {})
    assert limits == expected


@pytest.mark.endurance
def test_rule_19_failed_groups_that_are_not_critical_do_not_fail_the_run(runs: Runs) -> None:
    runs.simulator.script("b", "prepare", "fail")
    runs.commit(site(AB, [group("one", ["a"]), group("two", ["b"], critical=False, maximum_failed_nodes=0)]))
    state, tasks = runs.run()
    assert (state, tasks["deploy_group"]) == ("success", "failed")
    assert "two" in (runs.last_action().verdict or "")


@pytest.mark.endurance
def test_rule_19_a_failure_before_the_groups_fails_the_run(runs: Runs) -> None:
    runs.commit(PLAIN)
    state, tasks = runs.run(revision=7)
    assert state == "failed"
    assert tasks["deploy_group"] == "upstream_failed"
    action = runs.last_action()
    assert action.state is ActionState.FAILED
    assert "load_design" in (action.verdict or "")
    assert "7" in runs.last_report()["failed_steps"][0]["message"]


@pytest.mark.endurance
def test_without_the_key_of_a_site_whose_nodes_are_asked_nothing_is_submitted(
    runs: Runs, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    for name, value in ON_LOOPBACK.items():
        monkeypatch.setenv(name, value)
    runs.commit(asking_site(["a"], 1, 45))
    assert runs.run()[0] == "failed"
    assert "SLIPWAY_NODE_KEY_FILE: set it to a file with the key of site alpha" in "".join(capfd.readouterr())
    assert runs.simulator.submissions() == []


@pytest.mark.endurance
def test_a_dry_run_shows_what_would_be_done_and_does_nothing(runs: Runs, capfd: pytest.CaptureFixture[str]) -> None:
    runs.commit(PLAIN)
    state, tasks = runs.run(dry_run=True)
    assert state == "success"
    assert tasks["deploy_group"] == "skipped"
    assert runs.simulator.get("tasks") == []
    assert runs.last_action().verdict == "dry run: nothing was submitted"
    assert "  one: prepare 1 node: a" in "".join(capfd.readouterr())
    rehearsal = runs.last_report()["rehearsal"]
    assert rehearsal[:2] == [
        {"group": "one", "phase": "prepare", "nodes": ["a"]},
        {"group": "one", "phase": "deploy", "nodes": ["a"]},
    ]
    with SiteStore.open() as store:
        assert {(known.op, known.condition) for known in store.nodes.of_site("alpha")} == {(None, None)}


@pytest.mark.endurance
def test_rule_14_a_result_that_comes_late_is_in_the_report(runs: Runs) -> None:
    runs.simulator.script("a", "prepare", "slow", factor=30)
    times = {"prepare_node_interval": 1, "prepare_node_timeout": 1}
    slow = group("one", ["a"], critical=False, minimum_successful_nodes=1)
    runs.commit(site(AB, [slow, group("two", ["b"], minimum_successful_nodes=1)], times))
    runs.run()
    report = runs.last_report()
    assert report["groups"][0]["reason"] == "prepare_criteria", "the verdict stays"
    assert {entry["name"]: entry["state"] for entry in report["nodes"]}["a"] == "prepared"
    assert any("a: prepare success: seen late" in note for note in report["notes"])


@pytest.mark.parametrize("dag_id", tuple(KINDS))
def test_every_parameter_says_what_it_is(dagbag: DagBag, dag_id: str) -> None:
    params = dagbag.dags[dag_id].params
    assert list(params) == list(known_in_run(kind_of(dag_id)))
    for name in params:
        param = params.get_param(name)
        assert param.schema["title"]
        assert param.description
        assert param.schema["type"]
    required = "null" not in params.get_param("target_nodes").schema["type"]
    assert required is kind_of(dag_id).targeted
