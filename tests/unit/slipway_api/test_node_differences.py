"""What differs for one node: its own document first, of many fields the first; compared once, and kept."""

from __future__ import annotations

import threading
from types import SimpleNamespace
from typing import TYPE_CHECKING, cast

import pytest

from design_rendering.changes import Change, DocumentChange, FieldChange
from slipway_api.documents import differences
from slipway_api.documents.differences import MOST_FIELDS_OF_NODE as OF_NODE
from slipway_api.documents.differences import Shown, shown_differences

if TYPE_CHECKING:
    from site_store import SiteStore

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
    first, second = shown_differences("n1", [changed(NODE, "n1", OF_NODE - 1), changed(PROFILE, "compute", 3)])
    assert (len(first["fields"]), len(second["fields"]), second["fields_left_out"]) == (OF_NODE - 1, 1, 2)
    assert "fields_left_out" not in first


def test_a_comparison_that_takes_long_is_made_once_and_is_there_later(monkeypatch: pytest.MonkeyPatch) -> None:
    go, calls = threading.Event(), []

    def compared(*asked: object) -> dict[str, list[DocumentChange]]:
        calls.append(asked)
        assert go.wait(60)
        return {"n1": [changed(NODE, "n1")]}

    monkeypatch.setattr(differences, "documents_between", compared)
    store = cast("SiteStore", SimpleNamespace(location="a store"))
    node = {"node": "n1", "as_wanted": False, "done_revision": 1, "wanted_revision": 2}

    def ask(wait: float | None) -> Shown | None:
        return differences.node_differences(store, "alpha", node, wait)

    assert [ask(0), ask(0)] == [None, None]
    go.set()
    assert [one["name"] for one in ask(None) or ()] == ["n1"]
    assert len(calls) == 1
