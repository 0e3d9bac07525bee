"""The provisioner's list of a site's nodes: each whole one that is read is kept, so that plans are made in a moment.

An operation that was over after a list was read has left its nodes otherwise than that list says. Of these nodes what
the operation left counts, until the next list is read.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

import msgspec

from provisioner_client.protocol import ListedNode, Provisioner
from provisioner_client.shared_lists import node_from_data, node_to_data
from site_store import ProvisionerListRecord, SiteStore, StoreError
from strategy_lib.node_condition import NodeCondition
from strategy_lib.parsing.bounded_json import read_json

log = logging.getLogger(__name__)

_CONDITIONS = {condition.value: condition for condition in NodeCondition}


class _Said(msgspec.Struct, gc=False):
    condition: str


_SAID = msgspec.json.Decoder(dict[str, _Said])


class _Power(msgspec.Struct, gc=False):
    power: str | None = None
    can_power_on: bool = False


_POWERS = msgspec.json.Decoder(dict[str, _Power])


@dataclass(frozen=True, slots=True)
class NodeList:
    """What a provisioner said of its nodes, when, and over which connection; of some, what operations left since."""

    nodes: Mapping[str, ListedNode]
    read_at: datetime
    connection: str


def read_list(store: SiteStore, site: str, connection: str, provisioner: Provisioner) -> Mapping[str, ListedNode]:
    """Have a provisioner list its nodes, keep the list, and return it. An older one never replaces a newer one.

    Parameters
    ----------
    connection : the name of the connection over which it is read.

    Raises
    ------
    ProvisionerError : it does not list them.
    """
    asked = store.now()
    listed = provisioner.nodes()
    keep_list(store, site, connection, listed, asked)
    return listed


@dataclass(frozen=True, slots=True)
class ObservedList:
    """What came of a look for changes.

    Attributes
    ----------
    nodes : how many the list has.
    is_whole : whether all of them were read.
    cursor : for the next look; None: that reads all of them.
    """

    nodes: int
    is_whole: bool
    cursor: str | None


def observe_list(
    store: SiteStore,
    site: str,
    connection: str,
    provisioner: Provisioner,
    cursor: str | None,
    asked: datetime | None = None,
) -> ObservedList:
    """Have a provisioner say what has changed in its list of nodes, and keep the list as it is now.

    Parameters
    ----------
    connection : the name of the connection over which it is asked.
    cursor : of the last look. It counts only where the list that it was about, or one over this connection that was
        read since, is still kept: in a restored store everything is read again.
    asked : the database's time after which a list serves that another has asked for.  [now]

    Raises
    ------
    ProvisionerError : it does not list them.
    """
    asked = asked or store.now()
    kept = store.provisioner_lists.get(site)
    said: dict[str, Any] = {} if kept is None else json.loads(kept.nodes)
    inner = None
    if kept is not None and kept.connection == connection:
        inner = _cursor_of(cursor, connection, kept.read_at)
    changes = provisioner.observe(inner, {name: node_from_data(name, data) for name, data in said.items()})
    following = None if changes.cursor is None else json.dumps([connection, asked.isoformat(), changes.cursor])
    if changes.is_whole:
        keep_list(store, site, connection, changes.nodes, asked)
        return ObservedList(len(changes.nodes), is_whole=True, cursor=following)
    said |= {name: node_to_data(node) for name, node in changes.nodes.items()}
    base = None if kept is None else kept.digest
    if not store.provisioner_lists.save(site, connection, said, asked, based_on=base):
        # Another list was kept meanwhile: what has changed since the last look is asked for once more.
        following = cursor
    return ObservedList(len(said), is_whole=False, cursor=following)


def keep_list(
    store: SiteStore, site: str, connection: str, nodes: Mapping[str, ListedNode], asked: datetime | None = None
) -> None:
    """Keep a list that was just read. Nothing depends on it: what the store cannot take now is only logged.

    Parameters
    ----------
    connection : the name of the connection over which it was read.
    nodes : by name.
    asked : when it was asked for, by the database's clock.  [now]
    """
    data = {name: node_to_data(node) for name, node in nodes.items()}
    try:
        if not store.provisioner_lists.save(site, connection, data, asked):
            log.info("A list of the nodes of site %s came late: one that was asked for since is kept.", site)
    except StoreError as error:
        log.warning("The list of the nodes of site %s is not kept: %s", site, error)


def last_list(store: SiteStore, site: str) -> NodeList | None:
    """Return the list that was read last, None where none ever was."""
    kept = store.provisioner_lists.get(site)
    if kept is None:
        return None
    nodes = nodes_of(kept, store.provisioner_lists.left_since(site, kept.read_at))
    return NodeList(nodes, kept.read_at, kept.connection)


def nodes_of(kept: ProvisionerListRecord, left: Mapping[str, str]) -> dict[str, ListedNode]:
    """Return the nodes of a list that is kept.

    Parameters
    ----------
    left : how operations have left nodes since (`ProvisionerLists.left_since`).
    """
    said: Mapping[str, Mapping[str, Any]] = json.loads(kept.nodes)
    listed = {name: node_from_data(name, data) for name, data in said.items()}
    for name, condition in left.items():
        listed[name] = _left_so(name, _CONDITIONS.get(condition, NodeCondition.OTHER), listed.get(name))
    return listed


def last_conditions(store: SiteStore, site: str) -> tuple[dict[str, NodeCondition], datetime | None]:
    """Return what `last_list` does, the conditions alone, and when it was read; made for 100,000 nodes."""
    kept = store.provisioner_lists.get(site)
    if kept is None:
        return {}, None
    return conditions_of(kept, store.provisioner_lists.left_since(site, kept.read_at)), kept.read_at


def conditions_of(kept: ProvisionerListRecord, left: Mapping[str, str]) -> dict[str, NodeCondition]:
    """Return what `nodes_of` does, the conditions alone."""
    other = NodeCondition.OTHER
    found = {name: _CONDITIONS.get(data.condition, other) for name, data in _SAID.decode(kept.nodes).items()}
    found.update((name, _CONDITIONS.get(condition, other)) for name, condition in left.items())
    return found


def nodes_without_power(store: SiteStore, site: str) -> dict[str, bool]:
    """Return the nodes that are off by the last list, and of each whether its provisioner can power it on."""
    kept = store.provisioner_lists.get(site)
    if kept is None:
        return {}
    said = _POWERS.decode(kept.nodes)
    return {name: data.can_power_on for name, data in said.items() if data.power == "off"}


def _cursor_of(text: str | None, connection: str, read_at: datetime) -> str | None:
    """Return the provisioner's own cursor; None where the list that is kept is older, or another connection's."""
    try:
        name, since, cursor = read_json(text or "")
        is_older = read_at < datetime.fromisoformat(since)
    except (ValueError, TypeError):
        return None
    return str(cursor) if name == connection and not is_older else None


def _left_so(name: str, condition: NodeCondition, listed: ListedNode | None) -> ListedNode:
    """Return a node as an operation left it: in the provisioner's own words where the list has these already."""
    if listed is not None and listed.condition is condition:
        return listed
    words = condition.value.replace("_", " ").capitalize()
    if listed is None:
        return ListedNode(name, condition, words, None)
    return replace(listed, condition=condition, status_name=words, can_power_on=False)
