"""Where the agent of each node is asked: the site's `health_url` with the address that the design states. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from design_rendering.drydock_kinds import NETWORK_SCHEMA, PROFILE_SCHEMA
from design_rendering.kinds.drydock_nodes import profile_chain
from design_rendering.kinds.nodes import OWN_ADDRESS, node_documents, stated_nodes
from design_rendering.reading.documents import Document, find_documents
from design_rendering.slipway_kinds import NODE_SCHEMA as OWN_NODE_SCHEMA
from strategy_lib.did_you_mean import did_you_mean
from strategy_lib.errors import Origin, Problem, extend, problem_at
from strategy_lib.node import Node
from strategy_lib.parsing.node_networks import NodeNetworks
from strategy_lib.parsing.site_settings import LOOKS_LIKE, SITE_SETTINGS_SCHEMA, HealthUrl, parse_health_url
from strategy_lib.selectors import resolve
from strategy_lib.strategy import Strategy

_PATH = "$.data.node_states.health_url"


def node_urls(documents: Iterable[Document], health_url: str) -> dict[str, str]:
    """Return where each node is asked. Nodes whose address there the design leaves open are not asked.

    Raises `ValueError`: `health_url` is no such template.
    """
    template = parse_health_url(health_url)
    return {node.name: template.at(address) for node, _, address in _asked(documents, template)}


def refused_addresses(documents: Iterable[Document], health_url: str, networks: NodeNetworks) -> list[Problem]:
    """Return at which addresses nodes would be asked that the installation does not ask.

    Parameters
    ----------
    health_url : of the site's settings, valid; "": there is none.
    """
    if not health_url:
        return []
    return [
        node.problem(_address_path(node, network), f"{why} (node_states.health_url)")
        for node, network, address in _asked(documents, parse_health_url(health_url))
        if (why := networks.refusal(address)) is not None
    ]


def _asked(documents: Iterable[Document], template: HealthUrl) -> Iterator[tuple[Document, str, str]]:
    """Give each node that is asked, with the network and the address there."""
    read = list(documents)
    profiles = find_documents(read, PROFILE_SCHEMA)
    nodes = node_documents(read)
    for name, stated in stated_nodes(read).items():
        network = template.network or _primary_network(nodes[name], profiles)
        if network is not None and network in stated.addresses:
            yield nodes[name], network, stated.addresses[network]


def _address_path(node: Document, network: str) -> str:
    """Return where a node that has an address in a network states it."""
    if network == OWN_ADDRESS:
        return "$.data.address"
    entries = enumerate(node.data["addressing"])
    places = [place for place, one in entries if isinstance(one, Mapping) and one.get("network") == network]
    return extend("$.data.addressing", places[-1], "address")


def health_url_problems(documents: Iterable[Document], health_url: str, document: Origin | None) -> list[Problem]:
    """Return what of a valid `health_url` does not fit the design: a network that is none; nodes that are not asked."""
    if not health_url:
        return []
    read = list(documents)
    network = parse_health_url(health_url).network
    networks = find_documents(read, NETWORK_SCHEMA)
    if network and not networks and any(document.schema == OWN_NODE_SCHEMA for document in read):
        says = f"names the network {network!r}; nodes of this site have one address: write {{address}}"
        return [problem_at(_PATH, says, document)]
    if network and network not in networks:
        hint = did_you_mean(network, list(networks))
        return [problem_at(_PATH, f"names the network {network!r}, which the design does not have; {hint}", document)]
    asked = node_urls(read, health_url)
    nodes = node_documents(read)
    silent = [name for name in nodes if name not in asked]
    if not silent:
        return []
    where = _where(network, [nodes[name] for name in silent])
    if len(silent) == 1:
        says = f"{silent[0]} has no address{where}: it is not asked how it is"
    else:
        says = f"{len(silent)} nodes have no address{where}, such as {silent[0]}: they are not asked how they are"
    return [problem_at(_PATH, says, document, "warning")]


def ready_problems(
    documents: Iterable[Document],
    strategy: Strategy,
    nodes: Sequence[Node],
    health_url: str,
    document: Origin | None,
) -> list[Problem]:
    """Return why groups that ask whether their nodes are ready could never get an answer (rule 58).

    Parameters
    ----------
    health_url : of the site's settings, valid; "": there is none.
    document : the strategy's.
    """
    asking = [(place, group) for place, group in enumerate(strategy.groups) if group.ready is not None]
    if not asking:
        return []
    asked = node_urls(documents, health_url) if health_url else {}
    members = resolve(strategy, nodes) if health_url else {}
    problems = []
    for place, group in asking:
        path = extend("$.data.groups", place, "ready")
        if not health_url:
            says = (
                f"group {group.name} asks whether its nodes are ready, and the site's settings do not say where: set "
                f"node_states.health_url in a {SITE_SETTINGS_SCHEMA}, such as {LOOKS_LIKE}; or remove ready"
            )
            problems.append(problem_at(path, says, document))
            continue
        silent = sorted(name for name in members[group.name] if name not in asked)
        if silent:
            network = parse_health_url(health_url).network
            written = node_documents(documents)
            where = _where(network, [written[name] for name in silent])
            other = ", or name another network in node_states.health_url" if where else ""
            says = (
                f"group {group.name} asks whether its nodes are ready, and {len(silent)} of them have no address"
                f"{where}, such as {silent[0]}: give them one{other}"
            )
            problems.append(problem_at(path, says, document))
    return problems


def _where(network: str, nodes: Sequence[Document]) -> str:
    if all(node.schema == OWN_NODE_SCHEMA for node in nodes):
        return ""
    return f" in the network {network!r}" if network else " in their primary network"


def _primary_network(document: Document, profiles: Mapping[str, Document]) -> str | None:
    if document.schema == OWN_NODE_SCHEMA:
        return OWN_ADDRESS
    for one in (document, *profile_chain(document, profiles).profiles):
        network = one.data.get("primary_network") if isinstance(one.data, Mapping) else None
        if isinstance(network, str):
            return network
    return None
