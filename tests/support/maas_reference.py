"""What is known of a real MAAS, in `../shared/reference/maas` beside the project: every answer is held against it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parents[3] / "shared" / "reference" / "maas"
IS_HERE = FOLDER.is_dir()

# Answers that MAAS was seen to give and that its own description leaves out.
_ALWAYS = {400, 401, 414}
_SEEN = {
    "MachineHandler_commission": {403, 500},
    "MachineHandler_deploy": {409},
    "MachineHandler_release": {500},
    "MachineHandler_abort": {409},
    "MachineHandler_mark_broken": {409},
    "MachineHandler_mark_fixed": {409},
    "MachineHandler_lock": {409},
    "MachineHandler_unlock": {409},
    "MachineHandler_test": {403, 409},
    "MachineHandler_override_failed_testing": {409},
    "MachineHandler_set_storage_layout": {409},
    "MachineHandler_restore_networking_configuration": {409},
    "MachineHandler_rescue_mode": {409},
    "MachineHandler_exit_rescue_mode": {409},
    "TagsHandler_create": {200},
    "TagHandler_machines": {200},
    "TagHandler_nodes": {200},
    "TagHandler_update": {403},
    "TagHandler_delete": {403},
    "TagHandler_update_nodes": {200},
    "ZonesHandler_create": {403},
    "ResourcePoolsHandler_create": {403},
}


def _load(name: str) -> Any:
    return json.loads((FOLDER / name).read_text()) if IS_HERE else {}


DESCRIPTION = _load("openapi-subset.json")
STATUSES = _load("status-transitions.json")
FIELDS = _load("machine-fields.json")


def check_answer(
    method: str, path: str, sent: Iterable[str], status: int, content_type: str, body: bytes, *, asked: Iterable[str]
) -> None:
    """Fail if MAAS has no such operation or parameter, never gives this status there, or words it otherwise.

    `path` is below the API's base and in the form with `op-…`; `sent` are the fields of the form, `asked` the query's.
    """
    if not IS_HERE:
        return
    operation = _operation(method, path)
    assert operation is not None, f"MAAS has no {method} {path}"
    known = {one["name"] for one in operation.get("parameters", ())} | {"op"}
    assert set(asked) <= known, f"{method} {path} has no parameter {set(asked) - known}"
    form = operation.get("requestBody", {}).get("content", {}).get("multipart/form-data", {}).get("schema", {})
    free = path.endswith(("op-set_owner_data", "op-set_workload_annotations")) or method == "PUT"
    assert free or set(sent) <= set(form.get("properties", ())), f"{method} {path} has no field {set(sent)}"
    name = operation["operationId"]
    allowed = {int(one) for one in operation["responses"]} | _ALWAYS | _SEEN.get(name, set())
    assert status in allowed, f"{method} {path} never answers {status}"
    if status == 204:
        assert not body
    elif status == 200:
        assert content_type == "application/json"
        _check_machines(name, json.loads(body))


def check_transitions(events: Iterable[Mapping[str, Any]]) -> None:
    """Fail on a change of status that MAAS does not allow."""
    for event in events:
        if IS_HERE and event["type"] == "Node changed status":
            match = re.fullmatch("From '(.*)' to '(.*)'", event["description"])
            assert match is not None, event
            assert match[2] in STATUSES["transitions"][match[1]], event["description"]


def _operation(method: str, path: str) -> Any:
    for template, methods in DESCRIPTION["paths"].items():
        pattern = re.sub(r"{[a-z_]+}", "[^/]+", template.rstrip("/"))
        if re.fullmatch(pattern, path.rstrip("/")) and method.lower() in methods:
            return methods[method.lower()]
    return None


def _check_machines(operation: str, payload: Any) -> None:
    if operation in ("MachinesHandler_read", "TagHandler_machines"):
        machines = payload
    elif isinstance(payload, dict) and "status_name" in payload and "hostname" in payload:
        machines = [payload]
    else:
        return
    for machine in machines:
        assert set(machine) == set(FIELDS["fields"]), set(machine) ^ set(FIELDS["fields"])
        assert STATUSES["names"][str(machine["status"])] == machine["status_name"]
        for name, kind in FIELDS["fields"].items():
            if name not in ("owner_data", "workload_annotations"):
                _check_type(name, machine[name], kind)


_TYPES: dict[str, type | tuple[type, ...]] = {
    "string": str,
    "integer": int,
    "number": (int, float),
    "boolean": bool,
    "null": type(None),
}


def _check_type(name: str, value: Any, kind: Any) -> None:
    if isinstance(kind, str):
        allowed = tuple(_TYPES[one] for one in kind.split("|") if one != "absent")
        assert any(isinstance(value, one) for one in allowed), f"{name} is {value!r}, and not {kind}"
        assert not (isinstance(value, bool) and "boolean" not in kind), f"{name} is {value!r}, and not {kind}"
    elif isinstance(kind, list):
        assert isinstance(value, list), name
        for one in value:
            if kind:
                _check_type(name, one, kind[0])
    else:
        assert isinstance(value, dict), f"{name} is {value!r}"
        assert set(value) <= set(kind), f"{name} has {set(value) - set(kind)}"
        for key, below in kind.items():
            if key in value:
                _check_type(f"{name}.{key}", value[key], below)
            else:
                assert "absent" in str(below), f"{name} has no {key}"
