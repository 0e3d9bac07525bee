"""The simulator's own routes below `/_sim/`: looking inside, and making things go wrong on purpose."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any, Protocol
from urllib.parse import unquote

from provisioner_client.simulator.errors import BadAdminRequest
from provisioner_client.simulator.http.answer import Answer, json_answer
from provisioner_client.simulator.http.faults import FaultBook, parse_fault
from provisioner_client.simulator.http.request import Request
from provisioner_client.simulator.journal import Journal
from provisioner_client.simulator.scripts import ScriptBook, ScriptForm, parse_script
from provisioner_client.simulator.store import Store

PREFIX = "/_sim/"


class World(Protocol):
    """What the admin API looks into and changes: a simulated Drydock or MAAS. All but `advance` is in a transaction."""

    @property
    def script_form(self) -> ScriptForm:
        """Which scripts this provisioner understands."""

    def advance(self) -> None:
        """Carry out everything that is due by now."""

    def state(self) -> dict[str, Any]:
        """Return what `GET /_sim/state` says."""

    def machines(self) -> list[dict[str, Any]]:
        """Return every machine with all that the simulator knows of it, sorted."""

    def change(self, name: str, data: dict[str, Any]) -> dict[str, Any] | None:
        """Change a machine behind everybody's back and return it, None if it is unknown.

        Raises `BadAdminRequest` on an unknown field or value.
        """

    def release(self, name: str | None) -> list[str]:
        """Let stuck machines go on (that one, or all) and return their names."""

    def double_submissions(self) -> dict[str, list[dict[str, Any]]]:
        """Return the detector's four lists."""

    def lists(self) -> dict[str, Callable[[dict[str, str]], object]]:
        """Return further routes to read, by name; each is given the query's parameters."""

    def changes(self) -> dict[str, Callable[[dict[str, Any]], object]]:
        """Return further routes to post to, by name; each is given the body.

        They raise `BadAdminRequest` on a body that they do not know.
        """

    def reset(self) -> None:
        """Write the simulation's first rows again: everything but the simulator's notes was deleted."""


class AdminApi:
    """See the README for every route and field."""

    def __init__(self, store: Store, world: World, journal: Journal, faults: FaultBook) -> None:
        self._store, self._world, self._journal, self._faults = store, world, journal, faults
        self._scripts = ScriptBook(store)
        self._routes: dict[tuple[str, str], Callable[[Request], object]] = {
            ("GET", "state"): lambda _: world.state(),
            ("GET", "nodes"): lambda _: world.machines(),
            ("GET", "journal"): lambda request: journal.read(request.parameters),
            ("GET", "double-submissions"): lambda _: world.double_submissions(),
            ("GET", "scripts"): lambda _: self._script_list(),
            ("POST", "scripts"): self._add_scripts,
            ("DELETE", "scripts"): self._clear_scripts,
            ("GET", "faults"): lambda _: faults.describe(),
            ("POST", "faults"): self._add_faults,
            ("DELETE", "faults"): self._clear_faults,
            ("POST", "release"): self._release,
            ("POST", "reset"): self._reset,
        }
        for name, read in world.lists().items():
            self._routes["GET", name] = lambda request, read=read: read(request.parameters)  # type: ignore[misc]
        for name, change in world.changes().items():
            self._routes["POST", name] = lambda request, change=change: change(_object(request))  # type: ignore[misc]

    def handle(self, request: Request) -> Answer:
        """Answer one request; wrong input is a 400 with a sentence."""
        self._world.advance()
        name = request.path.removeprefix(PREFIX)
        try:
            node = re.fullmatch(r"nodes/([^/]+)", name)
            if node is not None and request.method == "POST":
                return self._change_node(unquote(node[1]), request)
            if (route := self._routes.get((request.method, name))) is None:
                known = any(known == name for _, known in self._routes) or node is not None
                return json_answer({"error": f"no {request.method} {request.path} here"}, 405 if known else 404)
            created = request.method == "POST" and name in ("scripts", "faults")
            with self._store.transaction():
                payload = route(request)
            return json_answer(payload, 201 if created else 200)
        except BadAdminRequest as error:
            return json_answer({"error": str(error)}, 400)

    def _change_node(self, name: str, request: Request) -> Answer:
        with self._store.transaction():
            changed = self._world.change(name, _object(request))
        if changed is None:
            return json_answer({"error": f"no node {name}"}, 404)
        return json_answer(changed)

    def _script_list(self) -> list[dict[str, Any]]:
        return [script.to_data() for script in self._scripts.all()]

    def _add_scripts(self, request: Request) -> list[dict[str, Any]]:
        self._scripts.add([parse_script(one, self._world.script_form) for one in _list(request)])
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
        return {"released": self._world.release(_object(request).get("node"))}

    def _reset(self, _: Request) -> dict[str, bool]:
        self._store.clear()
        self._world.reset()
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
