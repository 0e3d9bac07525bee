"""Drydock's node filter over a design's nodes; where the real server crashes, this raises `FilterCrash`. Pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING

from provisioner_client.simulator.errors import FilterCrash

if TYPE_CHECKING:
    from provisioner_client.simulator.designs import DesignNode

_TYPES = ("union", "intersection")
_LIST_CRITERIA = ("node_names", "node_tags", "rack_names")


def select_names(node_filter: object, nodes: Sequence[DesignNode]) -> list[str]:
    """Return the names of the nodes that a filter selects, in the design's order.

    Inside one criterion: OR. Inside one filter: by its `filter_type`. Between filters: by `filter_set_type`.

    Raises
    ------
    FilterCrash
        For every form on which the real server answers 500.
    """
    if node_filter is None:
        return [node.name for node in nodes]
    if not isinstance(node_filter, Mapping):
        raise FilterCrash("node_filter is not an object")
    set_type, filters = node_filter.get("filter_set_type"), node_filter.get("filter_set")
    if set_type not in _TYPES or not isinstance(filters, list):
        raise FilterCrash("node_filter has no filter_set_type or no filter_set")
    if not filters:
        raise FilterCrash("filter_set is empty", task_survives=set_type == "union")
    parts = [_select_one(one, nodes, alone=len(filters) == 1) for one in filters]
    selected = set.union(*parts) if set_type == "union" else set.intersection(*parts)
    return [node.name for node in nodes if node.name in selected]


def named_nodes(node_filter: object) -> list[str] | None:
    """Return the nodes of a plain filter by names, which need no design to be known; None for any other filter."""
    if not isinstance(node_filter, Mapping):
        return None
    filters = node_filter.get("filter_set")
    if not isinstance(filters, list) or len(filters) != 1 or not isinstance(filters[0], Mapping):
        return None
    others = ("node_tags", "node_labels", "rack_names", "rack_labels")
    names = filters[0].get("node_names")
    if any(filters[0].get(criterion) for criterion in others) or not isinstance(names, list):
        return None
    return list(dict.fromkeys(str(name) for name in names))


def _select_one(one: object, nodes: Sequence[DesignNode], *, alone: bool) -> set[str]:
    if not isinstance(one, Mapping) or one.get("filter_type") not in _TYPES:
        raise FilterCrash("a filter has no filter_type")
    criteria = _criteria(one, nodes)
    if not criteria:
        if one["filter_type"] == "intersection" or not alone:
            raise FilterCrash("a filter has no criteria")
        return set()
    return set.union(*criteria) if one["filter_type"] == "union" else set.intersection(*criteria)


def _criteria(one: Mapping[str, object], nodes: Sequence[DesignNode]) -> list[set[str]]:
    """Return the nodes of each criterion that is there; Drydock does not implement `rack_labels`: absent."""
    found: list[set[str]] = []
    for criterion in _LIST_CRITERIA:
        values = one.get(criterion)
        if not values:
            continue
        if not isinstance(values, list):
            raise FilterCrash(f"{criterion} is not a list")
        wanted = {value for value in values if isinstance(value, str)}
        found.append({node.name for node in nodes if not wanted.isdisjoint(_values(node, criterion))})
    labels = one.get("node_labels")
    if labels:
        if not isinstance(labels, Mapping):
            raise FilterCrash("node_labels is not an object")
        pairs = set(labels.items())
        found.append({node.name for node in nodes if not pairs.isdisjoint(node.labels.items())})
    return found


def _values(node: DesignNode, criterion: str) -> Collection[str]:
    if criterion == "node_names":
        return (node.name,)
    if criterion == "node_tags":
        return node.tags
    return () if node.rack is None else (node.rack,)
