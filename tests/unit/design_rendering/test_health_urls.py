"""Where each node's agent is asked, by what the design states."""

from __future__ import annotations

import pytest

from design_rendering.design import read_design
from design_rendering.documents import Document, load_documents
from design_rendering.kinds.health_urls import node_urls
from design_rendering.validation import validate
from strategy_lib.errors import StrategyLibError

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
