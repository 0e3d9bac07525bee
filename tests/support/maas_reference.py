"""What is known of a real MAAS, in `../shared/reference/maas` beside the project: every answer is held against it."""

from __future__ import annotations

import json
import marshal
import re
from collections.abc import Collection, Iterable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from provisioner_client.simulator.http.answer import HTML, Answer
from provisioner_client.simulator.http.request import Request
from provisioner_client.simulator.maas.http.answers import BASE, Refused
from provisioner_client.simulator.maas.http.forms import form_of, operation_of, query_of
from provisioner_client.simulator.maas.machines.statuses import UNKNOWN_STATUS_ID

FOLDER = Path(__file__).parents[3] / "shared" / "reference" / "maas"
IS_HERE = FOLDER.is_dir()

ON_PURPOSE = "x-on-purpose"
"""A header that says that a test asks wrongly on purpose: then the answer alone is held, and not the request."""

# Answers that MAAS was seen to give and that its own description leaves out.
_ALWAYS = {400, 401, 414}
_SEEN = {
    "MachineHandler_commission": {403, 500},
    "MachineHandler_deploy": {409},
    "MachineHandler_release": {500},
    "MachineHandler_abort": {200, 409},
    "MachineHandler_set_owner_data": {200, 409},
    "MachineHandler_set_workload_annotations": {200, 409},
    "MachineHandler_mark_broken": {409},
    "MachineHandler_mark_fixed": {409},
    "MachineHandler_lock": {409},
    "MachineHandler_unlock": {409},
    "MachineHandler_power_on": {200, 409},
    "MachineHandler_power_off": {200},
    "MachineHandler_test": {200, 403},
    "MachineHandler_override_failed_testing": {200, 409},
    "MachineHandler_set_storage_layout": {409},
    "MachineHandler_restore_default_configuration": {409},
    "MachineHandler_restore_networking_configuration": {409},
    "MachineHandler_restore_storage_configuration": {409},
    "MachineHandler_rescue_mode": {409},
    "MachineHandler_exit_rescue_mode": {409},
    "TagsHandler_create": {200},
    "TagHandler_machines": {200},
    "TagHandler_nodes": {200},
    "TagHandler_rebuild": {200, 403},
    "TagHandler_update": {403},
    "TagHandler_delete": {403},
    "TagHandler_update_nodes": {200},
    "ZonesHandler_create": {403},
    "ResourcePoolsHandler_create": {403},
}
# Answers that its description has, and that it never gave: a machine came instead.
_NEVER = {name: {204} for name, seen in _SEEN.items() if name.startswith("MachineHandler_") and 200 in seen}
# Their form has any field, or it is written down as a pattern.
_FREE = {"MachineHandler_set_owner_data", "MachineHandler_set_workload_annotations"}
_SAME = {"commissioning-results": "installation-results"}
_JSON, _TEXT = "application/json", "text/plain"
_MOST_SEEN = 100_000


class Deviation(AssertionError):
    """A simulated MAAS was asked, or has answered, as no real MAAS is or does; the message names both."""


def _load(name: str) -> Any:
    return json.loads((FOLDER / name).read_text()) if IS_HERE else {}


DESCRIPTION = _load("openapi-subset.json")
STATUSES = _load("status-transitions.json")
FIELDS = _load("machine-fields.json")


def check_exchange(request: Request, answer: Answer) -> None:
    """Hold a request and its true answer against MAAS's description of its API.

    Raises `Deviation`: MAAS has no such operation, parameter or field; it never gives this status there, or it words
    and shapes such an answer otherwise; a machine has other fields or types; an event tells of a change of status that
    MAAS does not make.
    """
    said = f"{request.method} {request.path}" + (f"?{request.query}" if request.query else "")
    try:
        _check(request, answer)
    except Deviation as deviation:
        raise Deviation(f"{said} -> {answer.status}: {deviation}") from None


def check_change(machine: str, before: str, after: str) -> None:
    """Raise `Deviation` on a change of status that MAAS does not make; none is no change."""
    if before != after and after not in STATUSES["transitions"][before]:
        known = ", ".join(STATUSES["transitions"][before])
        raise Deviation(
            f"{machine} went from '{before}' to '{after}'; status-transitions.json has from there only: {known}"
        )


def _check(request: Request, answer: Answer) -> None:
    asked = query_of(request)
    try:
        form: Mapping[str, Any] = form_of(request)
    except Refused as refused:
        _need(answer.status == refused.status, f"such a body is always {refused.status}")
        return
    path, op = operation_of(request, form)
    if not path.startswith(f"{BASE}/"):
        _need(answer.status == 404, f"below another path than {BASE} there is nothing")
        return
    whole = path.removeprefix(BASE) + (f"op-{op}" if op else "")
    operation = find_operation(request.method, whole)
    on_purpose = ON_PURPOSE in request.headers
    if operation is None:
        _need(on_purpose, f"openapi-subset.json has no {request.method} {whole}")
        _need(answer.status in (400, 401, 404, 405), "what MAAS does not have is refused: 400, 401, 404 or 405")
        return
    if not on_purpose:
        _check_request(operation, request, asked, form)
    _check_answer(operation, answer)


def _check_request(operation: Any, request: Request, asked: Collection[str], form: Collection[str]) -> None:
    name = operation["operationId"]
    unknown = set(asked) - operation["query"] - {"op"}
    _need(not unknown, f"openapi-subset.json has no parameter {_listed(unknown)} of {name}")
    if name in ("MachinesHandler_read", "EventsHandler_query"):
        empty = {key for key, values in query_of(request).items() if not all(values)}
        _need(not empty, f"an empty value is refused, or means none, or all machines: {_listed(empty)}")
    if request.method not in ("POST", "PUT"):
        return
    kind = request.headers.get("content-type", "").partition(";")[0]
    is_form = kind in ("application/x-www-form-urlencoded", "multipart/form-data")
    _need(is_form or not request.body, f"MAAS ignores a body of type {kind or 'none'}: it takes forms")
    if name not in _FREE:
        unknown = {one for one in form if one != "op" and one not in operation["form"]}
        unknown = {one for one in unknown if not any(one.startswith(start) for start in operation["starts"])}
        _need(not unknown, f"openapi-subset.json has no field {_listed(unknown)} of {name}")
        missing = operation["required"] - set(form)
        _need(not missing, f"openapi-subset.json asks for the field {_listed(missing)} of {name}")


def _check_answer(operation: Any, answer: Answer) -> None:
    name, status, kind = operation["operationId"], answer.status, answer.content_type or ""
    _need(status in operation["statuses"], f"{name} has only {sorted(operation['statuses'])}")
    kind = kind.partition(";")[0]
    if status == 204:
        _need(not answer.body, "a 204 has no body")
    elif status == 200:
        _need(kind == operation["kind"], f"{name} answers {operation['kind']}, and not {kind}")
        if kind == _JSON and _is_new(hash((name, answer.body))):
            _check_payload(name, json.loads(answer.body))
    elif status == 414:
        _need(kind == HTML, "a 414 is the proxy's page")
    elif status == 400 and kind == _JSON:
        refused = json.loads(answer.body)
        is_form = isinstance(refused, dict) and all(isinstance(said, list) and said for said in refused.values())
        _need(is_form, "a form is refused as an object with a list of sentences for each field")
    else:
        _need(kind == _TEXT, f"a refusal is {_TEXT}, and JSON only of a form: it is {kind or 'nothing'}")
        _need(bool(answer.body) or status == 403, "only a 403 has an empty body")
        sent = {header.lower() for header, _ in answer.headers}
        _need("retry-after" not in sent, "only what may be repeated has Retry-After: conflicts and missing racks")


def _check_payload(operation: str, payload: Any) -> None:
    if operation in ("MachinesHandler_read", "MachinesHandler_list_allocated", "TagHandler_machines"):
        machines = payload
    elif operation == "EventsHandler_query":
        _check_events(payload)
        return
    elif operation.startswith(("MachineHandler_", "MachinesHandler_allocate")):
        machines = [payload] if isinstance(payload, dict) and "hostname" in payload else []
    else:
        return
    for machine in machines:
        if _is_new(hash(marshal.dumps(machine, 2))):
            _check_machine(machine)


def _check_events(page: Any) -> None:
    events = page["events"]
    ids = [event["id"] for event in events]
    _need(page["count"] == len(ids) <= 1000, "a page has as many events as it says, and 1000 at most")
    _need(ids == sorted(ids, reverse=True), "events come newest first")
    for changed in {event["description"] for event in events if event["type"] == "Node changed status"}:
        match = re.fullmatch(r"From '(.*)' to '(.*)'(?: \(to \S+\))?", changed)
        if match is None:
            raise Deviation(f"a change of status is told otherwise than this: {changed}")
        check_change("a machine", match[1], match[2])


def _check_machine(machine: Mapping[str, Any]) -> None:
    differing = set(machine) ^ set(FIELDS["fields"])
    _need(not differing, f"machine-fields.json differs in {_listed(differing)}")
    status = machine["status"]
    name = STATUSES["names"].get(str(status))
    _need(machine["status_name"] == name or status == UNKNOWN_STATUS_ID, f"status {status} is {name}")
    for field, kind in FIELDS["fields"].items():
        if field in ("owner_data", "workload_annotations"):
            continue
        value = machine[field]
        # What has many parts is mostly as it was in the answer before.
        if not isinstance(value, dict | list) or _is_new(hash((field, marshal.dumps(value, 2)))):
            _check_type(field, value, kind)


_TYPES: dict[str, type | tuple[type, ...]] = {
    "string": str,
    "integer": int,
    "number": (int, float),
    "boolean": bool,
    "null": type(None),
}


def _check_type(name: str, value: Any, kind: Any) -> None:
    if isinstance(kind, str):
        fits = any(isinstance(value, _TYPES[one]) for one in kind.split("|") if one != "absent")
        fits = fits and not (isinstance(value, bool) and "boolean" not in kind)
        _need(fits, f"{name} is {value!r}, and in machine-fields.json {kind}")
    elif isinstance(kind, list):
        _need(isinstance(value, list), f"{name} is {value!r}, and in machine-fields.json a list")
        for one in value:
            if kind:
                _check_type(name, one, kind[0])
    else:
        _need(isinstance(value, dict), f"{name} is {value!r}, and in machine-fields.json an object")
        more = set(value) - set(kind)
        _need(not more, f"{name} has {_listed(more)}, which machine-fields.json has not")
        for key, below in kind.items():
            if key in value:
                _check_type(f"{name}.{key}", value[key], below)
            else:
                _need("absent" in str(below), f"{name} has no {key}, which machine-fields.json has")


def _need(holds: bool, otherwise: str) -> None:
    if not holds:
        raise Deviation(otherwise)


def _listed(names: Iterable[str]) -> str:
    return ", ".join(sorted(names))


_seen: set[int] = set()


def _is_new(number: int) -> bool:
    """Return whether something was not looked at before: most answers are as the one before."""
    if number in _seen:
        return False
    if len(_seen) >= _MOST_SEEN:
        _seen.clear()
    _seen.add(number)
    return True


@lru_cache(maxsize=4096)
def find_operation(method: str, path: str) -> Any:
    """Return what the description has of an operation, and None if it has none. `path` has it in the form `op-NAME`."""
    parts = path.strip("/").split("/")
    parts[0] = _SAME.get(parts[0], parts[0])
    operations = _operations()
    for wild in ((), (1,), (1, 3)):
        if all(place < len(parts) and not parts[place].startswith("op-") for place in wild):
            key = (method, *("*" if place in wild else part for place, part in enumerate(parts)))
            if key in operations:
                return operations[key]
    return None


@lru_cache(maxsize=1)
def _operations() -> dict[tuple[str, ...], Any]:
    found: dict[tuple[str, ...], Any] = {}
    for template, methods in DESCRIPTION["paths"].items():
        parts = re.sub(r"{[a-z_]+}", "*", template.strip("/")).split("/")
        for method, said in methods.items():
            form = said.get("requestBody", {}).get("content", {}).get("multipart/form-data", {}).get("schema", {})
            fields = form.get("properties", {})
            found[method.upper(), *parts] = {
                "operationId": said["operationId"],
                "query": {one["name"] for one in said.get("parameters", ()) if one["in"] == "query"},
                "form": set(fields),
                "starts": [name.partition("{")[0] for name in fields if "{" in name],
                "required": set(form.get("required", ())),
                "statuses": ({int(one) for one in said["responses"]} - _NEVER.get(said["operationId"], set()))
                | _ALWAYS
                | _SEEN.get(said["operationId"], set()),
                "kind": next(iter((said["responses"].get("200") or {}).get("content", {_JSON: {}}))),
            }
    return found
