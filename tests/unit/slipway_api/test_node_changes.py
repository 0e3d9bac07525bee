"""Changes of nodes as a page tells them: nodes of which the same is to be said share a row."""

from __future__ import annotations

from typing import Any

from slipway_api.pages.node_changes import ChangedValue, count_changes, fold_changes
from strategy_lib.goals.update import waits

NODE, PROFILE = "drydock/BaremetalNode/v1", "drydock/HostProfile/v1"


def document(schema: str, name: str, *fields: dict[str, Any], change: str = "modified") -> dict[str, Any]:
    return {"schema": schema, "name": name, "change": change, "fields": list(fields)}


def field(path: str, **sides: Any) -> dict[str, Any]:
    return {"path": path, "change": "modified", **{side.removesuffix("_"): value for side, value in sides.items()}}


def changed(
    name: str, change: str = "change", *, documents: list[dict[str, Any]] | None = None, **facts: Any
) -> dict[str, Any]:
    known = {"reason": "the design differs", "withheld": None, "groups": ["all"], "documents": documents}
    return {"name": name, "change": change, **known, **facts}


def test_nodes_with_the_same_changes_share_a_row() -> None:
    profile = document(PROFILE, "compute", field("$.data.x", from_=1, to=2))
    own = [document(NODE, name, field("$.data.rack", from_="r1", to="r2")) for name in ("n1", "n3")]
    rows = fold_changes(
        [
            changed("n1", documents=[own[0], profile]),
            changed("n2", documents=[profile]),
            changed("n3", documents=[own[1], profile]),
        ]
    )
    assert [row.nodes for row in rows] == [("n1", "n3"), ("n2",)]
    assert rows[0].parts is not None
    assert [(part.kind, part.name) for part in rows[0].parts] == [("BaremetalNode", ""), ("HostProfile", "compute")]
    assert rows[0].parts[1].fields == (ChangedValue("$.data.x", "1", "2"),)


def test_a_row_says_why_with_the_names_of_its_nodes_left_out() -> None:
    failed = [changed(name, "redo", reason=f"failed: Node {name} failed", documents=[]) for name in ("n1", "n2")]
    (row,) = fold_changes(failed)
    assert (row.why, row.nodes) == ("failed: Node … failed", ("n1", "n2"))
    (alone,) = fold_changes(failed[:1])
    assert alone.why == "failed: Node n1 failed"


def test_what_is_left_alone_is_marked_and_what_is_as_wanted_is_no_row() -> None:
    rows = fold_changes(
        [
            changed("n1", "none"),
            changed("n2", withheld="design changed, needs redeploy"),
            changed("n3", "add", reason="never done", groups=[]),
            changed("n4", "remove", reason="no longer in the design", groups=[]),
        ]
    )
    assert [(row.change, row.why, row.left_alone) for row in rows] == [
        ("change", "design changed, needs redeploy", True),
        ("add", "never done; it is in no group, so it is not submitted", True),
        ("remove", "no longer in the design", False),
    ]


def test_values_are_short_texts_and_one_that_is_missing_is_none() -> None:
    fields = [field("$.a", to="x" * 500), field("$.b", from_={"k": "ä"})]
    (row,) = fold_changes([changed("n1", documents=[document(NODE, "n1", *fields)])])
    assert row.parts is not None
    long, removed = row.parts[0].fields
    assert (long.done, long.wanted) == (None, "x" * 119 + "…")
    assert (removed.done, removed.wanted) == ('{"k": "ä"}', None)


def test_counts_and_who_waits_for_whom_in_words() -> None:
    counts = {"add": 1, "change": 0, "redo": 2, "relabel": 0, "remove": 0, "none": 3}
    assert count_changes(counts) == "1 node to add, 2 nodes to redo, 3 nodes as wanted"
    edges = [
        {"kind": "group", "later": "b", "earlier": "a"},
        {"kind": "node", "later": "b", "earlier": "x"},
        {"kind": "group", "later": "b", "earlier": "c"},
    ]
    assert waits(edges) == [("group", "b", ["a", "c"]), ("node", "b", ["x"])]
