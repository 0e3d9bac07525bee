"""Rules 46 to 48: an error as a value, when it still counts, and its report outside."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import product
from typing import Any

import pytest

from strategy_lib.goals.node_errors import (
    ErrorCode,
    NodeError,
    NodeReport,
    RemovalProgress,
    Standing,
    join_messages,
    read_code,
    standing_of,
)
from strategy_lib.parsing.schema_check import check_data, schema
from strategy_lib.phase import Phase

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
    said = "site/n1/7/provisioner-c1f4edcd" if error else "site/n1/7/none"
    assert report.pop("id") == (f"{said}/release" if removal else said)
    assert {name: report.pop(name) for name in ("site", "node", "op")} == {"site": "site", "node": "n1", "op": 7}
    parts = {
        "state": "error",
        "removal": {"step": "release", "ended": False},
        "error": {
            "code": "provisioner",
            "message": "IPMI: no route",
            "action": FAILED.action,
            "phase": FAILED.phase.value,
            "provisioner_task": FAILED.provisioner_task,
        },
    }
    given = {"state": state, "removal": removal, "error": error}
    assert report == {name: part for name, part in parts.items() if given[name]}


def test_rule_47_an_error_with_another_text_or_code_has_another_id_and_a_repeat_the_same() -> None:
    others = (FAILED, replace(FAILED, text="IPMI: refused"), replace(FAILED, code=ErrorCode.LOST))
    ids = [NodeReport("site", "n1", 7, error=error).to_dict()["id"] for error in others]
    assert len(set(ids)) == len(others)
    later = replace(FAILED, time=FAILED.time + timedelta(days=1))
    assert NodeReport("site", "n1", 7, error=later).to_dict()["id"] == ids[0], "its time does not count"


def test_rule_47_the_end_of_a_removal_has_another_id_than_its_steps() -> None:
    removals = (
        None,
        RemovalProgress("left_design"),
        RemovalProgress("destroy"),
        RemovalProgress("destroy", ended=True),
    )
    ids = [NodeReport("site", "n1", 7, removal=removal).to_dict()["id"] for removal in removals]
    assert ids == ["site/n1/7/none", "site/n1/7/none/left_design", "site/n1/7/none/destroy", "site/n1/7/none/removed"]
