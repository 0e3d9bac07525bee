"""How long the API server works on a list of actions (`slipway get actions`).

Run it as `python -m tests.bench.bench_actions`: a store with 1,000 actions of ten groups each, and a real API server of
Airflow's. What is measured is the time from a request to the last byte of its answer. Prints a table; exits 1 when a
target is missed.
"""

from __future__ import annotations

import statistics
from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy import create_engine, insert
from ulid import ULID

from site_store.sql.fence import CURRENT, enter
from site_store.tables import action, group_run
from strategy_lib.strategy import Group, group_to_data
from tests.bench.harness import Table, api_server, new_store, options, timed

GROUPS = 10
_ROUNDS = 15


def fill(url: str, actions: int) -> None:
    """Store so many actions that are over. Written as rows: one by one they would take minutes."""
    begin = datetime(2026, 3, 1, tzinfo=UTC)
    rows: list[dict[str, Any]] = []
    groups: list[dict[str, Any]] = []
    for number in range(actions):
        at = begin + timedelta(minutes=number)
        action_id = str(ULID.from_datetime(at))
        times = {"started": at, "ended": at + timedelta(seconds=50)}
        rows.append(
            {
                "id": action_id,
                "kind": "deploy_site",
                "site": "default",
                "revision": number + 1,
                "parameters": {"force": True},
                "dag_id": "deploy_site",
                "run_id": action_id,
                "created_by": "admin",
                "created": at,
                "state": "success",
                "verdict": "every group succeeded",
                "context_marker": "8a4f8b0e-8f4c-4a49-9d3c-3c8b8f6f2f50",
                "step": "report",
                **times,
            }
        )
        groups += [
            {
                "action_id": action_id,
                "name": f"group-{place}",
                "position": place,
                "critical": True,
                "definition": group_to_data(Group(f"group-{place}", critical=True)),
                "state": "success",
                "attempt": 1,
                "criteria": [],
                "counts": {},
                **times,
            }
            for place in range(GROUPS)
        ]
    engine = create_engine(url)
    with engine.begin() as tx:
        enter(tx, CURRENT)
        tx.execute(insert(action), rows)
        tx.execute(insert(group_run), groups)
    engine.dispose()


def main() -> int:
    """Measure, print, judge."""
    actions = options(__doc__, actions=1000).actions
    with new_store() as store_url:
        fill(store_url, actions)
        with api_server(store_url) as (client, _):
            table = Table("API server, median")
            for what, path, most in (
                (f"get actions ({actions:,} of {GROUPS} groups)", "/actions", 200.0),
                ("get actions, 50 of them", "/actions?limit=50", 50.0),
            ):
                taken = timed(lambda path=path: client.get(f"/slipway/api/v1.0{path}").raise_for_status(), _ROUNDS)  # type: ignore[misc]
                table.row(what, statistics.median(taken), most)
    return table.missed


if __name__ == "__main__":
    raise SystemExit(main())
