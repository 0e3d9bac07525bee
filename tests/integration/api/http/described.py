"""Whether an answer of the API is one that its description has: its status, and every key of its body."""

from __future__ import annotations

import json
import re
from functools import cache
from typing import Any

import httpx
import jsonschema_rs
from fastapi import FastAPI

from slipway_api.app import create_app

_ROOT = "/slipway"
# A path with a parameter that takes slashes has another route behind it: the longer one is asked first.
_PARAMETER = re.compile(r"\\\{(\w+)\\\}")
_WITH_SLASHES = {"step", "run_id"}


def strict(description: dict[str, Any]) -> dict[str, Any]:
    """Refuse keys that the description does not name: it is to be exact, though a client need not care."""
    made: dict[str, Any] = json.loads(json.dumps(description))
    for schema in made["components"]["schemas"].values():
        if "properties" in schema:
            schema["additionalProperties"] = False
    return made


@cache
def application() -> FastAPI:
    """Return Slipway's application, without provisioners; it is made once, and nobody changes it."""
    return create_app()


@cache
def operations() -> dict[str, dict[str, Any]]:
    """Return the described operations, by method and path such as ``GET /versions``."""
    return {
        f"{method.upper()} {path}": operation
        for path, methods in application().openapi()["paths"].items()
        for method, operation in methods.items()
    }


@cache
def _description() -> dict[str, Any]:
    return strict(application().openapi())


@cache
def _paths() -> list[tuple[re.Pattern[str], str]]:
    def pattern(path: str) -> re.Pattern[str]:
        return re.compile(
            _PARAMETER.sub(lambda found: ".+" if found[1] in _WITH_SLASHES else "[^/]+", re.escape(path)), re.DOTALL
        )

    return [(pattern(path), path) for path in sorted(_description()["paths"], key=len, reverse=True)]


@cache
def _validator(path: str, method: str, status: str) -> Any:
    answers = _description()["paths"][path][method]["responses"]
    assert status in answers, f"{method.upper()} {path} answers {status}, described are {', '.join(answers)}"
    schema = answers[status].get("content", {}).get("application/json", {}).get("schema")
    return schema and jsonschema_rs.validator_for({**schema, "components": _description()["components"]})


def is_as_described(answer: httpx.Response) -> None:
    """Check an answer; a hook of httpx. What is no operation of the API is not looked at."""
    path = answer.request.url.path.removeprefix(_ROOT)
    method = answer.request.method.lower()
    place = next((described for pattern, described in _paths() if pattern.fullmatch(path)), None)
    if place is None or method not in _description()["paths"][place]:
        return
    validator = _validator(place, method, str(answer.status_code))
    if validator is not None and answer.headers.get("content-type") == "application/json":
        answer.read()
        wrong = [
            f"{'/'.join(map(str, error.instance_path))}: {error}" for error in validator.iter_errors(answer.json())
        ]
        assert not wrong, f"{method.upper()} {place} {answer.status_code}:\n" + "\n".join(wrong)
