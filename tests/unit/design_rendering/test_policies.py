"""Policies over a rendered design: to a fixed point, run where something has changed, refused where there is no end."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from design_rendering.design import read_design
from design_rendering.kinds.objects import ObjectKey
from design_rendering.policies import (
    DesignPolicy,
    PolicedRendering,
    PolicyError,
    PolicyOfKinds,
    every_node_has_a_group,
    police,
)
from design_rendering.reading.documents import Document, load_documents
from design_rendering.rendering import RenderedDocument, Rendering, design_text, render
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


SCHEMAS = {"node": "drydock/BaremetalNode/v1", "network": "drydock/Network/v1", "rack": "drydock/Rack/v1"}
Values = Mapping[str, tuple[int, int]]
"""What a design has: by `<kind>/<name>` a value of its data, and one of its metadata."""

values = st.tuples(st.integers(0, 4), st.integers(0, 1))
designs = st.dictionaries(st.sampled_from([f"{kind}/{name}" for kind in SCHEMAS for name in "ab"]), values, max_size=6)


def document(key: str, value: tuple[int, int]) -> Document:
    kind, _, name = key.partition("/")
    return Document(SCHEMAS[kind], name, "site", {"value": value[0]}, {"name": name, "labels": {"mark": value[1]}})


def rendering_of(design: Values) -> Rendering:
    return Rendering(tuple(RenderedDocument(document(key, value)) for key, value in sorted(design.items())))


def valued(found: Document, value: int) -> Document:
    return replace(found, data={"value": value})


def evens(objects: Mapping[str, Document]) -> Mapping[str, Document]:
    """Make each value even, by itself; it reads metadata too."""
    return {
        key: valued(one, one.data["value"] + 1)
        for key, one in objects.items()
        if one.data["value"] % 2 and one.metadata["labels"]["mark"]
    }


def as_the_largest(objects: Mapping[str, Document]) -> Mapping[str, Document]:
    """Give all the largest value."""
    largest = max((one.data["value"] for one in objects.values()), default=0)
    return {key: valued(one, largest) for key, one in objects.items() if one.data["value"] < largest}


def adds_a_rack(objects: Mapping[str, Document]) -> Mapping[str, Document]:
    """Add a rack of the number of all nodes, which is looked at by others."""
    number = sum(key.startswith("node/") for key in objects)
    return {"rack/count": document("rack/count", (number, 0))}


def counts_up(objects: Mapping[str, Document]) -> Mapping[str, Document]:
    """Come to no end beside networks of a large value."""
    return {key: valued(one, one.data["value"] + 1) for key, one in objects.items() if one.data["value"] > 3}


POLICIES: Mapping[str, DesignPolicy] = {
    "even-nodes": PolicyOfKinds(evens, frozenset({"node"}), each=True),
    "even-all": PolicyOfKinds(evens, frozenset(SCHEMAS), each=True),
    "networks": PolicyOfKinds(as_the_largest, frozenset({"network"})),
    "nodes-and-racks": PolicyOfKinds(as_the_largest, frozenset({"node", "rack"})),
    "rack": adds_a_rack,
    "restless": PolicyOfKinds(counts_up, frozenset({"network"}), each=True),
    "whole": as_the_largest,
}
sets = st.lists(st.sampled_from(sorted(POLICIES)), unique=True, min_size=1)


def outcome(policed: PolicedRendering | str) -> object:
    if isinstance(policed, str):
        return policed
    documents = [(one.document, one.changed) for one in policed.rendering.documents]
    return documents, dict(policed.by_policy), dict(policed.judged)


def judge(
    design: Values, policies: Mapping[str, DesignPolicy], before: PolicedRendering | None
) -> PolicedRendering | str:
    try:
        return police(rendering_of(design), policies, None if before is None else before.judged)
    except PolicyError as error:
        return str(error)


@given(st.lists(st.tuples(designs, st.booleans()), min_size=2, max_size=5), sets, sets)
@settings(deadline=None, max_examples=60)
def test_rule_43_what_changed_alone_comes_to_the_end_of_judging_all(
    commits: Sequence[tuple[Values, bool]], names: Sequence[str], others: Sequence[str]
) -> None:
    before: PolicedRendering | None = None
    judged_by: Sequence[str] | None = None
    for design, other_set in commits:
        # Another version of a policy's code is another set: nothing of it has been judged.
        used = others if other_set else names
        policies = {name: POLICIES[name] for name in used}
        known = before if judged_by == used else None
        found = judge(design, policies, known)
        assert outcome(found) == outcome(judge(design, policies, None))
        if isinstance(found, PolicedRendering):
            before, judged_by = found, used


class Calls:
    """A policy that keeps what it was given, and changes nothing."""

    def __init__(self) -> None:
        self.given: list[list[str]] = []

    def __call__(self, objects: Mapping[str, Document]) -> Mapping[str, Document]:
        self.given.append(sorted(objects))
        return {}


def test_rule_43_a_policy_runs_only_where_something_it_looks_at_has_changed() -> None:
    whole, nodes, each = Calls(), Calls(), Calls()
    policies: Mapping[str, DesignPolicy] = {
        "whole": whole,
        "nodes": PolicyOfKinds(nodes, frozenset({"node"})),
        "each": PolicyOfKinds(each, frozenset({"node"}), each=True),
    }
    first = {"node/a": (1, 0), "node/b": (1, 0), "network/a": (1, 0)}
    before = police(rendering_of(first), policies)
    assert (len(whole.given), nodes.given, each.given) == (1, [["node/a", "node/b"]], [["node/a"], ["node/b"]])

    def again(design: Values) -> tuple[list[list[str]], list[list[str]], list[list[str]]]:
        for one in (whole, nodes, each):
            one.given.clear()
        police(rendering_of(design), policies, before.judged)
        return whole.given, nodes.given, each.given

    assert again(first) == ([], [], [])
    assert again({**first, "network/a": (2, 0)}) == ([sorted(first)], [], [])
    assert again({**first, "node/b": (1, 1)}) == ([sorted(first)], [["node/a", "node/b"]], [["node/b"]])
    assert again({"node/a": (1, 0), "network/a": (1, 0)}) == ([["network/a", "node/a"]], [["node/a"]], [])


@pytest.mark.parametrize("each", [False, True])
def test_a_policy_may_return_only_what_it_looks_at(each: bool) -> None:
    with pytest.raises(PolicyError, match="policy p returned rack/count, which it does not look at"):
        police(rendering_of({"node/a": (0, 0)}), {"p": PolicyOfKinds(adds_a_rack, frozenset({"node"}), each)})
