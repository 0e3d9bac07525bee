"""Selectors over a design and what MAAS knows: rules 5 and 6, and whose word counts."""

from __future__ import annotations

from dataclasses import replace

import pytest

from design_rendering.kinds.slipway_nodes import SlipwayNode
from provisioner_client.maas.machine import Machine, Status
from provisioner_client.maas.selection import LabelWords, select
from strategy_lib.strategy import Label, Selector

NODES = {
    "c1": SlipwayNode("c1", frozenset({"ctl"}), {"role": "control"}, rack="r1"),
    "w1": SlipwayNode("w1"),
    "w2": SlipwayNode("w2", labels={"hall": "north"}),
    "lost": SlipwayNode("lost", frozenset({"ctl"})),
}


def machine(name: str, zone: str, pool: str, *tags: str) -> Machine:
    made = Machine(f"id-{name}", name, Status.NEW, "New", zone=zone, pool=pool, tags=frozenset(tags))
    return replace(made, architecture="amd64/generic")


MACHINES = {
    "c1": machine("c1", "z9", "north", "role__compute", "gpu"),
    "w1": machine("w1", "z1", "north", "ctl", "role__compute"),
    "w2": machine("w2", "z2", "south"),
}


@pytest.mark.parametrize(
    ("selector", "words", "chosen"),
    [
        pytest.param(Selector(), LabelWords(), {"c1", "w1", "w2"}, id="rule 6: all that MAAS has"),
        pytest.param(Selector(node_names=("c1", "lost")), LabelWords(), {"c1"}, id="names"),
        pytest.param(Selector(node_tags=("ctl",)), LabelWords(), {"c1", "w1"}, id="tags of the design and of MAAS"),
        pytest.param(Selector(node_tags=("none",)), LabelWords(), set(), id="an unknown tag is nobody's"),
        pytest.param(
            Selector(node_labels=(Label("role", "compute"),)), LabelWords(), {"w1"}, id="the design's label counts"
        ),
        pytest.param(
            Selector(node_labels=(Label("role", "compute"),)),
            LabelWords(template="{key}-is-{value}"),
            set(),
            id="another template",
        ),
        pytest.param(
            Selector(node_labels=(Label("hall", "north"),)),
            LabelWords(overrides={"hall": "pool"}),
            {"c1", "w1", "w2"},
            id="a label that is a pool, and one that the design states",
        ),
        pytest.param(
            Selector(node_labels=(Label("arch", "amd64"),)),
            LabelWords(overrides={"arch": "architecture"}),
            {"c1", "w1", "w2"},
            id="a label that is the architecture",
        ),
        pytest.param(Selector(rack_names=("r1", "z1")), LabelWords(), {"c1", "w1"}, id="racks are zones"),
        pytest.param(Selector(rack_names=("z9",)), LabelWords(), set(), id="the design's rack counts"),
        pytest.param(Selector(rack_names=("south",)), LabelWords(rack="pool"), {"w2"}, id="racks are pools"),
        pytest.param(Selector(rack_names=("ctl",)), LabelWords(rack="tag"), {"w1"}, id="racks are tags"),
        pytest.param(
            Selector(node_tags=("ctl",), rack_names=("z1",)), LabelWords(), {"w1"}, id="rule 5: AND between criteria"
        ),
    ],
)
def test_selection(selector: Selector, words: LabelWords, chosen: set[str]) -> None:
    assert select(NODES, MACHINES, [selector], words) == chosen


def test_rule_5_union_of_selectors_and_rule_6_none_are_all() -> None:
    two = [Selector(node_names=("w2",)), Selector(node_tags=("gpu",))]
    assert select(NODES, MACHINES, two, LabelWords()) == {"c1", "w2"}
    assert select(NODES, MACHINES, [], LabelWords()) == set(MACHINES)


@pytest.mark.parametrize(
    ("template", "overrides", "rack"),
    [
        ("{key}", "", ""),
        ("{key}{value}", "", ""),
        ("{key}={value}", "", ""),
        ("{key}-{key}-{value}", "", ""),
        ("", "role", ""),
        ("", "role=colour", ""),
        ("", "", "shelf"),
    ],
)
def test_words_that_cannot_be_used(template: str, overrides: str, rack: str) -> None:
    with pytest.raises(ValueError, match=r"must have|is written|racks are"):
        LabelWords.parse(template, overrides, rack)


def test_which_tag_gives_a_label_another_value() -> None:
    words = LabelWords()
    assert words.is_other_value("role__compute", "role", "control")
    assert not words.is_other_value("role__control", "role", "control")
    assert not words.is_other_value("role", "role", "control")
    assert not words.is_other_value("roles__x", "role", "control")
