"""Rule 44 and the delays: doubling up to eight hours, what is a try, and what begins anew."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strategy_lib import retry_delay
from strategy_lib.goals.retries import Tries, nodes_to_retry

EIGHT_HOURS = 28_800.0


@pytest.mark.parametrize(
    ("failures", "jitter", "seconds"),
    [
        pytest.param(0, 0.0, 0.0, id="no failure, no delay"),
        pytest.param(0, 1.0, 0.0, id="no failure, nothing to jitter"),
        pytest.param(1, 0.0, 60.0, id="the first"),
        pytest.param(2, 0.0, 120.0, id="doubled"),
        pytest.param(9, 0.0, 15_360.0, id="the last below the cap"),
        pytest.param(10, 0.0, EIGHT_HOURS, id="the cap"),
        pytest.param(10**9, 0.0, EIGHT_HOURS, id="no overflow"),
        pytest.param(1, 1.0, 75.0, id="25 % more"),
        pytest.param(1, -1.0, 45.0, id="25 % less"),
        pytest.param(1, 0.5, 67.5, id="half of the 25 %"),
        pytest.param(10, 1.0, 36_000.0, id="jitter comes after the cap"),
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


def test_failures_in_a_row_wait_longer_and_a_success_begins_anew() -> None:
    tries = Tries().failed(1, "IPMI", now=1000.0)
    assert tries == Tries(1, 1, "IPMI", 1060.0)
    assert not tries.may_try(1059.0)
    assert tries.may_try(1060.0)
    tries = tries.failed(1, "timeout", now=1060.0)
    assert tries == Tries(1, 2, "timeout", 1180.0)
    assert tries.succeeded(1) == Tries(1)
    assert Tries().may_try(0.0)


def test_a_new_wanted_version_resets() -> None:
    tries = Tries().failed(1, "IPMI", now=0.0).failed(1, "IPMI", now=0.0)
    assert tries.wanted(1) is tries
    assert tries.wanted(2) == Tries(2)
    assert tries.failed(2, "IPMI", now=0.0).failures == 1


def test_only_failed_nodes_are_tried_again_as_often_as_the_group_allows() -> None:
    assert nodes_to_retry(["b", "a"], {"a": 1, "b": 2}, retries=0) == ()
    assert nodes_to_retry(["b", "a"], {"a": 1, "b": 2}, retries=1) == ("a",)
    assert nodes_to_retry(["b", "a"], {"b": 2}, retries=2) == ("a", "b")
