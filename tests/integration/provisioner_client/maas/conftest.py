"""A simulated MAAS in this process, with three machines; a second of its clock takes two microseconds."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from provisioner_client.designs import DesignSource
from provisioner_client.maas.provisioner import MaasProvisioner
from provisioner_client.protocol import ProvisionerTask, TaskRef, TaskState
from provisioner_client.simulator.maas.http.auth import DEFAULT_KEY, parse_key
from provisioner_client.simulator.maas.simulation import MaasSimulation
from strategy_lib.outcome import judge
from strategy_lib.phase import Phase
from tests.support.maas_clients import client, design, wire
from tests.support.maas_in_process import Admin, admin_of, simulated_maas

__all__ = ["Admin", "wire"]

NAMES = ["m0001", "m0002", "m0003"]
BOB, CLERK = "b:b:b", "c:c:c"
USERS = (parse_key(DEFAULT_KEY), parse_key(f"bob={BOB}"), parse_key(f"clerk={CLERK}", is_admin=False))

Finish = Callable[..., ProvisionerTask]
Outcome = Callable[..., tuple[Any, Any]]


@pytest.fixture
def simulation(tmp_path: Path) -> Iterator[MaasSimulation]:
    with simulated_maas(tmp_path, machines=3, users=USERS) as made:
        yield made


@pytest.fixture
def admin(simulation: MaasSimulation) -> Admin:
    return admin_of(simulation)


@pytest.fixture
def three() -> DesignSource:
    """A design of the three machines, of which one gets user data."""
    return design({"m0001": "{user_data: secret, tags: [ctl]}", "m0002": "{}", "m0003": "{}"}, "#cloud-config")


@pytest.fixture
def finish(three: DesignSource) -> Finish:
    """Ask after a task until it is over."""

    def wait(client: MaasProvisioner, reference: str, phase: Phase, source: DesignSource | None = None) -> Any:
        until = time.monotonic() + 300
        while True:
            task = client.task(TaskRef(reference, phase=phase, reference=reference, design=source or three))
            if task.state is TaskState.COMPLETE:
                return task
            assert time.monotonic() < until, task

    return wait


@pytest.fixture
def run(three: DesignSource, finish: Finish) -> Outcome:
    """Carry out a task with a client of its own, and judge what became of its nodes."""

    def carry(
        phase: Phase,
        reference: str,
        names: list[str] | None = None,
        source: DesignSource | None = None,
        **options: Any,
    ) -> tuple[Any, Any]:
        worker = client(**options)
        worker.submit(phase, source or three, names or NAMES, reference)
        task = finish(worker, reference, phase, source)
        evidence = worker.evidence(TaskRef(reference, phase=phase, reference=reference), names or NAMES)
        assert evidence.listed
        assert evidence.over
        return judge(phase, names or NAMES, evidence), task

    return carry


def acts(admin: Admin, name: str) -> tuple[int, int, int]:
    (node,) = [one for one in admin("GET", "nodes") if one["name"] == name]
    return node["prepares"], node["deploys"], node["destroys"]
