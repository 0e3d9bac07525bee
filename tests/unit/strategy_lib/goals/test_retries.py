"""Rule 44 and the delays: doubling up to eight hours, what is a try, and what begins anew."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strategy_lib import retry_delay

EIGHT_HOURS = 28_800.0


@pytest.mark.parametrize(
    ("failures", "jitter", "seconds"),
    [
        pytest.param(0, 1.0, 0.0, id="no failure, nothing to jitter"),
        pytest.param(9, 0.0, 15_360.0, id="the last below the cap"),
        pytest.param(10**9, 0.0, EIGHT_HOURS, id="no overflow"),
    ],
)
def test_retry_delay(failures: int, jitter: float, seconds: float) -> None:
    assert retry_delay(failures, jitter) == seconds


@pytest.mark.parametrize(("failures", "jitter"), [(-1, 0.0), (1, 1.01), (1, -1.01), (0, 2.0), (1, math.nan)])
def test_retry_delay_refuses(failures: int, jitter: float) -> None:
    with pytest.raises(ValueError):
        retry_delay(failures, jitter)


@given(st.integers(1, 2000), st.floats(-1, 1))
def test_retry_delay_agrees_with_exact_arithmetic(failures: int, jitter: float) -> None:
    exact = min(28_800, 60 * 2 ** (failures - 1))
    assert retry_delay(failures) == exact
    assert retry_delay(failures, jitter) == pytest.approx(exact * (1 + 0.25 * jitter))
