"""How long the API server works on a list of actions (`slipway get actions`).

Run it as `python tests/bench/bench_actions.py`: a store with 1,000 actions of ten groups each, Airflow's own
application with Slipway's plugin in it, in this process. What is measured is the time from a request to the last byte
of its answer, without a network. Prints a table; exits 1 when a target is missed.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.bench.bench_status import airflow_variables, new_database

SITE = "default"
GROUPS = 10
_ROUNDS = 15


def prepare(home: Path, store_url: str) -> None:
    """Point Airflow and the store to a directory of this run, before either is imported."""
    for name in [name for name in os.environ if name.startswith(("AIRFLOW", "SLIPWAY"))]:
        del os.environ[name]
    os.environ |= airflow_variables(home, store_url)


def fill(url: str, actions: int) -> None:
    """Store so many actions that are over. Written as rows: one by one they would take minutes."""
    from sqlalchemy import create_engine, insert
    from ulid import ULID

    from site_store import SiteStore
    from site_store.tables import action, group_run
    from strategy_lib.strategy import Group, group_to_data

    SiteStore.upgrade(url)
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
                "site": SITE,
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
        tx.execute(insert(action), rows)
        tx.execute(insert(group_run), groups)
    engine.dispose()


def measure(work: Callable[[], int]) -> tuple[float, float, int]:
    """Return the median and the longest time in milliseconds, and the size of the answer."""
    taken, size = [], work()
    for _ in range(_ROUNDS):
        started = time.perf_counter()
        size = work()
        taken.append((time.perf_counter() - started) * 1000)
    return statistics.median(taken), max(taken), size


def main() -> int:
    """Measure, print, judge."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--actions", type=int, default=1000, help="how many actions there are")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory, new_database() as store_url:
        prepare(Path(directory), store_url)
        from airflow.utils import db

        db.initdb()
        fill(store_url, options.actions)
        from airflow.api_fastapi.app import create_app
        from starlette.testclient import TestClient

        client = TestClient(create_app(apps="core"))
        token = client.get("/auth/token").json()["access_token"]
        client.headers["Authorization"] = f"Bearer {token}"

        def get(path: str) -> Callable[[], int]:
            def ask() -> int:
                answer = client.get(f"/slipway/api/v1.0{path}")
                assert answer.status_code == 200, answer.text
                return len(answer.content)

            return ask

        print(f"{'API server':<36} {'median ms':>10} {'longest':>8} {'kB':>7}  target")
        missed = False
        rows = [
            (f"get actions ({options.actions:,} of {GROUPS} groups)", "/actions", 200.0),
            ("get actions, 50 of them", "/actions?limit=50", 50.0),
        ]
        for label, path, target in rows:
            median, longest, size = measure(get(path))
            missed |= median > target
            print(
                f"{label:<36} {median:>10.1f} {longest:>8.1f} {size / 1000:>7.0f}  "
                f"< {target:.0f} ms {'met' if median <= target else 'MISSED'}",
                flush=True,
            )
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
