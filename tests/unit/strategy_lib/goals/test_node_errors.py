"""Rules 46 to 48: an error as a value, when it still counts, and its report outside."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from itertools import product
from typing import Any

import pytest

from strategy_lib.goals.node_errors import (
    ErrorCode,
    ErrorReport,
    NodeError,
    NodeReport,
    RemovalProgress,
    ReportState,
    Standing,
    join_messages,
    read_code,
    standing_of,
)
from strategy_lib.phase import Phase
from strategy_lib.schema_check import check_data, schema

FAILED = NodeError(
    ErrorCode.PROVISIONER,
    "IPMI: no route",
    "site",
    "n1",
    Phase.DEPLOY,
    "action-2",
    7,
    "drydock-1",
    2,
    datetime(2026, 11, 22, tzinfo=UTC),
)


@pytest.mark.parametrize(
    ("facts", "standing"),
    [
        pytest.param({}, Standing.SHOWN, id="of the newest action and today's version"),
        pytest.param({"wanted_version": 3}, Standing.SUPERSEDED, id="of an older wanted version"),
        pytest.param({"wanted_version": 1}, Standing.SHOWN, id="of a newer version than today's: a restored store"),
        pytest.param({"newest_action": "action-3"}, Standing.HISTORY, id="from the plan of a newer action on"),
        pytest.param({"newest_op": 8}, Standing.HISTORY, id="of an older operation"),
        pytest.param({"newest_op": None}, Standing.SHOWN, id="no operation known"),
        pytest.param({"wanted_version": None}, Standing.SHOWN, id="the node left the design"),
    ],
)
def test_rule_46_whether_an_error_is_shown(facts: dict[str, Any], standing: Standing) -> None:
    known: dict[str, Any] = {"wanted_version": 2, "newest_action": "action-2", "newest_op": 7}
    assert standing_of(FAILED, **{**known, **facts}) is standing


def test_rule_47_a_code_that_is_not_known_is_stored_with_its_text() -> None:
    assert read_code("timeout", "too slow") == (ErrorCode.TIMEOUT, "too slow")
    assert read_code("quota", "too many") == (ErrorCode.UNKNOWN, "quota: too many")
    assert read_code("quota", "") == (ErrorCode.UNKNOWN, "quota")


def test_rule_47_the_schema_knows_every_code() -> None:
    codes = schema("node_report")["$defs"]["data"]["properties"]["error"]["properties"]["code"]["oneOf"]
    assert [code["const"] for code in codes] == [str(code) for code in ErrorCode]


def test_several_messages_become_one_error_in_their_order() -> None:
    assert join_messages(["b", " a\n", "a", "", "b"]) == "b\na\nb"
    assert join_messages([]) == ""


@pytest.mark.parametrize(("state", "removal", "error"), list(product([False, True], repeat=3)))
def test_rule_47_the_three_parts_of_a_report_are_independent(state: bool, removal: bool, error: bool) -> None:
    report = NodeReport(
        "site",
        "n1",
        7,
        state="error" if state else None,
        removal=RemovalProgress("release") if removal else None,
        error=FAILED if error else None,
    ).to_dict()
    assert check_data("node_report", report) == []
    assert report.pop("id") == ("n1/7/provisioner" if error else "n1/7/none")
    assert {name: report.pop(name) for name in ("site", "node", "op")} == {"site": "site", "node": "n1", "op": 7}
    parts = {
        "state": "error",
        "removal": {"step": "release", "ended": False},
        "error": {"code": "provisioner", "message": "IPMI: no route"},
    }
    given = {"state": state, "removal": removal, "error": error}
    assert report == {name: part for name, part in parts.items() if given[name]}


def test_rule_48_tracked_failed_reported_cleared() -> None:
    report = ErrorReport("n1", 7)
    assert not report.to_send
    report = report.failed(FAILED)
    assert (report.state, report.to_send) == (ReportState.FAILED, True)
    sent = report.sent(7)
    assert (sent.state, sent.to_send) == (ReportState.REPORTED, True)
    assert sent.event_id == report.event_id == "n1/7/provisioner"
    cleared = sent.acknowledged(7)
    assert (cleared.state, cleared.to_send) == (ReportState.CLEARED, False)


def test_rule_48_only_an_acknowledgement_of_that_operation_clears() -> None:
    report = ErrorReport("n1", 7).failed(FAILED).sent(7)
    assert report.acknowledged(6) is report
    assert report.acknowledged(8) is report
    assert report.succeeded(6) is report
    assert report.sent(8) is report
    assert ErrorReport("n1", 7).acknowledged(7).state is ReportState.TRACKED
    assert ErrorReport("n1", 7).failed(replace(FAILED, op=6)).state is ReportState.TRACKED


def test_a_success_clears_its_own_operations_error() -> None:
    assert ErrorReport("n1", 7).failed(FAILED).succeeded(7) == ErrorReport("n1", 7, ReportState.CLEARED)
