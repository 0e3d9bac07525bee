"""The plan of `repair_site`: exactly its target nodes, in their groups, and nothing that is deployed (rule 57)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from design_rendering.design import KeyedDesign, read_design
from design_rendering.reading.documents import load_documents
from site_engine.kinds import kind_of
from site_engine.parameters import ActionParameters, parse_parameters
from site_engine.plans.planning import Plan, plan_action, strategy_of
from strategy_lib.node_condition import NodeCondition
from strategy_lib.status.node_row import NodeRow
from tests.support.sites import KEY, group, node, site

KIND = kind_of("repair_site")
DEPLOYED, READY = NodeCondition.DEPLOYED, NodeCondition.READY
GROUPS = [
    group("first", ["a", "b"], percent_successful_nodes=100),
    group("second", ["c", "d"], after=["first"], percent_successful_nodes=50),
    group("third", ["e"], after=["second"]),
]
NODES = "abcde"


def design() -> KeyedDesign:
    return read_design(load_documents(site([node(name) for name in NODES], GROUPS))).keyed(KEY)


def records(made: KeyedDesign, **errors: str) -> list[NodeRow]:
    """All nodes are done as they are wanted; some are in error since."""
    facts: dict[str, Any] = {"wanted_revision": 1, "op": 1, "done_revision": 1, "done_at": None, "condition": None}
    found = []
    for name in NODES:
        digest = made.digests[name]
        record = NodeRow("north", name, wanted_digest=digest, done_digest=digest, status="success", **facts)
        record = replace(record, standing="success", wanted_version=1, done_version=1)
        if name in errors:
            record = replace(record, standing="error", status="error", error=errors[name], error_version=1)
        found.append(record)
    return found


def plan(conditions: Mapping[str, NodeCondition], targets: str, *, redeploy: bool = False) -> Plan:
    made = design()
    given: dict[str, Any] = {"target_nodes": list(targets), "allow_redeploy": redeploy}
    parameters: ActionParameters = parse_parameters(given, KIND)
    known = records(made, **dict.fromkeys(conditions, "drifted: …"))
    every = {name: conditions.get(name, DEPLOYED) for name in NODES}
    return plan_action(KIND, parameters, made, strategy_of(KIND, parameters, made, known), known, every)


def test_rule_57_a_wiped_node_is_deployed_in_its_group_beside_what_is_as_wanted() -> None:
    found = plan({"c": READY}, "c")
    assert [(one.group.name, one.nodes, one.group.depends_on) for one in found.groups] == [("second", ("c", "d"), ())]
    assert found.done == {"d"}
    assert not found.withheld


def test_rule_57_exactly_the_target_nodes() -> None:
    """Another node of the group that is wiped, too, is no part of this repair, and bounds nothing."""
    found = plan({"c": READY, "d": READY, "a": READY}, "ca")
    groups = [(one.group.name, one.nodes, one.group.depends_on) for one in found.groups]
    assert groups == [("first", ("a", "b"), ()), ("second", ("c",), ("first",))]


@pytest.mark.parametrize("redeploy", [False, True])
def test_rule_57_a_deployed_node_is_taken_down_only_where_that_is_allowed(redeploy: bool) -> None:
    found = plan({"c": DEPLOYED}, "c", redeploy=redeploy)
    assert found.redeploy == ({"c"} if redeploy else frozenset())
    assert set(found.withheld) == (set() if redeploy else {"c"})


def test_rule_57_a_node_that_is_well_again_is_not_touched() -> None:
    found = plan({}, "c", redeploy=True)
    assert found.done == {"c", "d"}
    assert found.redeploy == frozenset()
