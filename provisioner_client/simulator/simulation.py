"""One simulated Drydock put together: store, machines, tasks, executor and the two APIs, without any network."""

from __future__ import annotations

import time
import uuid
from pathlib import Path

from provisioner_client.simulator.agents import SimulatedAgents
from provisioner_client.simulator.design_cache import DesignCache
from provisioner_client.simulator.designs import read_design
from provisioner_client.simulator.drydock_world import DrydockWorld
from provisioner_client.simulator.errors import DesignUnresolvable, SimulatorError
from provisioner_client.simulator.http.admin_api import PREFIX, AdminApi
from provisioner_client.simulator.http.answer import Answer
from provisioner_client.simulator.http.answers import framework_error
from provisioner_client.simulator.http.drydock_api import DrydockApi
from provisioner_client.simulator.http.faults import Fault, FaultBook
from provisioner_client.simulator.http.request import Request
from provisioner_client.simulator.journal import Journal
from provisioner_client.simulator.machines import MachinePark
from provisioner_client.simulator.restart import recover
from provisioner_client.simulator.scripts import ScriptBook
from provisioner_client.simulator.settings import Settings
from provisioner_client.simulator.store import Store
from provisioner_client.simulator.tasks.executor import Executor
from provisioner_client.simulator.tasks.ledger import TaskLedger, reference_in


class Simulation:
    """Give it requests, get answers; `start` before, `stop` after.

    Raises
    ------
    SimulatorError : from the constructor, if the store or a preloaded site cannot be read.
    """

    def __init__(self, state: Path, settings: Settings) -> None:
        self._settings = settings
        self._stopped = False
        self._store = Store(state)
        self._park = MachinePark(self._store)
        self._ledger = TaskLedger(self._store)
        designs = DesignCache(settings.speed, settings.ingester)
        self._executor = Executor(self._store, self._park, self._ledger, designs, settings)
        self._journal = Journal(self._store)
        self._faults = FaultBook(self._store)
        self._agents = SimulatedAgents(self._park, settings.node_key)
        self._drydock = DrydockApi(self._store, self._park, self._ledger, designs, self._executor, settings)
        world = DrydockWorld(self._store, self._park, self._ledger, designs, self._executor, settings, self._preload)
        self._admin = AdminApi(self._store, world, self._journal, self._faults)

    def start(self) -> None:
        """Take up what the last process left and begin."""
        self._preload()
        self._executor.start(recover(self._store, self._ledger, self._settings))

    @property
    def is_stopped(self) -> bool:
        """Whether `stop` was called; requests that are still under way then fail."""
        return self._stopped

    def stop(self) -> None:
        """End; the store keeps everything."""
        self._stopped = True
        self._agents.stop()
        self._executor.stop()
        self._store.set_meta("ended_cleanly", "yes")
        self._store.close()

    @staticmethod
    def is_admin(request: Request) -> bool:
        """Return whether a request is the simulator's own, which has no faults and is not in the journal."""
        return request.path.startswith(PREFIX)

    def admin(self, request: Request) -> Answer:
        return self._admin.handle(request)

    @property
    def keeps_alive(self) -> bool:
        """Whether a connection stays open: uwsgi closes it after each answer."""
        return False

    @staticmethod
    def headers() -> list[tuple[str, str]]:
        """Return the headers of every answer of Drydock's."""
        return [("X-Drydock-Req", str(uuid.uuid4()))]

    @staticmethod
    def crashed() -> Answer:
        """Return a crash in Drydock's shape."""
        return framework_error(500, effect="the simulator itself crashed")

    @staticmethod
    def fault_answer(fault: Fault) -> Answer | None:
        """Return the fault's answer in the shape of Drydock that it asks for."""
        return fault.answer()

    def ask_agent(self, url: str, request: Request) -> Answer:
        """Answer in place of the agent at a node's own address, which is reached through the simulator as a proxy."""
        return self._agents.answer(url, request.method, request.headers)

    def take_fault(self, request: Request) -> Fault | None:
        return self._faults.take(request.method, request.path)

    def handle(self, request: Request) -> Answer:
        """Let a request take effect and return its true answer, after the time that Drydock itself takes."""
        answer = self._drydock.handle(request)
        if answer.delay:
            time.sleep(answer.delay)
        return answer

    def note(self, request: Request, status: int | None, effect: str, reference: str | None = None) -> None:
        self._journal.write(
            request.method,
            request.path,
            request.query,
            reference=reference or reference_in(request.body),
            status=status,
            effect=effect,
            marker=request.headers.get("x-context-marker"),
        )

    def _preload(self) -> None:
        ScriptBook(self._store).add(self._settings.scripts)
        for site in self._settings.sites:
            try:
                self._park.add_design(read_design(site.read_bytes(), str(site)))
            except (OSError, DesignUnresolvable) as error:
                raise SimulatorError(f"{site}: {error}") from error
