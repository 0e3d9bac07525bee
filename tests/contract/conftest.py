"""What the contract suite runs against: a Drydock and a MAAS, simulated, each a process of its own; or any of either.

`make contract URL=http://…` is for the latter; `in_use.py` has what is read from the environment. What is true of
Drydock alone carries the mark `drydock_alone`, with the reason; all else is tried on both.

Tests that need the simulator's admin API are skipped there, and so is relabelling on Drydock, which never ends without
Keystone.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from provisioner_client.connection import ConnectionValues
from provisioner_client.designs import DesignSource
from provisioner_client.drydock.connection import connect_drydock
from provisioner_client.drydock.provisioner import DrydockProvisioner
from provisioner_client.drydock.submission import SubmissionPolicy
from provisioner_client.factory import ProvisionerFactory
from provisioner_client.http_settings import HttpSettings, RetryPolicy, Timeouts
from provisioner_client.ironic.connection import ironic_api
from provisioner_client.ironic.provisioner import IronicProvisioner
from provisioner_client.ironic.tasks.work import TaskSettings as IronicTaskSettings
from provisioner_client.maas.api_key import ApiKey
from provisioner_client.maas.provisioner import MaasProvisioner
from provisioner_client.maas.tasks.driver import TaskSettings
from provisioner_client.protocol import Provisioner, ProvisionerTask, TaskRef, TaskState
from provisioner_client.redacting import Observer, Redact, nothing_is_secret
from strategy_lib.phase import Phase
from tests.contract.in_use import BACKEND, DESIGNS, IMAGE, LISTEN, SECONDS, URL, client_in_use
from tests.contract.ironic import SITE, ContractIronic
from tests.contract.servers import ContractDrydock, ContractMaas, listening_address
from tests.support.file_server import FileServer

SPEED = "8000"
_HERE = Path(__file__).parent
_OURS = "tests/contract/"
_ONLY_SIMULATED = {"simulator", "mortal"}
_LONGER = {"test_observe.py", "test_once.py", "test_tasks.py"}
_SITES = {"drydock": "site.yaml", "maas": "site_maas.yaml", "ironic": "site_maas.yaml"}
_OF_IRONIC = f"image: https://images.invalid/jammy.qcow2, checksum: 'sha256:{'0' * 64}'"
_IMPATIENT = RetryPolicy(attempts=4, first_wait=0.005, longest_wait=0.05, longest_retry_after=5.0)

Connect = Callable[..., Provisioner]
Finish = Callable[..., ProvisionerTask]
Publish = Callable[[str], DesignSource]


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what is true of Drydock alone for MAAS, and skip what only a simulator can show elsewhere.

    Lost answers, tasks in all their turns and changes of the list are tried at Drydock each time, at MAAS by `make
    endurance`; all of them at a real Ironic by `make endurance`.
    """
    ours = [item for item in items if item.nodeid.startswith(_OURS)]
    away = {
        item for item in ours if _backend_of(item) in ("maas", "ironic") and item.get_closest_marker("drydock_alone")
    }
    if away:
        config.hook.pytest_deselected(items=list(away))
        items[:] = [item for item in items if item not in away]
    for item in ours:
        if not URL and _backend_of(item) == "maas" and item.path.name in _LONGER:
            item.add_marker(pytest.mark.endurance)
        if not URL and _backend_of(item) == "ironic":
            # A real one: seconds until it is there, and again where a test kills it.
            item.add_marker(pytest.mark.endurance)
    for item in ours:
        if URL and _ONLY_SIMULATED & set(getattr(item, "fixturenames", ())):
            item.add_marker(pytest.mark.skip(reason="needs the simulator's admin API"))


def _backend_of(item: pytest.Item) -> object:
    called = getattr(item, "callspec", None)
    return None if called is None else called.params.get("backend")


@pytest.fixture(scope="session", params=[BACKEND] if URL else list(_SITES))
def backend(request: pytest.FixtureRequest) -> str:
    """Which provisioner a test is for: each of them, or the one in use."""
    return str(request.param)


@pytest.fixture(scope="session")
def site_file(tmp_path_factory: pytest.TempPathFactory, backend: str) -> Path:
    """The design, in documents that this provisioner takes."""
    file = tmp_path_factory.mktemp("s") / "site.yaml"
    text = (_HERE / _SITES[backend]).read_text()
    image = _OF_IRONIC if backend == "ironic" else f"image: {IMAGE}"
    if backend != "drydock":
        text = text.replace("provisioner: maas", f"provisioner: {backend}").replace("image: jammy", image)
    file.write_text(text)
    return file


@pytest.fixture(scope="session")
def publish(tmp_path_factory: pytest.TempPathFactory, backend: str) -> Iterator[Publish]:
    """Put a design where the provisioner finds it, at an address that it has never seen, and return the address."""
    if backend != "drydock":
        yield lambda text: DesignSource(f"nowhere:{secrets.token_hex(8)}", lambda: text)
        return
    if not DESIGNS:
        folder = tmp_path_factory.mktemp("designs")

        def write(text: str) -> DesignSource:
            file = folder / f"{secrets.token_hex(8)}.yaml"
            file.write_text(text)
            return DesignSource(f"file://{file}")

        yield write
        return
    with FileServer(*listening_address(DESIGNS, LISTEN)) as server:

        def serve(text: str) -> DesignSource:
            path = f"{urlsplit(DESIGNS).path.rstrip('/')}/{secrets.token_hex(8)}.yaml"
            server.files[path] = text.encode()
            return DesignSource(f"{DESIGNS.rstrip('/')}/{path.rpartition('/')[2]}")

        yield serve


@pytest.fixture(scope="session")
def design(site_file: Path, publish: Publish, backend: str) -> DesignSource:
    if URL or backend != "drydock":
        return publish(site_file.read_text())
    return DesignSource(f"file://{site_file}")


def _server(backend: str, *more: str) -> ContractDrydock:
    # The machines of a simulated MAAS are those of Drydock's documents: the same names, zones and tags.
    if backend == "ironic":
        return ContractIronic()
    options = ("--site", str(_HERE / "site.yaml"), "--speed", SPEED, *more)
    return ContractMaas(*options) if backend == "maas" else ContractDrydock(*options)


@pytest.fixture(scope="session")
def _process(backend: str) -> Iterator[ContractDrydock]:
    process = _server(backend)
    process.start()
    yield process
    process.stop()


@pytest.fixture
def simulator(_process: ContractDrydock) -> Iterator[ContractDrydock]:
    """A simulator in which nothing has happened; at the end, no node must have been submitted twice at once."""
    _process.post("reset")
    yield _process
    _no_double_submissions(_process)


@pytest.fixture
def mortal(backend: str, tmp_path: Path) -> Iterator[ContractDrydock]:
    """A simulator of one test, to be killed and started again; the test starts it."""
    process = _server(backend, "--state", str(tmp_path / "state.db"))
    yield process
    if process.url:
        _no_double_submissions(process)
    process.stop()


def _no_double_submissions(process: ContractDrydock) -> None:
    doubles = process.get("double-submissions")
    assert doubles["overlapping"] == []
    assert doubles["same_reference"] == []


def _timeouts(read: float) -> Timeouts:
    return Timeouts(read=read)


@pytest.fixture
def connect(request: pytest.FixtureRequest, backend: str) -> Iterator[Connect]:
    """Build clients of a second backend, through the factory, as a new one would be."""
    made: list[Provisioner] = []

    def maas(
        connection: ConnectionValues,
        redact: Redact,
        read_timeout: float = 5.0,
        settle: float = 0.3,
        tag: str = "",
        wall_clock: Callable[[], float] = time.time,
    ) -> Provisioner:
        return MaasProvisioner(
            connection.url,
            ApiKey.parse(ContractMaas.key),
            pool="default",
            tag=tag,
            wall_clock=wall_clock,
            settings=TaskSettings(settle=settle, first_look=0.01),
            http=HttpSettings(_timeouts(read_timeout), _IMPATIENT, redact=redact, shown=connection.shown),
        )

    def ironic(
        connection: ConnectionValues,
        redact: Redact,
        read_timeout: float = 5.0,
        settle: float = 0.3,
        wall_clock: Callable[[], float] = time.time,
    ) -> Provisioner:
        api = ironic_api(connection, redact)
        api.http.retry, api.http.timeouts = _IMPATIENT, _timeouts(read_timeout)
        return IronicProvisioner(api, IronicTaskSettings(settle=settle, first_look=0.01))

    def build(url: str, observer: Observer | None = None, **options: Any) -> Provisioner:
        def impatient(connection: ConnectionValues, redact: Redact, context_marker: str | None) -> Provisioner:
            if backend == "ironic":
                return ironic(connection, redact, **options)
            if backend == "maas":
                return maas(connection, redact, **options)
            for of_maas in ("tag", "wall_clock"):
                options.pop(of_maas, None)
            timeouts = _timeouts(options.pop("read_timeout", 5.0))
            return DrydockProvisioner(
                connection.url,
                options.pop("tokens", None),
                HttpSettings(timeouts, _IMPATIENT, redact=redact, shown=connection.shown),
                submission=SubmissionPolicy(attempts=4, look_delay=0.01, settle=options.pop("settle", 0.3)),
                context_marker=context_marker,
                **options,
            )

        factory = ProvisionerFactory({"drydock": ("Drydock", connect_drydock), "impatient": ("Impatient", impatient)})
        values = ConnectionValues("impatient", "contract", url)
        if backend == "ironic":
            server = request.getfixturevalue("mortal" if "mortal" in request.fixturenames else "simulator")
            values = replace(values, login="slipway", password=server.password, extra={"resource_class": SITE})
        client = factory.connect(values, nothing_is_secret, observer=observer)
        made.append(client)
        return client

    yield build
    for one in made:
        one.close()


@pytest.fixture
def provisioner(request: pytest.FixtureRequest, backend: str) -> Iterator[Provisioner]:
    if not URL:
        yield request.getfixturevalue("connect")(request.getfixturevalue("simulator").address)
        return
    client = client_in_use()
    yield client
    client.close()


@pytest.fixture
def finish() -> Finish:
    """Wait until a provisioner task is over."""

    def wait(provisioner: Provisioner, task_id: str, until: TaskState = TaskState.COMPLETE) -> ProvisionerTask:
        deadline = time.monotonic() + SECONDS
        while True:
            task = provisioner.task(TaskRef(task_id))
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
