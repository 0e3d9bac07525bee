"""A real Ironic and a real Airflow, of which parts are killed again and again: no machine is acted on twice.

Ironic's own history says what was done to a machine, and how often. It is the longer form of `test_ironic.py`, with the
conductor among those that are killed: what it was doing fails, and nothing else.
"""

from __future__ import annotations

import os
import random
import re
import signal
import time
from collections import Counter
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest

from slipway_cli.demo.order import example_site
from tests.e2e.on_ironic import ironic_of
from tests.e2e.running import COMPONENTS, DAG, HANGS, RunningSlipway, wait_until
from tests.support.embedded_ironic import EmbeddedIronic
from tests.support.ironic_machines import Machines

pytestmark = [pytest.mark.soak, pytest.mark.timeout(3600)]

SITE = "kills-on-ironic"
KILLS = 30
CONDUCTOR, WORKER = "conductor", "worker"
VICTIMS = (*(name for name in COMPONENTS if name != "dag-processor"), WORKER, CONDUCTOR)
"""Who is killed in each round, in an order of its own. The DAG processor has no part in a run."""
SPEED = 100.0
"""A deployment takes 6 s: long enough to be killed in."""
LONGEST_PAUSE = 5.0
"""Seconds between two kills, at most."""


@pytest.fixture
def ironic(slipway: RunningSlipway, tmp_path: Path) -> Iterator[EmbeddedIronic]:
    with ironic_of(slipway, SITE, tmp_path) as found:
        yield found


def design(number: int) -> str:
    """The documents of the example site, with other names of machines in each round."""
    with example_site("ironic") as file:
        return re.sub(r"\b(r\d-[a-z]+-\d+|ntp01)\b", rf"m{number}-\1", file.read_text())


def test_30_kills_and_each_machine_is_cleaned_and_deployed_once(
    slipway: RunningSlipway, ironic: EmbeddedIronic
) -> None:
    slipway.airflow.wait_for_dag(DAG)
    machines, kills = Machines(ironic), Counter[str]()
    for number in count(1):
        began = time.monotonic()
        ironic.play(speed=SPEED)
        revision = slipway.slipway.commit(SITE, design(number))
        conf = {"site": SITE, "revision": revision.number}
        run_id = slipway.airflow.trigger(DAG, conf)
        chance = random.Random(number)
        for victim in chance.sample(VICTIMS, len(VICTIMS)):
            time.sleep(chance.uniform(0.5, LONGEST_PAUSE))
            if slipway.airflow.run_state(DAG, run_id) not in ("queued", "running"):
                break
            kill(slipway, ironic, run_id, victim)
            kills[victim] += 1
        state = slipway.airflow.wait_for_run(DAG, run_id, 2 * HANGS)
        ends = judge(slipway, machines, run_id)
        print(
            f"round {number}: {state} after {time.monotonic() - began:.0f} s, {dict(ends)}, kills so far {dict(kills)}"
        )
        if kills.total() >= KILLS:
            break
    assert set(kills) == set(VICTIMS)


def kill(slipway: RunningSlipway, ironic: EmbeddedIronic, run_id: str, victim: str) -> None:
    """Kill -9; what was killed comes back."""
    if victim == CONDUCTOR:
        # It is killed at work: what it was doing fails.
        wait_until(lambda: is_at_work(slipway, ironic, run_id), "a machine is being deployed")
        for process in ironic.processes():
            os.kill(process, signal.SIGKILL)
        assert ironic.process is not None
        ironic.process.wait()
        ironic.start().wait_ready()
        ironic.play(speed=SPEED)
    elif victim == WORKER:
        wait_until(lambda: was_killed(slipway, run_id), "a task of the run is killed")
    else:
        slipway.kill_component(victim)
    # What is asked next has to be answered.
    slipway.wait_healthy()


def is_at_work(slipway: RunningSlipway, ironic: EmbeddedIronic, run_id: str) -> bool:
    """Whether Ironic deploys a machine now, or the run is over."""
    listed = ironic.session().get(f"{ironic.url}/v1/nodes?fields=name,provision_state&limit=1000", timeout=60).json()
    deploying = any(node["provision_state"] == "deploying" for node in listed["nodes"])
    return deploying or slipway.airflow.run_state(DAG, run_id) not in ("queued", "running")


def was_killed(slipway: RunningSlipway, run_id: str) -> bool:
    """Whether a task of the run was there to be killed, or the run is over."""
    for task in slipway.tasks(run_id):
        if task.state == "running" and task.pid is not None and Path(f"/proc/{task.pid}").exists():
            slipway.kill_task(task)
            return True
    return slipway.airflow.run_state(DAG, run_id) not in ("queued", "running")


def judge(slipway: RunningSlipway, machines: Machines, run_id: str) -> Counter[str]:
    """Hold what the report says of each node against Ironic; return how many nodes ended how."""
    ends: Counter[str] = Counter()
    report = slipway.report(run_id)
    for entry in report["nodes"]:
        name, found = entry["name"], machines.state(entry["name"])
        events = machines.state(f"{name}/history?detail=true").get("history", [])
        done = Counter(str(event["event_type"]) for event in events)
        assert done["automated_cleaning_start"] <= 1, (name, done)
        assert done["deployment_start"] <= 1, (name, done)
        is_active = found.get("provision_state") == "active"
        assert is_active is (entry["state"] == "success"), (name, entry, found.get("provision_state"))
        ends[entry["state"]] += 1
    assert ends.total() == 40, report["failed_steps"]
    return ends
