"""Rules 51 and 56: a drift is seen in two looks in a row, of a node that is to be up, in a field that is stated."""

from __future__ import annotations

from functools import reduce

import pytest

from strategy_lib.node_states.repair import Drift, drift_status
from strategy_lib.status.words import Status


def after(*looks: str) -> Drift:
    return reduce(lambda drift, look: drift.looked(look[1], look[0]), enumerate(looks), Drift())


@pytest.mark.parametrize(
    ("looks", "confirmed", "since"),
    [
        pytest.param([""], False, None, id="all well"),
        pytest.param(["off"], False, 0, id="one look is a blink"),
        pytest.param(["off", ""], False, None, id="a blink that is over"),
        pytest.param(["off", "", "off"], False, 2, id="two looks, not in a row"),
        pytest.param(["off", "off"], True, 0, id="two in a row"),
        pytest.param(["off", "Ready"], True, 0, id="two in a row, with another reason"),
        pytest.param(["off", "off", ""], False, None, id="a drift that is over"),
    ],
)
def test_rule_56_two_looks_in_a_row(looks: list[str], confirmed: bool, since: int | None) -> None:
    drift = after(*looks)
    assert (drift.confirmed, drift.since) == (confirmed, since)


def test_rule_56_status() -> None:
    assert drift_status(after("off"), "14:03") == (Status.SUCCESS, "")
    drifted = after("off", "off")
    assert drift_status(drifted, "14:03") == (Status.ERROR, "drifted: off, since 14:03")
