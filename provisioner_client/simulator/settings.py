"""What a simulator process is started with."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Final

from provisioner_client.simulator.maas.http.auth import User
from provisioner_client.simulator.scripts import Script

FASTEST: Final = 1_000_000.0
"""Simulated seconds per second, at most."""


class RestartMode(StrEnum):
    """What becomes of the running task when the process ends under it."""

    ORPHAN = "orphan"
    RESUME = "resume"
    LOST = "lost"


class Ingester(StrEnum):
    """How a Drydock reads designs. Its own default is `yaml`, which finds nothing in documents of Deckhand's form."""

    DECKHAND = "deckhand"
    YAML = "yaml"


@dataclass(frozen=True, slots=True)
class Settings:
    """See the README's table; `grace` is in simulated seconds, costs in real ones. The last three are MAAS's."""

    speed: float = 1.0
    seed: int = 1
    restart_mode: RestartMode = RestartMode.ORPHAN
    grace: float = 300.0
    fan_out: int = 64
    task_cost: float = 0.0
    node_cost: float = 0.0
    ingester: Ingester = Ingester.DECKHAND
    sites: tuple[Path, ...] = ()
    scripts: tuple[Script, ...] = ()
    tokens: frozenset[str] = field(default_factory=frozenset)
    users: tuple[User, ...] = ()
    machines: int = 0
    pool: str = "default"
    node_key: bytes | None = field(default=None, repr=False)
