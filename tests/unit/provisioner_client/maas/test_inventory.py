"""Selectors over a design and what MAAS knows (rules 5 and 6), and which of its machines become documents."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from design_rendering.kinds.imported_site import ImportedMachine
from design_rendering.kinds.slipway_nodes import SlipwayNode
from provisioner_client.maas.inventory import LabelWords, inventory, known_machine
from provisioner_client.maas.machine import Machine, Status, read_machine
from provisioner_client.site_documents import Inventory, select
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


def chosen_by(words: LabelWords, *selectors: Selector) -> frozenset[str]:
    return select(NODES, {name: known_machine(one, words) for name, one in MACHINES.items()}, selectors)


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
    assert chosen_by(words, selector) == chosen


def test_rule_5_union_of_selectors_and_rule_6_none_are_all() -> None:
    two = [Selector(node_names=("w2",)), Selector(node_tags=("gpu",))]
    assert chosen_by(LabelWords(), *two) == {"c1", "w2"}
    assert chosen_by(LabelWords()) == set(MACHINES)


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


WORDS = LabelWords()
NO_HOST_NAME = "its name is no host name: letters, digits and -, at most 63 of them"


def answer(name: str = "n1", **said: Any) -> dict[str, Any]:
    """Return a machine as MAAS answers it."""
    return {
        "system_id": f"id-{name}",
        "hostname": name,
        "status": 4,
        "status_name": "Ready",
        "owner": None,
        "osystem": "",
        "distro_series": "",
        "zone": {"name": "rack01"},
        "pool": {"name": "default"},
        "tag_names": [],
        "architecture": "amd64/generic",
        **said,
    }


def found(*answers: dict[str, Any], words: LabelWords = WORDS, tag: str = "") -> Inventory:
    return inventory([read_machine(one) for one in answers], words, "slipway", tag)


def only(**said: Any) -> ImportedMachine:
    (machine,) = found(answer(**said)).machines
    return machine


def test_zones_are_racks_and_tags_are_tags_or_labels() -> None:
    task = "slipway-01HZX7Q3N5V8W9Y0A1B2C3D4E5-7"
    (machine,) = found(answer(tag_names=["gpu", "role__compute", "a__b__c", "lab", task]), tag="lab").machines
    assert machine == ImportedMachine("n1", "rack01", frozenset({"gpu"}), {"a": "b__c", "role": "compute"})


def test_a_second_value_of_a_label_stays_a_tag() -> None:
    """Else the first relabelling would take it from the machine."""
    machine = only(tag_names=["role__compute", "role__storage"])
    assert (machine.labels, machine.tags) == ({"role": "compute"}, frozenset({"role__storage"}))
    assert machine.note == "a label has one value, so this stays a tag: role__storage"


def test_what_a_deployed_machine_runs_is_its_image() -> None:
    said: dict[str, Any] = {"osystem": "ubuntu", "distro_series": "noble", "owner": "slipway"}
    assert only(status=6, status_name="Deployed", **said) == ImportedMachine("n1", "rack01", image="ubuntu/noble")
    # What is about to be deployed is not there yet.
    deploying = only(status=9, status_name="Deploying", **said)
    assert (deploying.image, deploying.note) == ("", "MAAS says: Deploying")


@pytest.mark.parametrize(
    ("said", "note"),
    [
        ({"status": 8, "status_name": "Broken"}, "MAAS says: Broken"),
        ({"status": 6, "status_name": "Deployed"}, "MAAS says: Deployed, half released"),
        ({"status": 99, "status_name": "Dreaming"}, "MAAS says: Dreaming"),
        ({"status": 0, "status_name": "New"}, ""),
    ],
)
def test_a_status_that_needs_a_look_is_noted(said: dict[str, Any], note: str) -> None:
    assert only(**said).note == note


def test_several_pools_are_a_label() -> None:
    machines = found(answer(), answer("n2", pool={"name": "fast"})).machines
    assert [machine.labels for machine in machines] == [{"pool": "default"}, {"pool": "fast"}]
    assert only().labels == {}


def test_the_connection_says_how_labels_and_racks_are_found() -> None:
    words = LabelWords.parse("l-{key}-{value}", "arch=architecture,place=pool", "pool")
    (machine,) = found(answer(tag_names=["l-a-b", "role__x"]), words=words).machines
    assert machine.rack == "default"
    assert machine.tags == {"role__x"}
    assert machine.labels == {"a": "b", "arch": "amd64/generic", "place": "default"}
    (by_tag,) = found(answer(), words=LabelWords.parse("", "", "tag")).machines
    assert by_tag.rack == ""


def test_what_cannot_be_a_node_of_the_site_is_left_out_and_named() -> None:
    twin = answer("n1", system_id="id-twin")
    foreign = answer("n2", owner="alice", status=6, status_name="Deployed")
    retired, nameless = answer("n3", status=7, status_name="Retired"), answer("")
    strange, long = answer("n_5: {x"), answer("n" * 64)
    mine = answer("n4", owner="slipway")
    result = found(answer(), twin, foreign, retired, nameless, strange, long, mine)
    assert [machine.name for machine in result.machines] == ["n4"]
    assert result.left_out == {
        "id-": "it has no host name",
        "n1": "2 machines have this name: a node needs one of its own",
        "n2": "alice owns it",
        "n3": "it is retired",
        "n_5: {x": NO_HOST_NAME,
        "n" * 64: NO_HOST_NAME,
    }


def test_names_that_no_document_takes_are_left_out_and_noted() -> None:
    tag, zone = "t" * 129, "z" * 129
    machine = only(tag_names=[tag, "gpu", "k" * 100 + "__" + "v" * 100], zone={"name": zone})
    assert (machine.rack, machine.tags, machine.labels) == ("", frozenset({"gpu"}), {})
    assert machine.note.count("left out, as longer than 128 characters") == 3


def test_a_machine_without_a_zone_has_no_rack() -> None:
    assert only(zone=None).rack == ""
