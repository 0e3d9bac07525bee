"""Groups: whether a verdict stays, and attempts that were overtaken (rule 23)."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, cast

import pytest

from site_engine.groups.attempt import GroupRequest, GroupSubject, is_final
from site_engine.operations.run import OperationRun
from site_engine.operations.wait import ONE_LOOK
from site_store import GroupRecord, StoreError
from strategy_lib.phase import GroupState, Phase
from strategy_lib.strategy import Group


@dataclass
class Record:
    """What the store has of a group."""

    attempt: int
    name: str = "all"
    action_id: str = "01J"
    is_judged: bool = True


def test_rule_23_who_was_overtaken_by_another_attempt_sends_nothing_and_gives_no_verdict() -> None:
    records = [Record(1), Record(1), Record(2)]
    groups = SimpleNamespace(get=lambda *_: records.pop(0))
    operations = SimpleNamespace(store=SimpleNamespace(groups=groups), log=logging.getLogger("test"))
    request = GroupRequest("01J", "alpha", "all", "7", "http://design", dict.fromkeys(Phase, ONE_LOOK), ONE_LOOK)
    subject = GroupSubject(cast(OperationRun, operations), request)
    assert cast(Any, subject.next()) == Record(1)
    with pytest.raises(StoreError, match="attempt 1 is over, attempt 2 has begun; nothing is sent"):
        subject.next()


@pytest.mark.parametrize(
    ("state", "key", "final"),
    [
        pytest.param(GroupState.SUCCESS, "6", True, id="a success, tried again by Airflow"),
        pytest.param(GroupState.SUCCESS, "8", True, id="a success, cleared by a person"),
        pytest.param(GroupState.FAILURE, "6", True, id="a failure, tried again by Airflow"),
        pytest.param(GroupState.FAILURE, "8", False, id="a failure, cleared by a person"),
        pytest.param(GroupState.RUNNING, "6", False, id="it is at work"),
        pytest.param(GroupState.PENDING, "6", False, id="it has not begun"),
    ],
)
def test_rule_23_a_verdict_stays_unless_a_person_clears_a_failure(state: GroupState, key: str, final: bool) -> None:
    record = GroupRecord("01J", "all", 0, True, Group("all", True), ("a",), state, attempt=1, attempt_key="6")
    assert is_final(record, key) is final
