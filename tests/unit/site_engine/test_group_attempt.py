"""A process that goes on with an attempt of a group which is not the present one any more."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, cast

import pytest

from site_engine.groups import GroupRequest, GroupSubject
from site_engine.operations.run import OperationRun
from site_engine.operations.wait import ONE_LOOK
from site_store import AttemptNotOpen
from strategy_lib.phase import Phase


@dataclass
class Record:
    """What the store has of a group."""

    attempt: int
    name: str = "all"
    action_id: str = "01J"
    is_judged: bool = True


def test_rule_23_who_was_overtaken_by_another_attempt_sends_nothing_and_gives_no_verdict() -> None:
    records = [Record(1), Record(1), Record(2)]
    operations = SimpleNamespace(store=SimpleNamespace(group=lambda *_: records.pop(0)), log=logging.getLogger("test"))
    request = GroupRequest("01J", "alpha", "all", "7", "http://design", dict.fromkeys(Phase, ONE_LOOK), ONE_LOOK)
    subject = GroupSubject(cast(OperationRun, operations), request)
    assert cast(Any, subject.next()) == Record(1)
    with pytest.raises(AttemptNotOpen, match="attempt 1 is over, attempt 2 has begun; nothing is sent"):
        subject.next()
