"""Where each node's agent is asked, by what the design states."""

from __future__ import annotations

import pytest

from design_rendering.design import read_design
from design_rendering.kinds.health_urls import node_urls
from design_rendering.reading.documents import Document, load_documents
from design_rendering.rendering import render
from design_rendering.validation import validate_rendering
from strategy_lib.errors import StrategyLibError
from tests.support.designs import validate

SITE = """\
schema: drydock/Network/v1
metadata: {name: oam}
data: {cidr: 10.0.0.0/24}
---
schema: drydock/Network/v1
metadata: {name: pxe}
data: {cidr: 10.0.1.0/24}
---
schema: drydock/HostProfile/v1
metadata: {name: base}
data: {primary_network: oam}
---
schema: drydock/BaremetalNode/v1
metadata: {name: n1}
data: {host_profile: base, addressing: [{network: oam, address: 10.0.0.1}, {network: pxe, address: dhcp}]}
---
schema: drydock/BaremetalNode/v1
metadata: {name: n2}
data: {primary_network: pxe, addressing: [{network: oam, address: 10.0.0.2}, {network: pxe, address: 10.0.1.2}]}
"""


def documents(health_url: str = "") -> list[Document]:
    settings = f'''---
schema: slipway/SiteSettings/v1
metadata: {{name: settings}}
data:
  node_states: {{health_url: "{health_url}"}}
'''
    return load_documents(SITE + (settings if health_url else ""), "site.yaml")


def test_a_node_is_asked_in_its_primary_network_or_in_the_named_one() -> None:
    read = documents()
    assert node_urls(read, "http://{address}:1/s") == {"n1": "http://10.0.0.1:1/s", "n2": "http://10.0.1.2:1/s"}
    assert node_urls(read, "http://{address:oam}:1/s") == {"n1": "http://10.0.0.1:1/s", "n2": "http://10.0.0.2:1/s"}
    assert node_urls(read, "http://{address:pxe}:1/s") == {"n2": "http://10.0.1.2:1/s"}, "the other is left open"


def test_a_network_that_is_none_refuses_the_design() -> None:
    with pytest.raises(StrategyLibError) as caught:
        read_design(documents("http://{address:oan}:1/state"))
    (problem,) = caught.value.problems
    assert (problem.path, problem.line) == ("$.data.node_states.health_url", 24)
    assert problem.message == "names the network 'oan', which the design does not have; did you mean 'oam'?"


def test_nodes_that_cannot_be_asked_are_warned_about() -> None:
    warnings = [found.message for found in read_design(documents("http://{address:pxe}:1/state")).warnings]
    silent = "n1 has no address in the network 'pxe': it is not asked how it is"
    assert silent in warnings
    told = validate(documents("http://{address:pxe}:1/state"))
    assert [found.message for found in told if found.level == "warning"].count(silent) == 1, "a commit says it, too"
    design = read_design(documents("http://{address}:1/state"))
    assert not any("not asked" in found.message for found in design.warnings)


def told(text: str, node_networks: str | None) -> list[tuple[str, int | None, str, str]]:
    """Return what is said of addresses in SITE with this in place of the address of n1."""
    read = (
        load_documents(SITE.replace("10.0.0.1}", text), "nodes.yaml") + documents("http://{address:oam}:1/state")[-1:]
    )
    installation = None if node_networks is None else {"SLIPWAY_NODE_NETWORKS": node_networks}
    found = validate_rendering(render(read), installation=installation).problems
    return [(one.path, one.line, one.level, one.message) for one in found if "SLIPWAY_NODE_NETWORKS" in one.message]


@pytest.mark.parametrize(
    ("address", "words"),
    [
        ("127.0.0.1", "127.0.0.1 is a loopback address"),
        ("'::ffff:127.0.0.1'", "::ffff:7f00:1 is a loopback address"),
        ("169.254.169.254", "169.254.169.254 is an address of a cloud's metadata"),
        ("0.0.0.1", "0.0.0.1 is an unspecified address"),
        ("'::1'", "::1 is a loopback address"),
    ],
)
def test_a_special_address_that_would_be_asked_is_refused_with_its_place(address: str, words: str) -> None:
    ((path, line, level, said),) = told(f"{address}}}", "")
    assert (path, line, level) == ("$.data.addressing[0].address", 15, "error")
    assert said == (f"{words}, where nodes are not asked unless SLIPWAY_NODE_NETWORKS has it (node_states.health_url)")


def test_which_addresses_are_refused_is_the_installations_to_say() -> None:
    assert told("127.0.0.1}", "127.0.0.0/8,10.0.0.0/8") == []
    assert [(level, said.split(",")[0]) for _, _, level, said in told("10.0.0.1}", "10.0.0.2/32")] == [
        ("error", "10.0.0.1 is in no network of SLIPWAY_NODE_NETWORKS")
    ]
    assert [level for _, _, level, _ in told("127.0.0.1}", None)] == ["warning"], "here nobody knows the installation"
    ((path, _, level, said),) = told("10.0.0.1}", "everywhere")
    assert (path, level) == ("$", "error")
    assert said.startswith(
        "the nodes of no site are asked: SLIPWAY_NODE_NETWORKS: 'everywhere' is not a list of networks"
    )


def test_the_address_of_a_node_of_slipways_own_kind_is_judged_in_its_place() -> None:
    node = "schema: slipway/Node/v1\nmetadata: {name: n1}\ndata:\n  rack: r1\n  address: 127.0.0.1/8\n"
    read = load_documents(node, "nodes.yaml") + documents("http://{address}:1/state")[-1:]
    (found,) = (one for one in validate_rendering(render(read), installation={}).problems if "loopback" in one.message)
    assert (found.path, found.line, found.source, found.level) == ("$.data.address", 5, "nodes.yaml", "error")


def test_an_address_that_nobody_would_ask_is_not_judged() -> None:
    read = load_documents(SITE.replace("10.0.0.1}", "127.0.0.1}"), "nodes.yaml")
    assert not any("loopback" in one.message for one in validate_rendering(render(read), installation={}).problems)


STRATEGY = """\
---
schema: shipyard/DeploymentStrategy/v1
metadata: {name: deployment-strategy}
data:
  groups:
    - name: all
      critical: true
      depends_on: []
      selectors: []
      ready:
        timeout: 600
"""


def asking(health_url: str) -> list[Document]:
    return [*documents(health_url), *load_documents(STRATEGY, "strategy.yaml")]


def refused(health_url: str) -> tuple[str, int | None, str, str]:
    with pytest.raises(StrategyLibError) as caught:
        read_design(asking(health_url))
    (problem,) = caught.value.problems
    return problem.path, problem.line, str(problem.document), problem.message


def test_rule_58_ready_without_a_health_url_is_refused_with_what_would_be_right() -> None:
    path, line, _, said = refused("")
    assert (path, line) == ("$.data.groups[0].ready", 10)
    assert said.startswith("group all asks whether its nodes are ready, and the site's settings do not say where: set ")
    assert "node_states.health_url in a slipway/SiteSettings/v1, such as http://{address}:9650/state" in said


def test_rule_58_ready_of_a_node_without_an_address_is_refused() -> None:
    path, line, _, said = refused("http://{address:pxe}:1/state")
    assert (path, line) == ("$.data.groups[0].ready", 10)
    assert said == (
        "group all asks whether its nodes are ready, and 1 of them have no address in the network 'pxe', such as n1: "
        "give them one, or name another network in node_states.health_url"
    )


def test_rule_58_ready_with_addresses_is_accepted() -> None:
    (group,) = read_design(asking("http://{address:oam}:1/state")).strategy.groups
    assert group.ready is not None
    assert group.ready.timeout == 600
