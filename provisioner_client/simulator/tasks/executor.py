"""The single slot that runs tasks first in, first out, and MAAS's machines going on by themselves.

Everything is planned when a task starts; after that only what is due is touched, however many nodes there are.
"""

from __future__ import annotations

import heapq
import sqlite3
import threading
import time
from collections.abc import Callable

from provisioner_client.simulator.design_cache import DesignCache
from provisioner_client.simulator.errors import DesignUnresolvable
from provisioner_client.simulator.machines import MachinePark
from provisioner_client.simulator.settings import Settings
from provisioner_client.simulator.store import Store
from provisioner_client.simulator.tasks.ledger import TaskLedger
from provisioner_client.simulator.tasks.planner import TaskPlanner
from provisioner_client.simulator.tasks.plans import NodePlan

_LONGEST_SLEEP = 5.0


class Executor:
    """Runs in a thread of its own; any thread may `advance` it, so that no answer shows a state that is overdue."""

    def __init__(
        self, store: Store, park: MachinePark, ledger: TaskLedger, designs: DesignCache, settings: Settings
    ) -> None:
        self._store, self._park, self._ledger, self._settings = store, park, ledger, settings
        self._planner = TaskPlanner(store, park, ledger, designs, settings)
        self._bell = threading.Event()
        self._stopped = threading.Event()
        self._events: list[tuple[float, int, Callable[[], None]]] = []
        self._event_count = 0
        self._running: tuple[str, float | None] | None = None
        self.paused_until: float | None = None
        self._thread = threading.Thread(target=self._run, name="executor", daemon=True)

    def start(self, paused_until: float | None) -> None:
        """Take up what the store holds and begin; the queue waits until `paused_until` (epoch seconds)."""
        self.paused_until = paused_until
        self.reload()
        self._thread.start()

    def stop(self) -> None:
        """End the thread; what is under way stays in the store."""
        self._stopped.set()
        self._bell.set()
        if self._thread.ident is not None:
            self._thread.join(timeout=5.0)

    def ring(self) -> None:
        """Say that there may be something new to do."""
        self._bell.set()

    def reload(self) -> None:
        """Forget what is in memory and take it from the store: after a start, a reset, or a release."""
        with self._store.transaction():
            self._events = []
            for due, site, name in self._park.due():
                self._push_finish(due, site, name)
            row = self._ledger.running()
            self._running = None if row is None else (row["task_id"], row["ends_at"])
            if row is not None and row["planned"]:
                for position, plan in self._ledger.not_begun(row["task_id"]):
                    self._push_begin(row["task_id"], row["site"], position, plan)
        self._bell.set()

    def advance(self) -> None:
        """Carry out everything that is due by now."""
        with self._store.transaction():
            now = time.time()
            changed = False
            while self._events and self._events[0][0] <= now:
                changed = True
                heapq.heappop(self._events)[2]()
            if self._running is not None and self._running[1] is not None and self._running[1] <= now:
                changed = True
                self._ledger.complete(self._running[0], self._running[1])
                self._running = None
                self._bell.set()
            if changed:
                self._store.set_meta("alive_at", now)

    def release(self, node: str | None) -> list[str]:
        """Let stuck nodes of the running task go on; return their names."""
        with self._store.transaction():
            self.advance()
            row = self._ledger.running()
            released = [] if row is None or not row["planned"] else self._planner.release(row, node)
            if released:
                self.reload()
        return released

    def _run(self) -> None:
        while not self._stopped.is_set():
            self._bell.clear()
            self.advance()
            self._start_tasks()
            self._bell.wait(self._seconds_to_next())

    def _start_tasks(self) -> None:
        with self._store.transaction():
            running = self._ledger.running()
            if running is None:
                if self.paused_until is not None and self.paused_until > time.time():
                    return
                self.paused_until = None
                running = self._ledger.claim(time.time())
            if running is None or running["planned"]:
                return
            self._running = (running["task_id"], None)
        self._carry_out(running)

    def _carry_out(self, row: sqlite3.Row) -> None:
        """Plan a task that was just claimed; its design is read without holding the store."""
        try:
            design = self._planner.design_of(row)
        except DesignUnresolvable as error:
            with self._store.transaction():
                if self._ledger.root(row["task_id"]) is not None:
                    self._planner.hang(row, str(error))
            return
        with self._store.transaction():
            if self._ledger.root(row["task_id"]) is not None:  # a reset may have come in between
                self._planner.plan(row, design)
                self.reload()

    def _seconds_to_next(self) -> float:
        with self._store.transaction():
            times = [self._events[0][0]] if self._events else []
            if self._running is not None and self._running[1] is not None:
                times.append(self._running[1])
            if self.paused_until is not None:
                times.append(self.paused_until)
        return max(0.0, min([_LONGEST_SLEEP, *(at - time.time() for at in times)]))

    def _push(self, at: float, event: Callable[[], None]) -> None:
        self._event_count += 1
        heapq.heappush(self._events, (at, self._event_count, event))

    def _push_finish(self, due: float, site: str, name: str) -> None:
        self._push(due, lambda: self._park.finish(site, name, due))

    def _push_begin(self, task_id: str, site: str, position: int, plan: NodePlan) -> None:
        change = plan.change
        if change is None:
            return

        def begin() -> None:
            self._ledger.mark_begun(task_id, position)
            if change.power is not None:
                self._park.lose_power(site, plan.node, change.power)
            if change.during is not None:
                self._park.begin(site, plan.node, change.during, change.then, change.after)
            if change.then is not None:
                self._push_finish(change.then, site, plan.node)

        self._push(change.at, begin)
