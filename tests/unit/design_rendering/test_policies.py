"""Policies over a rendered design: to a fixed point, shown with what they changed, and refused where there is none."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest

from design_rendering.design import read_design
from design_rendering.kinds.objects import ObjectKey
from design_rendering.policies import DesignPolicy, PolicyError, every_node_has_a_group, police
from design_rendering.reading.documents import Document, load_documents
from design_rendering.rendering import Rendering, design_text, render
from strategy_lib.parsing.strategy_parser import strategy_problems
from strategy_lib.selectors import resolve
from strategy_lib.strategy import STRATEGY_SCHEMA
from tests.support.sites import group, node, site

STRATEGY = ObjectKey("strategy", "deployment-strategy")
DESIGN = site([node("n1"), node("n2"), node("n3")], [group("control", ["n1"]), group("rest", ["n9"], critical=False)])
OWN: Mapping[str, DesignPolicy] = {"default-group": every_node_has_a_group}


def rendering(default: str | None = "rest", text: str = DESIGN) -> Rendering:
    """Render the design, with its default group."""
    with_default = text if default is None else text.replace("  groups:", f"  default_group: {default}\n  groups:")
    assert default is None or with_default != text
    return render(load_documents(with_default))


def members(made: Rendering) -> dict[str, set[str]]:
    design = read_design([one.document for one in made.documents])
    return {name: set(found) for name, found in resolve(design.strategy, design.nodes).items()}


def test_a_node_in_no_group_comes_into_the_default_group() -> None:
    policed = police(rendering(), OWN)
    assert members(policed.rendering) == {"control": {"n1"}, "rest": {"n2", "n3"}}
    assert policed.by_policy == {STRATEGY: ("default-group",)}
    (changed,) = (one for one in policed.rendering.documents if one.document.schema == STRATEGY_SCHEMA)
    assert changed.changed, "it is written anew"
    again = police(render(load_documents(design_text(policed.rendering))), OWN)
    assert (members(again.rendering), again.by_policy) == (members(policed.rendering), {})


@pytest.mark.parametrize("default", [None, "control"])
def test_what_needs_no_change_is_left_as_it_is(default: str | None) -> None:
    nodes, all_of_them = [node("n1"), node("n2"), node("n3")], group("control", ["n1", "n2", "n3"])
    made = rendering(default, site(nodes, [all_of_them]) if default else DESIGN)
    if default:
        assert members(made)["control"] == {"n1", "n2", "n3"}
    assert police(made, OWN).rendering is made
    assert police(made, {}).by_policy == {}


def test_a_default_group_that_is_no_group_is_refused_and_changes_nothing() -> None:
    made = rendering("rset")
    assert police(made, OWN).rendering is made
    (problem,) = strategy_problems({"groups": [], "default_group": "rset"})
    assert (problem.path, problem.message.startswith("there is no group 'rset'")) == ("$.data.default_group", True)


def test_policies_see_what_others_changed_and_may_add_objects() -> None:
    def adds(objects: Mapping[str, Document]) -> Mapping[str, Document]:
        if "node/n4" in objects:
            return {}
        return {"node/n4": replace(objects["node/n3"], name="n4", metadata={"name": "n4"}, marks=None)}

    policed = police(rendering(), {**OWN, "adds": adds})
    assert members(policed.rendering)["rest"] == {"n2", "n3", "n4"}
    assert policed.by_policy == {STRATEGY: ("default-group",), ObjectKey("node", "n4"): ("adds",)}
    assert "name: n4" in design_text(policed.rendering)


def test_rule_42_policies_without_an_end_refuse_the_commit_and_are_named() -> None:
    def sets(value: int) -> DesignPolicy:
        def change(objects: Mapping[str, Document]) -> Mapping[str, Document]:
            return {"node/n1": replace(objects["node/n1"], data={"rack": str(value)}, marks=None)}

        return change

    with pytest.raises(PolicyError) as caught:
        police(rendering(), {"one": sets(1), "two": sets(2)})
    assert "policies one, two still change node/n1 after 10 rounds" in str(caught.value)


def test_a_policy_that_fails_or_answers_nonsense_is_named() -> None:
    def fails(_objects: Mapping[str, Document]) -> Mapping[str, Document]:
        raise KeyError("rack")

    def renames(objects: Mapping[str, Document]) -> Mapping[str, Document]:
        return {"node/other": objects["node/n1"]}

    for policy, said in ((fails, "policy p failed: KeyError: 'rack'"), (renames, "policy p returned for node/other")):
        with pytest.raises(PolicyError, match=said):
            police(rendering(), {"p": policy})
