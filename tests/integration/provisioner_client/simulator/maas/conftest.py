"""A simulated MAAS in this process, without any network; a second of its clock takes two microseconds."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from provisioner_client.simulator.maas.http.auth import DEFAULT_KEY, parse_key
from provisioner_client.simulator.maas.simulation import MaasSimulation
from tests.support.maas_calls import MaasCaller, in_process
from tests.support.maas_in_process import Admin, admin_of, simulated_maas

__all__ = ["Admin"]

ALICE, BOB = "a:a:a", "b:b:b"
USERS = (parse_key(DEFAULT_KEY), parse_key(f"alice={ALICE}"), parse_key(f"bob={BOB}", is_admin=False))


@pytest.fixture
def simulation(tmp_path: Path) -> Iterator[MaasSimulation]:
    """A MAAS with three plain machines, and three users: slipway and alice are administrators, bob is none."""
    with simulated_maas(tmp_path, machines=3, users=USERS) as made:
        yield made


@pytest.fixture
def maas(simulation: MaasSimulation) -> MaasCaller:
    """A client of it, as the user slipway."""
    return MaasCaller(in_process(simulation))


@pytest.fixture
def admin(simulation: MaasSimulation) -> Admin:
    return admin_of(simulation)


@pytest.fixture
def script(admin: Admin) -> Admin:
    """Say what shall become of a machine."""

    def add(node: str, phase: str, behaviour: str, **more: Any) -> Any:
        return admin("POST", "scripts", {"node": node, "phase": phase, "behaviour": behaviour, **more})

    return add
