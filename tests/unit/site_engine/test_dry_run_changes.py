"""What a dry run's report says of nodes: folded, as text, and read back."""

from __future__ import annotations

from design_rendering.changes.document_changes import Change as Changed
from design_rendering.changes.document_changes import DocumentChange, FieldChange
from site_engine.plans.differences import NodeDifference
from site_engine.plans.dry_run_changes import fold_changes
from site_engine.plans.site_plans import GroupChanges, PlannedNode, SitePlan
from strategy_lib.goals.update import Change
from strategy_lib.phase import Verdict
from strategy_lib.reports.report import Report, ReportedAction, from_dict, to_dict
from strategy_lib.reports.report_text import render

PROFILE = "drydock/HostProfile/v1"
NEW_IMAGE = FieldChange("$.data.image", Changed.MODIFIED, ["jammy"], ["noble"])


def document(*fields: FieldChange) -> DocumentChange:
    return DocumentChange("design", PROFILE, "rack", "site", Changed.MODIFIED, fields=fields)


def planned(name: str, *fields: FieldChange, withheld: str | None = None) -> PlannedNode:
    difference = NodeDifference(name, Change.CHANGE, "the design differs", withheld, 2, 2, 1, 1)
    return PlannedNode(difference, ("all",), (document(*fields),), withheld is None)


def test_thousands_of_nodes_of_which_the_same_is_to_be_said_are_one_entry() -> None:
    names = [f"n{number:04}" for number in range(3000)]
    nodes = {name: planned(name, NEW_IMAGE) for name in names}
    nodes["other"] = planned("other", FieldChange("$.data.image", Changed.MODIFIED, ["jammy"], ["plain"]))
    nodes["kept"] = planned("kept", NEW_IMAGE, withheld="needs redeploy")
    group = GroupChanges("all", True, (), 3005, {Change.CHANGE: 3002, Change.NONE: 3}, 3001)
    folded = fold_changes(SitePlan("alpha", 2, None, nodes, dict.fromkeys("abc", (1, 1)), (group,)))
    assert [(len(entry.nodes), entry.submitted, entry.withheld) for entry in folded.nodes] == [
        (3000, True, None),
        (1, True, None),
        (1, False, "needs redeploy"),
    ]
    assert (folded.counts["change"], folded.counts["none"]) == (3002, 3)
    report = Report(ReportedAction("01J", "alpha", "update_site"), Verdict.SUCCESS, "dry run", changes=folded)
    assert to_dict(from_dict(to_dict(report))) == to_dict(report)
    text = render(report)
    assert "What has to be done: 3002 change, 3 as wanted" in text
    assert "  group all: 3002 change, 3 as wanted; 3001 submitted" in text
    assert "n0019 and 2980 more: the design differs" in text
    assert "    HostProfile rack $.data.image: modified ['jammy'] -> ['noble']" in text
    assert "  change kept: the design differs; not submitted: needs redeploy" in text
