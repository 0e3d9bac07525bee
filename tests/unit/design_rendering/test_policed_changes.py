"""Rule 43: policies run where something has changed since they judged it, and the end is as if all had been judged."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from design_rendering.policies import DesignPolicy, PolicedRendering, PolicyError, PolicyOfKinds, police
from design_rendering.reading.documents import Document
from design_rendering.rendering import RenderedDocument, Rendering

SCHEMAS = {"node": "drydock/BaremetalNode/v1", "network": "drydock/Network/v1", "rack": "drydock/Rack/v1"}
Values = Mapping[str, tuple[int, int]]
"""What a design has: by `<kind>/<name>` a value of its data, and one of its metadata."""

values = st.tuples(st.integers(0, 4), st.integers(0, 1))
designs = st.dictionaries(st.sampled_from([f"{kind}/{name}" for kind in SCHEMAS for name in "ab"]), values, max_size=6)


def document(key: str, value: tuple[int, int]) -> Document:
    kind, _, name = key.partition("/")
    return Document(SCHEMAS[kind], name, "site", {"value": value[0]}, {"name": name, "labels": {"mark": value[1]}})


def rendering(design: Values) -> Rendering:
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
        return police(rendering(design), policies, None if before is None else before.judged)
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
    before = police(rendering(first), policies)
    assert (len(whole.given), nodes.given, each.given) == (1, [["node/a", "node/b"]], [["node/a"], ["node/b"]])

    def again(design: Values) -> tuple[list[list[str]], list[list[str]], list[list[str]]]:
        for one in (whole, nodes, each):
            one.given.clear()
        police(rendering(design), policies, before.judged)
        return whole.given, nodes.given, each.given

    assert again(first) == ([], [], [])
    assert again({**first, "network/a": (2, 0)}) == ([sorted(first)], [], [])
    assert again({**first, "node/b": (1, 1)}) == ([sorted(first)], [["node/a", "node/b"]], [["node/b"]])
    assert again({"node/a": (1, 0), "network/a": (1, 0)}) == ([["network/a", "node/a"]], [["node/a"]], [])


@pytest.mark.parametrize("each", [False, True])
def test_a_policy_may_return_only_what_it_looks_at(each: bool) -> None:
    with pytest.raises(PolicyError, match="policy p returned rack/count, which it does not look at"):
        police(rendering({"node/a": (0, 0)}), {"p": PolicyOfKinds(adds_a_rack, frozenset({"node"}), each)})
