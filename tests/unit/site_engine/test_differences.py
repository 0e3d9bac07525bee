"""What has to be done to a node, from what the store knows of it (rules 21, 25, 37 and 46)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from site_engine.plans.differences import NodeDifference, node_difference, node_differences
from site_engine.plans.planning import judge_deployed
from strategy_lib.node_condition import NodeCondition
from strategy_lib.status.node_row import NodeRow

DEPLOYED, READY, OTHER = NodeCondition.DEPLOYED, NodeCondition.READY, NodeCondition.OTHER
OTHER_DESIGN = "done for revision 1, wanted is revision 2"


def known(done: str | None, doubt: str | None = None, **facts: Any) -> NodeRow:
    """Return a node that is wanted in digest "1", version 2 of it, and was done in version 1."""
    record = NodeRow("alpha", "a", 2, "1", 7, 1 if done else None, done, None, "deployed", doubt)
    return replace(record, wanted_version=2, done_version=1 if done else None, **facts)


FAILED: dict[str, Any] = {"error_action": "01A", "status": "error", "error": "no PXE answer", "error_revision": 2}


UNPROVEN = (
    "deployed already, but no action on record proves its design: `slipway adopt` takes it over as it is, or "
    "redeploy_server deploys it anew"
)


@pytest.mark.parametrize(
    ("record", "condition", "change", "reason", "withheld"),
    [
        pytest.param(known("1"), DEPLOYED, "none", "as wanted since revision 1", None, id="same"),
        pytest.param(
            known("0"),
            DEPLOYED,
            "change",
            f"the design differs: {OTHER_DESIGN}",
            "design changed, needs redeploy (allow_redeploy, or redeploy_server): it has that of revision 1",
            id="changed",
        ),
        pytest.param(known("0"), READY, "change", f"the design differs: {OTHER_DESIGN}", None, id="changed and empty"),
        pytest.param(
            known(None),
            DEPLOYED,
            "add",
            "never done",
            UNPROVEN,
            id="undone",
        ),
        pytest.param(
            known(None, provisioner_status="Deployed, owned by alice"),
            DEPLOYED,
            "add",
            "never done",
            "the node list says Deployed, owned by alice: it is left alone until alice releases it",
            id="somebody else's",
        ),
        pytest.param(
            known("1", provisioner_status="Deployed, owned by alice"),
            OTHER,
            "redo",
            "not as it was left: other",
            "the node list says Deployed, owned by alice: it is left alone until alice releases it",
            id="somebody else has redeployed it",
        ),
        pytest.param(
            None,
            DEPLOYED,
            "add",
            "never done",
            UNPROVEN,
            id="unknown",
        ),
        pytest.param(
            known("1", "why"),
            DEPLOYED,
            "redo",
            "in doubt: why",
            "its design is in doubt, needs redeploy (allow_redeploy, or redeploy_server): why",
            id="doubtful",
        ),
        pytest.param(known("1"), READY, "redo", "not as it was left: ready", None, id="not deployed any more"),
        pytest.param(known("1"), None, "redo", "not as it was left: not listed", None, id="not listed"),
        pytest.param(
            known("1", **FAILED),
            DEPLOYED,
            "redo",
            "failed: no PXE answer",
            "failed: no PXE answer: it needs redeploy (allow_redeploy, or redeploy_server)",
            id="failed",
        ),
        pytest.param(
            known("1", **{**FAILED, "error": "drifted: power is off", "error_action": None}),
            DEPLOYED,
            "redo",
            "drifted: power is off",
            "drifted: power is off: it is as wanted once it is powered on, and a redeploy would erase it",
            id="drifted",
        ),
        pytest.param(
            known("1", **{**FAILED, "error_revision": 1}),
            DEPLOYED,
            "none",
            "as wanted since revision 1",
            None,
            id="failed in an older version",
        ),
        pytest.param(
            known("1", touched=2),
            DEPLOYED,
            "redo",
            "asked for again at version 2",
            "asked for again at version 2: it needs redeploy (allow_redeploy, or redeploy_server)",
            id="touched since",
        ),
        pytest.param(known("1", touched=1), DEPLOYED, "none", "as wanted since revision 1", None, id="touched before"),
        pytest.param(known(None, **FAILED), READY, "add", "never done", None, id="failed before it was ever done"),
    ],
)
def test_rules_21_and_37_what_has_to_be_done(
    record: NodeRow | None, condition: NodeCondition | None, change: str, reason: str, withheld: str | None
) -> None:
    found = node_difference("a", "1", record, condition)
    assert (found.change, found.reason, found.withheld) == (change, reason, withheld)
    judged = judge_deployed({"a": found})
    assert (judged.as_wanted == {"a"}) is (change == "none")
    assert judged.withheld == ({"a": withheld} if withheld else {})


def test_rule_25_a_change_of_labels_alone_needs_only_new_labels() -> None:
    record = replace(known("4:rest:old"), wanted_digest="4:rest:new")
    found = node_difference("a", "4:rest:new", record, DEPLOYED)
    assert (found.change, found.reason) == ("relabel", f"only labels differ: {OTHER_DESIGN}")
    assert found.withheld == "labels changed: relabel_nodes brings them about"
    empty = node_difference("a", "4:rest:new", record, READY)
    assert (empty.change, empty.withheld) == ("change", None)
    both = node_difference("a", "4:other:new", record, DEPLOYED)
    assert both.change == "change"
    assert str(both.withheld).startswith("design changed, needs redeploy")


def test_rule_37_versions_are_named_only_where_they_are_known() -> None:
    """Of another design than the newest, and of what was done before there were versions, revisions are."""
    before = replace(known("1"), done_version=None)
    assert node_difference("a", "1", before, DEPLOYED).reason == "as wanted since revision 1"
    older = node_difference("a", "older", known("1"), DEPLOYED)
    assert (older.change, older.reason) == ("change", "the design differs: done for revision 1")
    assert (older.wanted_version, older.wanted_revision, older.done_revision) == (None, None, 1)


def test_nodes_that_left_the_design_are_named_while_something_was_done_to_them() -> None:
    left = replace(known("1"), name="left", wanted_digest=None, wanted_revision=None)
    never = replace(known(None), name="never", wanted_digest=None, wanted_revision=None)
    found = node_differences({"a": "1"}, [known("1"), left, never], {"a": DEPLOYED, "left": DEPLOYED})
    assert {name: each.change for name, each in found.items()} == {"a": "none", "left": "remove"}
    assert found["left"] == NodeDifference(
        "left", found["left"].change, "no longer in the design", done_version=1, done_revision=1
    )
