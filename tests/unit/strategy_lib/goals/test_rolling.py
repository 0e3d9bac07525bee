"""The rolling redeploy of a group: how many at once, smaller batches after failures, when it stops or is refused."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strategy_lib.groups.rolling import (
    Batch,
    OtherGroup,
    Refused,
    RolledOut,
    RollingGroup,
    Stopped,
    kept_by_others,
    next_batch,
    nodes_at_once,
    refuse_many_redeploys,
    room_in_criteria,
)
from strategy_lib.phase import Phase
from strategy_lib.strategy import SuccessCriteria, evaluate

RACK = frozenset(f"n{i:02}" for i in range(20))


def rack(**facts: Any) -> RollingGroup:
    return RollingGroup(RACK, RACK, RACK, **facts)


def names(*numbers: int) -> frozenset[str]:
    return frozenset(f"n{i:02}" for i in numbers)


@pytest.mark.parametrize(
    ("setting", "total", "expected"),
    [(1, 20, 1), (4, 20, 4), (40, 20, 40), ("25%", 20, 5), ("25 %", 19, 4), ("1%", 20, 1), ("100%", 20, 20)],
)
def test_max_unavailable_is_a_number_or_a_percentage(setting: int | str, total: int, expected: int) -> None:
    assert nodes_at_once(setting, total) == expected


@pytest.mark.parametrize("setting", [0, -1, True, "0%", "101%", "4", "%", ""])
def test_max_unavailable_refuses(setting: int | str) -> None:
    with pytest.raises(ValueError, match="max_unavailable"):
        nodes_at_once(setting, 20)


@pytest.mark.parametrize(
    ("criteria", "serving", "room"),
    [
        pytest.param(None, 20, 20, id="nothing is asked for"),
        pytest.param(SuccessCriteria(), 20, 20, id="no criterion is set"),
        pytest.param(SuccessCriteria(percent_successful_nodes=90), 20, 2, id="percent"),
        pytest.param(SuccessCriteria(percent_successful_nodes=91), 20, 1, id="percent, rounded up"),
        pytest.param(SuccessCriteria(minimum_successful_nodes=15), 20, 5, id="minimum"),
        pytest.param(SuccessCriteria(maximum_failed_nodes=3), 20, 3, id="maximum"),
        pytest.param(SuccessCriteria(90, 15, 1), 20, 1, id="the strictest decides"),
        pytest.param(SuccessCriteria(percent_successful_nodes=90), 19, 1, id="one does not serve already"),
        pytest.param(SuccessCriteria(percent_successful_nodes=100), 20, 0, id="all are needed"),
        pytest.param(SuccessCriteria(percent_successful_nodes=90), 10, 0, id="not met already"),
    ],
)
def test_room_in_criteria(criteria: SuccessCriteria | None, serving: int, room: int) -> None:
    assert room_in_criteria(criteria, 20, serving) == room


percents = st.none() | st.integers(0, 100)
numbers = st.none() | st.integers(0, 12)


@given(st.builds(SuccessCriteria, percents, numbers, numbers), st.integers(0, 10), st.integers(0, 10))
def test_room_is_the_most_that_criteria_bear(criteria: SuccessCriteria, total: int, away: int) -> None:
    serving = max(total - away, 0)
    met = [
        all(result.met for result in evaluate(criteria, Phase.DEPLOY, total, serving - taken))
        for taken in range(serving + 1)
    ]
    assert room_in_criteria(criteria, total, serving) == max(
        (taken for taken, is_met in enumerate(met) if is_met), default=0
    )


HALF = SuccessCriteria(percent_successful_nodes=50)
ALL = SuccessCriteria(percent_successful_nodes=100)


def other(limit: int | None, **facts: Any) -> OtherGroup:
    """Return another group of the same nodes, or with these facts."""
    return OtherGroup(
        **{"name": "other", "shared": RACK, "total": 20, "serving": 20, "max_unavailable": limit, **facts}
    )


def test_another_group_without_room_keeps_its_nodes() -> None:
    full = other(1, shared=names(1, 2), failed=names(30))
    strict = other(None, shared=names(2, 3), criteria=ALL, critical=True)
    kept = kept_by_others([full, strict, other(1)])
    assert kept["n01"] == "group other: as many nodes are away as may be: 1 failed (n30)"
    assert kept["n02"] == kept["n01"]
    assert kept["n03"].startswith("group other: its criteria leave no room: 20 of 20 nodes serve")
    assert kept.keys() == names(1, 2, 3)


@pytest.mark.parametrize(
    ("group", "step"),
    [
        pytest.param(rack(max_unavailable=4), Batch(("n00", "n01", "n02", "n03")), id="the first batch"),
        pytest.param(
            rack(max_unavailable=4, away=names(1, 2)),
            Batch(("n01", "n02"), resumed=True),
            id="a batch under way goes on",
        ),
        pytest.param(
            rack(max_unavailable=4, redeployed=names(0, 1, 2), failed=names(3)),
            Batch(("n04", "n05", "n06")),
            id="one has failed: the next batch is smaller by it",
        ),
        pytest.param(
            rack(max_unavailable=4, failed=names(0, 1, 2, 3)),
            Stopped("as many nodes are away as may be: 4 failed (n00, n01, n02, n03)", tuple(sorted(RACK))[4:]),
            id="a bad image: stops after the first batch, 16 untouched",
        ),
        pytest.param(
            rack(criteria=SuccessCriteria(maximum_failed_nodes=2)), Batch(("n00", "n01")), id="as criteria allow"
        ),
        pytest.param(
            rack(criteria=SuccessCriteria(maximum_failed_nodes=2), redeployed=names(0), failed=names(1)),
            Batch(("n02",)),
            id="as criteria allow, less the failed one",
        ),
        pytest.param(
            rack(max_unavailable=4, criteria=SuccessCriteria(maximum_failed_nodes=0), failed=names(0)),
            Stopped("its criteria cannot be met any more: 1 failed (n00)", tuple(sorted(RACK))[1:]),
            id="criteria cannot be kept",
        ),
        pytest.param(
            rack(max_unavailable=4, criteria=ALL, failed=names(0), below_criteria=True),
            Batch(("n01", "n02", "n03")),
            id="criteria are overridden, max_unavailable is not",
        ),
        pytest.param(rack(criteria=ALL), Batch(("n00",)), id="no room, not critical: one at a time"),
        pytest.param(rack(criteria=ALL, critical=True, below_criteria=True), Batch(("n00",)), id="no room, overridden"),
        pytest.param(
            rack(criteria=ALL, critical=True),
            Refused(
                "its criteria leave no room: 20 of 20 nodes serve, and none can be taken away without the override "
                "below_criteria"
            ),
            id="no room, critical: refused",
        ),
        pytest.param(
            rack(criteria=ALL, critical=True, max_unavailable=3),
            Batch(("n00", "n01", "n02")),
            id="an explicit number decides",
        ),
        pytest.param(
            RollingGroup(RACK, RACK - names(19), RACK - names(19), failed=names(19), criteria=SuccessCriteria(90)),
            Batch(("n00",)),
            id="a new node that failed does not serve in the room that is left either way",
        ),
        pytest.param(
            RollingGroup(RACK, RACK - names(19), RACK - names(19), failed=names(0, 19), criteria=SuccessCriteria(90)),
            Stopped("as many nodes are away as may be: 1 failed (n00)", tuple(sorted(RACK))[1:-1]),
            id="one that served has failed beside it: nothing is left",
        ),
        pytest.param(
            RollingGroup(RACK, RACK - names(19), RACK - names(19), failed=names(19), max_unavailable=4),
            Batch(("n00", "n01", "n02")),
            id="against an explicit number each failed node counts",
        ),
        pytest.param(
            rack(max_unavailable=4, others=(other(2, failed=names(30)), other(3))),
            Batch(("n00",)),
            id="the narrowest of several groups decides",
        ),
        pytest.param(
            rack(max_unavailable=4, others=(other(1, shared=names(2, 3)),)),
            Batch(("n00", "n01", "n02")),
            id="another group bounds its own nodes",
        ),
        pytest.param(rack(redeployed=RACK - names(5), failed=names(5)), RolledOut(), id="every node was tried"),
        pytest.param(RollingGroup(RACK, RACK, frozenset()), RolledOut(), id="nothing to redeploy"),
    ],
)
def test_next_batch(group: RollingGroup, step: object) -> None:
    assert next_batch(group) == step


@given(
    st.integers(1, 12),
    st.frozensets(st.integers(0, 11)),
    st.none() | st.integers(1, 5) | st.sampled_from(["10%", "50%"]),
    st.none() | st.sampled_from([HALF, ALL, SuccessCriteria(maximum_failed_nodes=2)]),
    st.booleans(),
)
def test_never_more_away_than_allowed_and_always_to_an_end(
    size: int, broken: frozenset[int], limit: int | str | None, criteria: SuccessCriteria | None, critical: bool
) -> None:
    nodes = frozenset(f"n{i}" for i in range(size))
    bad = {f"n{i}" for i in broken}
    group = RollingGroup(nodes, nodes, nodes, max_unavailable=limit, criteria=criteria, critical=critical)
    room = nodes_at_once(limit, size) if limit is not None else max(1, room_in_criteria(criteria, size, size))
    while isinstance(step := next_batch(group), Batch):
        assert len(group.failed) + len(step.nodes) <= room
        half_way = replace(group, away=frozenset(step.nodes))
        assert next_batch(half_way) == replace(step, resumed=True)
        group = replace(
            group,
            redeployed=group.redeployed | set(step.nodes) - bad,
            failed=group.failed | set(step.nodes) & bad,
        )
    untouched = nodes - group.redeployed - group.failed
    if isinstance(step, Stopped):
        assert step.left == tuple(sorted(untouched))
        assert group.failed
    elif isinstance(step, Refused):
        assert critical
        assert untouched == nodes
    else:
        assert not untouched


def test_many_redeploys_are_refused_with_their_names() -> None:
    deployed = [f"n{i}" for i in range(30)]
    assert refuse_many_redeploys(deployed[:6], deployed) is None, "exactly 20 %"
    assert refuse_many_redeploys(deployed[:5], deployed[:6]) is None, "5 nodes, however small the site"
    assert refuse_many_redeploys(deployed[:7], deployed[:35], percent=23) is not None
    assert refuse_many_redeploys(sorted(deployed)[:7], deployed) == (
        "it would redeploy 7 of 30 deployed nodes, more than 20 %: n0, n1, n10, n11, n12, n13, n14"
    )
