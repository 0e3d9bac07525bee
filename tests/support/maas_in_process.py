"""A simulated MAAS in this process, without any network; a second of its clock takes two microseconds. It is held."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from provisioner_client.simulator.http.request import Request
from provisioner_client.simulator.maas.http.auth import DEFAULT_KEY, User, parse_key
from provisioner_client.simulator.maas.simulation import MaasSimulation
from provisioner_client.simulator.settings import Settings
from tests.support.held_maas import HeldMaas

Admin = Callable[..., Any]
"""Asks or tells the simulator's own API: `admin("POST", "scripts", {...})`."""


@contextmanager
def simulated_maas(
    directory: Path, machines: int, users: Sequence[User] = (parse_key(DEFAULT_KEY),)
) -> Iterator[MaasSimulation]:
    """Run one with so many plain machines, which keeps its state in the directory."""
    made = HeldMaas(directory / "maas.db", Settings(speed=500_000, users=tuple(users), machines=machines))
    made.start()
    yield made
    made.stop()


def admin_of(simulation: MaasSimulation) -> Admin:
    """Return what asks a simulator's own API."""

    def ask(method: str, path: str, data: object = None) -> Any:
        body = b"" if data is None else json.dumps(data).encode()
        answer = simulation.admin(Request(method, f"/_sim/{path}", "", {}, body))
        assert answer.status in (200, 201), answer.body
        return json.loads(answer.body)

    return ask
