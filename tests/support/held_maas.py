"""Simulated MAASes whose every answer, and every change of a status, is held against what is known of a real one.

What deviates is written to a file of this test process, which `tests/conftest.py` looks at after each test; the
simulation itself goes on as it would, so that no test hangs for it. A process holds itself if it is started with
`deviations.holding_variables()`.
"""

from __future__ import annotations

import threading
from pathlib import Path

from provisioner_client.simulator import cli
from provisioner_client.simulator.http.answer import Answer
from provisioner_client.simulator.http.request import Request
from provisioner_client.simulator.maas.machines.machine import Machine
from provisioner_client.simulator.maas.machines.park import MachinePark
from provisioner_client.simulator.maas.simulation import MaasSimulation
from provisioner_client.simulator.machines import MachineStatus
from provisioner_client.simulator.settings import Settings
from tests.support.deviations import note
from tests.support.maas_reference import IS_HERE, Deviation, check_change, check_exchange

_asked = threading.local()


class HeldPark(MachinePark):
    """A park whose changes of status are those of MAAS's table; those of a test, through the admin API, may be any."""

    def become(self, machine: Machine, status: MachineStatus, at: float | None = None) -> None:
        """Change a status."""
        try:
            check_change(machine.hostname, machine.status, status)
        except Deviation as deviation:
            note(f"{getattr(_asked, 'said', 'by itself')}: {deviation}")
        super().become(machine, status, at)


class HeldMaas(MaasSimulation):
    """A simulated MAAS that is held against the reference, where it is here."""

    def __init__(self, state: Path, settings: Settings) -> None:
        super().__init__(state, settings)
        if IS_HERE:
            self._park.__class__ = HeldPark

    def handle(self, request: Request) -> Answer:
        """Answer a request."""
        _asked.said = f"during {request.method} {request.path}"
        try:
            answer = super().handle(request)
        except Exception as error:
            if not self.is_stopped:
                note(f"{request.method} {request.path}: the simulator crashed with {error!r}")
            raise
        if IS_HERE:
            try:
                check_exchange(request, answer)
            except Deviation as deviation:
                note(str(deviation))
        return answer


def hold_this_process() -> None:
    """Have the command `simulator` serve MAASes that are held: called as the process begins, by `sitecustomize`."""
    vars(cli)["MaasSimulation"] = HeldMaas
