"""How a plan is said: nodes of which the same is to be said share a row, on a page, in a terminal and in a report."""

from __future__ import annotations

from typing import Any

from strategy_lib.goals.update import Deed, document_lines, fold_nodes, summary, value_text, waits
from strategy_lib.phase import Verdict
from strategy_lib.reports.report import Report, ReportedAction, ReportedChanges, from_dict, to_dict
from strategy_lib.reports.report_text import render

NODE, PROFILE = "drydock/BaremetalNode/v1", "drydock/HostProfile/v1"


def document(schema: str, name: str, *fields: dict[str, Any], change: str = "modified") -> dict[str, Any]:
    return {"schema": schema, "name": name, "change": change, "fields": list(fields)}


def field(path: str, **sides: Any) -> dict[str, Any]:
    return {"path": path, "change": "modified", **{side.removesuffix("_"): value for side, value in sides.items()}}


def changed(name: str, change: str = "change", deed: Deed = Deed.DEPLOY, **facts: Any) -> dict[str, Any]:
    known = {"reason": "the design differs", "withheld": None, "allowed_by": None, "groups": ["all"], "documents": None}
    return {"name": name, "change": change, "deed": deed.value, **known, **facts}


def test_the_line_that_a_plan_opens_with_has_each_node_in_one_count() -> None:
    deeds = {Deed.REDEPLOY: 2, Deed.RELEASE: 3, Deed.DEPLOY: 11, Deed.LABEL: 1, Deed.LEAVE: 13, Deed.WITHHOLD: 2}
    assert summary(deeds) == (
        "erases 5 (2 redeployed, 3 released first, 0 removed), deploys 11, labels 1, leaves 13, withholds 2"
    )


def test_nodes_with_the_same_changes_share_a_row() -> None:
    profile = document(PROFILE, "compute", field("$.data.x", from_=1, to=[2]))
    own = [document(NODE, name, field("$.data.rack", from_="r1", to="r2")) for name in ("n1", "n3")]
    rows = fold_nodes(
        [
            changed("n1", documents=[own[0], profile]),
            changed("n2", documents=[profile]),
            changed("n3", documents=[own[1], profile]),
            changed("n4", documents=[profile], deed=Deed.RELEASE),
        ]
    )
    assert [row.nodes for row in rows] == [("n1", "n3"), ("n2",), ("n4",)]
    assert list(document_lines(rows[0].documents or (), 60)) == [
        "BaremetalNode (its own) $.data.rack: modified r1 -> r2",
        "HostProfile compute $.data.x: modified 1 -> [2]",
    ]


def test_a_row_says_why_with_the_names_of_its_nodes_left_out() -> None:
    failed = [changed(name, "redo", reason=f"failed: Node {name} failed", documents=[]) for name in ("n1", "n2")]
    (row,) = fold_nodes(failed)
    assert (row.why, row.nodes) == ("failed: Node … failed", ("n1", "n2"))
    (alone,) = fold_nodes(failed[:1])
    assert alone.why == "failed: Node n1 failed"


def test_what_is_withheld_says_why_and_what_lets_it_be_done_and_what_is_as_wanted_is_no_row() -> None:
    rows = fold_nodes(
        [
            changed("n1", "none", Deed.LEAVE),
            changed("n2", deed=Deed.WITHHOLD, withheld="needs redeploy", allowed_by="--allow-redeploy"),
            changed("n3", "add", Deed.WITHHOLD, reason="never done", groups=[]),
            changed("n4", "remove", Deed.WITHHOLD, reason="no longer in the design", withheld="it stays", groups=[]),
        ]
    )
    assert [(row.change, row.why, row.allowed_by) for row in rows] == [
        ("change", "needs redeploy", "--allow-redeploy"),
        ("add", "never done; it is in no group, so it is not submitted", None),
        ("remove", "no longer in the design: it stays", None),
    ]


def test_values_are_short_texts_and_one_that_is_missing_is_left_out() -> None:
    fields = [field("$.a", to="x" * 500), field("$.b", from_={"k": "ä"})]
    assert list(document_lines([document(NODE, "n1", *fields)], 40)) == [
        f"BaremetalNode n1 $.a: modified {'x' * 39}…",
        'BaremetalNode n1 $.b: modified {"k": "ä"}',
    ]
    assert value_text(["jammy"], 4) == '["j…'


def test_who_waits_for_whom() -> None:
    edges = [
        {"kind": "group", "later": "b", "earlier": "a"},
        {"kind": "node", "later": "b", "earlier": "x"},
        {"kind": "group", "later": "b", "earlier": "c"},
    ]
    assert waits(edges) == [("group", "b", ["a", "c"]), ("node", "b", ["x"])]


def test_a_report_keeps_the_rows_and_says_them_as_text() -> None:
    image = [document(PROFILE, "rack", field("$.data.image", from_=["jammy"], to=["noble"]))]
    nodes = [changed(f"n{number:04}", documents=image) for number in range(3000)]
    nodes += [changed("kept", "change", Deed.WITHHOLD, withheld="needs redeploy", documents=image)]
    changes = ReportedChanges(summary({Deed.DEPLOY: 3000, Deed.WITHHOLD: 1}), tuple(fold_nodes(nodes)))
    assert [(len(row.nodes), row.deed) for row in changes.rows] == [(3000, "deploy"), (1, "withhold")]
    report = Report(ReportedAction("01J", "alpha", "update_site"), Verdict.SUCCESS, "dry run", changes=changes)
    assert to_dict(from_dict(to_dict(report))) == to_dict(report)
    text = render(report)
    assert "The plan erases 0 (0 redeployed, 0 released first, 0 removed), deploys 3000," in text
    assert "n0019 and 2980 more: the design differs" in text
    assert '    HostProfile rack $.data.image: modified ["jammy"] -> ["noble"]' in text
    assert "  withhold kept: needs redeploy" in text
