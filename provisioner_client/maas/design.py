"""What MAAS lacks for a design: machines, images, layouts. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any, Final

from design_rendering.kinds.slipway_nodes import SlipwayNode
from provisioner_client.designs import DesignMessage
from provisioner_client.maas.machine import Machine
from provisioner_client.site_documents import by_name, node_error
from strategy_lib.did_you_mean import did_you_mean

STORAGE_LAYOUTS: Final = frozenset({"flat", "lvm", "bcache", "blank", "custom", "vmfs6", "vmfs7"})
COMMISSIONED: Final = "commissioned"
"""The one layout of interfaces that MAAS can make by its name: as commissioning found them."""


def lacks(
    nodes: Mapping[str, SlipwayNode],
    machines: Collection[Machine],
    images: Collection[Mapping[str, Any]],
    limits: str,
    default_image: str = "",
) -> Iterator[DesignMessage]:
    """Say what MAAS lacks for the nodes of a design.

    Parameters
    ----------
    machines : those of the site that have one of the design's names.
    images : `boot-resources/`.
    limits : what the site's part of MAAS is, for a message.
    """
    yield from _machine_messages(nodes, machines, limits)
    yield from _node_messages(nodes, _full_names(images), default_image)


def full_image(image: str, images: Collection[Mapping[str, Any]]) -> str:
    """Return the whole name of an image, such as ``custom/golden`` for ``golden``; an unclear one stays as it is.

    Parameters
    ----------
    images : `boot-resources/`.
    """
    meant = _meant(image, _full_names(images))
    return meant[0] if len(meant) == 1 else image


def _machine_messages(
    nodes: Mapping[str, SlipwayNode], machines: Collection[Machine], limits: str
) -> Iterator[DesignMessage]:
    found = by_name(machines)
    for name in nodes:
        same = found.get(name, [])
        if not same:
            yield node_error(name, f"MAAS has no machine {name} in {limits}")
        elif len(same) > 1:
            ids = ", ".join(sorted(machine.system_id for machine in same))
            yield node_error(name, f"MAAS has {len(same)} machines {name} in {limits} ({ids}): one name, one machine")


def _node_messages(
    nodes: Mapping[str, SlipwayNode], images: frozenset[str], default_image: str
) -> Iterator[DesignMessage]:
    for name, node in nodes.items():
        image = node.image or default_image
        meant = _meant(image, images) if image else []
        if image and not meant:
            words = sorted({*images, *(one.rpartition("/")[2] for one in images)})
            hint = did_you_mean(image, words) if images else "it has none at all"
            yield node_error(name, f"MAAS has no image {image!r} for {name}: {hint}")
        elif len(meant) > 1:
            yield node_error(name, f"MAAS has {len(meant)} images {image!r} for {name}: say {' or '.join(meant)}")
        if node.storage_layout and node.storage_layout not in STORAGE_LAYOUTS:
            hint = did_you_mean(node.storage_layout, sorted(STORAGE_LAYOUTS))
            yield node_error(name, f"MAAS has no storage layout {node.storage_layout!r} for {name}: {hint}")
        if node.network_layout and node.network_layout != COMMISSIONED:
            yield node_error(
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
