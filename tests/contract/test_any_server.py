"""The contract suite runs against any Drydock, and any MAAS, that its URL is given."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from tests.contract.ironic import ContractIronic
from tests.contract.servers import ContractDrydock, ContractMaas, listening_address

CHOSEN = "test_nodes_are_prepared_and_then_deployed or test_a_bad_design or test_one_task or relabelled"


@pytest.mark.parametrize(
    ("designs", "listen", "address"),
    [
        ("http://127.0.0.1:8099", "", ("127.0.0.1", 8099)),
        ("http://10.0.0.5:8099/d", "", ("10.0.0.5", 8099)),
        ("http://designs.example", "10.0.0.9", ("10.0.0.9", 80)),
    ],
    ids=["this machine alone", "one address of it", "what was asked for"],
)
def test_designs_are_served_at_no_other_address_than_they_are_named_by(
    designs: str, listen: str, address: tuple[str, int]
) -> None:
    assert listening_address(designs, listen) == address


@pytest.mark.endurance
def test_the_suite_runs_against_a_url(simulator: ContractDrydock) -> None:
    """Twice: nothing is reset in between, and a server remembers designs and tasks."""
    is_drydock = not isinstance(simulator, ContractMaas | ContractIronic)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    named = {"CONTRACT_URL": simulator.address, "CONTRACT_DESIGNS": f"http://127.0.0.1:{port}"}
    named |= simulator.in_use()
    command = [sys.executable, "-m", "pytest", "-q", "--timeout=300", "-k", CHOSEN, "-rs", str(Path(__file__).parent)]
    for _ in range(2):
        ended = subprocess.run(command, env=os.environ | named, capture_output=True, text=True, timeout=600)
        assert ended.returncode == 0, ended.stdout
        assert f"{2 if is_drydock else 3} passed" in ended.stdout
        assert "needs the simulator's admin API" in ended.stdout
        assert ("a Drydock without Keystone never ends it" in ended.stdout) is is_drydock
