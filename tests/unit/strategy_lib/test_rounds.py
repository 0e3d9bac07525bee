"""Groups side by side: rounds against a plain reading, and with one group at once what `Deployment` does."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from strategy_lib import (
    Deployment,
    Finished,
    Verdict,
    nodes_from_inventory,
    order_groups,
    parse_strategy,
    resolve,
    simulate,
)
from strategy_lib.phase import Step
from strategy_lib.simulation import RoundDeployment
from strategy_lib.verdict import GroupView
from tests.unit.strategy_lib.test_simulation_against_the_rules import (
    by_the_rules,
    nodes,
    not_met,
    outcomes,
    selected,
    strategies,
)

Fates = dict[str, dict[str, str]]
Site = list[dict[str, Any]]


def in_rounds(strategy: dict[str, Any], site: Site, fates: Fates, at_once: int) -> dict[str, Any]:
    """Read rules 8 to 19 out loud, for rounds of this many groups."""
    groups = {group["name"]: group for group in strategy["groups"]}
    state = {node["name"]: "not_started" for node in site}
    members = {
        name: sorted(node["name"] for node in site if any(selected(s, node) for s in group["selectors"] or [{}]))
        for name, group in groups.items()
    }
    reasons: dict[str, str | None] = {}
    missed: dict[str, list[dict[str, Any]]] = {name: [] for name in groups}
    waves: list[list[str]] = []
    submissions: list[dict[str, Any]] = []
    while ready := [
        name
        for name, group in groups.items()
        if name not in reasons and all(other in reasons and reasons[other] is None for other in group["depends_on"])
    ]:
        wave = ready[:at_once]
        waves.append(wave)
        at_work = list(wave)
        for phase, before, after, good in (
            ("prepare", "not_started", "prepared", {"prepared", "success"}),
            ("deploy", "prepared", "success", {"success"}),
        ):
            claimed: dict[str, list[str]] = {}
            for name in at_work:
                taken = {node for sent in claimed.values() for node in sent}
                claimed[name] = [node for node in members[name] if state[node] == before and node not in taken]
            for name, sent in claimed.items():
                submissions += [{"group": name, "phase": phase, "nodes": sent}] if sent else []
                for node in sent:
                    fate = fates.get(phase, {}).get(node, "success")
                    state[node] = after if fate == "success" else fate
            for name in list(at_work):
                missed[name] = not_met(groups[name].get("success_criteria", {}), phase, members[name], state, good)
                if missed[name]:
                    reasons[name] = f"{phase}_criteria"
                    at_work.remove(name)
        reasons.update(dict.fromkeys(at_work))
    return {
        "groups": {name: (reasons.get(name, "dependency"), missed[name]) for name in groups},
        "nodes": state,
        "waves": waves,
        "submissions": submissions,
        "failed": any(group["critical"] and reasons.get(name, "dependency") for name, group in groups.items())
        or not any(members.values()),
    }


def compare(strategy: dict[str, Any], site: Site, fates: Fates, at_once: int) -> None:
    result = simulate(strategy, site, fates, max_parallel_groups=at_once)
    expected = in_rounds(strategy, site, fates, at_once)
    found = {name: (group["reason"], group["failed_criteria"]) for name, group in result["groups"].items()}
    assert found == expected["groups"]
    assert all((group["state"] == "success") is (group["reason"] is None) for group in result["groups"].values())
    for key in ("nodes", "waves", "submissions"):
        assert result[key] == expected[key], key
    assert result["verdict"] == ("failure" if expected["failed"] else "success")


@pytest.mark.parametrize("number", [40, pytest.param(4000, marks=pytest.mark.soak)])
def test_rule_08_rounds_do_what_the_rules_say(number: int) -> None:
    @settings(max_examples=number, deadline=None, suppress_health_check=[HealthCheck.too_slow])
    @given(strategies(), nodes, outcomes, st.integers(1, 5))
    def check(strategy: dict[str, Any], site: Site, fates: Fates, at_once: int) -> None:
        compare(strategy, site, fates, at_once)

    check()


def drive(deployment: Deployment, fates: Fates) -> tuple[list[Step], tuple[GroupView, ...], Verdict | None]:
    """Take a deployment to its end."""
    steps = []
    while not isinstance(step := deployment.next(), Finished):
        steps.append(step)
        fate = {name: fates.get(step.phase, {}).get(name, "success") for name in step.nodes}
        deployment.record(step, *([name for name in step.nodes if fate[name] == end] for end in ("success", "failure")))
    return steps, deployment.groups, deployment.verdict


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(strategies(), nodes, outcomes)
def test_rule_08_one_group_at_once_is_what_a_real_action_does(
    strategy: dict[str, Any], site: Site, fates: Fates
) -> None:
    parsed = parse_strategy(strategy)
    groups = [parsed.group(name) for name in order_groups(parsed)]
    members = resolve(parsed, nodes_from_inventory(site))
    rounds = RoundDeployment(groups, members, 1, [group.name for group in parsed.groups])
    assert drive(rounds, fates) == drive(Deployment(groups, members), fates)
    assert [list(wave) for wave in rounds.waves] == simulate(strategy, site, fates)["waves"]


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(strategies(), nodes, outcomes, st.integers(2, 5))
def test_rule_08_with_disjoint_groups_side_by_side_is_the_same_node_by_node(
    strategy: dict[str, Any], site: Site, fates: Fates, at_once: int
) -> None:
    taken: set[str] = set()
    for group in strategy["groups"]:
        chosen = group["selectors"] or [{}]
        mine = {node["name"] for node in site if any(selected(selector, node) for selector in chosen)} - taken
        taken |= mine
        group["selectors"] = [{"node_names": sorted(mine) or ["stranger"]}]
    beside = simulate(strategy, site, fates, max_parallel_groups=at_once)
    serial = by_the_rules(strategy, site, fates)
    for key in ("verdict", "order", "groups", "nodes"):
        assert beside[key] == serial[key], key
    assert sorted(map(repr, beside["submissions"])) == sorted(map(repr, serial["submissions"]))


def group(name: str, *depends_on: str, names: list[str], **facts: Any) -> dict[str, Any]:
    chosen = [{"node_names": names}]
    return {"name": name, "critical": True, "depends_on": list(depends_on), "selectors": chosen, **facts}


SITE: Site = [{"name": f"n{i}"} for i in range(4)]


@pytest.mark.parametrize(("fate", "reason"), [("success", None), ("failure", "canary"), ("unknown", "canary")])
def test_rule_59_a_canary_that_a_group_beside_deploys_is_waited_for(fate: str, reason: str | None) -> None:
    # While a asks whether n0 is ready, b prepares n2, and a deploys it with its next batch.
    asking = group("a", names=["n0", "n2"], max_in_flight=1, ready={"timeout": 5})
    strategy = {"groups": [asking, group("b", names=["n1", "n2"], max_in_flight=1, canary=2)]}
    result = simulate(strategy, SITE, {"deploy": {"n2": fate}}, max_parallel_groups=2)
    sent = [(step["group"], step["phase"]) for step in result["submissions"] if "n2" in step["nodes"]]
    assert sent[:2] == [("b", "prepare"), ("a", "deploy")]
    assert result["groups"]["b"]["reason"] == reason
    assert result["nodes"]["n2"] == fate


@st.composite
def in_batches(draw: st.DrawFn) -> dict[str, Any]:
    strategy: dict[str, Any] = draw(strategies())
    for each in strategy["groups"]:
        for name, values in (
            ("max_in_flight", st.integers(1, 3)),
            ("canary", st.integers(1, 2)),
            ("ready", st.just({"timeout": 5})),
        ):
            each |= {name: draw(values)} if draw(st.booleans()) else {}
    return strategy


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(in_batches(), nodes, outcomes, st.integers(2, 5))
def test_rule_59_groups_in_batches_end_side_by_side_and_send_each_node_once(
    strategy: dict[str, Any], site: Site, fates: Fates, at_once: int
) -> None:
    result = simulate(strategy, site, fates, max_parallel_groups=at_once)
    sent = [(step["phase"], name) for step in result["submissions"] for name in step["nodes"]]
    assert len(sent) == len(set(sent))
    for each in strategy["groups"]:
        found = result["groups"][each["name"]]
        missed = not_met(each.get("success_criteria", {}), "deploy", found["nodes"], result["nodes"], {"success"})
        assert found["reason"] or not missed


@pytest.mark.parametrize("at_once", [0, -1, True, 1.5, float("nan"), "2", None])
def test_what_is_no_number_of_groups_is_refused(at_once: Any) -> None:
    with pytest.raises(ValueError, match="max_parallel_groups"):
        simulate({"groups": [group("a", names=["n0"])]}, SITE, max_parallel_groups=at_once)
