"""The rendered design as text: what was not changed is as it was written, and every text means what it should."""

from __future__ import annotations

from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from design_rendering.reading.documents import Document, RenderingError, load_documents
from design_rendering.reading.yaml_writer import BlockYaml, DocumentWriter
from design_rendering.rendering import RenderedDocument, Rendering, design_text, render
from tests.support.designs import child, layered, parent, rendering

# Characters that YAML takes for something, and some that it does not allow as they are.
TEXTS = st.text(
    st.sampled_from(list("ab: #-'\"\\\n\t[]{},&*!|>%@`?=~0189.eE+_yn\x00\x07\x7f\x85\xa0\u2028\ufeffé\U0001f600"))
)
# fmt: off
WORDS = st.sampled_from([
    *"ynYN=~0", "yes", "No", "on", "null", "", "true", "0x1f", "1e5", "1.0", "1:30", "010", "2020-01-01", "<<", "---",
    "...", "- a", "a: b", "a:", "a #b", " a", "a ", "a\n", "\na", "a\n\n", "a\n b\n", "a \nb", " a\nb", "\n a\n",
    "!t", "&a", "*a", " a\nb\n", "  a\n b", "\n\n a\nb", "a\n\n\n", "a\n\tb\n", "\ta\nb\n", "a\r\nb\n", "a\n ", "\n",
])
# fmt: on
SCALARS = st.one_of(
    TEXTS, WORDS, st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False, allow_infinity=False)
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS | WORDS, inner, max_size=4),
    max_leaves=20,
)


@settings(max_examples=50, deadline=None)
@given(st.dictionaries(TEXTS | WORDS, VALUES, max_size=5))
def test_what_is_written_is_what_every_reader_reads(value: dict[str, Any]) -> None:
    text = BlockYaml().text(value)
    for loader in (yaml.SafeLoader, yaml.CSafeLoader):
        assert yaml.load(text, Loader=loader) == value  # noqa: S506
    assert text.endswith("\n")
    (document,) = load_documents("---\n" + DocumentWriter().dumped(Document("a/B/v1", "n", None, value, {"name": "n"})))
    assert document.data == value


@pytest.mark.parametrize("value", ["x" * 5000, "x y " * 2000, "é" * 2000, "a\n" * 3000, "\n" * 100, '"' * 2000])
def test_long_texts_and_keys(value: str) -> None:
    data = {value: [value, {"k": value}], "deep": {"er": [[[value]]]}}
    assert yaml.safe_load(BlockYaml().text(data)) == data


def test_texts_are_written_to_be_read_by_people() -> None:
    data = {"name": "n1", "script": "#!/bin/sh\nrun\n", "list": [{"a": 1, "b": [2, [3]]}, [], {}], "port": "80"}
    assert BlockYaml().text(data) == (
        'name: n1\nscript: |\n  #!/bin/sh\n  run\nlist:\n- a: 1\n  b:\n  - 2\n  - - 3\n- []\n- {}\nport: "80"\n'
    )


def test_mostly_indentation_is_not_written() -> None:
    data: Any = "a\n" * 1000
    for _ in range(50):
        data = [data]
    assert len(BlockYaml().text({"k": data})) < 6000


def test_shared_parts_are_written_in_every_place() -> None:
    shared = {"k": ["v"]}
    writer = BlockYaml()
    for _ in range(2):
        text = writer.text({"a": shared, "b": [shared, {"c": shared}]})
        assert "*" not in text
        assert yaml.safe_load(text) == {"a": shared, "b": [shared, {"c": shared}]}


WRITTEN = """\
# head
schema: a/B/v1
metadata: {name: first}
data:
  text: |
    kept

  # kept too
  n: 010
# behind
---
schema: a/B/v1
metadata: {name: second, layeringDefinition: {abstract: true, layer: global}}
---
{schema: a/B/v1, metadata: {name: third}, data: [1, 2]}
---  # same line
  schema: a/B/v1
  metadata: {name: fourth}
  data: "x"
...
---
schema: a/B/v1
metadata: {name: tagged}
data: !include x
---
schema: a/B/v1
metadata: {name: last}
data: |
  no newline"""


def test_documents_that_were_not_changed_are_as_they_were_written() -> None:
    read = load_documents(WRITTEN)
    text = design_text(render(read))
    assert text.startswith(
        "---\nschema: a/B/v1\nmetadata: {name: first}\ndata:\n  text: |\n    kept\n\n  # kept too\n  n: 010\n"
    )
    assert "---\n{schema: a/B/v1, metadata: {name: third}, data: [1, 2]}\n---\n  schema: a/B/v1\n" in text
    assert "include" not in text
    again = load_documents(text)
    assert [(one.name, one.data) for one in again] == [(one.name, one.data) for one in read if one.name != "second"]
    assert next(iter(yaml.safe_load_all(text)))["data"]["n"] == 8


@settings(max_examples=60, deadline=None)
@given(st.lists(VALUES, max_size=4), st.sampled_from([None, True]), st.booleans(), st.booleans())
def test_any_written_documents_mean_the_same(
    values: list[Any], flow: bool | None, starts: bool, ends_early: bool
) -> None:
    made = [
        {"schema": "a/B/v1", "metadata": {"name": f"n{number}"}, "data": value} for number, value in enumerate(values)
    ]
    text = yaml.safe_dump_all(made, default_flow_style=flow, explicit_start=True, explicit_end=not starts)
    read = load_documents(text.rstrip("\n") if ends_early else text)
    again = load_documents(design_text(render(read)))
    assert [one.data for one in again] == [one.data for one in read]


def test_changed_documents_are_written_anew_and_rendering_again_changes_nothing() -> None:
    made = rendering(layered("kept", "site", {"k": 1}), parent({"p": [1]}), child("c", {"o": 1}))
    text = design_text(made)
    again = render(load_documents(text))
    assert [one.document.data for one in again.documents] == [{"k": 1}, {"p": [1], "o": 1}]
    assert not any(one.changed for one in again.documents)
    assert not again.warnings
    assert design_text(again) == text


def test_a_document_too_large_to_write_is_refused() -> None:
    text = "x" * 1_000_000
    data: Any = [text] * 100
    with pytest.raises(RenderingError, match="larger than"):
        DocumentWriter().dumped(Document("a/B/v1", "n", None, data, {"name": "n"}))
    for _ in range(100):
        data = [data]
    with pytest.raises(RenderingError, match="nested more than 64 deep"):
        design_text(Rendering((RenderedDocument(Document("a/B/v1", "n", None, data, {"name": "n"})),)))
