"""What Airflow and Slipway add to the provisioner's own time, in seconds per group, and where they go.

Run it as `python -m tests.bench.bench_airflow`: a real embedded Airflow deploys a strategy of one-node groups, once
with short phases polled in the worker, once with long phases that are deferred. The provisioner's own time is what the
simulator says about its tasks. Then a node that was deployed loses its power, a few times: how soon that is published,
and how soon it is a drift in the view of the site. At last it prints what the tasks of a `deploy_site` of five groups
cost in CPU seconds, and how soon the first of these begins, beside what an empty task of Airflow takes (e). Prints
tables; exits 1 when a target is missed.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Sequence
from datetime import datetime
from itertools import pairwise
from typing import Any

import psutil  # type: ignore[import-untyped]

from site_engine.node_states.polls import POLL_SECONDS
from tests.bench.harness import DAG, RunningAirflow, Table, embedded_airflow, options, simulated
from tests.support.airflow_answers import AirflowTask, tasks_of
from tests.support.processes import wait_until
from tests.support.simulators import Simulator
from tests.support.sites import group, node, site

EMPTY = "empty_tasks"
_EMPTY_DAG = f"""
from airflow.providers.standard.operators.python import PythonOperator
from airflow.sdk import DAG, chain

def nothing():
    pass

with DAG("{EMPTY}", schedule=None, is_paused_upon_creation=False):
    chain(*(PythonOperator(task_id=f"t{{each}}", python_callable=nothing) for each in range(6)))
"""
_GROUPS, _CPU_TARGET = 5, 14.0
MARGIN = 2.0
"""Seconds beyond a poll until a state is published, and beyond two until a drift is in the tree."""


def seconds(text: str | None) -> float:
    """Return a time of Airflow's API as seconds."""
    assert text is not None
    return datetime.fromisoformat(text).timestamp()


def committed(running: RunningAirflow, simulator: Simulator, name: str, groups: int, **extra: float) -> int:
    """Commit a site of so many groups of one node each, and connect it; return the revision's number."""
    names = [f"n{number:02}" for number in range(groups)]
    ones = [group(f"g-{each}", [each], minimum_successful_nodes=1) for each in names]
    running.connect(name, simulator.url, extra=extra)
    return running.slipway.commit(name, site([node(each) for each in names], ones)).number


def added(table: Table, simulator: Simulator, tasks: Sequence[AirflowTask], most: float) -> None:
    """Print how many seconds a group takes, and how many of them are not its provisioner's."""
    worked = [task["ended"] - task["started"] for task in simulator.get("tasks") if task["action"].endswith("_nodes")]
    gaps = [seconds(after.start) - seconds(before.end) for before, after in pairwise(tasks)]
    between, own = statistics.mean(gaps), sum(worked) / len(tasks)
    total = (seconds(tasks[-1].end) - seconds(tasks[0].start) + between) / len(tasks)
    table.row("  a group", total, unit="s")
    table.row("    its provisioner", own, unit="s")
    table.row("    in the task: its process, imports, store, noticing an end", total - between - own, unit="s")
    table.row("    between: Airflow ends one task and starts the next", between, unit="s")
    table.row("    added", total - own, most, "s")


def outage(table: Table, running: RunningAirflow, simulator: Simulator, name: str, node_name: str) -> None:
    """Switch a node off; print after how many seconds that is published, and a drift. Then switch it on."""

    def ask(what: str) -> Any:
        return running.slipway.request(f"asking for {what}", "GET", f"/sites/{name}/{what}").json()["nodes"]

    def published() -> str:
        return str(ask("state")[node_name]["state"])

    def standing() -> str:
        return next(str(row["status"]) for row in ask("nodes") if row["node"] == node_name)

    wait_until(lambda: (published(), standing()) == ("up", "success"), "the node is up")
    simulator.post(f"nodes/{node_name}", {"power_state": "off"})
    told = wait_until(lambda: published() != "up", "the state is published")
    table.row("  a node that loses its power is published so after", told, POLL_SECONDS + MARGIN, "s")
    drifted = told + wait_until(lambda: standing() == "error", "the drift is in the tree")
    table.row("  and is a drift in the tree after", drifted, 2 * POLL_SECONDS + MARGIN, "s")
    simulator.post(f"nodes/{node_name}", {"power_state": "on"})


def cpu_used(supervisor: int) -> tuple[float, float]:
    """Return the CPU seconds (user and system) that all of Airflow has used so far, and of these its tasks."""
    everything = tasks = 0.0
    for process in psutil.Process(supervisor).children(recursive=True):
        try:
            # With those of its children that have ended.
            used = sum(process.cpu_times()[:4])
            everything += used
            tasks += used if process.cmdline()[0].startswith("airflow worker") else 0.0
        except (psutil.Error, IndexError):
            continue
    return everything, tasks


def settled(supervisor: int) -> tuple[float, float]:
    """Return `cpu_used` once the tasks use no more."""
    before = (0.0, -1.0)
    while (used := cpu_used(supervisor))[1] - before[1] > 0.05:
        before = used
        time.sleep(2)
    return used


def cost_of_tasks(table: Table, running: RunningAirflow) -> None:
    """Print what an empty task takes, and a run of a few groups."""
    airflow, supervisor = running.airflow, running.background.pid
    airflow.wait_for_dag(EMPTY)
    _, began = settled(supervisor)
    run_id = airflow.trigger(EMPTY, {})
    assert airflow.wait_for_run(EMPTY, run_id, 600) == "success"
    ends = sorted(seconds(task.end) for task in tasks_of(airflow, EMPTY, run_id))
    empty = (ends[-1] - ends[0]) / (len(ends) - 1)
    table.row("an empty task: e", empty, unit="s")
    table.row("  of CPU", (settled(supervisor)[1] - began) / len(ends), unit="s")
    with simulated() as simulator:
        revision = committed(running, simulator, "cost", _GROUPS)
        before = settled(supervisor)
        run_id = running.run("cost", revision)
        everything, used = (now - then for now, then in zip(settled(supervisor), before, strict=True))
    tasks = tasks_of(airflow, DAG, run_id)
    first = min(seconds(task.start) for task in tasks if task.task_id == "deploy_group")
    processes = sum(task.start is not None and task.state == "success" for task in tasks) - 1
    begins = first - seconds(airflow.run(DAG, run_id)["start_date"])
    table.row(f"the first of {_GROUPS} groups begins after (4 e + 1 s)", begins, 4 * empty + 1, "s")
    table.row(f"all of Airflow uses in it, {processes} processes", everything, _CPU_TARGET, "s of CPU")
    table.row("  of them its tasks", used, unit="s of CPU")


def main() -> int:
    """Measure, print, judge."""
    given = options(__doc__, groups=20, deferred_groups=20, outages=3)
    table = Table("seconds")
    with embedded_airflow(**{EMPTY: _EMPTY_DAG}) as running:
        for label, count, speed, polled, most, outages in (
            ("short-phases-polled", given.groups, 2000, 60.0, 2.0, given.outages),
            # Both phases outlast the trigger's quiet time of 15 s, so that only the deferral itself is added.
            ("long-phases-deferred", given.deferred_groups, 21, 0.0, 6.0, 0),
        ):
            if count:
                print(f"{count} groups, {label}")
                with simulated(speed) as simulator:
                    run_id = running.run(label, committed(running, simulator, label, count, poll_in_worker=polled))
                    tasks = [task for task in tasks_of(running.airflow, DAG, run_id) if task.task_id == "deploy_group"]
                    added(table, simulator, sorted(tasks, key=lambda task: task.map_index), most)
                    for _ in range(outages):
                        outage(table, running, simulator, label, "n00")
        cost_of_tasks(table, running)
    return table.missed


if __name__ == "__main__":
    raise SystemExit(main())
