"""Nodes from Drydock's documents, the digest that sees a change, and names and addresses that cannot be."""

from __future__ import annotations

import re
from typing import Any

import pytest

from design_rendering.kinds.drydock_nodes import missing_profiles, nodes_from_documents
from design_rendering.kinds.objects import differ_in_labels_alone, node_digests, with_labels_of
from design_rendering.reading.documents import Document, DocumentError, load_documents
from strategy_lib.errors import InventoryError, Problem
from strategy_lib.node import Node
from tests.support.designs import validate
from tests.support.sites import KEY

SITE = """\
schema: drydock/HostProfile/v1
metadata: {name: base}
data:
  hardware_profile: hp
  metadata: {owner_data: {role: base, base: 'yes', flag: true}, tags: [from-base], rack: r0}
---
schema: drydock/HostProfile/v1
metadata: {name: control}
data:
  host_profile: base
  interfaces: {bond0: {device_link: link, networks: [oam]}}
  metadata: {owner_data: {role: control}}
---
schema: drydock/BaremetalNode/v1
metadata: {name: n1}
data:
  host_profile: control
  addressing: [{network: pxe, address: 10.0.0.1}]
  metadata: {tags: [masters], rack: r1, owner_data: {own: 7}}
---
schema: drydock/BaremetalNode/v1
metadata: {name: n2}
data: {host_profile: base}
---
schema: drydock/BaremetalNode/v1
metadata: {name: bare}
data: {}
---
schema: drydock/BaremetalNode/v1
metadata: {name: template, layeringDefinition: {abstract: true}}
data: {}
---
schema: drydock/HardwareProfile/v1
metadata: {name: hp}
data: {vendor: Dell}
---
schema: drydock/Network/v1
metadata: {name: oam}
data: {vlan: '71'}
---
schema: drydock/Network/v1
metadata: {name: pxe}
data: {vlan: '70'}
---
schema: drydock/Network/v1
metadata: {name: unused}
data: {vlan: '1'}
---
schema: drydock/NetworkLink/v1
metadata: {name: link}
data: {mtu: 1500}
"""


def test_labels_come_through_the_chain_of_host_profiles() -> None:
    nodes = {node.name: node for node in nodes_from_documents(load_documents(SITE))}
    assert nodes == {
        "n1": Node(
            "n1",
            frozenset({"masters", "from-base"}),
            {"role": "control", "base": "yes", "flag": "true", "own": "7"},
            "r1",
        ),
        "n2": Node("n2", frozenset({"from-base"}), {"role": "base", "base": "yes", "flag": "true"}, "r0"),
        "bare": Node("bare"),
    }


def node_document(name: str, **data: Any) -> Document:
    return Document("drydock/BaremetalNode/v1", name, None, data, source="s.yaml")


def profile(name: str, parent: str | None, **metadata: Any) -> Document:
    return Document("drydock/HostProfile/v1", name, None, {"host_profile": parent, "metadata": metadata})


def test_a_missing_or_cyclic_profile_is_tolerated_and_warned_about() -> None:
    documents = [
        profile("a", "b", owner_data={"a": "1"}),
        profile("b", "a", owner_data={"b": "2"}),
        profile("c", "gone", owner_data={"c": "3"}),
        node_document("n1", host_profile="a"),
        node_document("n2", host_profile="c"),
        node_document("n3", host_profile="nowhere"),
    ]
    assert [dict(node.labels) for node in nodes_from_documents(documents)] == [{"a": "1", "b": "2"}, {"c": "3"}, {}]
    warnings = missing_profiles(documents)
    assert [warning.message for warning in warnings] == [
        "host profile 'a' is its own ancestor; name another parent",
        "there is no host profile 'gone'; its labels and tags are not known",
        "there is no host profile 'nowhere'; its labels and tags are not known",
    ]
    assert {warning.level for warning in warnings} == {"warning"}


def test_two_nodes_of_one_name_are_refused() -> None:
    with pytest.raises(DocumentError, match="already a drydock/BaremetalNode/v1 named 'n'"):
        nodes_from_documents([node_document("n"), node_document("n")])


def test_wrong_types_in_documents_are_named_with_their_line() -> None:
    text = "schema: drydock/BaremetalNode/v1\nmetadata: {name: n}\ndata:\n  metadata:\n    tags: masters\n    rack: 5\n"
    text += "    owner_data: [a]\n"
    with pytest.raises(InventoryError) as caught:
        nodes_from_documents(load_documents(text))
    assert [(problem.line, problem.path) for problem in caught.value.problems] == [
        (5, "$.data.metadata.tags"),
        (7, "$.data.metadata.owner_data"),
        (6, "$.data.metadata.rack"),
    ]


@pytest.mark.parametrize("tags", ["[!gpu ]", "[gpu, '']", "[!gpu , ssd]"])
def test_a_removal_without_quotes_is_an_empty_tag_and_refused(tags: str) -> None:
    text = f"schema: drydock/BaremetalNode/v1\nmetadata: {{name: n}}\ndata:\n  metadata:\n    tags: {tags}\n"
    with pytest.raises(InventoryError) as caught:
        nodes_from_documents(load_documents(text))
    (problem,) = caught.value.problems
    assert (problem.line, problem.path) == (5, "$.data.metadata.tags")
    assert "in quotes, as in '!gpu'" in problem.message


def digests(text: str) -> dict[str, str]:
    documents = load_documents(text)
    return {name: one.keyed(KEY) for name, one in node_digests(documents, nodes_from_documents(documents)).items()}


@pytest.mark.parametrize(
    ("old", "new", "changed"),
    [
        ("10.0.0.1", "10.0.0.2", {"n1"}),
        ("role: control", "role: other", {"n1"}),
        ("role: base", "role: other", {"n2"}),
        ("vendor: Dell", "vendor: HP", {"n1", "n2"}),
        ("vlan: '71'", "vlan: '72'", {"n1"}),
        ("vlan: '70'", "vlan: '69'", {"n1"}),
        ("mtu: 1500", "mtu: 9000", {"n1"}),
        ("vlan: '1'", "vlan: '2'", set()),
        ("{name: hp}", "{name: hp, storagePolicy: cleartext}", set()),
        ("{role: base, base: 'yes', flag: true}", "{flag: true, base: 'yes', role: base}", set()),
        ("host_profile: base}", "host_profile: control}", {"n2"}),
        ("name: hp}", "name: other}", {"n1", "n2"}),
    ],
)  # fmt: skip
def test_rule_21_the_digest_changes_with_what_makes_the_node_and_with_nothing_else(
    old: str, new: str, changed: set[str]
) -> None:
    assert old in SITE
    before, after = digests(SITE), digests(SITE.replace(old, new))
    assert set(before) == {"n1", "n2", "bare"}
    assert all(re.fullmatch("4:[0-9a-f]{64}:[0-9a-f]{64}", digest) for digest in before.values())
    assert {name for name in before if before[name] != after[name]} == changed


@pytest.mark.parametrize(
    ("old", "new", "alone"),
    [
        ("role: control", "role: other", True),
        ("10.0.0.1", "10.0.0.2", False),
        ("role: control", "role: control", False),
    ],
)
def test_rule_25_a_change_of_labels_alone_is_told_from_others(old: str, new: str, alone: bool) -> None:
    before, after = digests(SITE)["n1"], digests(SITE.replace(old, new))["n1"]
    assert differ_in_labels_alone(before, after) is alone
    assert (with_labels_of(before, after) == after) is (alone or before == after)


def test_rule_38_digests_of_another_version_are_never_taken_for_a_change_of_labels() -> None:
    new = digests(SITE)["n1"]
    for other in ("", "0" * 64, "3:a:b", "4:a"):
        assert not differ_in_labels_alone(other, new)
        assert with_labels_of(other, new) == other


NETWORK = """\
---
schema: drydock/Network/v1
metadata: {name: oam}
data: {cidr: 10.0.3.0/24}
"""


def _drydock(name: str, address: str, profile: str = "compute") -> str:
    return f"""\
---
schema: drydock/BaremetalNode/v1
metadata: {{name: {name}}}
data:
  host_profile: {profile}
  addressing: [{{network: oam, address: {address}}}]
"""


def _maas(name: str, address: str) -> str:
    return f"---\nschema: slipway/Node/v1\nmetadata: {{name: {name}}}\ndata: {{address: {address}}}\n"


def _found(text: str, words: str) -> list[Problem]:
    return [problem for problem in validate(load_documents(text, "site.yaml"), draft=True) if words in problem.message]


@pytest.mark.parametrize(("length", "errors"), [(32, 0), (33, 1)])
def test_a_name_that_drydock_would_lose_is_an_error_with_its_line(length: int, errors: int) -> None:
    found = _found(_drydock("n" * length, "10.0.3.7"), "Drydock loses")
    assert [(one.level, one.line, one.path) for one in found] == [("error", 3, "$.metadata.name")] * errors


def test_an_address_that_two_nodes_of_a_network_have_is_a_warning_that_names_both() -> None:
    found = _found(NETWORK + _drydock("n1", "10.0.3.7") + _drydock("n2", "10.0.3.7"), "too; give each")
    assert [(one.level, one.line, one.message) for one in found] == [
        ("warning", 16, "node n1 has the address 10.0.3.7 in network oam too; give each node its own")
    ]
    assert _found(NETWORK + _drydock("n1", "10.0.3.7") + _drydock("n2", "dhcp") + _drydock("n3", "dhcp"), "too;") == []


def test_an_address_that_two_nodes_on_maas_have_is_a_warning() -> None:
    found = _found(_maas("n1", "10.0.3.7/24") + _maas("n2", "10.0.3.7/24"), "too; give each")
    assert [(one.level, one.line, one.path) for one in found] == [("warning", 8, "$.data.address")]


def test_a_host_profile_that_does_not_exist_is_told_with_the_nearest() -> None:
    profile = "---\nschema: drydock/HostProfile/v1\nmetadata: {name: compute}\ndata: {}\n"
    (found,) = _found(profile + _drydock("n1", "10.0.3.7", "compte"), "no host profile")
    assert (found.level, found.line) == ("warning", 9)
    assert found.message.endswith("are not known. Did you mean compute?")
