"""Designs made to hurt: nothing but a RenderingError comes out, in little time and memory."""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from design_rendering.reading.documents import Document, DocumentError, RenderingError, load_documents
from design_rendering.redaction import redacted, secret_values
from design_rendering.rendering import design_text, render
from tests.support.designs import action, child, documents, layered, only_problem, parent, policy, substitution

# What takes longer than this has no bound.
pytestmark = pytest.mark.timeout(60)

ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
NAMES = st.sampled_from(["a", "b", "c"])
LAYERS = st.sampled_from(["global", "type", "site", "nowhere"])
PATHS = st.sampled_from(
    [".", ".a", ".b", ".a.b", ".a[0]", ".l[1].b", "$.a", "a", ".data.a", "..", ".x[9]", ""]
) | st.text(max_size=6)
PATTERNS = st.sampled_from(["a", ".*", "(a|b)+", "^v", "(", "[", "x{1000}", "(?=a)", "\\1", ""]) | st.text(max_size=6)
LABELS = st.dictionaries(st.sampled_from(["k", "l"]), st.sampled_from(["v", "w"]), max_size=2)
DATA = (
    st.dictionaries(st.sampled_from(["a", "b", "l", "password"]), ANYTHING | st.just({"a": {"b": "v"}}), max_size=3)
    | ANYTHING
)


def mostly(wanted: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.one_of(*[wanted] * 9, ANYTHING)


ACTION = st.fixed_dictionaries(
    {"method": mostly(st.sampled_from(["merge", "replace", "delete"])), "path": mostly(PATHS)}
)
SOURCE = st.fixed_dictionaries(
    {"schema": mostly(st.just("a/B/v1")), "name": mostly(NAMES), "path": mostly(PATHS)},
    optional={"pattern": mostly(PATTERNS), "match_group": mostly(st.integers(0, 2))},
)
DEST = st.fixed_dictionaries({"path": mostly(PATHS)}, optional={"pattern": mostly(PATTERNS)})
SUBSTITUTION = st.fixed_dictionaries({"src": mostly(SOURCE), "dest": mostly(DEST | st.lists(DEST, max_size=2))})
LAYERING = st.fixed_dictionaries(
    {"layer": mostly(LAYERS)},
    optional={
        "abstract": mostly(st.booleans()),
        "parentSelector": mostly(LABELS),
        "actions": mostly(st.lists(mostly(ACTION), max_size=3)),
    },
)
METADATA = st.fixed_dictionaries(
    {"name": NAMES},
    optional={
        "layeringDefinition": mostly(LAYERING),
        "labels": mostly(LABELS),
        "replacement": mostly(st.booleans()),
        "substitutions": mostly(st.lists(mostly(SUBSTITUTION), max_size=3)),
        "storagePolicy": mostly(st.sampled_from(["encrypted", "cleartext"])),
    },
)
DESIGN = st.lists(
    st.tuples(st.sampled_from(["a/B/v1"] * 9 + ["deckhand/LayeringPolicy/v1"]), METADATA, DATA), max_size=5
)


@contextmanager
def bounded(megabytes: int) -> Iterator[None]:
    tracemalloc.start()
    try:
        yield
        assert tracemalloc.get_traced_memory()[1] < megabytes * 2**20
    finally:
        tracemalloc.stop()


def _document(schema: str, metadata: dict[str, Any], data: Any) -> Document:
    layering = metadata.get("layeringDefinition")
    layer = layering.get("layer") if isinstance(layering, dict) else None
    return Document(schema, metadata["name"], layer if isinstance(layer, str) else None, data, metadata)


@pytest.mark.parametrize("number", [50, pytest.param(500, marks=pytest.mark.soak)])
def test_any_design_is_rendered_or_refused(number: int) -> None:
    settings(max_examples=number, deadline=None)(given(DESIGN)(rendered_or_refused))()


def rendered_or_refused(design: list[tuple[str, dict[str, Any], Any]]) -> None:
    """Render a design, and use what is made of it."""
    given_documents = [_document(*one) for one in design]
    before = repr(given_documents)
    secret_values(given_documents)
    try:
        made = render(given_documents)
    except RenderingError as refused:
        assert refused.problems and str(refused)  # noqa: PT017, PT018
    else:
        text = design_text(made)
        again = render(load_documents(text))
        assert [one.document.name for one in again.documents] == [one.document.name for one in made.documents]
        for one in made.documents:
            redacted(one.document, one.secret_paths)
    assert repr(given_documents) == before


@pytest.mark.parametrize("count", [20, 60, 300])
def test_documents_that_double_with_every_one(count: int) -> None:
    design = [layered("d0", "site", {"x": "payload"})]
    for number in range(1, count):
        puts = [substitution(f"d{number - 1}", ".", [{"path": ".l"}, {"path": ".r"}])]
        design.append(layered(f"d{number}", "site", {}, substitutions=puts))
    given_documents = documents(*design)
    with bounded(60), pytest.raises(RenderingError, match=r"hold more than|larger than|nested more than"):
        render(given_documents)


def test_texts_that_double_with_every_substitution() -> None:
    puts = [substitution("s", ".", {"path": ".x", "pattern": "A"})] * 60
    design = documents(layered("s", "site", "AA"), layered("d", "site", {"x": "A"}, substitutions=puts))
    with bounded(300), pytest.raises(RenderingError, match=r"larger than|takes too long"):
        render(design)


def test_a_chain_of_texts_that_grow() -> None:
    design = [layered("d0", "site", {"x": "A" * 1000})]
    for number in range(1, 20):
        put = substitution(f"d{number - 1}", ".x", {"path": ".x", "pattern": "B"})
        design.append(layered(f"d{number}", "site", {"x": "B" * 10}, substitutions=[put]))
    with bounded(200), pytest.raises(RenderingError, match="larger than"):
        render(documents(*design))


def test_aliases_that_stand_for_much() -> None:
    text = "schema: a/B/v1\nmetadata: {name: n}\ndata:\n"
    text += f"- &a {'x' * 100_000}\n" + "- *a\n" * 10_000
    with bounded(60), pytest.raises(DocumentError, match="more than 67108864 characters"):
        render(load_documents(text))
    with bounded(60), pytest.raises(RenderingError, match="larger than"):
        render([Document("a/B/v1", "n", None, ["x" * 100_000] * 10_000)])
    with bounded(60), pytest.raises(RenderingError, match="larger than"):
        render([Document("a/B/v1", "n", None, [{"x" * 100_000: 1}] * 10_000)])


@pytest.mark.endurance
def test_merging_what_is_large_again_and_again() -> None:
    wide = {f"k{number}": {"v": number} for number in range(3000)}
    above = parent(wide)
    below = child("c", wide, *[action("merge", ".")] * 20_000)
    assert "takes too long" in only_problem(above, below)


def test_a_pattern_that_looks_through_the_text_again_for_every_match() -> None:
    put = substitution("s", ".", {"path": ".x", "pattern": "a.*b|a"})
    design = layered("s", "site", "v"), layered("d", "site", {"x": "a" * 100_000}, substitutions=[put])
    assert "the patterns have too much text to look through" in only_problem(*design)


@pytest.mark.parametrize("pattern", ["(a+)+$", "(a|aa)+$", "(.*a){20}", "(x+x+)+y"])
def test_patterns_that_take_others_forever(pattern: str) -> None:
    design = documents(
        layered("s", "site", "v"),
        layered(
            "d", "site", {"x": "a" * 50_000}, substitutions=[substitution("s", ".", {"path": ".x", "pattern": pattern})]
        ),
    )
    try:
        render(design)
    except RenderingError as refused:
        assert "takes too long" in str(refused)  # noqa: PT017


def test_very_many_in_one_chain_need_no_deep_stack() -> None:
    count = 2000
    design = [policy(*(f"l{number}" for number in range(500)))]
    design += [layered("d0", "l0", {"x": 1})]
    for number in range(1, count):
        design.append(layered(f"d{number}", "l0", {}, substitutions=[substitution(f"d{number - 1}", ".x", ".x")]))
    for number in range(1, 500):
        above: dict[str, Any] = {
            "labels": {"is": f"p{number}"},
            "parent": {"is": f"p{number - 1}"},
            "actions": [action("merge", ".")],
        }
        design.append(layered(f"p{number}", f"l{number}", {f"k{number}": 1}, **above))
    design.append(layered("p0", "l0", {}, labels={"is": "p0"}))
    made = {one.document.name: one.document.data for one in render(documents(*design)).documents}
    assert made[f"d{count - 1}"] == {"x": 1}
    assert len(made["p499"]) == 499


def test_a_very_long_circle_is_named_in_full_once() -> None:
    count = 1500
    design = [
        layered(f"d{number}", "site", {}, substitutions=[substitution(f"d{(number + 1) % count}", ".x", ".x")])
        for number in range(count)
    ]
    message = only_problem(*design)
    assert message.count(" -> ") == count


def test_very_many_with_the_same_labels() -> None:
    design = [layered(f"d{number}", "site", {}, labels={"a": "b"}) for number in range(2000)]
    design += [layered(f"c{n}", "site", {}, parent={"a": "b"}, actions=[action("merge", ".")]) for n in range(2000)]
    given_documents = documents(*design)
    with pytest.raises(RenderingError) as caught:
        render(given_documents)
    assert len(caught.value.problems) == 1001
    assert caught.value.problems[-1].message == "there are 1000 more problems like these"


def test_aliases_between_metadata_and_data() -> None:
    text = """\
schema: a/B/v1
metadata:
  name: c
  layeringDefinition: &x
    layer: site
    parentSelector: {is: parent}
    actions: [&y {method: merge, path: .}]
data: {x: *x, y: [*y, *y]}
"""
    design = [*documents(parent({"y": 1}, schema="a/B/v1")), *load_documents(text)]
    before = yaml.safe_dump([one.data for one in design])
    (made,) = render(design).documents
    assert made.document.data["y"] == [{"method": "merge", "path": "."}] * 2
    assert yaml.safe_dump([one.data for one in design]) == before
