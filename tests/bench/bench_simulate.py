"""How long `simulate` takes and how much memory it needs, on layered strategies. Prints a table.

Run it as `python -m tests.bench.bench_simulate`. Every row has a process of its own, so that its memory is its own.
Exits 1 when a target is missed.
"""

from __future__ import annotations

import gc
import time
from dataclasses import dataclass
from typing import Any

from strategy_lib import simulate
from tests.bench.harness import Table, alone, megabytes, options

_GROUPS_PER_LAYER = 10
_SHARED_PERCENT = 10
_MAX_GROWTH = 1.15


@dataclass(frozen=True)
class Case:
    """One row: a strategy, and what is aimed at: seconds, and megabytes beside the input."""

    label: str
    groups: int
    nodes: int
    depends_on: int = 3
    fail_first_layer: bool = False
    max_seconds: float | None = None
    max_megabytes: float | None = None


CASES = (
    Case("100 groups, 1,000 nodes", 100, 1_000),
    Case("2,000 groups, 100,000 nodes", 2_000, 100_000, max_seconds=1.5, max_megabytes=150),
    Case("5,000 groups, 500,000 nodes", 5_000, 500_000),
    Case("10,000 groups, 1,000,000 nodes", 10_000, 1_000_000, max_megabytes=1000),
    Case("100 groups, first layer fails", 100, 1_000, fail_first_layer=True),
    Case(
        "2,000 groups, first layer fails",
        2_000,
        100_000,
        fail_first_layer=True,
        max_seconds=1.5,
        max_megabytes=150,
    ),
    Case("5,000 groups, first layer fails", 5_000, 500_000, fail_first_layer=True),
    Case("full mesh, 200 layers x 10", 2_000, 100_000, depends_on=10, max_seconds=2.0),
)


@dataclass(frozen=True)
class Measurement:
    """What one row took; `again` is a second call in the same process."""

    first: float
    again: float
    megabytes: float
    input_megabytes: float


def layered(case: Case) -> tuple[dict[str, Any], list[dict[str, Any]], dict[str, Any] | None]:
    """Return strategy, nodes and outcomes: layers of ten groups, each depending on some of the layer above."""
    per_group = case.nodes // case.groups
    shared = max(1, per_group * _SHARED_PERCENT // 100)
    nodes = [
        {"name": f"node-{i:06d}", "tags": [f"tag-{i % 7}"], "labels": {"row": str(i % 20)}, "rack": f"rack-{i // 40}"}
        for i in range(case.nodes)
    ]
    groups = []
    for number in range(case.groups):
        layer, place = divmod(number, _GROUPS_PER_LAYER)
        above = [
            f"group-{layer - 1}-{(place + step) % _GROUPS_PER_LAYER}" for step in range(case.depends_on) if layer > 0
        ]
        own = range(number * per_group, (number + 1) * per_group)
        # One node in ten belongs to the next group as well.
        also = range((number + 1) * per_group, (number + 1) * per_group + shared)
        groups.append(
            {
                "name": f"group-{layer}-{place}",
                "critical": place == 0,
                "depends_on": above,
                "selectors": [{"node_names": [f"node-{i % case.nodes:06d}" for i in (*own, *also)]}],
                "success_criteria": {"percent_successful_nodes": 60, "minimum_successful_nodes": 1},
            }
        )
    outcomes = None
    if case.fail_first_layer:
        failing = range(_GROUPS_PER_LAYER * per_group + shared)
        outcomes = {"prepare": {f"node-{i:06d}": "failure" for i in failing}}
    return {"groups": groups}, nodes, outcomes


def measure(case: Case) -> Measurement:
    """Run one row in this process."""
    arguments = layered(case)
    before = megabytes()
    gc.collect()
    started = time.perf_counter()
    result = simulate(*arguments)
    first = time.perf_counter() - started
    peak = megabytes()
    failed = sum(group["state"] == "failure" for group in result["groups"].values())
    if failed != (case.groups if case.fail_first_layer else 0):
        raise RuntimeError(f"{failed} of {case.groups} groups failed: this is not the run that was to be measured")
    del result
    started = time.perf_counter()
    simulate(*arguments)
    return Measurement(first, time.perf_counter() - started, peak, before)


def main() -> int:
    """Print the table; 1 when a target is missed."""
    most = options(__doc__, most=CASES[3].nodes).most
    table = Table("simulate")
    before: dict[bool, tuple[Case, Measurement]] = {}
    for case in CASES:
        if case.nodes > most:
            continue
        taken = alone(measure, case)
        table.row(case.label, taken.first, case.max_seconds, "s")
        table.row("  again", taken.again, unit="s")
        table.row("  memory beside the input's", taken.megabytes - taken.input_megabytes, case.max_megabytes, "MB")
        # Each size against the one before it; the mesh has one size only. The smallest takes milliseconds, so that on
        # a busy machine it is the largest against the middle that says most.
        if case.fail_first_layer in before and case.depends_on != _GROUPS_PER_LAYER:
            smaller, then = before[case.fail_first_layer]
            table.row("  x linear", (taken.again / then.again) / (case.nodes / smaller.nodes), _MAX_GROWTH, "")
        before[case.fail_first_layer] = (case, taken)
    return table.missed


if __name__ == "__main__":
    raise SystemExit(main())
