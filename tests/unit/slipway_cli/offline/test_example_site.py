"""The example sites: their documents fit together, and that on MAAS has the same nodes and groups."""

from ipaddress import ip_address, ip_network
from pathlib import Path
from typing import Any

import pytest

from design_rendering.design import read_design
from design_rendering.kinds.drydock_nodes import nodes_from_documents
from design_rendering.kinds.slipway_nodes import read_slipway_nodes
from design_rendering.reading.documents import Document, load_documents
from design_rendering.rendering import rendered_documents
from tests.support.designs import validate


@pytest.fixture(name="documents")
def _documents(example: Path) -> list[Document]:
    return load_documents(example.read_bytes(), example.name)


def _data(documents: list[Document], kind: str) -> dict[str, Any]:
    return {document.name: document.data for document in documents if document.schema == f"drydock/{kind}/v1"}


def test_forty_nodes_in_four_racks_with_short_names(documents: list[Document]) -> None:
    nodes = nodes_from_documents(documents)
    assert len(nodes) == 40
    assert {node.rack for node in nodes} == {"rack01", "rack02", "rack03", "rack04"}
    assert all(len(node.name) <= 32 for node in nodes)


def test_addresses_are_unique_and_in_the_static_range(documents: list[Document]) -> None:
    networks = _data(documents, "Network")
    seen = set()
    for name, node in _data(documents, "BaremetalNode").items():
        assert {entry["network"] for entry in node["addressing"]} == set(networks), name
        for entry in node["addressing"]:
            network, address = networks[entry["network"]], ip_address(entry["address"])
            assert address in ip_network(network["cidr"])
            ranges = [item for item in network["ranges"] if item["type"] == "static"]
            assert any(int(ip_address(r["start"])) <= int(address) <= int(ip_address(r["end"])) for r in ranges)
            seen.add(address)
    assert len(seen) == 40 * len(networks)


def test_interfaces_and_links_fit_together(documents: list[Document]) -> None:
    links, networks = _data(documents, "NetworkLink"), _data(documents, "Network")
    base = _data(documents, "HostProfile")["base"]
    aliases = _data(documents, "HardwareProfile")[base["hardware_profile"]]["device_aliases"]
    for interface in base["interfaces"].values():
        assert set(interface["slaves"]) <= set(aliases)
        assert set(interface["networks"]) <= set(links[interface["device_link"]]["allowed_networks"])
    assert {network for link in links.values() for network in link["allowed_networks"]} == set(networks)


@pytest.mark.parametrize(
    ("name", "image", "erase", "driver"),
    [
        ("example_maas_site.yaml", "ubuntu/noble", "quick", None),
        ("example_ironic_site.yaml", "https://images.example/noble.qcow2", None, "slipway"),
    ],
)
def test_it_has_the_nodes_and_the_groups_of_the_example_site(
    example: Path, name: str, image: str, erase: str | None, driver: str | None
) -> None:
    of_drydock = read_design(rendered_documents(load_documents(example.read_bytes(), example.name)))
    written = load_documents(example.with_name(name).read_bytes(), name)
    documents = rendered_documents(written)
    found = read_design(documents)
    assert found.nodes == of_drydock.nodes
    assert found.strategy == of_drydock.strategy
    assert found.configuration == of_drydock.configuration
    assert [str(problem) for problem in validate(written)] == []
    nodes = read_slipway_nodes(documents)
    looked = {(n.image, n.erase, n.bmc and n.bmc.driver, n.user_data is None, n.enroll) for n in nodes.values()}
    assert looked == {(image, erase, driver, False, driver is not None)}
    assert len({node.address for node in nodes.values()}) == 40
