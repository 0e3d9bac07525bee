"""What is said of a design before anything is sent: its documents, the machines of MAAS, and its images."""

from __future__ import annotations

import pytest

from provisioner_client.designs import DesignSource
from provisioner_client.errors import DesignUnreadable
from provisioner_client.maas.design import full_image, lacks
from provisioner_client.maas.machine import Machine, Status
from provisioner_client.site_documents import read_design, validation_of

HEAD = "metadata: {schema: metadata/Document/v1, name: %s, layeringDefinition: {abstract: false, layer: site}}"
IMAGES = [{"name": "ubuntu/noble", "architecture": "amd64/ga-24.04"}, {"name": "golden"}]


def node(name: str, data: str = "{}") -> str:
    return f"---\nschema: slipway/Node/v1\n{HEAD % name}\ndata: {data}\n"


def machine(name: str, system_id: str) -> Machine:
    return Machine(system_id, name, Status.READY, "Ready")


def said_of(text: str, *machines: Machine, default_image: str = "") -> tuple[bool, str]:
    design = read_design(DesignSource("address", lambda: text))
    validation = validation_of(design, lambda: lacks(design.nodes, machines, IMAGES, "pool north", default_image))
    return validation.valid, validation.reasons()


def test_a_design_whose_machines_and_images_are_there_is_valid() -> None:
    text = node("w1", "{image: noble, storage: lvm, network: commissioned}") + node("w2", "{image: ubuntu/noble}")
    assert said_of(text, machine("w1", "a"), machine("w2", "b"))[0]


@pytest.mark.parametrize(
    ("image", "full"),
    [
        ("golden", "custom/golden"),
        ("custom/golden", "custom/golden"),
        ("noble", "ubuntu/noble"),
        ("ubuntu/noble", "ubuntu/noble"),
    ],
)
def test_an_image_has_a_short_name_and_a_whole_one_which_is_sent(image: str, full: str) -> None:
    assert said_of(node("w1", f"{{image: {image}}}"), machine("w1", "a"))[0]
    assert full_image(image, IMAGES) == full


def test_a_short_name_that_two_images_have_is_not_clear() -> None:
    two = [*IMAGES, {"name": "centos/noble"}]
    design = read_design(DesignSource("address", lambda: node("w1", "{image: noble}")))
    lacking = lacks(design.nodes, [machine("w1", "a")], two, "pool north")
    said = validation_of(design, lambda: lacking).reasons()
    assert "MAAS has 2 images 'noble' for w1: say centos/noble or ubuntu/noble" in said
    assert full_image("noble", two) == "noble"
    assert full_image("", two) == ""


@pytest.mark.parametrize(
    ("data", "default_image", "expected"),
    [
        ("{image: nobel}", "", "no image 'nobel'"),
        ("{}", "jammy", "no image 'jammy'"),
        ("{storage: raid99}", "", "no storage layout 'raid99'"),
        ("{network: dual}", "", "'commissioned'"),
    ],
)
def test_what_maas_lacks_is_named(data: str, default_image: str, expected: str) -> None:
    valid, said = said_of(node("w1", data), machine("w1", "a"), default_image=default_image)
    assert not valid
    assert expected in said


def test_each_node_is_there_exactly_once() -> None:
    valid, said = said_of(node("w1") + node("w2"), machine("w1", "a"), machine("w1", "b"))
    assert not valid
    assert "2 machines w1 in pool north (a, b)" in said
    assert "no machine w2 in pool north" in said


def test_documents_that_are_wrong_and_none_at_all() -> None:
    assert "colour" in said_of(node("w1", "{colour: red}"))[1]
    assert (
        "no slipway/Node/v1"
        in said_of("---\nschema: slipway/Site/v1\n" + HEAD % "s" + "\ndata: {provisioner: maas}")[1]
    )


def test_a_design_that_is_known_by_its_address_alone_cannot_be_read() -> None:
    with pytest.raises(DesignUnreadable):
        read_design(DesignSource("http://secret/address"))
