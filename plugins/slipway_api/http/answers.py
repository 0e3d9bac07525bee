"""How a route declares its answers for the OpenAPI document, with an example of each; and how it makes them."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any

from fastapi.responses import PlainTextResponse
from pydantic import BaseModel, Field, TypeAdapter

from slipway_api.http.api_errors import ErrorBody, KeystoneErrorBody

YAML_TYPE = "application/x-yaml"
YAML = """\
schema: drydock/Region/v1
metadata:
  schema: metadata/Document/v1
  name: alpha
  layeringDefinition: {abstract: false, layer: site}
  storagePolicy: cleartext
data: {tag_definitions: []}
"""
EXAMPLE_ID = "01ARZ3NDEKTSV4RRFFQ69G5FAV"
"""An action's id."""
Moment = Annotated[str, Field(examples=["2026-03-01T12:00:00+00:00"])]
"""ISO 8601 with its zone."""

Responses = dict[int | str, dict[str, Any]]
"""A route's ``responses``."""

_DESCRIPTIONS = {
    400: "The request is wrong: `messageList` says all that is.",
    401: "No token, or none that is valid.",
    403: "The user may not do this.",
    404: "There is no such thing.",
    408: "The body takes too long to come.",
    409: "It does not fit what there is; with `retry`, it may later.",
    413: "The body is too large.",
    429: "Too many wrong passwords: wait as long as `Retry-After` says.",
    500: "A mistake of Slipway's: the API server's log has it, under the request's id.",
    501: "The tokens of Airflow's auth manager do not say when they expire.",
    502: "The provisioner refuses.",
    503: "The store, Airflow or the provisioner does not answer, or none is connected.",
}


class LeftOut(BaseModel):
    """A node or machine that is left out, and why."""

    name: str = Field(examples=["n2"])
    reason: str = Field(examples=["set to maintenance by ann: new disk"])


class PlainText(PlainTextResponse):
    """Text that Airship's client prints as it is, such as a log.

    With `--output-format=format` the client reads an answer as YAML unless its type has "json" in it. Then a log ends
    it with a traceback. Shipyard itself calls a log JSON: the client fails to read that, and prints it.
    """

    media_type = "text/plain; charset=utf-8; profile=not-json"


def answers(model: Any, code: int = 200) -> Responses:
    """Declare a good answer: its model, and the example that the model's fields make."""
    return {code: {"model": model, "content": {"application/json": {"example": example_of(model)}}}}


def text_answer(example: str) -> Responses:
    """Declare a good answer that is text."""
    return {200: {"content": {"text/plain": {"schema": {"type": "string"}, "example": example}}}}


def yaml_answer() -> Responses:
    """Declare a good answer that is documents: a schema would be that of a single one."""
    return {200: {"description": "Documents, separated by `---`.", "content": {YAML_TYPE: {"example": YAML}}}}


def errors(*statuses: int) -> Responses:
    """Declare errors."""
    return {status: {"model": ErrorBody, "description": _DESCRIPTIONS[status]} for status in statuses}


def keystone_errors(*statuses: int) -> Responses:
    """Declare errors in Keystone's shape."""
    return {status: {"model": KeystoneErrorBody, "description": _DESCRIPTIONS[status]} for status in statuses}


ERRORS = errors(400, 401, 403, 404, 409, 413, 500, 502, 503)
"""The errors of every route below ``/api/v1.0``; `slipway_api/http/openapi.py` takes some away."""


def example_of(model: Any) -> Any:
    """Return an example of a model: its fields' first examples, without optional fields that have none.

    Raises `ValueError`: a field has no example, and its type does not make one.
    """
    schema = TypeAdapter(model).json_schema(mode="serialization")
    return _example(schema, schema.get("$defs", {}))


def shown(model: type[BaseModel], record: object, **others: Any) -> dict[str, Any]:
    """Return an answer as its model describes it: what has attributes of the fields' names, and the `others`."""
    return {name: others[name] if name in others else _plain(getattr(record, name)) for name in model.model_fields}


def _plain(value: Any) -> Any:
    return value.isoformat() if isinstance(value, datetime) else list(value) if isinstance(value, tuple) else value


def _example(schema: Mapping[str, Any], models: Mapping[str, Any]) -> Any:
    match schema:
        case {"examples": [first, *_]}:
            return first
        case {"$ref": str(reference)}:
            return _example(models[reference.rpartition("/")[2]], models)
        case {"const": value} | {"enum": [value, *_]} | {"anyOf": [{"const": value}, *_]}:
            return value
        case {"anyOf": [first, *_]}:
            return _example(first, models)
        case {"type": "array", "items": items}:
            return [_example(items, models)]
        case {"type": "object", "properties": fields}:
            needed = schema.get("required", ())
            return {
                name: _example(field, models) for name, field in fields.items() if name in needed or "examples" in field
            }
    raise ValueError(f"give this field an example: {schema}")
