"""A simulated Drydock as the admin API sees it: its tasks, its designs, and MAAS's machines behind it."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import Any

from provisioner_client.simulator.design_cache import DesignCache
from provisioner_client.simulator.journal import find_double_submissions
from provisioner_client.simulator.machines import MachinePark
from provisioner_client.simulator.scripts import DRYDOCK_SCRIPTS, ScriptForm
from provisioner_client.simulator.settings import Settings
from provisioner_client.simulator.store import Store
from provisioner_client.simulator.tasks.executor import Executor
from provisioner_client.simulator.tasks.ledger import TaskLedger, describe_root


class DrydockWorld:
    """Implements `http.admin_api.World`."""

    script_form: ScriptForm = DRYDOCK_SCRIPTS

    def __init__(
        self,
        store: Store,
        park: MachinePark,
        ledger: TaskLedger,
        designs: DesignCache,
        executor: Executor,
        settings: Settings,
        preload: Callable[[], None],
    ) -> None:
        self._store, self._park, self._ledger, self._designs = store, park, ledger, designs
        self._executor, self._settings, self._preload = executor, settings, preload

    def advance(self) -> None:
        """Carry out everything that is due by now."""
        self._executor.advance()

    def state(self) -> dict[str, Any]:
        """Return the process, the queue and what runs."""
        running = self._ledger.running()
        paused = self._executor.paused_until
        return {
            "pid": os.getpid(),
            "seed": self._settings.seed,
            "speed": self._settings.speed,
            "restart_mode": self._settings.restart_mode,
            "starts": int(self._store.meta("starts") or 0),
            "now": time.time(),
            "running": None if running is None else running["task_id"],
            "queue": self._ledger.queue(),
            "paused_until": paused if paused is not None and paused > time.time() else None,
            "tasks": self._store.value("SELECT count(*) FROM task"),
            "nodes": self._store.value("SELECT count(*) FROM node"),
            "designs": self._designs.references(),
            "max_in_flight": int(self._store.meta("max_in_flight") or 0),
        }

    def machines(self) -> list[dict[str, Any]]:
        """Return every machine of every site."""
        return self._park.describe()

    def change(self, name: str, data: dict[str, Any]) -> dict[str, Any] | None:
        """Change a machine behind Drydock's back."""
        return self._park.change(name, data)

    def release(self, name: str | None) -> list[str]:
        """Let stuck nodes of the running task go on."""
        return self._executor.release(name)

    def double_submissions(self) -> dict[str, list[dict[str, Any]]]:
        """Compare all tasks that were ever accepted."""
        return find_double_submissions(self._store)

    def lists(self) -> dict[str, Callable[[dict[str, str]], object]]:
        """Return Drydock's own: the root tasks."""
        return {"tasks": lambda _: self._task_list()}

    def changes(self) -> dict[str, Callable[[dict[str, Any]], object]]:
        """Return nothing: Drydock has none of its own."""
        return {}

    def reset(self) -> None:
        """Forget designs and the running task; `--site` and scripts of the command line apply again."""
        self._store.set_meta("max_in_flight", 0)
        self._designs.forget()
        self._executor.paused_until = None
        self._preload()
        self._executor.reload()

    def _task_list(self) -> list[dict[str, Any]]:
        held = self._ledger.nodes_held()
        return [describe_root(row, held.get(row["task_id"], [])) for row in self._ledger.roots()]
