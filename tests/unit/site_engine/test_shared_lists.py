"""What is done for a list that many need: whose answer serves, who waits, and how long an answer may take."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from site_engine.shared_lists import LONGEST_TIMEOUT, Step, next_step, time_for
from site_store import SharedListRecord

NOW = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)


def at(seconds: float) -> datetime:
    return NOW + timedelta(seconds=seconds)


NEED = at(-10)


@pytest.mark.parametrize(
    ("known", "step"),
    [
        pytest.param(SharedListRecord(NOW), Step.ASK, id="nobody ever asked"),
        pytest.param(SharedListRecord(NOW, asked_at=at(-9), begun_at=at(-9)), Step.TAKE, id="asked for since"),
        pytest.param(SharedListRecord(NOW, asked_at=at(-11), begun_at=at(-11)), Step.ASK, id="asked for before"),
        pytest.param(SharedListRecord(NOW, asked_at=NEED, begun_at=NEED), Step.ASK, id="of the same moment"),
        pytest.param(SharedListRecord(NOW, begun_at=at(-9), is_asked=True), Step.WAIT, id="under way, and will serve"),
        pytest.param(
            SharedListRecord(NOW, begun_at=at(-11), is_asked=True), Step.WAIT, id="under way, but it will not serve"
        ),
        pytest.param(SharedListRecord(NOW, begun_at=at(-9)), Step.ASK, id="who asked since was killed"),
        pytest.param(
            SharedListRecord(NOW, begun_at=at(-9), problem="away"), Step.FAIL, id="asked for since, and it failed"
        ),
        pytest.param(
            SharedListRecord(NOW, begun_at=at(-11), problem="away"), Step.ASK, id="it failed before it was needed"
        ),
        pytest.param(
            SharedListRecord(NOW, begun_at=at(-70), problem="slow", again_at=at(1)), Step.FAIL, id="it is left alone"
        ),
        pytest.param(SharedListRecord(NOW, begun_at=at(-70), problem="slow", again_at=NOW), Step.ASK, id="long enough"),
        pytest.param(
            SharedListRecord(NOW, at(-9), at(-1), problem="slow", again_at=at(1)), Step.TAKE, id="an answer is there"
        ),
    ],
)
def test_an_answer_serves_those_whose_need_arose_before_it_was_asked_for(known: SharedListRecord, step: Step) -> None:
    assert next_step(known, NEED) is step


@pytest.mark.parametrize(
    ("timeout", "took", "given"),
    [(20, 0, 20), (20, 5, 20), (20, 47, 141), (20, 200, LONGEST_TIMEOUT), (600, 200, 600)],
)
def test_the_time_for_an_answer_grows_with_what_the_last_one_took(timeout: float, took: float, given: float) -> None:
    assert time_for(timeout, took) == given
