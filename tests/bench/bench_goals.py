"""How long the pure parts of an update and of a site's states take: differences, order of nodes, one look at all nodes.

Run it as `python tests/bench/bench_goals.py`. Times are of the processor. Exits 1 when a target is missed.
"""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from strategy_lib import plan_update
from strategy_lib.node_states.generated import NodeAvailability
from strategy_lib.node_states.history import NodeHistory, Observation, observe
from strategy_lib.node_states.user_state import UserState
from strategy_lib.node_states.view import view_of


@dataclass(frozen=True)
class Case:
    """One row: what is measured, over how many nodes, and how many seconds are aimed at."""

    label: str
    nodes: int
    prepare: Callable[[int], Callable[[], object]]
    max_seconds: float | None = None


def _names(nodes: int) -> list[str]:
    return [f"r{i // 20:04d}-compute-{i % 20:02d}" for i in range(nodes)]


def update(changed_percent: float, chain: bool = False) -> Callable[[int], Callable[[], object]]:
    """Prepare a plan in which this share of the nodes has changed: two dependencies a node, or one long chain."""

    def prepare(nodes: int) -> Callable[[], object]:
        chance, names = random.Random(1), _names(nodes)
        wanted: dict[str, Any] = {
            name: {"version": 2, "digest": "b" if chance.random() * 100 < changed_percent else "a"} for name in names
        }
        done: dict[str, Any] = {name: {"version": 1, "digest": "a"} for name in names}
        deployed = dict.fromkeys(names, "deployed")
        before = {
            name: [names[i - 1]] if chain else [names[chance.randrange(i)], names[chance.randrange(i)]]
            for i, name in enumerate(names)
            if i
        }
        return lambda: plan_update(wanted, done, deployed, before)

    return prepare


def look(nodes: int) -> Callable[[], object]:
    """Prepare one look at nodes of which one in a hundred has gone down."""
    up, down = Observation(NodeAvailability.UP), Observation(NodeAvailability.DOWN)
    histories = [observe(NodeHistory(), up, 0.0) for _ in range(nodes)]
    user = UserState()

    def work() -> object:
        return [
            view_of(observe(history, up if i % 100 else down, 10.0), user, 10.0) for i, history in enumerate(histories)
        ]

    return work


CASES = (
    Case("plan, nothing changed", 100_000, update(0), max_seconds=5.0),
    Case("plan, 1 % changed", 100_000, update(1), max_seconds=5.0),
    Case("plan, all changed", 100_000, update(100), max_seconds=5.0),
    Case("plan, one chain of all", 100_000, update(100, chain=True), max_seconds=5.0),
    Case("plan, 1 % changed", 500_000, update(1)),
    Case("look at every node", 100_000, look),
)


def main() -> int:
    """Measure and print all rows; return 1 when a target is missed."""
    missed = 0
    print(f"{'':24} {'nodes':>9} {'seconds':>9} {'target':>9}")
    for case in CASES:
        work = case.prepare(case.nodes)
        begun = time.process_time()
        work()
        seconds = time.process_time() - begun
        late = case.max_seconds is not None and seconds > case.max_seconds
        missed += late
        target = f"{case.max_seconds:9.2f}" if case.max_seconds is not None else " " * 9
        print(f"{case.label:24} {case.nodes:9,} {seconds:9.2f} {target}{'  missed' if late else ''}")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
