"""A baremetal node as selectors see it, and the one state it has in a deployment (rule 10)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType

_NO_LABELS: Mapping[str, str] = MappingProxyType({})


class NodeState(StrEnum):
    """State of a node in one deployment, shared by all its groups (rule 10)."""

    NOT_STARTED = "not_started"
    PREPARING = "preparing"
    PREPARED = "prepared"
    DEPLOYING = "deploying"
    SUCCESS = "success"
    FAILURE = "failure"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Node:
    """A node of the site.

    Attributes
    ----------
    name
        Unique in the site.
    tags
        Tags of the node.
    labels
        Labels (Airship calls them owner data): key to value.
    rack
        Name of the rack, None where the design gives none.
    """

    name: str
    tags: frozenset[str] = frozenset()
    labels: Mapping[str, str] = field(default_factory=lambda: _NO_LABELS, hash=False)
    rack: str | None = None
