"""Which of MAAS's machines become documents, and with what."""

from __future__ import annotations

from typing import Any

import pytest

from design_rendering.kinds.imported_site import ImportedMachine
from provisioner_client.maas.inventory import Inventory, inventory
from provisioner_client.maas.machine import read_machine
from provisioner_client.maas.selection import LabelWords

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
