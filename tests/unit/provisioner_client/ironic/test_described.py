"""What of a node of Ironic becomes fields of its document, what does not, and that no secret does."""

from __future__ import annotations

from typing import Any

import pytest

from design_rendering.kinds.imported_site import imported_files
from design_rendering.kinds.slipway_nodes import read_slipway_nodes
from design_rendering.reading.documents import load_documents
from design_rendering.rendering import rendered_documents
from provisioner_client.ironic.deploy_info import instance_info_of
from provisioner_client.ironic.described import Described, described
from provisioner_client.ironic.inventory import LabelWords, inventory
from provisioner_client.ironic.node import Node, read_node
from provisioner_client.site_documents import Inventory
from tests.support.designs import validate

SHA = "a" * 64
INFO = {
    "image_source": "https://images/noble.qcow2",
    "image_os_hash_algo": "sha256",
    "image_os_hash_value": SHA,
    "kernel": "https://images/vmlinuz",
    "ramdisk": "https://images/initrd",
    "root_gb": "10",
    "capabilities": "boot_mode:uefi, secure_boot:true",
    "root_device": {"serial": "S3Z8"},
    "traits": ["CUSTOM_GPU"],
}
BMC = {
    "redfish_address": "https://10.0.9.7",
    "redfish_username": "operator",
    "redfish_password": "******",
    "redfish_system_id": "/redfish/v1/Systems/1",
    "redfish_verify_ca": False,
}


def node(name: str = "n1", state: str = "available", **more: Any) -> Node:
    return read_node({"uuid": f"u-{name}", "name": name, "provision_state": state, "driver": "redfish", **more})


def said(**more: Any) -> Described:
    return described(node(**more), ())


def test_all_that_a_document_can_say() -> None:
    found = described(node(instance_info=INFO, driver_info=BMC), ["52:54:00:00:00:02", "52:54:00:00:00:01"])
    assert found.image == INFO["image_source"]
    assert found.of_image == {
        "checksum": f"sha256:{SHA}",
        "kernel": "https://images/vmlinuz",
        "ramdisk": "https://images/initrd",
        "root_gb": 10,
        "capabilities": {"boot_mode": "uefi", "secure_boot": "true"},
    }
    assert found.shared == {"root_device": {"serial": "S3Z8"}, "traits": ["CUSTOM_GPU"], "bmc_driver": "redfish"}
    assert found.own == {
        "bmc_address": "https://10.0.9.7",
        "bmc_options": {"redfish_system_id": "/redfish/v1/Systems/1", "redfish_verify_ca": False},
        "mac_addresses": ["52:54:00:00:00:01", "52:54:00:00:00:02"],
    }
    assert (found.bmc_user, found.notes) == ("operator", ())


def test_what_was_imported_deploys_the_same_again() -> None:
    """By way of the documents: `instance_info` of the node that they describe is the one that was there."""
    found = inventory([node(instance_info=INFO, driver_info=BMC)], LabelWords(), {})
    made = written(found)["n1"]
    again = instance_info_of(made)
    assert again == INFO | {"root_gb": 10, "capabilities": {"boot_mode": "uefi", "secure_boot": "true"}}
    assert made.bmc is not None
    assert (made.bmc.driver, made.bmc.address, made.bmc.password) == ("redfish", "https://10.0.9.7", "")


@pytest.mark.parametrize(
    ("more", "field", "note"),
    [
        ({"instance_info": {"image_source": "https://u:hunter2@images/a"}}, "image", "looks like a secret: image"),
        ({"driver_info": {"redfish_address": "https://u:hunter2@bmc"}}, "bmc_address", "looks like a secret"),
        ({"driver_info": {"snmp_community_secret": "hunter2"}}, "bmc_options", "a secret: snmp_community_secret"),
        ({"driver_info": {"any_other": "******"}}, "bmc_options", "looks like a secret: any_other"),
        ({"properties": {"root_device": {"size": ">= 40", "colour": "red"}}}, "root_device", "cannot say it: root_"),
        ({"instance_info": {"image_source": "a", "image_checksum": "d" * 32}}, "checksum", "cannot say it: checksum"),
        ({"driver_info": {"redfish_address": "a b"}}, "bmc_address", "cannot say it: bmc_address, which must be"),
    ],
)
def test_what_is_left_out_is_noted_and_a_secret_never_told(more: dict[str, Any], field: str, note: str) -> None:
    found = said(**more)
    told = {"image": found.image, **found.of_image, **found.shared, **found.own}
    assert not told.get(field)
    assert note in "; ".join(found.notes)
    assert "hunter2" not in repr(found)


@pytest.mark.parametrize(
    ("info", "checksum"),
    [
        ({"image_checksum": SHA}, f"sha256:{SHA}"),
        ({"image_checksum": "B" * 128}, None),
        ({"image_checksum": "https://images/SUMS"}, "https://images/SUMS"),
        ({}, None),
    ],
)
def test_checksums(info: dict[str, Any], checksum: str | None) -> None:
    assert said(instance_info={"image_source": "https://images/a", **info}).of_image.get("checksum") == checksum


def test_what_all_have_is_said_once_and_who_knows_the_passwords() -> None:
    other = {"image_source": "https://images/other.qcow2", "image_os_hash_algo": "sha256", "image_os_hash_value": SHA}
    nodes = [
        *(node(f"n{number}", instance_info=INFO, driver_info=BMC, resource_class="big") for number in range(3)),
        node("odd", instance_info=other, driver_info=BMC, resource_class="small"),
        node("bare", driver_info=BMC, resource_class="small"),
    ]
    found = inventory(nodes, LabelWords(), {"u-bare": ["52:54:00:00:00:09"]})
    files = imported_files("fra1", found.machines, "ironic", found.notes)
    site = files["site.yaml"]
    assert "data: {provisioner: ironic, defaults: {image: 'https://images/noble.qcow2', checksum: 'sha256:aaa" in site
    assert site.count("bmc_driver: redfish") == 1
    assert "# Users of the BMCs, and of how many: operator (5). Ironic keeps their passwords." in site
    assert "******" not in "".join(files.values())
    made = written(found)
    assert made["n0"].labels == {"resource_class": "big"}
    assert (made["odd"].image, made["odd"].kernel) == ("https://images/other.qcow2", None), "no kernel of the default's"
    assert (made["bare"].image, made["bare"].kernel) == (INFO["image_source"], INFO["kernel"])
    assert made["bare"].mac_addresses == ("52:54:00:00:00:09",)
    assert {name: one.tags for name, one in made.items()} == dict.fromkeys(made, frozenset())


def written(found: Inventory) -> Any:
    """Return the nodes of the documents that are made, which are good as they are."""
    text = "".join(imported_files("fra1", found.machines, "ironic", found.notes).values())
    assert [str(problem) for problem in validate(load_documents(text))] == []
    return read_slipway_nodes(rendered_documents(load_documents(text)))
