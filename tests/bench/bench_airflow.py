"""What Airflow and Slipway add to the provisioner's own time, in seconds per group, and where they go.

Run it as `python tests/bench/bench_airflow.py`: a real embedded Airflow deploys a strategy of one-node groups, once
with short phases polled in the worker, once with long phases that are deferred. The provisioner's own time is what the
simulator says about its tasks. Then a node that was deployed loses its power, a few times: how soon that is published,
and how soon it is a drift in the view of the site. At last it prints what the tasks of a `deploy_site` of five groups
cost in CPU seconds, and how soon the first of these begins, beside what an empty task of Airflow takes (e). Prints
tables; exits 1 when a target is missed.
"""

from __future__ import annotations

import argparse
import json
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

import psutil  # type: ignore[import-untyped]

sys.path.insert(0, str(Path(__file__).parents[2]))

from api_client.airflow import AirflowClient
from api_client.session import ApiSession
from api_client.slipway import SlipwayClient
from site_engine.node_states.polls import POLL_SECONDS
from slipway_cli.demo.airflow import BackgroundAirflow
from slipway_cli.embedded.settings import EmbeddedSettings
from tests.support.airflow_answers import AirflowTask, tasks_of
from tests.support.simulators import Simulator
from tests.support.sites import group, node, site

ROOT = Path(__file__).parents[2]
DAG = "deploy_site"
EMPTY = "empty_tasks"
_EMPTY_TASKS = 6
_EMPTY_DAG = f"""
from airflow.providers.standard.operators.python import PythonOperator
from airflow.sdk import DAG, chain

def nothing():
    pass


with DAG("{EMPTY}", schedule=None, is_paused_upon_creation=False):
    chain(*(PythonOperator(task_id=f"t{{each}}", python_callable=nothing) for each in range({_EMPTY_TASKS})))
"""
_GROUPS, _CPU_TARGET = 5, 14.0
MARGIN = 2.0
"""Seconds beyond a poll until a state is published, and beyond two until a drift is in the tree."""
_LONGEST = 120.0


@dataclass(frozen=True)
class Case:
    """One run: how many groups, how fast the provisioner, how long the worker polls, and the target in seconds."""

    label: str
    groups: int
    speed: float
    poll_in_worker: float
    target: float


@dataclass(frozen=True)
class Measurement:
    """Seconds per group. `between`: from the end of a group's task to the start of the next one's.

    `outages`: of each outage of a node, the seconds until it was published, and until it was a drift.
    """

    provisioner: float
    total: float
    between: float
    in_task: float
    outages: tuple[tuple[float, float], ...] = ()

    @property
    def added(self) -> float:
        """What is not the provisioner's."""
        return self.total - self.provisioner


def seconds(text: str | None) -> float:
    """Return a time of Airflow's API as seconds."""
    assert text is not None
    return datetime.fromisoformat(text).timestamp()


def seconds_until(is_so: Callable[[], bool]) -> float:
    """Return after how many seconds something has come."""
    began = time.monotonic()
    while not is_so():
        if time.monotonic() - began > _LONGEST:
            raise TimeoutError(f"not in {_LONGEST:.0f} s")
        time.sleep(0.1)
    return time.monotonic() - began


def outage(slipway: SlipwayClient, simulator: Simulator, name: str, node_name: str) -> tuple[float, float]:
    """Switch a node off; return the seconds until that is published, and until it is a drift. Then switch it on."""

    def ask(what: str) -> Any:
        return slipway.request(f"asking for {what}", "GET", f"/sites/{name}/{what}").json()["nodes"]

    def published() -> str:
        return str(ask("state")[node_name]["state"])

    def standing() -> str:
        return next(str(row["status"]) for row in ask("nodes") if row["node"] == node_name)

    seconds_until(lambda: (published(), standing()) == ("up", "success"))
    simulator.post(f"nodes/{node_name}", {"power_state": "off"})
    told = seconds_until(lambda: published() != "up")
    drifted = told + seconds_until(lambda: standing() == "error")
    simulator.post(f"nodes/{node_name}", {"power_state": "on"})
    return told, drifted


def measure(case: Case, slipway: SlipwayClient, airflow: AirflowClient, outages: int = 0) -> Measurement:
    """Deploy, and take the times from Airflow and the simulator; then have the first node lose its power so often."""
    name = case.label.replace(" ", "-").replace(",", "")
    names = [f"n{number:02}" for number in range(case.groups)]
    text = site(
        [node(each) for each in names], [group(f"g-{each}", [each], minimum_successful_nodes=1) for each in names]
    )
    with tempfile.TemporaryDirectory() as directory:
        simulator = Simulator(Path(directory), speed=case.speed)
        try:
            extra = {"poll_in_worker": case.poll_in_worker, "poll_interval": 1.0}
            airflow.set_connection(
                f"slipway_provisioner_{name}",
                {"conn_type": "drydock", "host": simulator.url, "extra": json.dumps(extra)},
            )
            revision = slipway.commit(name, text)
            airflow.wait_for_dag(DAG)
            run_id = airflow.trigger(DAG, {"site": name, "revision": revision.number})
            state = airflow.wait_for_run(DAG, run_id, 3600, interval=2.0)
            assert state == "success", f"{name}: {state}"
            worked = sum(
                task["ended"] - task["started"]
                for task in simulator.get("tasks")
                if task["action"] in {"prepare_nodes", "deploy_nodes"}
            )
            tasks = [task for task in tasks_of(airflow, DAG, run_id) if task.task_id == "deploy_group"]
            found = evaluate(sorted(tasks, key=lambda task: task.map_index), worked)
            seen = [outage(slipway, simulator, name, names[0]) for _ in range(outages)]
            return replace(found, outages=tuple(seen))
        finally:
            simulator.stop()


def evaluate(tasks: Sequence[AirflowTask], worked: float) -> Measurement:
    """Turn the times of the groups' tasks into seconds per group."""
    number = len(tasks)
    first, last = seconds(tasks[0].start), seconds(tasks[-1].end)
    gaps = [seconds(after.start) - seconds(before.end) for before, after in pairwise(tasks)]
    between = statistics.mean(gaps)
    total = (last - first + between) / number
    return Measurement(worked / number, total, between, total - between - worked / number)


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


def cost_of_tasks(slipway: SlipwayClient, airflow: AirflowClient, supervisor: int) -> bool:
    """Print what an empty task takes, and a run of a few groups; return whether a target is missed."""
    airflow.wait_for_dag(EMPTY)
    _, began = settled(supervisor)
    run_id = airflow.trigger(EMPTY, {})
    assert airflow.wait_for_run(EMPTY, run_id, 600) == "success"
    ends = sorted(seconds(task.end) for task in tasks_of(airflow, EMPTY, run_id))
    empty = (ends[-1] - ends[0]) / (len(ends) - 1)
    empty_cpu = (settled(supervisor)[1] - began) / len(ends)
    names = [f"n{number:02}" for number in range(_GROUPS)]
    text = site(
        [node(each) for each in names], [group(f"g-{each}", [each], minimum_successful_nodes=1) for each in names]
    )
    with tempfile.TemporaryDirectory() as directory:
        simulator = Simulator(Path(directory), speed=2000)
        try:
            airflow.set_connection(
                "slipway_provisioner_cost",
                {"conn_type": "drydock", "host": simulator.url, "extra": json.dumps({"poll_interval": 1.0})},
            )
            revision = slipway.commit("cost", text)
            airflow.wait_for_dag(DAG)
            before = settled(supervisor)
            run_id = airflow.trigger(DAG, {"site": "cost", "revision": revision.number})
            assert airflow.wait_for_run(DAG, run_id, 600) == "success"
            everything, used = (now - then for now, then in zip(settled(supervisor), before, strict=True))
            tasks = tasks_of(airflow, DAG, run_id)
            run_start = seconds(airflow.run(DAG, run_id)["start_date"])
        finally:
            simulator.stop()
    first = min(seconds(task.start) for task in tasks if task.task_id == "deploy_group") - run_start
    processes = sum(task.start is not None and task.state == "success" for task in tasks) - 1
    print(
        f"\nan empty task: e = {empty:.2f} s, {empty_cpu:.2f} s of CPU"
        f"\na deploy_site of {_GROUPS} groups, {processes} tasks with a process: the first group begins after "
        f"{first:.2f} s (4 e + 1 s: {4 * empty + 1:.2f} s), all of Airflow uses {everything:.1f} s of CPU "
        f"(target {_CPU_TARGET:.1f}), {used:.1f} of them its tasks",
        flush=True,
    )
    return everything > _CPU_TARGET or first > 4 * empty + 1


def main() -> int:
    """Measure, print, judge."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--groups", type=int, default=20, help="groups with short phases")
    parser.add_argument("--deferred-groups", type=int, default=20, help="groups with deferred phases; about 45 s each")
    parser.add_argument("--outages", type=int, default=3, help="how often a deployed node loses its power, 4 at most")
    options = parser.parse_args()
    cases = (
        Case("short phases, polled", options.groups, 2000, 60, 2.0),
        # Both phases outlast the trigger's quiet time of 15 s, so that only the deferral itself is added.
        Case("long phases, deferred", options.deferred_groups, 21, 0, 6.0),
    )
    missed = False
    outages: list[tuple[float, float]] = []
    with tempfile.TemporaryDirectory() as home:
        dags = Path(home) / "dags"
        shutil.copytree(ROOT / "dags", dags, ignore=shutil.ignore_patterns("__pycache__"))
        (dags / f"{EMPTY}.py").write_text(_EMPTY_DAG)
        settings = EmbeddedSettings.from_environment(Path(home), 0, {"SLIPWAY_DAGS_FOLDER": str(dags)})
        background = BackgroundAirflow(settings).start()
        try:
            runtime = background.wait_ready()
            session = ApiSession(runtime.url, "admin", runtime.password("admin"))
            print(
                "seconds per group            groups  total  provisioner  added  (in the task  between tasks)  target"
            )
            for case in cases:
                if case.groups:
                    wanted = 0 if outages else options.outages
                    found = measure(case, SlipwayClient(session), AirflowClient(session), wanted)
                    outages += found.outages
                    missed |= found.added > case.target
                    print(
                        f"{case.label:24} {case.groups:8} {found.total:7.2f} {found.provisioner:12.2f} "
                        f"{found.added:7.2f} {found.in_task:13.2f} {found.between:9.2f} {case.target:8.1f}",
                        flush=True,
                    )
            missed |= cost_of_tasks(SlipwayClient(session), AirflowClient(session), background.pid)
            session.close()
        finally:
            background.stop()
    print(
        "\nin the task: start of its process, imports, the store, asking the provisioner, noticing the end of its task"
        "\n(deferred: and the way to the triggerer and back). between: Airflow ends one task and starts the next."
    )
    for told, drifted in outages:
        late = told > POLL_SECONDS + MARGIN or drifted > 2 * POLL_SECONDS + MARGIN
        missed |= late
        print(
            f"a node that loses its power is published so after {told:.1f} s, and a drift in the tree after "
            f"{drifted:.1f} s{'  MISSED' if late else ''}"
        )
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
