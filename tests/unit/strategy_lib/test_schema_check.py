"""The JSON Schemas: valid, documented, and of one opinion with the code that reads; JSON from outside has a bound."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from importlib.resources import files
from typing import Any

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from strategy_lib.errors import Problem, StrategyLibError
from strategy_lib.parsing.bounded_json import DEEPEST, read_json
from strategy_lib.parsing.configuration import DeploymentConfiguration, parse_configuration
from strategy_lib.parsing.schema_check import check_data, schema
from strategy_lib.parsing.strategy_parser import nodes_from_inventory, parse_strategy

FILES = sorted(entry.name for entry in files("slipway_schemas").iterdir() if entry.name.endswith(".json"))
NAMES = [name.removesuffix(".json") for name in FILES]
MAPPINGS_OF_SCHEMAS = {"$defs", "properties"}
SCHEMAS = {"additionalProperties", "items", "propertyNames"}
LISTS_OF_SCHEMAS = {"allOf", "anyOf", "oneOf"}
NO_SCHEMAS = {
    *("$schema", "$id", "$ref", "title", "description", "default", "type", "const", "enum", "required"),
    "$comment",
    *(
        "pattern",
        "minItems",
        "minLength",
        "maxLength",
        "minimum",
        "maximum",
        "minProperties",
        "maxProperties",
        "maxItems",
        "uniqueItems",
    ),
}


def reference_validator(name: str) -> jsonschema.Draft202012Validator:
    return jsonschema.Draft202012Validator({"$ref": "#/$defs/data", "$defs": schema(name)["$defs"]})


def problems_of(read: Callable[[], object]) -> tuple[Problem, ...]:
    try:
        read()
    except StrategyLibError as error:
        return error.problems
    return ()


def test_there_are_schemas() -> None:
    assert {"deployment_configuration", "deployment_strategy", "node_inventory"} <= set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_schema_is_valid_and_of_draft_2020_12(name: str) -> None:
    assert schema(name)["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    jsonschema.Draft202012Validator.check_schema(schema(name))


def parts(part: Any, path: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield every schema in a schema, itself included, with its path. What is true or false for anything has none."""
    if isinstance(part, dict):
        yield path, part
        for keyword, below in part.items():
            if keyword in MAPPINGS_OF_SCHEMAS:
                for key, schema_below in below.items():
                    yield from parts(schema_below, f"{path}/{keyword}/{key}")
            elif keyword in SCHEMAS:
                yield from parts(below, f"{path}/{keyword}")
            elif keyword in LISTS_OF_SCHEMAS:
                for position, schema_below in enumerate(below):
                    yield from parts(schema_below, f"{path}/{keyword}/{position}")
            else:
                assert keyword in NO_SCHEMAS, f"{path}: say what {keyword!r} holds, or its schemas are not seen here"


@pytest.mark.parametrize("name", NAMES)
def test_schema_tells_an_editor_what_everything_is_at_every_level(name: str) -> None:
    found = list(parts(schema(name), name))
    assert len(found) > 5
    lacking = []
    for path, part in found:
        shared = schema(name)["$defs"][part["$ref"].split("/")[-1]] if "$ref" in part else {}
        said = {**shared, **part}
        lacking += [f"{path} has no {word}" for word in ("title", "description") if not said.get(word, "").strip()]
    assert lacking == []


def test_every_level_is_looked_at() -> None:
    value = {"title": "Value"}
    made = {
        "$defs": {"a": {"items": value}},
        "properties": {"title": {"additionalProperties": value}},
        "anyOf": [value],
    }
    assert [path for path, part in parts(made, "") if part is value] == [
        "/$defs/a/items",
        "/properties/title/additionalProperties",
        "/anyOf/0",
    ]
    with pytest.raises(AssertionError, match="'contains'"):
        list(parts({"contains": value}, ""))


def test_a_whole_document_can_be_checked_by_an_editor() -> None:
    document = {
        "schema": "shipyard/DeploymentStrategy/v1",
        "metadata": {"schema": "metadata/Document/v1", "name": "s", "storagePolicy": "cleartext"},
        "data": {"groups": []},
    }
    validator = jsonschema.Draft202012Validator(schema("deployment_strategy"))
    assert validator.is_valid(document)
    assert not validator.is_valid({**document, "data": {}})
    assert not validator.is_valid({**document, "schema": "other"})


def test_defaults_in_the_schema_are_those_of_the_code() -> None:
    fields = schema("deployment_configuration")["$defs"]["physical_provisioner"]["properties"]
    defaults = DeploymentConfiguration()
    assert set(fields) | {"after_success"} == set(DeploymentConfiguration.__slots__)
    for name, field in fields.items():
        assert field.get("default") == getattr(defaults, name)


words = st.sampled_from(["", "a", "b", "key: value", ":", "x:y", " : ", "5"])
scalars = st.one_of(st.none(), st.booleans(), st.integers(-2, 102), st.sampled_from([50.0, 0.5]), words)


def maybe(good: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Mostly what is right, now and then anything."""
    return st.one_of(good, good, good, scalars, st.lists(scalars, max_size=2))


labels = maybe(st.one_of(words, st.dictionaries(words, scalars, max_size=2)))
selectors = st.dictionaries(
    st.sampled_from(["node_names", "node_tags", "node_labels", "rack_names", "nodes"]),
    maybe(st.lists(labels, max_size=2)),
    max_size=3,
)
criteria = st.dictionaries(
    st.sampled_from(["percent_successful_nodes", "minimum_successful_nodes", "maximum_failed_nodes", "percent"]),
    maybe(st.integers(0, 100)),
    max_size=3,
)
groups = st.fixed_dictionaries(
    {"name": maybe(st.just("a")), "critical": maybe(st.booleans())},
    optional={
        "depends_on": maybe(st.just([])),
        "selectors": maybe(st.lists(maybe(selectors), max_size=2)),
        "success_criteria": maybe(criteria),
        "release_failed": maybe(st.booleans()),
        "approval": st.sampled_from(["before", "after", "never", None]),
        "extra": scalars,
    },
)


def with_all_fields(group: dict[str, Any]) -> dict[str, Any]:
    return {"depends_on": [], "selectors": [], **group}


@settings(max_examples=120, deadline=None)
@given(maybe(st.fixed_dictionaries({"groups": maybe(st.lists(maybe(groups.map(with_all_fields)), max_size=1))})))
def test_rule_03_schema_and_reader_agree_on_strategies(data: Any) -> None:
    valid = reference_validator("deployment_strategy").is_valid(data)
    assert (check_data("deployment_strategy", data) == []) is valid
    # With one group and no dependencies nothing but the shape can be wrong.
    assert (problems_of(lambda: parse_strategy(data)) == ()) is valid


settings_ = st.dictionaries(
    st.sampled_from(
        ["deployment_strategy", "deploy_interval", "deploy_timeout", "join_wait", "verify_timeout", "typo"]
    ),
    st.one_of(st.integers(-1, 5), st.sampled_from(["s", "", None, True, 2.0])),
    max_size=3,
)


@settings(max_examples=80, deadline=None)
@given(maybe(st.fixed_dictionaries({}, optional={"physical_provisioner": maybe(settings_), "armada": scalars})))
def test_rule_22_schema_and_reader_agree_on_configurations(data: Any) -> None:
    valid = reference_validator("deployment_configuration").is_valid(data)
    problems = problems_of(lambda: parse_configuration(data))
    # That an interval fits its timeout is more than a schema can say.
    assert all("must not be above" in problem.message for problem in problems) is valid


nodes = st.fixed_dictionaries(
    {"name": maybe(st.just("n"))},
    optional={
        "tags": maybe(st.lists(maybe(st.just("t")), max_size=2)),
        "labels": maybe(st.dictionaries(words, scalars, max_size=2)),
        "rack": maybe(st.just("r")),
        "row": scalars,
    },
)


@settings(max_examples=80, deadline=None)
@given(maybe(st.lists(maybe(nodes), max_size=1)))
def test_schema_and_reader_agree_on_inventories(data: Any) -> None:
    valid = reference_validator("node_inventory").is_valid(data)
    assert (problems_of(lambda: nodes_from_inventory(data)) == ()) is valid


def test_shipped_files_are_json_of_one_form() -> None:
    for entry in files("slipway_schemas").iterdir():
        if entry.name.endswith(".json"):
            assert json.loads(entry.read_text("utf-8"))["$id"] == f"urn:slipway:schemas:{entry.name[:-5]}"


def test_what_is_meant_is_read() -> None:
    deepest = "[" * DEEPEST + "]" * DEEPEST
    assert read_json(deepest) is not None
    assert read_json(b'{"a": ["[[[[", {"b": 1.5}], "c": null}') == {"a": ["[[[[", {"b": 1.5}], "c": None}
    assert read_json("7") == 7


@pytest.mark.parametrize(
    "text",
    [
        "[" * 30_000,
        '{"a":' * 30_000,
        "[" * (DEEPEST + 1) + "]" * (DEEPEST + 1),
        '{"a":' * 900 + "1" + "}" * 900,
        "",
        "{",
        b"\xff",
    ],
)
def test_all_else_is_one_kind_of_error(text: str | bytes) -> None:
    with pytest.raises(ValueError):
        read_json(text)
