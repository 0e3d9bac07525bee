"""What is wrong with nodes and needs no server to be seen."""

from __future__ import annotations

import pytest

from design_rendering.reading.documents import load_documents
from design_rendering.validation import validate
from strategy_lib.errors import Problem

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
