"""Checking data against the JSON Schemas of `schemas/`, each problem in a plain sentence. No meaning beyond them."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from functools import cache
from importlib.resources import files
from typing import Any

import jsonschema_rs

from strategy_lib.did_you_mean import did_you_mean
from strategy_lib.errors import Origin, Problem, Step, extend, problem_at

_MOST_PROBLEMS = 1000
_TYPES = {
    "object": "a mapping",
    "array": "a list",
    "string": "text",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
    "null": "empty",
}


@cache
def schema(name: str) -> dict[str, Any]:
    """Return the JSON Schema of this name (`deployment_strategy`) as shipped in `schemas/`."""
    content: dict[str, Any] = json.loads(files("slipway_schemas").joinpath(f"{name}.json").read_text("utf-8"))
    return content


@cache
def _validator(name: str) -> jsonschema_rs.Draft202012Validator:
    """Return the validator of what stands under `data:`."""
    return jsonschema_rs.Draft202012Validator({"$ref": "#/$defs/data", "$defs": schema(name)["$defs"]})


def check_data(name: str, data: object, document: Origin | None = None, root: str = "$.data") -> list[Problem]:
    """Check the `data` of a document, or a plain file, against its schema.

    Parameters
    ----------
    root : path of the data, put before the path of every problem.
    """
    validator = _validator(name)
    try:
        if validator.is_valid(data):
            return []
        errors = list(validator.iter_errors(data))
    except ValueError:
        # Not from YAML or JSON: a key that is not text, or a value JSON has no word for.
        found = list(_not_json(data, root)) or [(root, "must be made of JSON values")]
        return [problem_at(path, message, document) for path, message in found[:_MOST_PROBLEMS]]
    definitions = schema(name)["$defs"]
    problems = [
        problem_at(extend(root, *steps), message, document)
        for error in errors
        for steps, message in _sentences(error, definitions)
    ]
    unique = list(dict.fromkeys(problems))
    if len(unique) > _MOST_PROBLEMS:
        more = problem_at(root, f"there are {len(unique) - _MOST_PROBLEMS} more problems like these", document)
        return [*unique[:_MOST_PROBLEMS], more]
    return unique


def _sentences(error: Any, definitions: dict[str, Any]) -> Iterator[tuple[list[Step], str]]:
    """Yield where and what for one finding of the validator."""
    where: list[Step] = list(error.instance_path)
    keywords = list(error.schema_path)
    keyword = str(keywords[-1])
    rule = _lookup(definitions, keywords[:-1])
    value = error.instance
    if keyword == "required":
        missing = error.kind.property
        about = rule.get("properties", {}).get(missing, {})
        about = _lookup(definitions, about["$ref"].split("/")[1:]) if "$ref" in about else about
        hint = f": {about['description']}" if "description" in about else ""
        yield where, f"{missing} is missing{hint}"
    elif keyword == "additionalProperties" and error.kind.__class__.__name__ == "AdditionalProperties":
        known = list(rule.get("properties", {}))
        for unexpected in error.kind.unexpected:
            yield (
                [*where, unexpected],
                f"{unexpected!r} is not known here; {did_you_mean(unexpected, known, quoted=False)}",
            )
    elif "propertyNames" in keywords:
        yield where, _expected(_lookup(definitions, keywords[: keywords.index("propertyNames")]), value)
    elif keyword == "uniqueItems":
        # The caller says which name is there twice; the schema only says that there is one.
        return
    else:
        yield where, _expected(rule, value)


def _expected(rule: dict[str, Any], value: object) -> str:
    """Return a sentence with what would be right, and what is there instead."""
    types = rule.get("type")
    if rule.get("title") == "Label":
        wanted = 'a label, "key: value" or a mapping of one key to its value'
    elif isinstance(types, list) and "integer" in types and "minimum" in rule:
        wanted = f'a whole number, {rule["minimum"]} or more, or a percentage such as "25%"'
    elif "enum" in rule:
        wanted = " or ".join(rule["enum"])
    elif isinstance(value, str) and value and len(value) <= rule.get("maxLength", len(value)) and "$comment" in rule:
        wanted = rule["$comment"]
    elif types == "integer" and "maximum" in rule:
        wanted = f"a whole number from {rule.get('minimum', 0)} to {rule['maximum']}"
    elif types == "integer" and "minimum" in rule:
        wanted = f"a whole number, {rule['minimum']} or more"
    elif isinstance(types, str):
        wanted = _TYPES[types]
    else:
        wanted = " or ".join(_TYPES[name] for name in types or ())
    textual = types == "string" or (isinstance(types, list) and "string" in types)
    if textual and value == "":
        return "must not be empty"
    if textual and isinstance(value, str) and len(value) > rule.get("maxLength", len(value)):
        return f"must have at most {rule['maxLength']} characters, and has {len(value)}"
    if types == "array" and value == []:
        return "must not be an empty list; leave it out"
    hint = ""
    if textual and "integer" not in (types or ()) and isinstance(value, int | float):
        hint = "; put it in quotes"
    elif types == "array" and value is None:
        hint = "; write [] for an empty list"
    return f"must be {wanted}, not {_shown(value)}{hint}"


def _shown(value: object) -> str:
    if isinstance(value, str):
        # Several lines are more than a name: what stands in them may be no reader's business.
        return f"a text of {len(value.splitlines())} lines" if "\n" in value.strip() else f"the text {value[:60]!r}"
    if value is None:
        return "empty"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dict):
        return "a mapping" if len(value) != 1 else f"a mapping of {next(iter(value))!r}"
    if isinstance(value, list):
        return "a list"
    return str(value)[:60]


def _lookup(definitions: dict[str, Any], keywords: list[Any]) -> dict[str, Any]:
    """Return the part of the schema that these keywords lead to, references followed."""
    part: Any = {"$ref": "#/$defs/data", "$defs": definitions}
    for keyword in keywords:
        if keyword == "$ref":
            part = definitions[part["$ref"].rsplit("/", 1)[-1]]
        else:
            part = part[keyword]
    return part if isinstance(part, dict) else {}


def _not_json(data: object, path: str) -> Iterator[tuple[str, str]]:
    """Yield where and what for everything that JSON has no word for, without recursion."""
    left: list[tuple[object, str]] = [(data, path)]
    while left:
        value, here = left.pop()
        if isinstance(value, dict):
            for key, below in value.items():
                if isinstance(key, str):
                    left.append((below, extend(here, key)))
                else:
                    yield here, f"the key {key!r} must be text; put it in quotes"
        elif isinstance(value, list | tuple):
            left.extend((below, extend(here, position)) for position, below in enumerate(value))
        elif isinstance(value, float) and not math.isfinite(value):
            yield here, f"{value} is not a JSON number"
        elif value is not None and not isinstance(value, str | int | float):
            yield here, f"must be a JSON value, not a {type(value).__name__}"
