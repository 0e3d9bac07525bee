"""How long a second update takes that has nothing to submit, in a real Airflow, with many groups.

Run it as `python tests/bench/bench_updates.py`: an embedded Airflow deploys one group of all nodes, then the strategy
becomes one group a node, and `update_site` runs twice. Prints the seconds of both runs; exits 1 when the target is
missed.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from datetime import datetime
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from api_client.airflow import AirflowClient
from api_client.session import ApiSession
from api_client.slipway import SlipwayClient
from slipway_cli.demo.airflow import BackgroundAirflow
from slipway_cli.embedded.settings import EmbeddedSettings
from tests.support.airflow_answers import tasks_of
from tests.support.simulators import Simulator
from tests.support.sites import group, node, site

SITE = "many"
TARGET = 30.0
"""Seconds of an update with nothing to submit."""


def run(airflow: AirflowClient, dag_id: str, revision: int) -> tuple[float, dict[str, float]]:
    """Return the seconds of a run that succeeds, and of each of its tasks."""
    airflow.wait_for_dag(dag_id)
    run_id = airflow.trigger(dag_id, {"site": SITE, "revision": revision})
    state = airflow.wait_for_run(dag_id, run_id, 3600, interval=1.0)
    assert state == "success", f"{dag_id}: {state}"
    about = airflow.run(dag_id, run_id)
    found = tasks_of(airflow, dag_id, run_id)
    tasks = {
        task.task_id: seconds_between(task.start, task.end)
        for task in found
        if task.start is not None and task.end is not None
    }
    mapped = [task for task in found if task.task_id == "deploy_group" and task.map_index >= 0]
    assert dag_id == "deploy_site" or not mapped, "a group with nothing to submit gets no task"
    return seconds_between(about["start_date"], about["end_date"]), tasks


def seconds_between(first: str, last: str) -> float:
    """Return the seconds between two times of Airflow's API."""
    return (datetime.fromisoformat(last) - datetime.fromisoformat(first)).total_seconds()


def main() -> int:
    """Measure, print, judge."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--groups", type=int, default=500)
    options = parser.parse_args()
    names = [f"n{number:04}" for number in range(options.groups)]
    nodes = [node(name) for name in names]
    with tempfile.TemporaryDirectory() as home, tempfile.TemporaryDirectory() as directory:
        simulator = Simulator(Path(directory), speed=50_000)
        background = BackgroundAirflow(EmbeddedSettings.from_environment(Path(home), 0, {})).start()
        try:
            runtime = background.wait_ready()
            session = ApiSession(runtime.url, "admin", runtime.password("admin"))
            airflow, slipway = AirflowClient(session), SlipwayClient(session)
            fields = {"conn_type": "drydock", "host": simulator.url, "extra": json.dumps({"poll_interval": 1.0})}
            airflow.set_connection(f"slipway_provisioner_{SITE}", fields)
            first = slipway.commit(SITE, site(nodes, [group("all", percent_successful_nodes=100)]))
            run(airflow, "deploy_site", first.number)
            groups = [group(f"g-{name}", [name], percent_successful_nodes=100) for name in names]
            second = slipway.commit(SITE, site(nodes, groups))
            before = len(simulator.submissions())
            taken = [run(airflow, "update_site", second.number) for _ in range(2)]
            assert [one for one in simulator.submissions()[before:] if one[1]] == [], "it has nothing to submit"
            session.close()
        finally:
            background.stop()
            simulator.stop()
    for number, (total, tasks) in enumerate(taken, start=1):
        print(f"update {number} of {options.groups} groups, nothing to submit: {total:.1f} s (target {TARGET:.0f} s)")
        print("  " + ", ".join(f"{task} {seconds:.1f}" for task, seconds in tasks.items()))
    return 1 if taken[-1][0] > TARGET else 0


if __name__ == "__main__":
    sys.exit(main())
