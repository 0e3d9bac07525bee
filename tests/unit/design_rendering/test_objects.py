"""Objects of a design, what uses what, and which nodes a change of one shapes."""

from __future__ import annotations

import pytest

from design_rendering.kinds.drydock_nodes import nodes_from_documents
from design_rendering.kinds.objects import (
    DesignObject,
    ObjectKey,
    design_objects,
    differ_in_labels_alone,
    node_digests,
    parts_of_nodes,
)
from design_rendering.reading.documents import load_documents
from tests.support.sites import KEY

SITE = """
schema: drydock/BaremetalNode/v1
metadata: {name: n1}
data:
  host_profile: control
  addressing: [{network: oam, address: 10.0.0.1}]
  metadata: {tags: [gpu], rack: r1, owner_data: {role: control}}
---
schema: drydock/BaremetalNode/v1
metadata: {name: n2}
data: {host_profile: base, metadata: {rack: r2, owner_data: {role: compute}}}
---
schema: drydock/HostProfile/v1
metadata: {name: base}
data: {hardware_profile: dell, interfaces: {eno1: {device_link: bond, networks: [pxe]}}}
---
schema: drydock/HostProfile/v1
metadata: {name: control}
data: {host_profile: base}
---
schema: drydock/HardwareProfile/v1
metadata: {name: dell}
data: {vendor: Dell}
---
schema: drydock/NetworkLink/v1
metadata: {name: bond}
data: {mtu: 1500}
---
schema: drydock/Network/v1
metadata: {name: pxe}
data: {vlan: '70', cidr: 10.1.0.0/24, routes: [{routedomain: storage, gateway: 10.1.0.1}]}
---
schema: drydock/Network/v1
metadata: {name: oam}
data: {vlan: '71', cidr: 10.2.0.0/24}
---
schema: drydock/Network/v1
metadata: {name: ceph}
data: {vlan: '72', cidr: 10.3.0.0/24, routedomain: storage}
---
schema: drydock/BootAction/v1
metadata: {name: everywhere}
data: {assets: [{path: /etc/motd, data: welcome}]}
---
schema: drydock/BootAction/v1
metadata: {name: drivers}
data:
  assets: [{path: /etc/gpu, data: 'on'}]
  node_filter: {filter_set_type: union, filter_set: [{filter_type: union, node_tags: [gpu]}]}
---
schema: example/Secret/v1
metadata: {name: key}
data: abc
"""


def objects(text: str) -> tuple[DesignObject, ...]:
    documents = load_documents(text)
    return design_objects(documents, nodes_from_documents(documents))


def digests(text: str) -> dict[str, str]:
    documents = load_documents(text)
    return {name: one.keyed(KEY) for name, one in node_digests(documents, nodes_from_documents(documents)).items()}


def test_each_document_is_an_object_that_knows_what_it_uses() -> None:
    found = {str(one.key): [str(used) for used in one.uses] for one in objects(SITE)}
    assert found == {
        "boot_action/drivers": [],
        "boot_action/everywhere": [],
        "example/Secret/v1/key": [],
        "hardware_profile/dell": [],
        "host_profile/base": ["hardware_profile/dell", "network/pxe", "network_link/bond"],
        "host_profile/control": ["host_profile/base"],
        "network/ceph": [],
        "network/oam": [],
        "network/pxe": ["network/ceph"],
        "network_link/bond": [],
        "node/n1": ["boot_action/drivers", "boot_action/everywhere", "host_profile/control", "network/oam"],
        "node/n2": ["boot_action/everywhere", "host_profile/base"],
    }


def test_a_digest_is_of_the_objects_own_data_alone() -> None:
    before, after = objects(SITE), objects(SITE.replace("vendor: Dell", "vendor: HP"))
    changed = {str(new.key) for old, new in zip(before, after, strict=True) if old.digest != new.digest}
    assert changed == {"hardware_profile/dell"}


@pytest.mark.parametrize(
    ("old", "new", "nodes"),
    [
        ("data: welcome", "data: bye", {"n1", "n2"}),
        ("data: 'on'", "data: 'off'", {"n1"}),
        ("node_tags: [gpu]", "node_tags: [gpu, ssd]", set()),
        ("node_tags: [gpu]", "rack_names: [r1, r2]", {"n2"}),
        ("node_tags: [gpu]", "node_labels: {role: compute}", {"n1", "n2"}),
        ("node_tags: [gpu]", "node_names: []", {"n2"}),
        ("cidr: 10.3.0.0/24", "cidr: 10.4.0.0/24", {"n1", "n2"}),
        ("vlan: '72'", "vlan: '73'", set()),
        ("data: abc", "data: def", set()),
        ("vendor: Dell", "vendor: HP", {"n1", "n2"}),
    ],
)
def test_rule_37_the_digest_is_over_everything_that_shapes_a_node(old: str, new: str, nodes: set[str]) -> None:
    assert old in SITE
    before, after = digests(SITE), digests(SITE.replace(old, new))
    assert {name for name in before if before[name] != after[name]} == nodes


def test_a_label_that_brings_a_boot_action_is_no_change_of_labels_alone() -> None:
    site = SITE.replace("node_tags: [gpu]", "node_labels: {role: control}")
    before, after = digests(site), digests(site.replace("owner_data: {role: compute}", "owner_data: {role: control}"))
    assert not differ_in_labels_alone(before["n2"], after["n2"])
    before, after = digests(SITE), digests(SITE.replace("owner_data: {role: compute}", "owner_data: {role: other}"))
    assert differ_in_labels_alone(before["n2"], after["n2"])


def test_the_parts_of_a_node_are_what_it_uses_directly_or_through_others() -> None:
    documents = load_documents(SITE, "site")
    parts = parts_of_nodes(design_objects(documents, nodes_from_documents(documents)))
    assert sorted(map(str, parts["n2"])) == [
        "boot_action/everywhere",
        "hardware_profile/dell",
        "host_profile/base",
        "network/ceph",
        "network/pxe",
        "network_link/bond",
        "node/n2",
    ]
    assert {ObjectKey("host_profile", "control"), ObjectKey("boot_action", "drivers")} <= parts["n1"]
    assert parts_of_nodes(()) == {}
