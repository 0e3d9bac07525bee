"""Which nodes of a plan are released first, and what is said of those that are not."""

from __future__ import annotations

from collections.abc import Collection
from types import SimpleNamespace
from typing import cast

import pytest

from provisioner_client.protocol import ListedNode
from site_engine.plans.erasures import releases_of
from site_store import PlannedGroup, SiteStore
from strategy_lib.outcome import NodeCondition
from strategy_lib.strategy import Group

ALLOCATED, FAILED = NodeCondition.ALLOCATED, NodeCondition.FAILED_DEPLOYMENT


class Nodes:
    """Notes what it is asked for."""

    def __init__(self, **left: NodeCondition) -> None:
        self.asked: list[list[str]] = []
        self.left = left

    def left_undeployed(self, _site: str, nodes: Collection[str]) -> dict[str, NodeCondition]:
        self.asked.append(sorted(nodes))
        return self.left


def store_of(nodes: Nodes) -> SiteStore:
    return cast(SiteStore, SimpleNamespace(nodes=nodes))


def listed(**nodes: tuple[NodeCondition, str]) -> dict[str, ListedNode]:
    return {name: ListedNode(name, condition, word, "on") for name, (condition, word) in nodes.items()}


@pytest.mark.parametrize("release_failed", [True, False])
@pytest.mark.parametrize(("condition", "word"), [(ALLOCATED, "Allocated"), (FAILED, "Failed deployment")])
def test_rule_11_of_a_machine_that_another_has_it_is_said_who_must_release_it(
    condition: NodeCondition, word: str, release_failed: bool
) -> None:
    nodes = listed(a=(condition, f"{word}, owned by alice"))
    planned = PlannedGroup(Group("one", critical=True, release_failed=release_failed), ("a",))
    plan = releases_of(store_of(Nodes(a=condition)), "alpha", [planned], nodes)["one"]
    said = f"the node list says {word}, owned by alice: it is left alone until alice releases it"
    assert (plan.release, plan.refused) == ((), {"a": said})


def test_rule_11_all_groups_of_a_plan_are_looked_up_at_once() -> None:
    nodes = listed(a=(ALLOCATED, "Allocated"), b=(FAILED, "Failed deployment"), c=(NodeCondition.READY, "Ready"))
    known = Nodes(a=ALLOCATED)
    groups = [PlannedGroup(Group(name, critical=True), (name, "a")) for name in "bc"]
    plans = releases_of(store_of(known), "alpha", groups, nodes)
    assert {name: plan.release for name, plan in plans.items()} == {"b": ("a", "b"), "c": ("a",)}
    assert known.asked == [["a", "b"]]
    assert releases_of(store_of(known), "alpha", groups, listed(c=(NodeCondition.READY, "Ready"))) == {}
    assert known.asked == [["a", "b"]], "nothing is asked where no node stands so"
