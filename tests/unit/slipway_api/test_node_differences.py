"""What differs for one node: its own document first, of many fields the first; compared once, and kept."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from design_rendering.changes.document_changes import Change, DocumentChange, FieldChange
from slipway_api.documents.node_differences import MOST_FIELDS, Comparisons, Shown, shown_differences

KEY = ("store", "alpha", "n1", 1, 2)
NODE, PROFILE = "drydock/BaremetalNode/v1", "drydock/HostProfile/v1"


def changed(schema: str, name: str, fields: int = 1) -> DocumentChange:
    found = tuple(FieldChange(f"$.data.f{i}", Change.MODIFIED, i, i + 1) for i in range(fields))
    return DocumentChange("site", schema, name, "site", Change.MODIFIED, fields=found)


def test_its_own_document_comes_first() -> None:
    found = shown_differences(
        "n1", [changed("drydock/Aaa/v1", "aaa"), changed(NODE, "n1"), changed(PROFILE, "compute")]
    )
    assert [one["name"] for one in found] == ["n1", "aaa", "compute"]
    assert found[0]["fields"] == [{"path": "$.data.f0", "change": "modified", "from": 0, "to": 1}]
    assert shown_differences("n1", []) == []


def test_of_very_many_fields_the_rest_is_counted() -> None:
    first, second = shown_differences("n1", [changed(NODE, "n1", MOST_FIELDS - 1), changed(PROFILE, "compute", 3)])
    assert (len(first["fields"]), len(second["fields"]), second["fields_left_out"]) == (MOST_FIELDS - 1, 1, 2)
    assert "fields_left_out" not in first


def test_a_comparison_that_takes_long_is_made_once_and_is_there_later() -> None:
    comparisons, go, made = Comparisons(), threading.Event(), Shown()
    calls: list[int] = []

    def make() -> Shown:
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
    made = Shown()
    assert comparisons.get(KEY, lambda: made, None) is made


def test_the_newest_are_kept() -> None:
    comparisons = Comparisons(most=1)
    first, second = Shown(), Shown()
    assert comparisons.get(KEY, lambda: first, None) is first
    assert comparisons.get(("store", "alpha", "n1", 2, 3), lambda: second, None) is second
    assert comparisons.get(KEY, lambda: second, None) is second, "it was forgotten, and is made again"
