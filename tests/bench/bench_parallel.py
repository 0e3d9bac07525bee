"""How long 100 groups of 20 nodes take with 8 of them side by side: the engine alone, on a virtual clock.

Run it as `python -m tests.bench.bench_parallel`. Exits 1 when the makespan is more than 1.1 x the critical path: no
schedule is shorter than the longest chain of groups that depend on each other, or than all work shared by the places.
The provisioner does 8 tasks at once; a task is looked at every 30 seconds, and a free place is seen after 5.
"""

from __future__ import annotations

import logging
import math
import random
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from site_engine.groups.turns import place_taker, turn_by_store
from site_store import GroupRecord, PlaceTaken, SiteStore
from strategy_lib.phase import GroupState
from tests.bench.harness import Table, options
from tests.support.driving import Driving, begin_with
from tests.support.fake_clock import FakeClock
from tests.support.fake_provisioner import FakeProvisioner
from tests.support.sites import group, node, site
from tests.support.stores import new_store

GROUPS, NODES, PLACES = 100, 20, 8
PREPARE, DEPLOY = 900.0, 1500.0
"""Seconds of a node; a group's own factor makes them shorter or longer."""
LOOK, TURN = 30.0, 5.0
MOST = 1.1


def main() -> int:
    """Measure, print, and say whether the target was met."""
    count = options(__doc__, groups=GROUPS).groups
    logging.disable(logging.CRITICAL)
    factors, after = shape(count)
    clock = FakeClock()
    provisioner = FakeProvisioner(clock, at_once=PLACES)
    groups, machines = [], []
    for name, factor in factors.items():
        members = [f"{name}-{number:02}" for number in range(NODES)]
        machines += [node(member) for member in members]
        groups.append(group(name, members, after=after[name], percent_successful_nodes=100))
        for member in members:
            provisioner.script(member, "prepare", "success", factor=PREPARE * factor)
            provisioner.script(member, "deploy", "success", factor=DEPLOY * factor)
    began = time.process_time()
    with (
        new_store() as url,
        SiteStore.open(url, clock.now) as store,
        tempfile.TemporaryDirectory() as folder,
    ):
        driving = begin_with(store, Path(folder), lambda _: provisioner, clock)(site(machines, groups))
        driving.timeout = driving.queue_timeout = 1e6
        driving.patience = 0.0
        made = time.process_time() - began
        makespan, stints = _run(driving, clock, factors)
    work = {name: factor * (PREPARE + DEPLOY) for name, factor in factors.items()}
    chains: dict[str, float] = {}
    for name in factors:
        chains[name] = work[name] + max((chains[other] for other in after[name]), default=0.0)
    critical = max(*chains.values(), sum(work.values()) / PLACES)
    table = Table(f"{count} groups of {NODES} nodes, {PLACES} at once, on a virtual clock")
    table.row("one after the other", sum(work.values()), unit="s")
    table.row("critical path", critical, unit="s")
    table.row("makespan", makespan, unit="s")
    table.row("  x the critical path", makespan / critical, MOST, "")
    table.row(
        f"CPU of each of {stints} times a task of a group went on", 1000 * (time.process_time() - began - made) / stints
    )
    return table.missed


def shape(count: int, spread: float = 0.5) -> tuple[dict[str, float], dict[str, list[str]]]:
    """Return groups, the same each time: by how much each takes longer than usual, and which it depends on.

    Parameters
    ----------
    spread : by how much a factor differs from 1 at most.
    """
    draw = random.Random(8)
    factors = {f"g{number:02}": draw.uniform(1 - spread, 1 + spread) for number in range(count)}
    return factors, {name: _after(number, draw) for number, name in enumerate(factors)}


def _after(number: int, draw: random.Random) -> list[str]:
    """Return what a group depends on: most on one or two of those some places before it."""
    before = range(max(0, number - 40), number - 15)
    return [f"g{other:02}" for other in draw.sample(before, min(len(before), draw.randint(0, 2)))]


def _run(driving: Driving, clock: FakeClock, factors: Mapping[str, float]) -> tuple[float, int]:
    """Drive all groups as their tasks do, each woken up by the first look that shows that it can go on."""
    store, action_id = driving.store, driving.action.id
    began = clock.now()
    left = {turn.name: 0.0 for turn in store.groups.turns(action_id)}
    phases = {name: [PREPARE * factor, DEPLOY * factor] for name, factor in factors.items()}
    stints = 0
    while left:
        now = (clock.now() - began).total_seconds()
        due = [name for name, at in left.items() if at <= now]
        if not due:
            clock.sleep(min(left.values()) - now)
            continue
        turns = {turn.name: turn for turn in store.groups.turns(action_id)}
        for name in due:
            running = turns[name].state is GroupState.RUNNING
            if not running and turn_by_store(name, turns.values(), PLACES).wait_for is not None:
                # Nothing changes before the next of those at work goes on.
                at_work = [left[one] for one, turn in turns.items() if turn.state is GroupState.RUNNING and one in left]
                left[name] = max(now, min(at_work, default=now)) + TURN
                continue
            stints += 1
            if isinstance(_go_on(driving, name), GroupRecord):
                del left[name]
            else:
                left[name] = now + LOOK * math.ceil(phases[name].pop(0) / LOOK) if phases[name] else now + LOOK
            turns = {turn.name: turn for turn in store.groups.turns(action_id)}
    return (clock.now() - began).total_seconds(), stints


def _go_on(driving: Driving, name: str) -> Any:
    turns = driving.store.groups.turns(driving.action.id)
    may_begin = place_taker(name, turns, lambda index: "success" if turns[index].is_judged else "running", PLACES)
    try:
        return driving.group(name, may_begin=may_begin)
    except PlaceTaken:
        return None


if __name__ == "__main__":
    raise SystemExit(main())
