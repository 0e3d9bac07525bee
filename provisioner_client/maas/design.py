"""What a design says of a site's machines, and what MAAS lacks for it. Pure."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from design_rendering.kinds.slipway_nodes import SlipwayNode, read_slipway_nodes
from design_rendering.reading.documents import load_documents
from provisioner_client.designs import DesignMessage, DesignSource, DesignValidation
from provisioner_client.errors import DesignUnreadable
from provisioner_client.maas.machine import Machine
from strategy_lib.did_you_mean import did_you_mean
from strategy_lib.errors import Problem, StrategyLibError

NODE: Final = "slipway/Node/v1"
STORAGE_LAYOUTS: Final = frozenset({"flat", "lvm", "bcache", "blank", "custom", "vmfs6", "vmfs7"})
COMMISSIONED: Final = "commissioned"
"""The one layout of interfaces that MAAS can make by its name: as commissioning found them."""
_ERROR: Final = "Error"
_MOST: Final = 200


@dataclass(frozen=True, slots=True)
class Design:
    """The nodes of a design, or what is wrong with its documents. `digest` is that of their text."""

    digest: str
    nodes: Mapping[str, SlipwayNode] = field(default_factory=dict, repr=False)
    problems: tuple[str, ...] = ()


def read_design(source: DesignSource) -> Design:
    """Read a design's documents. Raises `DesignUnreadable`: their text cannot be had."""
    try:
        text = source.read()
    except LookupError as error:
        raise DesignUnreadable("its documents are needed, and cannot be read") from error
    digest = hashlib.sha256(text.encode()).hexdigest()[:16]
    try:
        return Design(digest, read_slipway_nodes(load_documents(text, "the design")))
    except StrategyLibError as error:
        problems: Sequence[Problem] = getattr(error, "problems", ())
        # The lines are those of the rendered text, which nobody has written.
        said = [f"{one.document}: {one.path}: {one.message}" if one.document else str(one) for one in problems]
        return Design(digest, problems=tuple(said or [str(error)]))


class DesignReader:
    """Reads each design once, by its address."""

    def __init__(self) -> None:
        self._read: dict[str, Design] = {}

    def read(self, source: DesignSource) -> Design:
        """Return a design. Raises `DesignUnreadable`: its documents cannot be had."""
        if source.address not in self._read:
            self._read[source.address] = read_design(source)
        return self._read[source.address]


def validation_of(
    design: Design,
    machines: Collection[Machine],
    images: Collection[Mapping[str, Any]],
    limits: str,
    default_image: str = "",
) -> DesignValidation:
    """Say what is wrong with a design, and what MAAS lacks for it.

    Parameters
    ----------
    machines : those of the site that have one of the design's names.
    images : `boot-resources/`.
    limits : what the site's part of MAAS is, for a message.
    """
    if design.problems:
        messages = [DesignMessage(_ERROR, text, ()) for text in design.problems]
    elif not design.nodes:
        messages = [DesignMessage(_ERROR, f"the design has no {NODE}", ())]
    else:
        known = _full_names(images)
        messages = [
            *_machine_messages(design.nodes, machines, limits),
            *_node_messages(design.nodes, known, default_image),
        ]
    messages.sort(key=lambda message: message.level != _ERROR)
    valid = not any(message.level == _ERROR for message in messages)
    return DesignValidation(valid, tuple(messages[:_MOST]), max(0, len(messages) - _MOST))


def full_image(image: str, images: Collection[Mapping[str, Any]]) -> str:
    """Return the whole name of an image, such as ``custom/golden`` for ``golden``; an unclear one stays as it is.

    Parameters
    ----------
    images : `boot-resources/`.
    """
    meant = _meant(image, _full_names(images))
    return meant[0] if len(meant) == 1 else image


def by_name(machines: Collection[Machine]) -> dict[str, list[Machine]]:
    """Return machines by their names; two domains may have one of the same name."""
    found: dict[str, list[Machine]] = {}
    for machine in machines:
        found.setdefault(machine.name, []).append(machine)
    return found


def _machine_messages(
    nodes: Mapping[str, SlipwayNode], machines: Collection[Machine], limits: str
) -> Iterator[DesignMessage]:
    found = by_name(machines)
    for name in nodes:
        same = found.get(name, [])
        if not same:
            yield _of(name, f"MAAS has no machine {name} in {limits}")
        elif len(same) > 1:
            ids = ", ".join(sorted(machine.system_id for machine in same))
            yield _of(name, f"MAAS has {len(same)} machines {name} in {limits} ({ids}): one name, one machine")


def _node_messages(
    nodes: Mapping[str, SlipwayNode], images: frozenset[str], default_image: str
) -> Iterator[DesignMessage]:
    for name, node in nodes.items():
        image = node.image or default_image
        meant = _meant(image, images) if image else []
        if image and not meant:
            words = sorted({*images, *(one.rpartition("/")[2] for one in images)})
            hint = did_you_mean(image, words) if images else "it has none at all"
            yield _of(name, f"MAAS has no image {image!r} for {name}: {hint}")
        elif len(meant) > 1:
            yield _of(name, f"MAAS has {len(meant)} images {image!r} for {name}: say {' or '.join(meant)}")
        if node.storage_layout and node.storage_layout not in STORAGE_LAYOUTS:
            hint = did_you_mean(node.storage_layout, sorted(STORAGE_LAYOUTS))
            yield _of(name, f"MAAS has no storage layout {node.storage_layout!r} for {name}: {hint}")
        if node.network_layout and node.network_layout != COMMISSIONED:
            yield _of(
                name,
                f"MAAS keeps no network layout {node.network_layout!r} for {name}: leave it out, so that the machine "
                f"keeps its interfaces, or say {COMMISSIONED!r}, as commissioning found them",
            )


def _full_names(images: Collection[Mapping[str, Any]]) -> frozenset[str]:
    """Return the names of images with what stands before the slash: of an own one MAAS lists what is behind alone."""
    names = [str(image.get("name") or "") for image in images]
    return frozenset(name if "/" in name else f"custom/{name}" for name in names if name)


def _meant(image: str, full: Collection[str]) -> list[str]:
    return [image] if image in full else sorted(name for name in full if name.rpartition("/")[2] == image)


def _of(name: str, text: str) -> DesignMessage:
    return DesignMessage(_ERROR, text, (f"{NODE}/{name}",))
