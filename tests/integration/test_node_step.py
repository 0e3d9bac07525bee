"""A step on named nodes from its start to its verdict, with a real store and a real simulator process (rule 25)."""

from __future__ import annotations

import pytest

from site_engine.node_steps import NodeStepVerdict
from strategy_lib.phase import Phase
from tests.support.driving import Begin, Driving
from tests.support.simulators import Simulator
from tests.support.sites import group, node, site

DESTROY, RELABEL = Phase.DESTROY, Phase.RELABEL
DESIGN = site([node("a"), node("b"), node("c")], [group("all", percent_successful_nodes=100)])


@pytest.fixture
def deployed(begin: Begin) -> Driving:
    """Deploy three nodes."""
    driving = begin(DESIGN)
    driving.group("all")
    assert driving.store.nodes.done_digests("alpha").keys() == {"a", "b", "c"}
    return driving


def verdict(driving: Driving, step: Phase, *nodes: str, attempt: int = 20, **more: bool) -> str:
    """Drive a step to its end; return what is said of the nodes that are not done, and "" when all are."""
    ended = driving.node_step(step, nodes, attempt, **more)
    assert isinstance(ended, NodeStepVerdict)
    assert ended.criterion.met is not ended.failure.startswith(step.value)
    return ended.failure


def test_rule_25_destroyed_nodes_count_as_done_in_no_version(deployed: Driving, simulator: Simulator) -> None:
    assert verdict(deployed, DESTROY, "a", "b") == ""
    assert simulator.submissions()[-1] == ("destroy_nodes", ["a", "b"])
    assert deployed.step_states(DESTROY) == {"a": "success", "b": "success"}
    assert deployed.store.nodes.done_digests("alpha").keys() == {"c"}
    assert deployed.store.nodes.conditions("alpha", "abc") == {"a": "other", "b": "other", "c": "deployed"}


def test_rule_25_relabelling_leaves_nodes_as_they_are(deployed: Driving, simulator: Simulator) -> None:
    assert verdict(deployed, RELABEL, "a", "c") == ""
    assert simulator.submissions()[-1] == ("relabel_nodes", ["a", "c"])
    assert deployed.store.nodes.done_digests("alpha").keys() == {"a", "b", "c"}
