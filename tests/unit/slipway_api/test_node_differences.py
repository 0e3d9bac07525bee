"""What differs for one node: in what makes it and nothing else, compared once for all nodes of two revisions."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from design_rendering.document_changes import Change, DocumentChange, FieldChange
from design_rendering.objects import ObjectKey, kind_of
from slipway_api.documents.node_differences import MOST_FIELDS, Comparison, Comparisons

KEY = ("store", "alpha", 1, 2)
NODE, PROFILE = "drydock/BaremetalNode/v1", "drydock/HostProfile/v1"


def key(schema: str, name: str) -> ObjectKey:
    return ObjectKey(kind_of(schema), name)


def changed(schema: str, name: str, fields: int = 1) -> DocumentChange:
    found = tuple(FieldChange(f"$.data.f{i}", Change.MODIFIED, i, i + 1) for i in range(fields))
    return DocumentChange("site", schema, name, "site", Change.MODIFIED, fields=found)


def comparison(*changes: DocumentChange) -> Comparison:
    parts = {
        "n1": frozenset({key(NODE, "n1"), key(PROFILE, "compute"), key(PROFILE, "gone")}),
        "n2": frozenset({key(NODE, "n2")}),
    }
    return Comparison({key(one.schema, one.name): one for one in changes}, parts)


def test_its_own_document_comes_first_and_others_nodes_are_left_out() -> None:
    found = comparison(changed(PROFILE, "compute"), changed(NODE, "n2"), changed(NODE, "n1"))
    assert [(one["schema"], one["name"]) for one in found.of_node("n1")] == [(NODE, "n1"), (PROFILE, "compute")]
    assert found.of_node("n1")[0]["fields"] == [{"path": "$.data.f0", "change": "modified", "from": 0, "to": 1}]
    assert found.of_node("nobody") == []


def test_of_very_many_fields_the_rest_is_counted() -> None:
    first, second = comparison(changed(NODE, "n1", MOST_FIELDS - 1), changed(PROFILE, "compute", 3)).of_node("n1")
    assert (len(first["fields"]), len(second["fields"]), second["fields_left_out"]) == (MOST_FIELDS - 1, 1, 2)
    assert "fields_left_out" not in first


def test_a_comparison_that_takes_long_is_made_once_and_is_there_later() -> None:
    comparisons, go, made = Comparisons(), threading.Event(), comparison()
    calls: list[int] = []

    def make() -> Comparison:
        calls.append(1)
        assert go.wait(60)
        return made

    assert comparisons.get(KEY, make, 0) is None
    assert comparisons.get(KEY, make, 0) is None
    go.set()
    assert comparisons.get(KEY, make, None) is made
    assert calls == [1]


def test_what_failed_is_tried_again() -> None:
    comparisons = Comparisons()

    def fail() -> Any:
        raise ValueError("cannot be rendered")

    with pytest.raises(ValueError, match="cannot be rendered"):
        comparisons.get(KEY, fail, None)
    made = comparison()
    assert comparisons.get(KEY, lambda: made, None) is made


def test_the_newest_are_kept() -> None:
    comparisons = Comparisons(most=1)
    first, second = comparison(), comparison()
    assert comparisons.get(KEY, lambda: first, None) is first
    assert comparisons.get(("store", "alpha", 2, 3), lambda: second, None) is second
    assert comparisons.get(KEY, lambda: second, None) is second, "it was forgotten, and is made again"
