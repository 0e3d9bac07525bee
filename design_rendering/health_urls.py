"""Where the agent of each node is asked: the site's `health_url` with the address that the design states. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from design_rendering.documents import Document, find_documents
from design_rendering.drydock_kinds import NETWORK_SCHEMA, NODE_SCHEMA, PROFILE_SCHEMA
from design_rendering.drydock_nodes import profile_chain
from design_rendering.stated_nodes import stated_nodes
from strategy_lib.did_you_mean import did_you_mean
from strategy_lib.errors import Origin, Problem, problem_at
from strategy_lib.health_url import parse_health_url

_PATH = "$.data.node_states.health_url"


def node_urls(documents: Iterable[Document], health_url: str) -> dict[str, str]:
    """Return where each node is asked. Nodes whose address there the design leaves open are not asked.

    Raises `ValueError`: `health_url` is no such template.
    """
    template = parse_health_url(health_url)
    read = list(documents)
    profiles = find_documents(read, PROFILE_SCHEMA)
    nodes = find_documents(read, NODE_SCHEMA)
    found = {}
    for name, stated in stated_nodes(read).items():
        network = template.network or _primary_network(nodes[name], profiles)
        if network is not None and network in stated.addresses:
            found[name] = template.at(stated.addresses[network])
    return found


def health_url_problems(documents: Iterable[Document], health_url: str, document: Origin | None) -> list[Problem]:
    """Return what of a valid `health_url` does not fit the design: a network that is none; nodes that are not asked."""
    if not health_url:
        return []
    read = list(documents)
    network = parse_health_url(health_url).network
    networks = find_documents(read, NETWORK_SCHEMA)
    if network and network not in networks:
        hint = did_you_mean(network, list(networks))
        return [problem_at(_PATH, f"names the network {network!r}, which the design does not have; {hint}", document)]
    asked = node_urls(read, health_url)
    silent = [name for name in find_documents(read, NODE_SCHEMA) if name not in asked]
    if not silent:
        return []
    where = f"in the network {network!r}" if network else "in their primary network"
    says = f"{len(silent)} nodes have no address {where}, such as {silent[0]}: they are not asked how they are"
    return [problem_at(_PATH, says, document, "warning")]


def _primary_network(document: Document, profiles: Mapping[str, Document]) -> str | None:
    for one in (document, *profile_chain(document, profiles).profiles):
        network = one.data.get("primary_network") if isinstance(one.data, Mapping) else None
        if isinstance(network, str):
            return network
    return None
