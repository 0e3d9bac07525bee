"""Which nodes of a design the selectors choose, by the design and by what MAAS knows of its machines. Pure.

What the design states counts. Where it states nothing, MAAS's tags, zones and pools do; tags of both count together.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from design_rendering.kinds.slipway_nodes import SlipwayNode
from provisioner_client.maas.machine import Machine
from strategy_lib.strategy import Label, Selector

SOURCES: Final = ("zone", "pool", "architecture")
RACK_SOURCES: Final = ("zone", "pool", "tag")
_TEMPLATE: Final = re.compile(r"[\w-]*(?:\{key\}[\w-]+\{value\}|\{value\}[\w-]+\{key\})[\w-]*", re.ASCII)
_NO_OVERRIDES: Final[Mapping[str, str]] = {}


@dataclass(frozen=True, slots=True)
class LabelWords:
    """How labels and racks are found in MAAS.

    Parameters
    ----------
    template : a label's tag, with ``{key}`` and ``{value}``.
    overrides : labels that are something else than a tag: one of `SOURCES`, by their keys.
    rack : one of `RACK_SOURCES`.
    """

    template: str = "{key}__{value}"
    overrides: Mapping[str, str] = field(default_factory=lambda: _NO_OVERRIDES)
    rack: str = "zone"

    def tag(self, key: str, value: str) -> str:
        """Return the tag of a label."""
        return self.template.replace("{key}", key).replace("{value}", value)

    def is_other_value(self, tag: str, key: str, value: str) -> bool:
        """Whether a tag gives this label another value."""
        before, _, after = self.tag(key, "\0").partition("\0")
        return (
            tag != self.tag(key, value)
            and len(tag) > len(before) + len(after)
            and tag.startswith(before)
            and tag.endswith(after)
        )

    @classmethod
    def parse(cls, template: str, overrides: str, rack: str) -> LabelWords:
        """Read the fields of a connection. Raises `ValueError`: one of them cannot be used."""
        template, rack = template or "{key}__{value}", rack or "zone"
        if "{key}" not in template or "{value}" not in template:
            raise ValueError("the label template must have {key} and {value}, as in {key}__{value}")
        if _TEMPLATE.fullmatch(template) is None:
            raise ValueError(
                "the label template must have {key} and {value} once each, with something between them, and else only "
                "what tags of MAAS have: letters, digits, - and _"
            )
        if rack not in RACK_SOURCES:
            raise ValueError(f"racks are found by {', '.join(RACK_SOURCES[:-1])} or {RACK_SOURCES[-1]}")
        found = {}
        for part in filter(None, (one.strip() for one in overrides.split(","))):
            key, _, source = (word.strip() for word in part.partition("="))
            if not key or source not in SOURCES:
                raise ValueError(f"a label that is no tag is written label=source, with one of {', '.join(SOURCES)}")
            found[key] = source
        return cls(template, found, rack)


def select(
    nodes: Mapping[str, SlipwayNode],
    machines: Mapping[str, Machine],
    selectors: Sequence[Selector],
    words: LabelWords,
) -> frozenset[str]:
    """Return the nodes that the selectors choose among those that MAAS has (rules 5 and 6)."""
    known = {name: node for name, node in nodes.items() if name in machines}
    if not selectors or any(selector.is_all for selector in selectors):
        return frozenset(known)
    return frozenset(
        name
        for name, node in known.items()
        if any(_matches(selector, node, machines[name], words) for selector in selectors)
    )


def _matches(selector: Selector, node: SlipwayNode, machine: Machine, words: LabelWords) -> bool:
    """OR inside a criterion, AND between them; an empty one is no criterion."""
    return (
        (not selector.node_names or node.name in selector.node_names)
        and (not selector.node_tags or not (node.tags | machine.tags).isdisjoint(selector.node_tags))
        and (not selector.rack_names or _has_rack(selector.rack_names, node, machine, words))
        and (not selector.node_labels or any(_has(label, node, machine, words) for label in selector.node_labels))
    )


def _has_rack(racks: Sequence[str], node: SlipwayNode, machine: Machine, words: LabelWords) -> bool:
    if node.rack is not None:
        return node.rack in racks
    if words.rack == "tag":
        return not machine.tags.isdisjoint(racks)
    return (machine.zone if words.rack == "zone" else machine.pool) in racks


def _has(label: Label, node: SlipwayNode, machine: Machine, words: LabelWords) -> bool:
    stated = node.labels.get(label.key)
    if stated is not None:
        return stated == label.value
    source = words.overrides.get(label.key)
    if source == "zone":
        return machine.zone == label.value
    if source == "pool":
        return machine.pool == label.value
    if source == "architecture":
        return label.value in (machine.architecture, machine.architecture.partition("/")[0])
    return words.tag(label.key, label.value) in machine.tags
