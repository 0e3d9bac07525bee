"""By what selectors choose nodes of Ironic (rules 5 and 6), and which of them become documents."""

from __future__ import annotations

from typing import Any

import pytest

from design_rendering.kinds.imported_site import ImportedMachine
from design_rendering.kinds.slipway_nodes import SlipwayNode
from provisioner_client.ironic.inventory import LabelWords, inventory, known_machine, labels_data
from provisioner_client.ironic.node import Node, read_node
from provisioner_client.site_documents import select
from strategy_lib.strategy import Label, Selector

WORDS = LabelWords.parse("class=resource_class, hall=extra.hall,mode=capabilities.boot_mode", "extra.rack")


def node(name: str, state: str = "available", **more: Any) -> Node:
    return read_node({"uuid": f"u-{name}", "name": name, "provision_state": state, **more})


NODES = {
    "a": node("a", resource_class="big", traits=["CUSTOM_GPU"], extra={"hall": 7, "rack": "r1"}),
    "b": node("b", properties={"capabilities": "profile:x,boot_mode:uefi"}, extra={"rack": "r1"}),
    "c": node("c", extra={"rack": "r1", "slipway_labels": {"tags": ["t"], "labels": {"hall": "9"}, "rack": "r2"}}),
    "odd": node("odd", extra={"slipway_labels": {"tags": "t", "labels": [], "rack": 7}, "hall": {"x": 1}}),
}
DESIGN = {name: SlipwayNode(name) for name in (*NODES, "lost")} | {"b": SlipwayNode("b", labels={"hall": "1"})}


@pytest.mark.parametrize(
    ("selector", "chosen"),
    [
        pytest.param(Selector(), {"a", "b", "c", "odd"}, id="rule 6: all that Ironic has"),
        pytest.param(Selector(node_tags=("CUSTOM_GPU",)), {"a"}, id="traits are tags"),
        pytest.param(Selector(node_tags=("t",)), {"c"}, id="tags that a design gave, and no stranger's"),
        pytest.param(Selector(node_labels=(Label("class", "big"),)), {"a"}, id="a word of the node"),
        pytest.param(Selector(node_labels=(Label("hall", "7"),)), {"a"}, id="a number in extra"),
        pytest.param(Selector(node_labels=(Label("hall", "9"),)), {"c"}, id="a label that a design gave"),
        pytest.param(Selector(node_labels=(Label("hall", "1"),)), {"b"}, id="the design's label counts"),
        pytest.param(Selector(node_labels=(Label("mode", "uefi"),)), {"b"}, id="a capability"),
        pytest.param(Selector(rack_names=("r1",)), {"a", "b"}, id="racks"),
        pytest.param(Selector(rack_names=("r2",)), {"c"}, id="the rack that a design gave"),
    ],
)
def test_selection(selector: Selector, chosen: set[str]) -> None:
    known = {name: known_machine(one, WORDS) for name, one in NODES.items()}
    assert select(DESIGN, known, [selector]) == chosen


def test_what_relabelling_writes_is_what_selectors_read() -> None:
    wanted = SlipwayNode("d", frozenset({"x", "y"}), {"role": "r"}, rack="r9")
    assert labels_data(wanted) == {"tags": ["x", "y"], "labels": {"role": "r"}, "rack": "r9"}
    known = known_machine(node("d", extra={"slipway_labels": labels_data(wanted)}), LabelWords())
    assert known.tags == {"x", "y"}
    assert known.racks == {"r9"}
    assert known.has_label(Label("role", "r"))
    assert labels_data(SlipwayNode("e")) == {}


@pytest.mark.parametrize(
    ("labels", "rack"), [("role", "extra.rack"), ("role=colour", "extra.rack"), ("", "extra."), ("", "zone")]
)
def test_words_that_cannot_be_used(labels: str, rack: str) -> None:
    with pytest.raises(ValueError, match="conductor_group, resource_class, owner, lessee, or a key as in extra"):
        LabelWords.parse(labels, rack)


def test_nodes_as_documents_can_say_them() -> None:
    ours = {"slipway_adopt": "i-1", "rack": "r" * 129}
    image = {"image_source": "https://images/a"}
    found = inventory(
        [
            *NODES.values(),
            node("ours", "active", instance_uuid="i-1", extra=ours, instance_info=image),
            node("free", "clean failed", instance_info=image),
            node("theirs", "active", instance_uuid="i-2"),
            node("old", "manageable", retired=True),
            node("a.example"),
            node(""),
        ],
        WORDS,
        {},
    )
    assert {machine.name: machine for machine in found.machines} == {
        "a": ImportedMachine("a", "r1", frozenset({"CUSTOM_GPU"}), {"class": "big", "hall": "7"}),
        "b": ImportedMachine("b", "r1", labels={"mode": "uefi"}),
        "c": ImportedMachine("c", "r2", frozenset({"t"}), {"hall": "9"}),
        "odd": ImportedMachine("odd"),
        "ours": ImportedMachine(
            "ours",
            image="https://images/a",
            note=f"left out, as longer than 128 characters: {'r' * 129}",
        ),
        "free": ImportedMachine("free", image="https://images/a", note="Ironic says: clean failed"),
    }
    assert found.left_out == {
        "theirs": "instance i-2 has it: write its instance_uuid into extra.slipway_adopt to take it over",
        "old": "it is retired",
        "a.example": "its name is no host name: letters, digits and -, at most 63 of them",
        "u-": "it has no host name",
    }
