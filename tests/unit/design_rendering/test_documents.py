"""Reading YAML: every refusal names its place, and no input can hurt."""

from __future__ import annotations

import json

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from design_rendering.reading.documents import (
    READ_KINDS,
    Document,
    DocumentError,
    find_document,
    find_documents,
    load_documents,
)
from design_rendering.reading.yaml_reader import Limits
from strategy_lib.errors import Problem
from strategy_lib.strategy import STRATEGY_SCHEMA

# What takes longer than this has no bound.
pytestmark = pytest.mark.timeout(60)

ENVELOPE = "schema: a/B/v1\nmetadata: {name: n, layeringDefinition: {layer: site}}\n"


def document(data: str, schema: str = "a/B/v1") -> str:
    return f"---\n{ENVELOPE.replace('a/B/v1', schema)}data:\n{data}\n"


def problems_of(text: str | bytes, limits: Limits | None = None) -> tuple[Problem, ...]:
    with pytest.raises(DocumentError) as caught:
        load_documents(text, "site.yaml", limits)
    assert all(problem.source == "site.yaml" for problem in caught.value.problems)
    return caught.value.problems


def only_problem(text: str | bytes, limits: Limits | None = None) -> Problem:
    problems = problems_of(text, limits)
    assert len(problems) == 1, problems
    return problems[0]


def test_a_document_has_its_envelope_and_its_place() -> None:
    text = "# a comment\n" + document("  x: 1") + "---\n" + document("  x: 2") + "---\n# empty\n---\n"
    first, second = load_documents(text, "site.yaml")
    assert (first.schema, first.name, first.layer, first.data, first.line) == ("a/B/v1", "n", "site", {"x": 1}, 3)
    assert second.data == {"x": 2}
    assert first.label == "site.yaml: a/B/v1 n"
    assert second.line_of("$.data.x") == second.line + 3


def test_no_documents_at_all() -> None:
    assert load_documents("") == []
    assert load_documents(b"# nothing\n---\n") == []


def test_bytes_with_a_byte_order_mark() -> None:
    assert load_documents(b"\xef\xbb\xbf" + document("  x: 1").encode())[0].data == {"x": 1}


@pytest.mark.parametrize(
    ("data", "value"),
    [
        ("  x: {a: [1, 2.5, true, null, ~, yes, off], b: 'yes', c: \"1\"}", [1, 2.5, True, None, None, True, False]),
        ("  x: {a: [0x10, 0o7, 010, 1_000, -3, +4]}", [16, "0o7", 8, 1000, -3, 4]),
        ("  x: {a: [2026-01-01, .inf, .nan, 1e3, 1.5e+3]}", ["2026-01-01", ".inf", ".nan", "1e3", 1500.0]),
        (
            "  x: {a: [!!str 12, !!int '12', !!float '1', !secret abc, !!binary YQ==, ! 5]}",
            ["12", 12, 1, "abc", "YQ==", "5"],
        ),
        ("  x: {a: [!Sub [1], !!python/object/apply:os.system ['exit 1']]}", [[1], ["exit 1"]]),
        ("  x: {a: [<<, '<<']}", ["<<", "<<"]),
    ],
    ids=[
        "truth values and nothing",
        "numbers",
        "what JSON has no word for stays text",
        "tags",
        "unknown tags",
        "<< as a value",
    ],
)
def test_values_are_those_of_yaml_1_1_as_json(data: str, value: object) -> None:
    assert load_documents(document(data))[0].data["x"]["a"] == value


def test_keys_are_taken_as_they_are_written() -> None:
    assert load_documents(document("  on: 1\n  8080: 2\n  ~: 3\n  'a b': 4"))[0].data == {
        "on": 1,
        "8080": 2,
        "~": 3,
        "a b": 4,
    }


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=8),
    lambda below: st.lists(below, max_size=4) | st.dictionaries(st.text(max_size=5), below, max_size=4),
    max_leaves=12,
)


@settings(max_examples=50, deadline=None)
@given(json_values, st.booleans())
def test_what_pyyaml_writes_is_read_back(value: object, flow: bool) -> None:
    written = {"schema": "s", "metadata": {"name": "n"}, "data": value}
    text = yaml.safe_dump_all([written, written], default_flow_style=flow)
    documents = load_documents(text)
    assert [document.data for document in documents] == [value, value]
    line = text.split("\n").index("data:") + 1 if "data:" in text.split("\n") else None
    assert line is None or documents[0].line_of("$.data") == line


def test_merge_keys() -> None:
    data = (
        "  base: &b {x: 1, y: 2}\n  other: &o {y: 3, z: 4}\n  one: {<<: *b, y: 9}\n  two:\n    <<: [*b, *o]\n    w: 0"
    )
    read = load_documents(document(data))[0].data
    assert read["one"] == {"x": 1, "y": 9}
    assert read["two"] == {"x": 1, "y": 2, "z": 4, "w": 0}


def test_a_merge_of_text_is_refused() -> None:
    problem = only_problem(document("  one:\n    <<: text"))
    assert (problem.line, problem.path) == (6, "$.data.one['<<']")
    assert "takes a mapping" in problem.message


TWICE = "  x: 1\n  y:\n  - {a: 1, a: 2}\n  x: 3\n  z: {<<: {a: 1, b: 1}, <<: {b: 2}}"


@pytest.mark.parametrize("schema", sorted(READ_KINDS))
def test_duplicate_keys_in_what_is_read_here_are_refused_each_with_both_lines(schema: str) -> None:
    problems = problems_of(document(TWICE, schema))
    paths = [(7, "$.data.y[0].a"), (8, "$.data.x"), (9, "$.data.z['<<']")]
    assert [(problem.line, problem.path) for problem in problems] == paths
    assert problems[1].message == "the key 'x' is already there on line 5; keep one of them"
    assert {problem.level for problem in problems} == {"error"}


@pytest.mark.parametrize("schema", sorted(READ_KINDS))
def test_a_key_that_stands_twice_with_one_value_is_a_warning_everywhere(schema: str) -> None:
    (read,) = load_documents(document("  x: {a: [1, true]}\n  x: {a: [1, true]}", schema))
    assert [(one.line, one.path, one.level, one.message) for one in read.warnings] == [
        (6, "$.data.x", "warning", "the key 'x' is already there on line 5 with the same value; keep one of them")
    ]


@pytest.mark.parametrize("value", ["true", "1.0", "'1'"])
def test_values_that_are_only_alike_are_not_the_same(value: str) -> None:
    assert only_problem(document(f"  x: 1\n  x: {value}", STRATEGY_SCHEMA)).level == "error"


def test_duplicate_keys_elsewhere_are_warned_about_and_the_last_one_is_taken() -> None:
    (read,) = load_documents(document(TWICE), "site.yaml")
    # Just as PyYAML, and so Deckhand and Shipyard's client, read it.
    assert read.data == yaml.safe_load(document(TWICE))["data"]
    assert read.data == {"x": 3, "y": [{"a": 2}], "z": {"a": 1, "b": 2}}
    assert [(warning.line, warning.path, warning.level) for warning in read.warnings] == [
        (7, "$.data.y[0].a", "warning"),
        (8, "$.data.x", "warning"),
        (9, "$.data.z['<<']", "warning"),
    ]
    assert read.warnings[1].message == "the key 'x' is already there on line 5; this one is taken"
    assert {(warning.source, warning.document) for warning in read.warnings} == {("site.yaml", read.label)}


def test_a_duplicate_schema_counts_for_the_kind_that_is_taken() -> None:
    text = "schema: a/B/v1\nschema: drydock/HostProfile/v1\nmetadata: {name: n}\ndata: {}\n"
    assert only_problem(text).path == "$.schema"


def test_many_duplicate_keys_do_not_fill_the_memory_and_no_document_goes_unnoticed() -> None:
    many = document("\n".join(f"  k{number % 2}: 1" for number in range(3000)))
    read = load_documents(many * 3 + document("  x: 1"))
    assert [len(one.warnings) for one in read] == [1000, 1, 1, 0]
    assert len(problems_of(many * 2 + document(TWICE, "drydock/HostProfile/v1"))) == 1


def test_a_key_that_is_not_text() -> None:
    assert "a key must be plain text" in only_problem(document("  ? [1, 2]\n  : 3")).message


def test_all_documents_with_problems_are_named_at_once() -> None:
    text = "a: 1\n---\n- 1\n---\nschema: x\nmetadata: {}\n---\nschema: [\n---\n"
    text += document("  x: 1\n  x: 2", "drydock/HostProfile/v1")
    problems = problems_of(text)
    assert [(problem.line, problem.path) for problem in problems] == [
        (1, "$.schema"),
        (1, "$.metadata.name"),
        (3, "$"),
        (6, "$.metadata.name"),
        (9, "$"),
        (15, "$.data.x"),
    ]


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("a: 1\nb: [1,\nc: 2\n", 4, "flow sequence that began on line 2"),
        ("a: 1\n b: 2\n", 2, "not YAML"),
        ("a: 'x\n", 2, "not YAML"),
        ("a:\n\tb: 1\n", 2, "indented by a tab, which cannot indent YAML: use spaces"),
        ("a: 1\n---\n# so\n\na:\n  b: 1\n \tc: 2\n", 7, "use spaces"),
        ("a: *nowhere\n", 1, "*nowhere must come after"),
        ("a: &x\n  b: *x\n", 2, "*x must come after the end"),
        ("a: 1\nb: \x00\n", 2, "U+0000"),
        ("a: 1\n\nb: '\x07'\n", 3, "U+0007"),
        (b"a: 1\nb: \xff\n", 2, "0xff is not UTF-8"),
        ("a: 1\nb: \ud800\n", 2, "surrogate"),
        ("a: !!int abc\n", 1, "!!int"),
    ],
)
def test_what_cannot_be_read_is_named_with_its_line(text: str | bytes, line: int, words: str) -> None:
    matching = [problem for problem in problems_of(text) if words in problem.message]
    assert [problem.line for problem in matching] == [line]


@pytest.mark.parametrize("text", ["a: [\tb\n", "a:\tb: 1\n", "a: 'x\n\t\n"])
def test_a_tab_elsewhere_is_not_blamed(text: str) -> None:
    (problem,) = (problem for problem in problems_of(text) if "not YAML" in problem.message)
    assert "use spaces" not in problem.message


def test_utf_16_is_refused() -> None:
    assert "UTF-8" in only_problem("a: 1".encode("utf-16")).message


def bomb(levels: int, width: int = 10) -> str:
    lines = ["  l0: &l0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"  l{i}: &l{i} [{', '.join([f'*l{i - 1}'] * width)}]" for i in range(1, levels)]
    return document("\n".join(lines))


def nested_aliases(levels: int) -> str:
    return document("\n".join(["  l0: &l0 [x]", *(f"  l{i}: &l{i} [*l{i - 1}]" for i in range(1, levels))]))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (bomb(levels=12), "more than 5000000 values"),
        (document("  x: " + "[" * 200_000), "nested more than 64 deep"),
        (document("  x: " + "{a: " * 100_000), "nested more than 64 deep"),
        (document("  x: " + "[" * 65 + "]" * 65), "nested more than 64 deep"),
        (nested_aliases(levels=1000), "nested more than 64 deep"),
        (b" " * (64 * 1024 * 1024 + 1), "split the file"),
    ],
    ids=["billion laughs", "open lists", "open mappings", "deep", "deep by aliases", "large"],
)
def test_bombs_are_refused(text: str | bytes, words: str) -> None:
    problems = problems_of(text)
    assert any(words in problem.message for problem in problems)


def test_a_thousand_problems_are_enough() -> None:
    problems = problems_of("--- 1\n" * 5_000)
    assert len(problems) == 1_001
    assert problems[-1].message == "reading ended here, after 1000 problems"


def test_limits_are_exact() -> None:
    text = document("  a: [1, 2, 3]")
    # schema, a/B/v1, metadata {name n layeringDefinition {layer site}}, data {a [1 2 3]}, and the document itself
    nodes = 1 + 2 + 1 + 1 + 2 + 1 + 1 + 2 + 1 + 1 + 1 + 1 + 3
    assert load_documents(text, limits=Limits(max_nodes=nodes, max_depth=3, max_documents=1, max_bytes=len(text)))
    for limits in (
        Limits(max_nodes=nodes - 1),
        Limits(max_depth=2),
        Limits(max_documents=0),
        Limits(max_bytes=len(text) - 1),
    ):
        only_problem(text, limits)


def test_a_long_text_that_is_repeated_by_aliases_is_counted_as_often() -> None:
    long = "x" * 1000
    text = document(f"  a: &a [{long}, {long}]\n  b: [*a, *a]\n  c: &c {long}\n  d: [*c, *c]")
    there = 9 * 1000 + len("schemaa/B/v1metadatanamenlayeringDefinitionlayersitedataabcd")
    assert load_documents(text, limits=Limits(max_characters=there))
    assert "characters" in only_problem(text, Limits(max_characters=there - 1)).message


@pytest.mark.parametrize("number", ["0x" + "f" * 3_400, "0b" + "1" * 3_900, ":".join(["59"] * 1_300), "9" * 4_000])
def test_every_number_that_is_read_can_be_written_as_json(number: str) -> None:
    (read,) = load_documents(document(f"  a: {number}"))
    assert isinstance(read.data["a"], int)
    assert json.loads(json.dumps(read.data)) == read.data


@pytest.mark.parametrize("number", ["0x" + "f" * 3_900, "9" * 4_001])
def test_numbers_that_are_too_long(number: str) -> None:
    assert "too long for a number" in only_problem(document(f"  a: {number}")).message


@pytest.mark.parametrize(
    ("path", "line"),
    [
        ("$", 2),
        ("$.data", 4),
        ("$.data.groups[1].name", 8),
        ("$.data.groups[1]", 7),
        ("$.data.groups[1].missing.deeper", 7),
        ("$.data.groups[9]", 5),
        ("$.data['odd key'].x", 10),
        ("$.data['it''s']", 4),
        ("not a path", 2),
    ],
)
def test_line_of_is_the_nearest_ancestor_that_is_there(path: str, line: int) -> None:
    data = "  groups:\n  - name: a\n  - critical: 1\n    name: b\n  'odd key':\n    x: 1"
    assert load_documents(document(data))[0].line_of(path) == line


def test_line_of_survives_an_indented_tagged_or_inline_root() -> None:
    indented, inline, tagged = load_documents(
        "---\n  schema: s\n  metadata:\n    name: a\n--- {schema: s, metadata: {name: b}, data: \n 1}\n"
        "--- !thing\nschema: s\nmetadata: {name: c}\ndata: 1\n"
    )
    assert indented.line_of("$.metadata.name") == 4
    assert inline.line_of("$.metadata.name") == 5
    assert tagged.line_of("$.data") == 10


def test_line_of_a_document_from_elsewhere_is_not_known() -> None:
    assert Document("s", "n", None, {}).line_of("$.data") is None


def test_line_of_counts_characters_and_not_bytes() -> None:
    first, second = load_documents(document("  x: Zürich – 東京") + document("  y: ä\n  z: 1"))
    assert first.data == {"x": "Zürich – 東京"}
    assert second.line_of("$.data.z") == 11


def of(name: str, layer: str | None, *, abstract: bool = False) -> Document:
    return Document("s", name, layer, {"layer": layer}, {"layeringDefinition": {"abstract": abstract}})


def test_find_documents_takes_the_most_specific_layer_and_never_an_abstract_one() -> None:
    documents = [of("a", "site"), of("a", "global"), of("a", "type"), of("b", "site", abstract=True), of("c", None)]
    assert {name: found.layer for name, found in find_documents(documents, "s").items()} == {"a": "site", "c": None}
    assert find_document(documents, "other") is None


def test_find_document_refuses_two_of_one_kind_layer_and_name() -> None:
    with pytest.raises(DocumentError, match="already a s named 'a'"):
        find_document([of("a", "site"), of("a", "site")], "s")


def test_find_document_refuses_to_choose() -> None:
    assert find_document([of("a", "site")], "s") is not None
    with pytest.raises(DocumentError, match="only one s"):
        find_document([of("a", "site"), of("b", "site")], "s")
