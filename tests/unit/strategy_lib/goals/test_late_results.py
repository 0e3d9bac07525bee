"""Rule 45: every cell of row status, event and operation; and the two stories of an older and a newer configuration."""

from __future__ import annotations

from itertools import permutations

import pytest

from strategy_lib.goals.late_results import Effect, Event, Row, RowStatus, apply_if_newest

OP = 5
START, END, ERROR, TIMEOUT, ACK = Event.START, Event.END, Event.ERROR, Event.TIMEOUT, Event.ACKNOWLEDGE
APPLIED, CORRECTED, HISTORY, IGNORED = Effect.APPLIED, Effect.CORRECTED, Effect.HISTORY, Effect.IGNORED

# For a row at this status: what each event of its own operation makes of it, and the effect.
OWN = {
    RowStatus.PROCESSING: {
        START: ("processing", IGNORED),
        END: ("success", APPLIED),
        ERROR: ("error", APPLIED),
        TIMEOUT: ("timeout", APPLIED),
        ACK: ("processing", IGNORED),
    },
    RowStatus.SUCCESS: {
        START: ("success", IGNORED),
        END: ("success", IGNORED),
        ERROR: ("success", HISTORY),
        TIMEOUT: ("success", IGNORED),
        ACK: ("success", IGNORED),
    },
    RowStatus.ERROR: {
        START: ("error", IGNORED),
        END: ("error", HISTORY),
        ERROR: ("error", IGNORED),
        TIMEOUT: ("error", IGNORED),
        ACK: ("error acknowledged", APPLIED),
    },
    RowStatus.TIMEOUT: {
        START: ("timeout", IGNORED),
        END: ("success", CORRECTED),
        ERROR: ("error", CORRECTED),
        TIMEOUT: ("timeout", IGNORED),
        ACK: ("timeout acknowledged", APPLIED),
    },
}


def words(row: Row) -> str:
    return f"{row.status} acknowledged" if row.acknowledged else row.status.value


@pytest.mark.parametrize("status", OWN)
@pytest.mark.parametrize("event", Event)
def test_rule_45_an_event_of_the_rows_own_operation(status: RowStatus, event: Event) -> None:
    after = apply_if_newest(Row(OP, status), event, OP)
    assert (words(after.row), after.effect) == OWN[status][event]
    assert after.row.op == OP


@pytest.mark.parametrize("status", OWN)
@pytest.mark.parametrize("event", Event)
@pytest.mark.parametrize("op", [OP - 1, OP + 1], ids=["older", "newer"])
def test_rule_45_an_event_of_another_operation(status: RowStatus, event: Event, op: int) -> None:
    row = Row(OP, status)
    after = apply_if_newest(row, event, op)
    if event is START and op > OP:
        assert after.row == Row(op, RowStatus.PROCESSING)
        assert after.effect is APPLIED
    else:
        assert after.row is row
        assert after.effect is (IGNORED if event is ACK else HISTORY)


@pytest.mark.parametrize("event", Event)
def test_rule_45_a_row_that_nothing_was_started_on(event: Event) -> None:
    after = apply_if_newest(Row(), event, OP)
    assert after.row == (Row(OP, RowStatus.PROCESSING) if event is START else Row())
    assert after.effect is {START: APPLIED, ACK: IGNORED}.get(event, HISTORY)


@pytest.mark.parametrize(("op", "status"), [(None, RowStatus.ERROR), (OP, RowStatus.PENDING)])
def test_a_row_has_an_operation_exactly_where_one_was_started(op: int | None, status: RowStatus) -> None:
    with pytest.raises(ValueError):
        Row(op, status)


def test_rule_48_an_acknowledged_error_is_shown_again_when_its_truth_comes_late() -> None:
    acknowledged = Row(OP, RowStatus.TIMEOUT, acknowledged=True)
    assert apply_if_newest(acknowledged, ACK, OP).effect is IGNORED
    assert apply_if_newest(acknowledged, ERROR, OP).row == Row(OP, RowStatus.ERROR)
    assert apply_if_newest(acknowledged, END, OP).row == Row(OP, RowStatus.SUCCESS)


def play(events: list[tuple[Event, int]]) -> Row:
    row = Row()
    for event, op in events:
        row = apply_if_newest(row, event, op).row
    return row


def test_the_error_of_an_older_configuration_says_nothing_about_the_newer_one() -> None:
    assert play([(START, 1), (START, 2), (ERROR, 1), (END, 2)]) == Row(2, RowStatus.SUCCESS)
    assert play([(START, 1), (START, 2), (ERROR, 2), (ERROR, 1)]) == Row(2, RowStatus.ERROR)
    assert play([(START, 1), (START, 2), (END, 2), (ERROR, 1)]) == Row(2, RowStatus.SUCCESS)


@pytest.mark.parametrize("newest", [END, ERROR, TIMEOUT])
@pytest.mark.parametrize("older", [END, ERROR, TIMEOUT])
def test_all_orders_of_two_overlapping_operations_end_as_the_newest_says(newest: Event, older: Event) -> None:
    expected = {END: RowStatus.SUCCESS, ERROR: RowStatus.ERROR, TIMEOUT: RowStatus.TIMEOUT}[newest]
    events = [(START, 1), (older, 1), (START, 2), (newest, 2)]
    orders = [order for order in permutations(events) if order.index((START, 2)) < order.index((newest, 2))]
    assert {play(list(order)) for order in orders} == {Row(2, expected)}
