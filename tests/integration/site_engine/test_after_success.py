"""What follows a deployment: when the DAG that the site names is triggered, and as which run."""

from __future__ import annotations

from dataclasses import replace

import pytest

from site_engine.actions.finalization import NextStage, next_stage
from site_engine.errors import StepError
from tests.support.driving import Begin, Driving
from tests.support.fake_provisioner import FakeProvisioner
from tests.support.sites import group, node, site

AB = [node("a"), node("b")]
GOOD: dict[str, str | None] = {"verify_site": "success", "prepare_site": "success"}


def deployed(begin: Begin, *groups: dict[str, object]) -> Driving:
    """Return an action whose groups have their verdicts."""
    driving = begin(site(AB, groups))
    for each in groups:
        driving.group(str(each["name"]))
    return driving


def test_it_is_one_run_with_site_revision_and_action(begin: Begin) -> None:
    driving = deployed(begin, group("one", ["a"]))
    action = driving.action
    stage = next_stage(driving.store, action, "update_software", GOOD)
    conf = {"site": "alpha", "revision": 1, "action": action.id}
    assert stage == NextStage("update_software", f"alpha__{action.id}", conf)
    assert next_stage(driving.store, action, "update_software", GOOD) == stage, "however often it is asked"
    again = next_stage(driving.store, action, "update_software", GOOD, again=21)
    assert isinstance(again, NextStage)
    assert again.run_id == f"alpha__{action.id}__again-21", "a person has it tried again"


def test_it_comes_after_groups_that_failed_and_are_not_critical(begin: Begin, fake: FakeProvisioner) -> None:
    fake.script("b", "deploy", "fail")
    others = group("two", ["b"], critical=False, percent_successful_nodes=100)
    driving = deployed(begin, group("one", ["a"]), others)
    assert isinstance(next_stage(driving.store, driving.action, "update_software", GOOD), NextStage)


@pytest.mark.parametrize(
    ("dag_id", "states", "why"),
    [
        pytest.param(None, GOOD, "names no DAG", id="nothing is named"),
        pytest.param("next", {**GOOD, "prepare_site": "failed"}, "prepare_site failed", id="a step failed"),
    ],
)
def test_why_nothing_comes(begin: Begin, dag_id: str | None, states: dict[str, str | None], why: str) -> None:
    driving = deployed(begin, group("one", ["a"]))
    said = next_stage(driving.store, driving.action, dag_id, states)
    assert isinstance(said, str)
    assert why in said
    rehearsed = next_stage(driving.store, replace(driving.action, dry_run=True), "next", GOOD)
    assert rehearsed == "dry run: next is not triggered"


def test_nothing_comes_after_a_critical_group_that_failed(begin: Begin, fake: FakeProvisioner) -> None:
    fake.script("a", "deploy", "fail")
    driving = deployed(begin, group("one", ["a"], percent_successful_nodes=100), group("two", ["b"], after=["one"]))
    said = next_stage(driving.store, driving.action, "next", GOOD)
    assert said == "next is not triggered: critical groups one, two failed"


def test_slipways_own_dags_never_follow_themselves(begin: Begin) -> None:
    driving = deployed(begin, group("one", ["a"]))
    with pytest.raises(StepError, match="one of Slipway's own DAGs"):
        next_stage(driving.store, driving.action, "deploy_site", GOOD)
