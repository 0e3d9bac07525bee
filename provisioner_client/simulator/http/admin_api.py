"""The simulator's own routes below `/_sim/`: looking inside, and making things go wrong on purpose."""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Callable
from typing import Any
from urllib.parse import unquote

from provisioner_client.simulator.design_cache import DesignCache
from provisioner_client.simulator.errors import BadAdminRequest
from provisioner_client.simulator.http.answers import Answer, json_answer
from provisioner_client.simulator.http.drydock_api import Request
from provisioner_client.simulator.http.faults import FaultBook, parse_fault
from provisioner_client.simulator.journal import Journal, find_double_submissions
from provisioner_client.simulator.machines import MachinePark
from provisioner_client.simulator.scripts import ScriptBook, parse_script
from provisioner_client.simulator.settings import Settings
from provisioner_client.simulator.store import Store
from provisioner_client.simulator.tasks.executor import Executor
from provisioner_client.simulator.tasks.ledger import TaskLedger, describe_root

PREFIX = "/_sim/"


class AdminApi:
    """See the README for every route and field."""

    def __init__(
        self,
        store: Store,
        park: MachinePark,
        ledger: TaskLedger,
        designs: DesignCache,
        executor: Executor,
        settings: Settings,
        journal: Journal,
        faults: FaultBook,
        preload: Callable[[], None],
    ) -> None:
        self._store, self._park, self._ledger, self._designs = store, park, ledger, designs
        self._executor, self._settings, self._journal, self._faults = executor, settings, journal, faults
        self._scripts = ScriptBook(store)
        self._preload = preload
        self._routes: dict[tuple[str, str], Callable[[Request], object]] = {
            ("GET", "state"): self._state,
            ("GET", "tasks"): lambda _: self._task_list(),
            ("GET", "nodes"): lambda _: park.describe(),
            ("GET", "journal"): lambda request: journal.read(request.parameters),
            ("GET", "double-submissions"): lambda _: find_double_submissions(store),
            ("GET", "scripts"): lambda _: self._script_list(),
            ("POST", "scripts"): self._add_scripts,
            ("DELETE", "scripts"): self._clear_scripts,
            ("GET", "faults"): lambda _: faults.describe(),
            ("POST", "faults"): self._add_faults,
            ("DELETE", "faults"): self._clear_faults,
            ("POST", "release"): self._release,
            ("POST", "reset"): self._reset,
        }

    def handle(self, request: Request) -> Answer:
        """Answer one request; wrong input is a 400 with a sentence."""
        self._executor.advance()
        name = request.path.removeprefix(PREFIX)
        try:
            node = re.fullmatch(r"nodes/([^/]+)", name)
            if node is not None and request.method == "POST":
                return self._change_node(unquote(node[1]), request)
            if (route := self._routes.get((request.method, name))) is None:
                known = any(known == name for _, known in self._routes) or node is not None
                return json_answer({"error": f"no {request.method} {request.path} here"}, 405 if known else 404)
            created = request.method == "POST" and name in ("scripts", "faults")
            return json_answer(route(request), 201 if created else 200)
        except BadAdminRequest as error:
            return json_answer({"error": str(error)}, 400)

    def _state(self, _: Request) -> dict[str, Any]:
        with self._store.transaction():
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

    def _task_list(self) -> list[dict[str, Any]]:
        with self._store.transaction():
            held = self._ledger.nodes_held()
            return [describe_root(row, held.get(row["task_id"], [])) for row in self._ledger.roots()]

    def _change_node(self, name: str, request: Request) -> Answer:
        changed = self._park.change(name, _object(request))
        if changed is None:
            return json_answer({"error": f"no node {name}"}, 404)
        return json_answer(changed)

    def _script_list(self) -> list[dict[str, Any]]:
        return [script.to_data() for script in self._scripts.all()]

    def _add_scripts(self, request: Request) -> list[dict[str, Any]]:
        self._scripts.add([parse_script(one) for one in _list(request)])
        return self._script_list()

    def _clear_scripts(self, _: Request) -> list[object]:
        self._scripts.clear()
        return []

    def _add_faults(self, request: Request) -> list[dict[str, Any]]:
        return self._faults.add([parse_fault(one) for one in _list(request)])

    def _clear_faults(self, _: Request) -> list[object]:
        self._faults.clear()
        return []

    def _release(self, request: Request) -> dict[str, list[str]]:
        return {"released": self._executor.release(_object(request).get("node"))}

    def _reset(self, _: Request) -> dict[str, bool]:
        with self._store.transaction():
            self._store.clear()
            self._store.set_meta("max_in_flight", 0)
            self._designs.forget()
            self._executor.paused_until = None
            self._preload()
            self._executor.reload()
        return {"reset": True}


def _body(request: Request) -> object:
    try:
        return json.loads(request.body or b"{}")
    except ValueError as error:
        raise BadAdminRequest(f"the body is not JSON: {error}") from None


def _object(request: Request) -> dict[str, Any]:
    body = _body(request)
    if not isinstance(body, dict):
        raise BadAdminRequest("the body is a JSON object")
    return body


def _list(request: Request) -> list[object]:
    body = _body(request)
    return body if isinstance(body, list) else [body]
