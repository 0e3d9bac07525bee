"""What Ironic is told of a node of the design, to deploy it and to enrol it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from design_rendering.kinds.slipway_nodes import Bmc, SlipwayNode
from provisioner_client.ironic.deploy_info import (
    configdrive_of,
    driver_info_of,
    instance_info_of,
    new_node_of,
    rebuild_of,
)

IMAGE = "https://images/a"
DIGITS = "0" * 64


@pytest.mark.parametrize(
    ("node", "expected"),
    [
        pytest.param(SlipwayNode("n1"), {"image_source": "d", "image_checksum": "https://sums"}, id="the default"),
        pytest.param(SlipwayNode("n1", image=IMAGE), {"image_source": IMAGE}, id="not the default's checksum"),
        pytest.param(
            SlipwayNode("n1", image=IMAGE, checksum=f"sha256:{DIGITS}"),
            {"image_source": IMAGE, "image_os_hash_algo": "sha256", "image_os_hash_value": DIGITS},
            id="digits",
        ),
        pytest.param(
            SlipwayNode("n1", image=IMAGE, checksum="http://images/sums"),
            {"image_source": IMAGE, "image_checksum": "http://images/sums"},
            id="an address, which has a colon, too",
        ),
        pytest.param(
            SlipwayNode(
                "n1",
                image=IMAGE,
                kernel="k",
                ramdisk="r",
                root_gb=20,
                root_device={"size": 100},
                capabilities={"secure_boot": True},
                traits=frozenset({"CUSTOM_B", "CUSTOM_A"}),
            ),
            {
                "image_source": IMAGE,
                "kernel": "k",
                "ramdisk": "r",
                "root_gb": 20,
                "root_device": {"size": 100},
                "capabilities": {"secure_boot": "True"},
                "traits": ["CUSTOM_A", "CUSTOM_B"],
            },
            id="all of it",
        ),
    ],
)
def test_what_is_deployed(node: SlipwayNode, expected: dict[str, Any]) -> None:
    assert instance_info_of(node, "d", "https://sums") == expected


@pytest.mark.parametrize(
    ("wanted", "is_enough"),
    [
        ({}, True),
        ({"image": "https://images/b", "checksum": "https://sums", "kernel": "k", "ramdisk": "r"}, True),
        ({"user_data": "#!", "network_data": {"links": []}, "tags": frozenset({"a"}), "erase": "none"}, True),
        ({"root_device": {"size": 200}}, False),
        ({"root_device": None}, False),
        ({"root_gb": 30}, False),
        ({"capabilities": {"boot_mode": "uefi"}}, False),
        ({"traits": frozenset({"CUSTOM_A", "CUSTOM_B"})}, False),
        ({"erase": "full"}, False),
    ],
)
def test_rule_21_which_fields_a_rebuild_brings_about(wanted: dict[str, Any], is_enough: bool) -> None:
    there = SlipwayNode("n1", image=IMAGE, root_gb=20, root_device={"size": 100}, traits=frozenset({"CUSTOM_A"}))
    # Ironic notes more of what it has deployed.
    info = instance_info_of(there) | {"image_type": "whole-disk", "configdrive": "******"}
    assert bool(rebuild_of(replace(there, **wanted), info)) == is_enough
    assert rebuild_of(there, {}) == "", "nothing says what is there"


def test_what_the_machine_finds_at_its_first_boot() -> None:
    assert configdrive_of(SlipwayNode("n1", image=IMAGE)) is None
    named = {"hostname": "n1", "name": "n1"}
    assert configdrive_of(SlipwayNode("n1", user_data="#!")) == {"meta_data": named, "user_data": "#!"}
    links: dict[str, Any] = {"links": []}
    assert configdrive_of(SlipwayNode("n1", network_data=links)) == {"meta_data": named, "network_data": links}
    assert "user_data" not in instance_info_of(SlipwayNode("n1", user_data="#!"))


@pytest.mark.parametrize(
    ("bmc", "expected"),
    [
        pytest.param(
            Bmc("redfish", "https://b", "u", "p", {"redfish_system_id": "/1"}),
            {
                "redfish_address": "https://b",
                "redfish_username": "u",
                "redfish_password": "p",
                "redfish_system_id": "/1",
            },
            id="redfish",
        ),
        pytest.param(Bmc("ipmi", "10.0.9.7"), {"ipmi_address": "10.0.9.7"}, id="no account"),
        pytest.param(Bmc("idrac", "https://b"), {"redfish_address": "https://b"}, id="idrac speaks redfish"),
        pytest.param(Bmc("slipway-redfish", "https://b"), {"redfish_address": "https://b"}, id="so does ours"),
        pytest.param(Bmc("fake-hardware", "x", "u", "p"), {}, id="no words of its own"),
    ],
)
def test_how_the_power_is_switched(bmc: Bmc, expected: dict[str, Any]) -> None:
    assert driver_info_of(bmc) == expected
    assert "'p'" not in repr(bmc)
    new = new_node_of(SlipwayNode("n1"), bmc, {"owner": "alice", "extra": {}})
    assert new == {"owner": "alice", "extra": {}, "name": "n1", "driver": bmc.driver, "driver_info": expected}
