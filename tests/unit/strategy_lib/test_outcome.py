"""Rules 13 and 14: what a provisioner task's end proves about each node."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from strategy_lib.node_condition import NodeCondition
from strategy_lib.outcome import Evidence, judge
from strategy_lib.phase import Phase

SENT = ("n1", "n2", "n3")


def evidence(over: bool = True, condition: dict[str, NodeCondition] | None = None, **names: Any) -> Evidence:
    messages = names.pop("messages", {})
    listed = names.pop("listed", False)
    status_names = names.pop("status_names", {})
    before = names.pop("condition_before", {})
    sets: dict[str, Any] = {key: frozenset(value.split()) for key, value in names.items()}
    return Evidence(
        over,
        condition=condition or {},
        status_names=status_names,
        condition_before=before,
        messages=messages,
        listed=listed,
        **sets,
    )


@pytest.mark.parametrize(
    ("phase", "given", "succeeded", "failed", "unknown"),
    [
        (Phase.PREPARE, evidence(reported_success="n1 n2 n3"), "n1 n2 n3", "", ""),
        (Phase.PREPARE, evidence(reported_success="n1 n2", reported_failure="n2"), "n1", "n2", "n3"),
        (Phase.PREPARE, evidence(reported_failure="n2", child_success="n2"), "", "n2", "n1 n3"),
        (Phase.DEPLOY, evidence(child_success="n1 n2", child_failure="n2"), "n1", "n2", "n3"),
        (Phase.DEPLOY, evidence(reported_success="n1", child_failure="n1"), "n1", "", "n2 n3"),
        (Phase.DEPLOY, evidence(), "", "", "n1 n2 n3"),
        (Phase.DEPLOY, evidence(over=False, child_success="n1"), "n1", "", "n2 n3"),
    ],
    ids=[
        "reported",
        "in both lists it failed",
        "a reported failure is never outweighed",
        "per-node tasks",
        "a reported success is stronger than a per-node task",
        "unreported",
        "outran its timeout",
    ],
)
def test_rule_13_order_of_proof(phase: Phase, given: Evidence, succeeded: str, failed: str, unknown: str) -> None:
    outcome = judge(phase, SENT, given)
    assert outcome.succeeded == set(succeeded.split())
    assert outcome.failed == set(failed.split())
    assert outcome.unknown == set(unknown.split())


@pytest.mark.parametrize("condition", list(NodeCondition))
def test_rule_13_what_the_node_list_proves(condition: NodeCondition) -> None:
    prepare = judge(Phase.PREPARE, ["n1"], evidence(condition={"n1": condition}))
    deploy = judge(Phase.DEPLOY, ["n1"], evidence(condition={"n1": condition}))
    assert bool(prepare.succeeded) is (condition in ("ready", "allocated", "deployed"))
    assert bool(prepare.failed) is (condition in ("failed_commissioning", "failed_testing"))
    assert bool(deploy.succeeded) is (condition == "deployed")
    assert bool(deploy.failed) is (condition == "failed_deployment")
    for outcome in (prepare, deploy):
        assert len(outcome.succeeded) + len(outcome.failed) + len(outcome.unknown) == 1
        assert condition in outcome.notes["n1"]


@pytest.mark.parametrize("proof", ["reported_success", "child_success"])
@pytest.mark.parametrize(
    ("phase", "condition"),
    [(Phase.PREPARE, NodeCondition.FAILED_COMMISSIONING), (Phase.DEPLOY, NodeCondition.FAILED_DEPLOYMENT)],
)
def test_rule_13_a_false_success_is_seen_in_the_node_list(proof: str, phase: Phase, condition: NodeCondition) -> None:
    names: dict[str, Any] = {proof: "n1"}
    outcome = judge(phase, ["n1"], evidence(condition={"n1": condition}, **names))
    assert outcome.failed == {"n1"}
    assert condition in outcome.notes["n1"]


def test_rule_13_names_that_were_not_sent_are_ignored_and_named() -> None:
    outcome = judge(Phase.DEPLOY, ["n1"], evidence(reported_success="n1 x", child_failure="y", reported_failure="z"))
    assert outcome.succeeded == {"n1"}
    assert not outcome.failed
    assert outcome.ignored == {"x", "y", "z"}


def test_rule_13_notes_say_why_in_the_provisioners_words() -> None:
    outcome = judge(
        Phase.PREPARE,
        SENT,
        evidence(reported_failure="n1", reported_success="n2", messages={"n1": "no PXE", "n2": "ok"}),
    )
    assert outcome.notes == {
        "n1": "no PXE",
        "n3": "the provisioner task ended without a word about it",
    }


def test_rule_13_of_a_reported_failure_the_provisioner_s_words_are_enough() -> None:
    silent = judge(Phase.DEPLOY, ["n1"], evidence(reported_failure="n1"))
    assert silent.notes["n1"] == "reported failed", "that is all there is"
    unknown = judge(Phase.DEPLOY, ["n1"], evidence(over=False, messages={"n1": "no PXE"}))
    assert unknown.notes["n1"] == "no result in time: no PXE", "it was not reported"


def test_rule_14_out_of_time_says_so() -> None:
    outcome = judge(Phase.DEPLOY, ["n1"], evidence(over=False, condition={"n1": NodeCondition.DEPLOYING}))
    assert outcome.notes["n1"] == "no result in time; the node list says deploying"


def test_rule_13_the_node_list_is_quoted_in_its_own_words() -> None:
    other: dict[str, Any] = {"condition": {"n1": NodeCondition.OTHER}, "status_names": {"n1": "Rescue mode"}}
    outcome = judge(Phase.DEPLOY, ["n1"], evidence(**other))
    assert outcome.notes["n1"] == "the provisioner task ended without a word about it; the node list says Rescue mode"


def test_rule_13_a_refused_prepare_names_the_status_that_was_refused() -> None:
    seen: dict[str, Any] = {
        "condition": {"n1": NodeCondition.FAILED_DEPLOYMENT},
        "status_names": {"n1": "Failed deployment"},
    }
    outcome = judge(Phase.PREPARE, ["n1"], evidence(reported_failure="n1", messages={"n1": "cut of"}, **seen))
    assert outcome.notes["n1"] == "reported failed; the node list says Failed deployment: cut of"


@pytest.mark.parametrize(
    ("phase", "before", "now", "unknown"),
    [
        (Phase.DEPLOY, NodeCondition.DEPLOYED, NodeCondition.DEPLOYED, True),
        (Phase.DEPLOY, NodeCondition.READY, NodeCondition.DEPLOYED, False),
        (Phase.DEPLOY, None, NodeCondition.DEPLOYED, False),
        (Phase.PREPARE, NodeCondition.DEPLOYED, NodeCondition.READY, True),
        (Phase.PREPARE, NodeCondition.COMMISSIONING, NodeCondition.READY, False),
    ],
)
def test_rule_13_a_node_list_that_said_so_before_proves_nothing(
    phase: Phase, before: NodeCondition | None, now: NodeCondition, unknown: bool
) -> None:
    noted = {} if before is None else {"a": before}
    outcome = judge(phase, ["a"], Evidence(over=True, condition={"a": now}, condition_before=noted))
    assert (outcome.unknown == {"a"}) is unknown
    assert "a" in outcome.notes


@pytest.mark.parametrize("proof", ["", "reported_success", "child_success"])
def test_rule_13_a_node_that_was_not_listed_before_its_deploy_proves_nothing_when_it_is_deployed(proof: str) -> None:
    said: dict[str, Any] = {proof: "a"} if proof else {}
    seen = evidence(
        condition={"a": NodeCondition.DEPLOYED},
        condition_before={"a": NodeCondition.NOT_LISTED},
        status_names={"a": "Deployed"},
        **said,
    )
    outcome = judge(Phase.DEPLOY, ["a"], seen)
    assert outcome.unknown == {"a"}
    assert outcome.notes["a"] == (
        "the node list says Deployed, but did not have it right before its deploy was submitted, so that nothing "
        "proves what deployed it: needs redeploy (allow_redeploy, or redeploy_server)"
    )
    as_wanted = judge(Phase.DEPLOY, ["a"], replace(seen, as_wanted_before=frozenset({"a"})))
    assert as_wanted.succeeded == {"a"}
    assert judge(Phase.PREPARE, ["a"], seen).succeeded == {"a"}, "the list shows it prepared"


@pytest.mark.parametrize(
    ("names", "now", "verdict"),
    [
        ({"reported_failure": "a"}, NodeCondition.DEPLOYED, "failed"),
        ({"child_failure": "a"}, NodeCondition.DEPLOYED, "failed"),
        ({"child_failure": "a", "reported_success": "a"}, NodeCondition.DEPLOYED, "unknown"),
        ({"reported_success": "a"}, NodeCondition.FAILED_DEPLOYMENT, "failed"),
        ({"reported_success": "a"}, None, "succeeded"),
    ],
    ids=[
        "reported",
        "its own task",
        "its own task, contradicted",
        "refuted",
        "never listed: the report is all there is",
    ],
)
def test_rule_13_of_a_node_that_was_not_listed_before_its_deploy(
    names: dict[str, Any], now: NodeCondition | None, verdict: str
) -> None:
    listed = {} if now is None else {"a": now}
    seen = evidence(condition=listed, condition_before={"a": NodeCondition.NOT_LISTED}, **names)
    assert getattr(judge(Phase.DEPLOY, ["a"], seen), verdict) == {"a"}


@pytest.mark.parametrize(
    ("step", "given", "succeeded", "failed", "unknown"),
    [
        (Phase.DESTROY, evidence(reported_success="n1 n2", reported_failure="n2"), "n1", "n2", "n3"),
        (Phase.DESTROY, evidence(over=False, child_success="n1", child_failure="n2"), "n1", "n2", "n3"),
        (Phase.RELABEL, evidence(reported_success="n1 n2", reported_failure="n2"), "n1", "n2", "n3"),
        (Phase.RELABEL, evidence(child_success="n1 n2", child_failure="n2"), "", "n2", "n1 n3"),
    ],
    ids=["destroy", "destroy, per-node tasks", "relabel", "relabel is proven by its own report alone"],
)
def test_rule_25_order_of_proof(step: Phase, given: Evidence, succeeded: str, failed: str, unknown: str) -> None:
    outcome = judge(step, SENT, given)
    assert outcome.succeeded == set(succeeded.split())
    assert outcome.failed == set(failed.split())
    assert outcome.unknown == set(unknown.split())


@pytest.mark.parametrize("condition", list(NodeCondition))
def test_rule_25_a_node_that_the_list_shows_deployed_is_not_destroyed(condition: NodeCondition) -> None:
    listed = {"n1": condition}
    deployed = condition in ("deployed", "deploying", "failed_deployment")
    reported = judge(Phase.DESTROY, ["n1"], evidence(condition=listed, reported_success="n1"))
    assert not deployed or reported.failed
    unreported = judge(Phase.DESTROY, ["n1"], evidence(condition=listed))
    assert bool(unreported.failed) is deployed
    assert bool(unreported.succeeded) is (condition in ("new", "ready"))
    at_work = judge(Phase.DESTROY, ["n1"], evidence(over=False, condition=listed))
    assert not at_work.failed, "its turn may still come"


@pytest.mark.parametrize("condition", list(NodeCondition))
def test_rule_25_the_node_list_says_nothing_about_labels(condition: NodeCondition) -> None:
    assert judge(Phase.RELABEL, ["n1"], evidence(condition={"n1": condition})).unknown == {"n1"}
    reported = judge(Phase.RELABEL, ["n1"], evidence(condition={"n1": condition}, reported_success="n1"))
    assert reported.succeeded == {"n1"}


def test_rule_25_a_node_that_is_missing_from_the_list_may_be_so_for_any_reason() -> None:
    assert judge(Phase.DESTROY, ["n1"], evidence(listed=True)).unknown == {"n1"}


@pytest.mark.parametrize("condition", list(NodeCondition))
def test_rule_11_a_release_is_judged_as_destroying_what_is_on_the_node(condition: NodeCondition) -> None:
    told = evidence(condition={"n1": condition}, listed=True)
    assert judge(Phase.RELEASE, ["n1"], told) == judge(Phase.DESTROY, ["n1"], told)


def test_rule_13_a_deploy_of_a_node_that_is_listed_twice_is_unknown_and_says_why() -> None:
    words = {"a": "listed twice, with different states: Deployed, Ready"}
    twice = {"a": NodeCondition.LISTED_TWICE}
    seen = Evidence(over=True, reported_success=frozenset({"a"}), condition=twice, status_names=words, listed=True)
    outcome = judge(Phase.DEPLOY, ["a"], seen)
    assert (outcome.unknown, outcome.notes["a"]) == (
        frozenset({"a"}),
        f"it is {words['a']}, so that nothing proves its deploy",
    )
    assert judge(Phase.DEPLOY, ["a"], replace(seen, as_wanted_before=frozenset({"a"}))).succeeded == {"a"}
    assert judge(Phase.PREPARE, ["a"], seen).succeeded == {"a"}, "the report alone counts there"
