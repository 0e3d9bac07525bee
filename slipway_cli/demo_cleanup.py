"""What an interrupted demo has left running: stopped, and waited for until the site is free."""

from __future__ import annotations

import time

from api_client.session import ApiError, ApiRefused
from api_client.slipway import SlipwayClient
from slipway_cli.clock import Clock

DEMO = "5e1b0e0c-6f0d-5d8b-9a55-51b9a7d0de30"
"""The context marker of the demo's actions; actions of others are left alone."""
_TIME_LIMIT = 90.0
_POLL = 0.5
_CONFLICT = 409


def stop_leftovers(site: str, slipway: SlipwayClient, clock: Clock, time_limit: float = _TIME_LIMIT) -> None:
    """Stop the actions of interrupted demos: their simulated machines are gone, and one of them holds the site.

    Raises
    ------
    ApiError
        They have not ended in `time_limit` seconds.
    """
    left = [action for action in slipway.actions(site) if action.marker == DEMO and not action.is_over]
    if not left:
        return
    for action in left:
        clock.say(f"stopping the action of an interrupted demo, {action.id}")
        _stop(action.id, slipway)
    clock.say("waiting until it has ended and the site is free" if len(left) == 1 else "waiting until they have ended")
    end = time.monotonic() + time_limit
    while left := [action for action in left if not slipway.action(action.id).is_over]:
        if time.monotonic() > end:
            raise ApiError(
                f"the action {left[0].id} of an interrupted demo has been stopped and has not ended in "
                f"{time_limit:g} s; try again, or mark its run failed in Airflow"
            )
        time.sleep(_POLL)


def _stop(action_id: str, slipway: SlipwayClient) -> None:
    """Stop an action; one that is just ending, or whose run never came, ends by itself."""
    try:
        slipway.stop(action_id)
    except ApiRefused as error:
        if error.status != _CONFLICT:
            raise
