"""What the contract suite runs against: a simulator process, and a client of it whose waits are short.

To run the suite against something else, give `connect` another client and `simulator` another way to make trouble.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from provisioner_client.drydock import DrydockProvisioner
from provisioner_client.protocol import Provisioner, ProvisionerTask, TaskAction, TaskState
from provisioner_client.retry import RetryPolicy
from provisioner_client.submission import SubmissionPolicy
from tests.support.simulators import SimulatorProcess

SPEED = "8000"

Connect = Callable[..., Provisioner]
Finish = Callable[..., ProvisionerTask]


@pytest.fixture(scope="session")
def site_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("s") / "site.yaml"
    file.write_text(Path(__file__).with_name("site.yaml").read_text())
    return file


@pytest.fixture(scope="session")
def design_ref(site_file: Path) -> str:
    return f"file://{site_file}"


@pytest.fixture(scope="session")
def _process(site_file: Path) -> Iterator[SimulatorProcess]:
    process = SimulatorProcess("--site", str(site_file), "--speed", SPEED)
    process.start()
    yield process
    process.stop()


@pytest.fixture
def simulator(_process: SimulatorProcess) -> Iterator[SimulatorProcess]:
    """A simulator in which nothing has happened; at the end, no node must have been submitted twice at once."""
    _process.post("reset")
    yield _process
    _no_double_submissions(_process)


@pytest.fixture
def mortal(site_file: Path, tmp_path: Path) -> Iterator[SimulatorProcess]:
    """A simulator of one test, to be killed and started again; the test starts it."""
    process = SimulatorProcess("--site", str(site_file), "--speed", SPEED, "--state", str(tmp_path / "state.db"))
    yield process
    if process.url:
        _no_double_submissions(process)
    process.stop()


def _no_double_submissions(process: SimulatorProcess) -> None:
    doubles = process.get("double-submissions")
    assert doubles["overlapping"] == []
    assert doubles["same_reference"] == []


@pytest.fixture
def connect() -> Iterator[Connect]:
    """Build clients."""
    made: list[Provisioner] = []

    def build(url: str, **options: Any) -> Provisioner:
        client = DrydockProvisioner(
            url,
            options.pop("tokens", None),
            read_timeout=options.pop("read_timeout", 5.0),
            retry=RetryPolicy(attempts=4, first_wait=0.005, longest_wait=0.05, longest_retry_after=5.0),
            submission=SubmissionPolicy(attempts=4, look_delay=0.01, settle=options.pop("settle", 0.3)),
            **options,
        )
        made.append(client)
        return client

    yield build
    for one in made:
        one.close()


@pytest.fixture
def provisioner(simulator: SimulatorProcess, connect: Connect) -> Provisioner:
    return connect(simulator.url)


@pytest.fixture
def finish() -> Finish:
    """Wait until a provisioner task is over."""

    def wait(provisioner: Provisioner, task_id: str, until: TaskState = TaskState.COMPLETE) -> ProvisionerTask:
        deadline = time.monotonic() + 15
        while True:
            task = provisioner.task(task_id)
            if task.state is until or task.state is TaskState.COMPLETE:
                return task
            assert time.monotonic() < deadline, f"{task} does not become {until}"
            time.sleep(0.02)

    return wait


@pytest.fixture
def run(provisioner: Provisioner, design_ref: str, finish: Finish) -> Callable[..., str]:
    """Submit a task, wait for its end and return its id."""

    def submit(action: TaskAction, nodes: list[str] | None, reference: str) -> str:
        task_id = provisioner.submit(action, design_ref, nodes, reference)
        finish(provisioner, task_id)
        return task_id

    return submit
