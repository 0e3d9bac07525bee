"""The machines that a MAAS has from the beginning: those of a site's documents, and plain ones; it reads no designs."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from provisioner_client.simulator.designs import read_design
from provisioner_client.simulator.errors import DesignUnresolvable, SimulatorError

_OWN = b"slipway/Node/v1"
_NOT_IN_TAGS = re.compile(r"[^a-zA-Z0-9_-]")


@dataclass(frozen=True, slots=True)
class SiteMachine:
    """An enlisted machine: its name, its zone (the rack), its tags; `address`: what it gets when it is deployed."""

    hostname: str
    zone: str = "default"
    tags: tuple[str, ...] = ()
    address: str = ""


def read_site(file: Path) -> list[SiteMachine]:
    """Return the machines of a file with nodes of a design, Drydock's or Slipway's own.

    Raises `SimulatorError` if it cannot be read.
    """
    # Imported on first use: the domain brings libraries along that the simulator starts without.
    from design_rendering.kinds.slipway_nodes import read_slipway_nodes
    from design_rendering.reading.documents import load_documents
    from design_rendering.rendering import rendered_documents
    from strategy_lib.errors import StrategyLibError

    try:
        text = file.read_bytes()
        own = read_slipway_nodes(rendered_documents(load_documents(text, str(file)))) if _OWN in text else {}
        machines = [
            _machine(one.name, one.rack, one.tags, one.labels, one.boot_address)
            for one in read_design(text, str(file)).nodes
        ]
    except (OSError, DesignUnresolvable, StrategyLibError) as error:
        raise SimulatorError(f"{file}: {error}") from error
    return machines + [_machine(one.name, one.rack, one.tags, one.labels, one.address) for one in own.values()]


def _machine(
    name: str, rack: str | None, tags: Iterable[str], labels: Mapping[str, str], address: str | None
) -> SiteMachine:
    every = {*(tag_of(tag) for tag in tags), *(label_tag(*pair) for pair in labels.items())}
    return SiteMachine(name, rack or "default", tuple(sorted(every)), (address or "").partition("/")[0])


def plain_machines(count: int) -> list[SiteMachine]:
    """Return so many machines without any tag: m0001, m0002, …"""
    return [SiteMachine(f"m{number:04}") for number in range(1, count + 1)]


def tag_of(name: str) -> str:
    """Return a tag's name with nothing in it that MAAS does not allow."""
    return _NOT_IN_TAGS.sub("-", name)


def label_tag(key: str, value: str) -> str:
    """Return the tag that stands for a label: `key__value`."""
    return f"{tag_of(key)}__{tag_of(value)}"
