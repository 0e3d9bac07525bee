"""A simulated MAAS in this process, without any network; a second of its clock takes two microseconds."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from provisioner_client.simulator.http.request import Request
from provisioner_client.simulator.maas.auth import DEFAULT_KEY, parse_key
from provisioner_client.simulator.maas.simulation import MaasSimulation
from provisioner_client.simulator.settings import Settings
from tests.support.maas_calls import MaasCaller, in_process

ALICE, BOB = "a:a:a", "b:b:b"
USERS = (parse_key(DEFAULT_KEY), parse_key(f"alice={ALICE}"), parse_key(f"bob={BOB}", is_admin=False))

Admin = Callable[..., Any]


@pytest.fixture
def simulation(tmp_path: Path) -> Iterator[MaasSimulation]:
    """A MAAS with three plain machines, and three users: slipway and alice are administrators, bob is none."""
    made = MaasSimulation(tmp_path / "maas.db", Settings(speed=500_000, users=USERS, machines=3))
    made.start()
    yield made
    made.stop()


@pytest.fixture
def maas(simulation: MaasSimulation) -> MaasCaller:
    """A client of it, as the user slipway."""
    return MaasCaller(in_process(simulation))


@pytest.fixture
def admin(simulation: MaasSimulation) -> Admin:
    """Ask or tell the simulator's own API: `admin("POST", "scripts", {...})`."""

    def ask(method: str, path: str, data: object = None) -> Any:
        body = b"" if data is None else json.dumps(data).encode()
        answer = simulation.admin(Request(method, f"/_sim/{path}", "", {}, body))
        assert answer.status in (200, 201), answer.body
        return json.loads(answer.body)

    return ask


@pytest.fixture
def script(admin: Admin) -> Admin:
    """Say what shall become of a machine."""

    def add(node: str, phase: str, behaviour: str, **more: Any) -> Any:
        return admin("POST", "scripts", {"node": node, "phase": phase, "behaviour": behaviour, **more})

    return add
