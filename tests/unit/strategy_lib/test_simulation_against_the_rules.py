"""`simulate` agrees with a reading of the rules that is as plain and slow as can be, on random strategies."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from strategy_lib import simulate

NODE_NAMES = [f"n{i}" for i in range(7)]
GROUP_NAMES = [f"g{i}" for i in range(7)]
TAGS, RACKS, KEYS, VALUES = ["t1", "t2", "t3"], ["r1", "r2"], ["k1", "k2"], ["v1", "v2", "a:b"]

some_names = st.lists(st.sampled_from([*NODE_NAMES, "stranger"]), max_size=4)
some_labels = st.lists(
    st.tuples(st.sampled_from(KEYS), st.sampled_from(VALUES), st.sampled_from(["mapping", "{}: {}", "{}:{}"])),
    max_size=2,
)
selectors = st.fixed_dictionaries(
    {},
    optional={
        "node_names": some_names,
        "node_tags": st.lists(st.sampled_from([*TAGS, "nothing"]), max_size=2),
        "rack_names": st.lists(st.sampled_from(RACKS), max_size=2),
        "node_labels": some_labels.map(
            lambda labels: [{k: v} if form == "mapping" else form.format(k, v) for k, v, form in labels]
        ),
    },
)
criteria = st.fixed_dictionaries(
    {},
    optional={
        "percent_successful_nodes": st.integers(0, 100),
        "minimum_successful_nodes": st.integers(0, 4),
        "maximum_failed_nodes": st.integers(0, 4),
    },
)
nodes = st.lists(
    st.fixed_dictionaries(
        {
            "name": st.sampled_from(NODE_NAMES),
            "tags": st.lists(st.sampled_from(TAGS), max_size=2),
            "labels": st.dictionaries(st.sampled_from(KEYS), st.sampled_from(VALUES)),
            "rack": st.sampled_from([*RACKS, None]),
        }
    ),
    max_size=7,
    unique_by=lambda node: str(node["name"]),
)
outcomes = st.fixed_dictionaries(
    {},
    optional={
        phase: st.dictionaries(st.sampled_from(NODE_NAMES), st.sampled_from(["success", "failure", "unknown"]))
        for phase in ("prepare", "deploy")
    },
)


@st.composite
def strategies(draw: st.DrawFn) -> dict[str, Any]:
    """Draw groups whose dependencies point to groups before them, then shuffle: chains, diamonds and islands."""
    groups: list[dict[str, Any]] = []
    for name in GROUP_NAMES[: draw(st.integers(0, len(GROUP_NAMES)))]:
        earlier = [group["name"] for group in groups]
        group = {
            "name": name,
            "critical": draw(st.booleans()),
            "depends_on": draw(st.lists(st.sampled_from(earlier), unique=True, max_size=3)) if earlier else [],
            "selectors": draw(st.lists(selectors, max_size=3)),
        }
        wanted = draw(st.none() | criteria)
        if wanted is not None:
            group["success_criteria"] = wanted
        groups.append(group)
    return {"groups": draw(st.permutations(groups))}


def selected(selector: dict[str, Any], node: dict[str, Any]) -> bool:
    """Rules 2, 5, 6: every criterion that is given and not empty must have one value that fits."""

    def fits(label: Any) -> bool:
        if isinstance(label, dict):
            ((key, value),) = label.items()
        else:
            key, value = label.split(":", 1)
        return bool(node["labels"].get(key.strip()) == value.strip())

    checks = {
        "node_names": lambda value: value == node["name"],
        "node_tags": lambda value: value in node["tags"],
        "rack_names": lambda value: value == node["rack"],
        "node_labels": fits,
    }
    return all(any(check(value) for value in selector[name]) for name, check in checks.items() if selector.get(name))


def not_met(
    wanted: dict[str, int], phase: str, members: list[str], state: dict[str, str], good: set[str]
) -> list[dict[str, Any]]:
    """Rules 15-17: every criterion on its own, over all nodes of the group."""
    successful = sum(state[name] in good for name in members)
    total = len(members)
    found: list[dict[str, Any]] = []

    def missed(criterion: str, actual: int | str) -> None:
        found.append({"phase": phase, "criterion": criterion, "needed": wanted[criterion], "actual": actual})

    percent = Fraction(wanted.get("percent_successful_nodes", 0), 100)
    if total and Fraction(successful, total) < percent:
        missed("percent_successful_nodes", f"{successful}/{total}")
    if "minimum_successful_nodes" in wanted and successful < wanted["minimum_successful_nodes"]:
        missed("minimum_successful_nodes", successful)
    if "maximum_failed_nodes" in wanted and total - successful > wanted["maximum_failed_nodes"]:
        missed("maximum_failed_nodes", total - successful)
    return found


def by_the_rules(
    strategy: dict[str, Any], site: list[dict[str, Any]], fates: dict[str, dict[str, str]]
) -> dict[str, Any]:
    """Read the rules out loud."""
    groups = strategy["groups"]
    state = {node["name"]: "not_started" for node in site}
    members: dict[str, list[str]] = {}
    for group in groups:
        chosen = group["selectors"] or [{}]
        members[group["name"]] = sorted(
            node["name"] for node in site if any(selected(selector, node) for selector in chosen)
        )
    order: list[str] = []
    while len(order) < len(groups):
        # Rule 8: the first group of the document whose dependencies have all had their turn.
        order.append(
            next(g["name"] for g in groups if g["name"] not in order and all(d in order for d in g["depends_on"]))
        )
    results: dict[str, dict[str, Any]] = {}
    submissions: list[dict[str, Any]] = []
    for name in order:
        group = next(g for g in groups if g["name"] == name)
        wanted = group.get("success_criteria", {})
        reason = None
        failed: list[dict[str, Any]] = []
        if any(results[other]["state"] == "failure" for other in group["depends_on"]):
            reason = "dependency"
        else:
            for phase, before, after, good in (
                ("prepare", "not_started", "prepared", {"prepared", "success"}),
                ("deploy", "prepared", "success", {"success"}),
            ):
                sent = [node for node in members[name] if state[node] == before]
                if sent:
                    submissions.append({"group": name, "phase": phase, "nodes": sent})
                for node in sent:
                    fate = fates.get(phase, {}).get(node, "success")
                    state[node] = after if fate == "success" else fate
                failed = not_met(wanted, phase, members[name], state, good)
                if failed:
                    reason = f"{phase}_criteria"
                    break
        results[name] = {
            "state": "failure" if reason else "success",
            "reason": reason,
            "critical": group["critical"],
            "nodes": members[name],
            "failed_criteria": failed,
        }
    bad = any(result["critical"] and result["state"] == "failure" for result in results.values())
    # Rule 19: where there is nothing to deploy there is no success.
    bad |= not any(members.values())
    return {
        "verdict": "failure" if bad else "success",
        "order": order,
        "groups": results,
        "nodes": state,
        "submissions": submissions,
        "waves": [[name] for name in order if results[name]["reason"] != "dependency"],
    }


@pytest.mark.parametrize("number", [100, pytest.param(1000, marks=pytest.mark.soak)])
def test_rules_05_to_19_simulate_does_what_the_rules_say(number: int) -> None:
    @settings(max_examples=number, deadline=None, suppress_health_check=[HealthCheck.too_slow])
    @given(strategies(), nodes, outcomes)
    def compare(strategy: dict[str, Any], site: list[dict[str, Any]], fates: dict[str, dict[str, str]]) -> None:
        both_ways(strategy, site, fates)

    compare()


def both_ways(strategy: dict[str, Any], site: list[dict[str, Any]], fates: dict[str, dict[str, str]]) -> None:
    """Simulate, and compare with what the rules say."""
    result = simulate(strategy, site, fates)
    assert result == by_the_rules(strategy, site, fates)
    for phase in ("prepare", "deploy"):
        sent = [name for step in result["submissions"] if step["phase"] == phase for name in step["nodes"]]
        assert len(sent) == len(set(sent)), "rule 12: a node was submitted twice"
