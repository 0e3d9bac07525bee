"""What Ironic's nodes are to a design: by what selectors choose them, and what of them becomes a document. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from design_rendering.kinds.imported_site import ImportedMachine
from design_rendering.kinds.slipway_nodes import SlipwayNode
from provisioner_client.ironic.described import described
from provisioner_client.ironic.node import LABELS, PLACES, Node
from provisioner_client.site_documents import LONGEST_NAME, Inventory, KnownMachine, unfit_name
from strategy_lib.node_condition import IRONIC_WORDS, NodeCondition

_WITH_KEYS: Final = ("extra", "properties", "capabilities")
_NO_OVERRIDES: Final[Mapping[str, str]] = {}
_PLAIN: Final = (NodeCondition.NEW, NodeCondition.READY, NodeCondition.DEPLOYED)


@dataclass(frozen=True, slots=True)
class LabelWords:
    """Which words of a node are labels, and which is its rack: one of `PLACES`, or ``extra.hall`` and the like.

    What a design gave a node counts first: that stands under `LABELS` in its `extra`.
    """

    overrides: Mapping[str, str] = field(default_factory=lambda: _NO_OVERRIDES)
    rack: str = "extra.rack"

    @classmethod
    def parse(cls, overrides: str, rack: str) -> LabelWords:
        """Read the fields of a connection. Raises `ValueError`: one of them cannot be used."""
        found = {}
        for part in filter(None, (one.strip() for one in overrides.split(","))):
            key, _, source = (word.strip() for word in part.partition("="))
            if not key or not _is_source(source):
                raise ValueError(f"a label is found by label=source, with {_SOURCES}")
            found[key] = source
        if not _is_source(rack):
            raise ValueError(f"racks are found by {_SOURCES}")
        return cls(found, rack)


_SOURCES: Final = f"{', '.join(PLACES)}, or a key as in {', '.join(f'{one}.KEY' for one in _WITH_KEYS)}"


def _is_source(text: str) -> bool:
    kind, _, key = text.partition(".")
    return text in PLACES or (kind in _WITH_KEYS and bool(key))


def _word(node: Node, source: str) -> str:
    """Return what a source says of a node; "": nothing."""
    kind, _, key = source.partition(".")
    if not key:
        return node.places.get(source, "")
    if kind == "capabilities":
        # As Ironic has them: "boot_mode:uefi,profile:compute".
        pairs = (part.partition(":") for part in str(node.properties.get("capabilities") or "").split(","))
        return next((value.strip() for name, _, value in pairs if name.strip() == key), "")
    value = (node.extra if kind == "extra" else node.properties).get(key)
    return "" if value is None or isinstance(value, dict | list) else str(value)


def labels_data(node: SlipwayNode) -> dict[str, Any]:
    """Return what stands under `LABELS` of a node that has been given its labels (rule 25)."""
    said = {"tags": sorted(node.tags), "labels": dict(node.labels), "rack": node.rack}
    return {key: value for key, value in said.items() if value}


def _given(node: Node) -> tuple[frozenset[str], dict[str, str], str]:
    """Return the tags, labels and rack that a design gave a node; what a stranger wrote there counts for nothing."""
    data = node.extra.get(LABELS)
    said = data if isinstance(data, dict) else {}
    tags, labels, rack = said.get("tags"), said.get("labels"), said.get("rack")
    return (
        frozenset(map(str, tags)) if isinstance(tags, list) else frozenset(),
        {str(key): str(value) for key, value in labels.items()} if isinstance(labels, dict) else {},
        rack if isinstance(rack, str) else "",
    )


def known_machine(node: Node, words: LabelWords) -> KnownMachine:
    """Return what selectors choose a node by; its traits are tags."""
    tags, labels, rack = _given(node)
    words_of = {key: _word(node, source) for key, source in words.overrides.items()} | labels
    racks = frozenset({rack or _word(node, words.rack)})
    return KnownMachine(tags | node.traits, racks, lambda label: words_of.get(label.key) == label.value)


def inventory(nodes: Collection[Node], words: LabelWords, ports: Mapping[str, Collection[str]]) -> Inventory:
    """Return nodes as documents can say them.

    Where the nodes are of several resource classes, their class is a label. Left out are nodes whose name is no host
    name, those that somebody else has, and retired ones.

    Parameters
    ----------
    nodes : with their `instance_info`, `driver` and `driver_info`.
    ports : MAC addresses by the UUID of the node.
    """
    counts = Counter(node.name for node in nodes)
    words = _with_class(nodes, words)
    found: list[ImportedMachine] = []
    left_out: dict[str, str] = {}
    users: Counter[str] = Counter()
    for node in sorted(nodes, key=lambda one: (one.name, one.uuid)):
        why = unfit_name(node.name, counts[node.name]) or ("it is retired" if node.retired else "")
        if not why and node.stranger:
            why = f"{node.stranger} has it: write its instance_uuid into extra.slipway_adopt to take it over"
        if why:
            left_out.setdefault(node.name or node.uuid, why)
            continue
        tags, labels, rack = _given(node)
        rack = rack or _word(node, words.rack)
        labels = {key: word for key, source in words.overrides.items() if (word := _word(node, source))} | labels
        its = sorted(tags | node.traits)
        too_long = [name for name in (*its, rack) if len(name) > LONGEST_NAME]
        said = described(node, ports.get(node.uuid, ()))
        users += Counter(filter(None, [said.bmc_user]))
        notes = [] if IRONIC_WORDS.get(node.state) in _PLAIN else [f"Ironic says: {node.shown}"]
        notes += [f"left out, as longer than {LONGEST_NAME} characters: {name}" for name in too_long]
        found.append(
            ImportedMachine(
                node.name,
                "" if rack in too_long else rack,
                frozenset(its).difference(too_long),
                labels,
                said.image,
                "; ".join([*notes, *said.notes]),
                said.of_image,
                said.shared,
                said.own,
            )
        )
    return Inventory(tuple(found), left_out, tuple(_passwords(users)))


def _with_class(nodes: Collection[Node], words: LabelWords) -> LabelWords:
    """Return the words with the resource class as a label, where it differs and the connection uses it for nothing."""
    word = "resource_class"
    differs = len({node.places.get(word, "") for node in nodes}) > 1
    if not differs or word in (*words.overrides, *words.overrides.values(), words.rack):
        return words
    return LabelWords({**words.overrides, word: word}, words.rack)


def _passwords(users: Mapping[str, int]) -> Iterator[str]:
    """Say what only the person who edits can add: Ironic tells nobody the passwords of BMCs."""
    if users:
        named = ", ".join(f"{user} ({count})" for user, count in sorted(users.items()))
        yield (
            f"Users of the BMCs, and of how many: {named}. Ironic keeps their passwords. To have a lost machine "
            "enrolled anew, say enroll: true here, write each user into a slipway/BmcAccount/v1, and name that in "
            "bmc_account."
        )
