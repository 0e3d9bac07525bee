"""One simulator process shared by the tests of a file, reset before each; and fresh ones for tests that kill theirs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.integration.provisioner_client.simulator.drydock_calls import Drydock, write_design
from tests.support.simulators import Simulator

StartSimulator = Callable[..., Simulator]


@pytest.fixture(scope="module")
def shared_simulator(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Simulator]:
    """A quick simulator: a phase of a node takes some hundredths of a second."""
    simulator = Simulator(tmp_path_factory.mktemp("simulator"), speed=20_000)
    yield simulator
    simulator.stop()


@pytest.fixture
def simulator(shared_simulator: Simulator) -> Simulator:
    """The shared simulator as new."""
    shared_simulator.post("reset")
    return shared_simulator


@pytest.fixture
def drydock(simulator: Simulator) -> Iterator[Drydock]:
    """A client of the shared simulator."""
    client = Drydock(simulator)
    yield client
    client.session.close()


@pytest.fixture
def design_ref(tmp_path: Path) -> str:
    """A design with the nodes n1, n2 and n3; its reference may be at most 128 characters long."""
    return write_design(tmp_path)


@pytest.fixture
def start_simulator(tmp_path: Path) -> Iterator[StartSimulator]:
    """Start simulators of one's own on one store; they are stopped at the end."""
    started: list[Simulator] = []

    def start(*options: str, speed: float = 6000) -> Simulator:
        started.append(Simulator(tmp_path, *options, speed=speed))
        return started[-1]

    yield start
    for simulator in started:
        simulator.stop()
