"""What an interrupted demo has left running in Airflow: cancelled, and waited for until the site is free."""

from __future__ import annotations

import time

from slipway_cli.airflow_api import AirflowApi
from slipway_cli.api_session import ApiError, ApiRefused
from slipway_cli.clock import Clock
from slipway_cli.slipway_api import SlipwayApi

RUN_PREFIX = "demo-"
"""How the ids of the demo's runs begin; other runs are left alone."""
_TIME_LIMIT = 90.0
_POLL = 0.5


def cancel_leftovers(
    dag_id: str, site: str, airflow: AirflowApi, slipway: SlipwayApi, clock: Clock, time_limit: float = _TIME_LIMIT
) -> None:
    """Cancel the runs of interrupted demos: their simulated machines are gone, and one of them holds the site.

    Raises
    ------
    ApiError
        They have not ended in `time_limit` seconds.
    """
    left = []
    for run in airflow.active_runs(dag_id):
        run_id = run["dag_run_id"]
        if run_id.startswith(RUN_PREFIX) and (run["conf"] or {}).get("site") == site:
            clock.say(f"cancelling the run of an interrupted demo, {run_id}")
            airflow.set_run_state(dag_id, run_id, "failed")
            left.append(run_id)
    if not left:
        return
    clock.say("waiting until it has ended and the site is free" if len(left) == 1 else "waiting until they have ended")
    end = time.monotonic() + time_limit
    while left := [run_id for run_id in left if not _is_over(dag_id, run_id, airflow, slipway)]:
        if time.monotonic() > end:
            raise ApiError(
                f"the run {left[0]} of an interrupted demo has been cancelled and has not ended in {time_limit:g} s; "
                "try again, or mark it failed in Airflow"
            )
        time.sleep(_POLL)


def _is_over(dag_id: str, run_id: str, airflow: AirflowApi, slipway: SlipwayApi) -> bool:
    """Whether the run has ended and its action is closed."""
    try:
        if airflow.run_state(dag_id, run_id) not in ("success", "failed"):
            return False
    except ApiRefused as error:
        if error.status != 404:
            raise
    progress = slipway.progress(dag_id, run_id)  # asking for it closes the action of a run that is over
    return progress is None or progress.state not in ("pending", "running")
