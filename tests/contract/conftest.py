"""What the contract suite runs against: a simulator process of its own, or any Drydock (`make contract URL=http://…`).

Of a Drydock these are read from the environment:

- ``CONTRACT_URL``: where it is. The machines of `site.yaml` are prepared, deployed and destroyed there.
- ``CONTRACT_DESIGNS``: the address, as that Drydock sees it, at which this suite serves its designs, such as
  ``http://10.0.0.5:8099``. Without it they are files (``file://``), for a Drydock on this machine.
- ``CONTRACT_TOKEN``: a Keystone token. ``CONTRACT_SECONDS``: how long a task may take (1800).

Tests that need the simulator's admin API are skipped there, and so is relabelling, which never ends without Keystone.
"""

from __future__ import annotations

import os
import secrets
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from provisioner_client.connection import ConnectionValues
from provisioner_client.drydock.connection import connect_drydock
from provisioner_client.drydock.provisioner import DrydockProvisioner
from provisioner_client.drydock.submission import SubmissionPolicy
from provisioner_client.drydock.tokens import StaticToken
from provisioner_client.factory import ProvisionerFactory
from provisioner_client.protocol import DesignSource, Provisioner, ProvisionerTask, TaskState
from provisioner_client.redacting import Redact, nothing_is_secret
from provisioner_client.retry import RetryPolicy
from strategy_lib.phase import Phase
from tests.support.file_server import FileServer
from tests.support.simulators import SimulatorProcess

SPEED = "8000"
URL = os.environ.get("CONTRACT_URL", "")
DESIGNS = os.environ.get("CONTRACT_DESIGNS", "")
TOKEN = os.environ.get("CONTRACT_TOKEN", "")
SECONDS = float(os.environ.get("CONTRACT_SECONDS") or 1800) if URL else 15.0
_HERE = Path(__file__).parent
_ONLY_SIMULATED = {"simulator", "mortal"}

Connect = Callable[..., Provisioner]
Finish = Callable[..., ProvisionerTask]
Publish = Callable[[str], DesignSource]


def pytest_collection_modifyitems(items: Sequence[pytest.Item]) -> None:
    """Skip what only a simulator can show, where the suite runs against another server."""
    for item in items:
        if URL and item.path.is_relative_to(_HERE) and _ONLY_SIMULATED & set(getattr(item, "fixturenames", ())):
            item.add_marker(pytest.mark.skip(reason="needs the simulator's admin API"))


class ServerInUse(DrydockProvisioner):
    """A client of a server that keeps the tasks of earlier runs: the references of this test are its own."""

    def __init__(self, *given: Any, **options: Any) -> None:
        super().__init__(*given, **options)
        self._own = f"-{secrets.token_hex(4)}"

    def submit(self, phase: Phase, design: DesignSource, nodes: Any, reference: str, **more: Any) -> str:
        """Submit under a reference of this test."""
        return super().submit(phase, design, nodes, reference + self._own, **more)

    def find(self, reference: str) -> ProvisionerTask | None:
        """Look for a reference of this test."""
        return super().find(reference + self._own)


@pytest.fixture(scope="session")
def site_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("s") / "site.yaml"
    file.write_text((_HERE / "site.yaml").read_text())
    return file


@pytest.fixture(scope="session")
def publish(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Publish]:
    """Put a design where the provisioner finds it, at an address that it has never seen, and return the address."""
    if not DESIGNS:
        folder = tmp_path_factory.mktemp("designs")

        def write(text: str) -> DesignSource:
            file = folder / f"{secrets.token_hex(8)}.yaml"
            file.write_text(text)
            return DesignSource(f"file://{file}")

        yield write
        return
    with FileServer(host="0.0.0.0", port=urlsplit(DESIGNS).port or 80) as server:  # noqa: S104 - asked for

        def serve(text: str) -> DesignSource:
            path = f"{urlsplit(DESIGNS).path.rstrip('/')}/{secrets.token_hex(8)}.yaml"
            server.files[path] = text.encode()
            return DesignSource(f"{DESIGNS.rstrip('/')}/{path.rpartition('/')[2]}")

        yield serve


@pytest.fixture(scope="session")
def design(site_file: Path, publish: Publish) -> DesignSource:
    return publish(site_file.read_text()) if URL else DesignSource(f"file://{site_file}")


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
    """Build clients of a second backend, through the factory, as a new one would be."""
    made: list[Provisioner] = []

    def build(url: str, **options: Any) -> Provisioner:
        def impatient(connection: ConnectionValues, redact: Redact, context_marker: str | None) -> Provisioner:
            return DrydockProvisioner(
                connection.url,
                options.pop("tokens", None),
                read_timeout=options.pop("read_timeout", 5.0),
                retry=RetryPolicy(attempts=4, first_wait=0.005, longest_wait=0.05, longest_retry_after=5.0),
                submission=SubmissionPolicy(attempts=4, look_delay=0.01, settle=options.pop("settle", 0.3)),
                context_marker=context_marker,
                redact=redact,
                **options,
            )

        factory = ProvisionerFactory(("drydock", "Drydock", connect_drydock), ("impatient", "Impatient", impatient))
        client = factory.connect(ConnectionValues("impatient", "contract", url), nothing_is_secret)
        made.append(client)
        return client

    yield build
    for one in made:
        one.close()


@pytest.fixture
def provisioner(request: pytest.FixtureRequest) -> Iterator[Provisioner]:
    if not URL:
        yield request.getfixturevalue("connect")(request.getfixturevalue("simulator").url)
        return
    client = ServerInUse(URL, StaticToken(TOKEN) if TOKEN else None)
    yield client
    client.close()


@pytest.fixture
def finish() -> Finish:
    """Wait until a provisioner task is over."""

    def wait(provisioner: Provisioner, task_id: str, until: TaskState = TaskState.COMPLETE) -> ProvisionerTask:
        deadline = time.monotonic() + SECONDS
        while True:
            task = provisioner.task(task_id)
            if task.state is until or task.state is TaskState.COMPLETE:
                return task
            assert time.monotonic() < deadline, f"{task} does not become {until}"
            time.sleep(0.02 if SECONDS < 60 else 1.0)

    return wait


@pytest.fixture
def run(provisioner: Provisioner, design: DesignSource, finish: Finish) -> Callable[..., str]:
    """Submit a task, wait for its end and return its id. Of a server in use, the machines are destroyed before."""

    def submit(phase: Phase, nodes: list[str] | None, reference: str) -> str:
        task_id = provisioner.submit(phase, design, nodes, reference)
        finish(provisioner, task_id)
        return task_id

    if URL:
        submit(Phase.DESTROY, ["c1", "c2", "w1", "w4"], "slipway-z-0")
    return submit
