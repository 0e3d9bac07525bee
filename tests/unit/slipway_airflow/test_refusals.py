"""What a task says when something speaks against its action."""

from __future__ import annotations

import logging

import pytest

from site_engine.admission import Ground, Refusal
from site_engine.errors import StepError
from slipway_airflow.operators.begin_action import _require_none

DETAILS = tuple(f"there is no node n{number}" for number in range(20))


@pytest.mark.parametrize("overridden", [False, True])
def test_every_detail_is_logged_however_short_the_error_is(overridden: bool, caplog: pytest.LogCaptureFixture) -> None:
    refusal = Refusal(Ground.CRITICAL_GROUPS, "name fewer nodes", DETAILS, overridden)
    log = logging.getLogger("test")
    if overridden:
        _require_none([refusal], log)
    else:
        with pytest.raises(StepError, match="and 15 more; name fewer nodes"):
            _require_none([refusal], log)
    assert caplog.messages[:20] == list(DETAILS)
