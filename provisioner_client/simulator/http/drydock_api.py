"""Drydock's routes: what each request does and answers, with the real server's mistakes. HTTP itself is in `server`."""

from __future__ import annotations

import json
import random
import re
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from provisioner_client.simulator.design_cache import DesignCache, validation_messages
from provisioner_client.simulator.designs import SiteDesign, select_names
from provisioner_client.simulator.errors import DesignUnresolvable, FilterCrash
from provisioner_client.simulator.http.answer import Answer, json_answer
from provisioner_client.simulator.http.answers import (
    TaskAnswers,
    api_error,
    framework_error,
    keystone_error,
    status_object,
    text_error,
)
from provisioner_client.simulator.http.request import Request
from provisioner_client.simulator.machines import MachinePark
from provisioner_client.simulator.settings import Settings
from provisioner_client.simulator.store import Store
from provisioner_client.simulator.tasks.executor import Executor
from provisioner_client.simulator.tasks.ledger import Action, TaskLedger

BASE = "/api/v1.0"
LONGEST_DESIGN_REF = 128
LONGEST_USER = 16
_OPEN = ("/versions", f"{BASE}/health")
_DAY = 86_400.0


class _Unreadable(Exception):
    """The body is no JSON object under exactly the content type that Drydock wants."""


class DrydockApi:
    """Answers requests. Designs are read before the store is held, so that a slow one blocks no other request."""

    def __init__(
        self,
        store: Store,
        park: MachinePark,
        ledger: TaskLedger,
        designs: DesignCache,
        executor: Executor,
        settings: Settings,
    ) -> None:
        self._store, self._park, self._ledger, self._designs = store, park, ledger, designs
        self._executor, self._settings = executor, settings
        self._tasks = TaskAnswers(ledger)
        self._order = random.Random(settings.seed)
        route = re.compile
        self._routes: list[tuple[re.Pattern[str], dict[str, Callable[..., Answer]]]] = [
            (route(r"/versions"), {"GET": self._versions}),
            (route(BASE + r"/health"), {"GET": self._health}),
            (route(BASE + r"/health/extended"), {"GET": self._health_extended}),
            (route(BASE + r"/tasks"), {"GET": self._all_tasks, "POST": self._create_task, "DELETE": self._purge}),
            (route(BASE + r"/tasks/([^/]+)"), {"GET": self._one_task}),
            (route(BASE + r"/tasks/([^/]+)/builddata"), {"GET": self._task_builddata}),
            (route(BASE + r"/nodes"), {"GET": self._nodes}),
            (route(BASE + r"/nodes/([^/]+)/builddata"), {"GET": self._node_builddata}),
            (route(BASE + r"/nodefilter"), {"POST": self._nodefilter}),
            (route(BASE + r"/validatedesign"), {"POST": self._validatedesign}),
            (route(BASE + r"/designs"), {"GET": self._designs_broken, "POST": self._designs_broken}),
        ]

    def handle(self, request: Request) -> Answer:
        """Answer one request, after everything that is due by now was done."""
        self._executor.advance()
        tokens = self._settings.tokens
        if tokens and request.path not in _OPEN and request.headers.get("x-auth-token") not in tokens:
            return keystone_error()
        for pattern, methods in self._routes:
            match = pattern.fullmatch(request.path)
            if match is None:
                continue
            if request.method not in methods:
                return framework_error(405).with_headers(("Allow", ", ".join(sorted(methods))))
            return methods[request.method](request, *match.groups())
        return framework_error(404)

    def _versions(self, _: Request) -> Answer:
        return json_answer({"v1.0": {"path": BASE, "status": "stable"}})

    def _health(self, _: Request) -> Answer:
        self._ledger.accept_noop()
        return Answer(204, effect="left a noop task")

    def _health_extended(self, _: Request) -> Answer:
        return json_answer(status_object("Success", 200, "", [], reason="HealthCheck"))

    def _all_tasks(self, _: Request) -> Answer:
        answer, listed = self._tasks.everything()
        return replace(answer, delay=self._settings.task_cost * listed)

    def _one_task(self, request: Request, task_id: str) -> Answer:
        return self._tasks.one(task_id, request.parameters)

    def _task_builddata(self, _: Request, task_id: str) -> Answer:
        return self._tasks.builddata(task_id)

    def _create_task(self, request: Request) -> Answer:
        try:
            body = _json_object(request)
        except _Unreadable as error:
            return api_error(500, str(error))
        action, design_ref = body.get("action"), body.get("design_ref")
        if not isinstance(action, str) or action not in set(Action):
            return api_error(400, f"Unsupported action {action}")
        if not isinstance(design_ref, str) or not design_ref:
            return api_error(500, "'design_ref'")
        user = request.headers.get("x-user-name", "noauth")
        if len(design_ref) > LONGEST_DESIGN_REF or len(user) > LONGEST_USER:
            return api_error(500, "Error creating task: value too long for its column")
        with self._store.transaction():
            row = self._ledger.accept(action, design_ref, body.get("node_filter"), user)
            answer = self._tasks.created(row)
        self._executor.ring()
        return answer.with_headers(("Location", f"{BASE}/tasks/{row['task_id']}"))

    def _purge(self, request: Request) -> Answer:
        days = request.parameters.get("days", "")
        if not days.isdigit():
            return api_error(500, "days is not a number")
        self._ledger.purge(time.time() - int(days) * _DAY)
        return text_error(200, "Tables purged successfully.", effect="purged tasks")

    def _nodes(self, _: Request) -> Answer:
        listed = self._park.wire_list()
        return replace(json_answer(listed), delay=self._settings.node_cost * len(listed))

    def _node_builddata(self, _: Request, host: str) -> Answer:
        return api_error(404, f"No build data for {host}")

    def _nodefilter(self, request: Request) -> Answer:
        try:
            body = _json_object(request)
        except _Unreadable:
            return framework_error(500)
        reference = body.get("design_ref")
        if not isinstance(reference, str) or not reference:
            return api_error(400, "Missing required parameter design_ref")
        try:
            names = select_names(body.get("node_filter"), self._resolve(reference).nodes)
        except DesignUnresolvable as error:
            # The trap that makes an empty group of a wrong reference: an empty list.
            return json_answer([], effect=f"no design: {error}")
        except FilterCrash as crash:
            return framework_error(500, effect=f"crashed: {crash}")
        self._order.shuffle(names)
        return json_answer(names)

    def _validatedesign(self, request: Request) -> Answer:
        try:
            body = _json_object(request)
        except _Unreadable as error:
            return api_error(400, str(error))
        reference = body.get("href")
        if not isinstance(reference, str) or not reference:
            return api_error(400, "Missing required parameter href")
        try:
            design = self._resolve(reference)
        except DesignUnresolvable as error:
            return api_error(500, str(error))
        refused, messages = validation_messages(design, self._designs.uses(reference))
        # Of a design that cannot be compiled no rule says anything, so that neither message nor reason is set.
        code, verdict, text = (400, "failure", None) if refused else (200, "Success", "Site design passed validation")
        return json_answer(status_object(verdict, code, text, messages, None), code, effect="validated")

    def _designs_broken(self, _: Request) -> Answer:
        return framework_error(500)

    def _resolve(self, reference: str) -> SiteDesign:
        design = self._designs.resolve(reference)
        self._park.add_design(design)
        return design


def _json_object(request: Request) -> dict[str, Any]:
    if not request.body:
        raise _Unreadable("Request body is empty")
    if request.headers.get("content-type") != "application/json":
        raise _Unreadable("Requires application/json payload")
    try:
        body = json.loads(request.body)
    except ValueError:
        raise _Unreadable("Request body is not JSON") from None
    if not isinstance(body, dict):
        raise _Unreadable("Request body is not an object")
    return body
