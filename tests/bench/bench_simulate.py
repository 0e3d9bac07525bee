"""How long `simulate` takes and how much memory it needs, on layered strategies. Prints a table.

Run it as `python tests/bench/bench_simulate.py`, or with `--case LABEL` for one row. Every row has a process of its
own, so that its memory is its own. Exits 1 when a target is missed.
"""

from __future__ import annotations

import argparse
import gc
import json
import resource
import subprocess
import sys
import time
from dataclasses import asdict, dataclass
from typing import Any

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
    """What one row took. `first` includes importing NetworkX; `again` is a second call in the same process."""

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
    from strategy_lib import simulate

    arguments = layered(case)
    before = _peak_megabytes()
    gc.collect()
    started = time.perf_counter()
    result = simulate(*arguments)
    first = time.perf_counter() - started
    peak = _peak_megabytes()
    failed = sum(group["state"] == "failure" for group in result["groups"].values())
    if failed != (case.groups if case.fail_first_layer else 0):
        raise RuntimeError(f"{failed} of {case.groups} groups failed: this is not the run that was to be measured")
    del result
    started = time.perf_counter()
    simulate(*arguments)
    again = time.perf_counter() - started
    return Measurement(first, again, peak, before)


def _peak_megabytes() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def _measure_apart(case: Case) -> Measurement:
    command = [sys.executable, __file__, "--case", case.label, "--json"]
    answer = subprocess.run(command, check=True, capture_output=True, text=True)
    return Measurement(**json.loads(answer.stdout))


def _row(case: Case, taken: Measurement, smaller: tuple[Case, Measurement] | None) -> tuple[str, bool]:
    """Return the line of the table, and whether its targets are met."""
    growth = ""
    good = True
    if smaller is not None:
        ratio = (taken.again / smaller[1].again) / (case.nodes / smaller[0].nodes)
        growth = f"{ratio:.2f} x linear"
        good = ratio <= _MAX_GROWTH
    if case.max_seconds is not None:
        good = good and taken.first < case.max_seconds
    if case.max_megabytes is not None:
        good = good and taken.megabytes - taken.input_megabytes < case.max_megabytes
    target = " ".join(
        part
        for part in (
            f"< {case.max_seconds} s" if case.max_seconds is not None else "",
            f"< {case.max_megabytes:.0f} MB more" if case.max_megabytes is not None else "",
        )
        if part
    )
    line = (
        f"{case.label:<33} {taken.first:>8.3f} {taken.again:>8.3f} {taken.megabytes:>8.0f} "
        f"{taken.input_megabytes:>8.0f}  {growth:<15} {target:<22} {'met' if good else 'MISSED'}"
    )
    return line, good


def main() -> int:
    """Print the table; 1 when a target is missed."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--case", choices=[case.label for case in CASES], help="only this row, in this process")
    options.add_argument("--json", action="store_true", help="print the measurement as JSON")
    chosen = options.parse_args()
    if chosen.case is not None:
        case = next(case for case in CASES if case.label == chosen.case)
        taken = measure(case)
        print(json.dumps(asdict(taken)) if chosen.json else _row(case, taken, None)[0])
        return 0
    print(f"{'simulate':<33} {'first s':>8} {'again s':>8} {'peak MB':>8} {'input MB':>8}  {'growth':<15} target")
    taken_before: dict[bool, tuple[Case, Measurement]] = {}
    all_good = True
    for case in CASES:
        taken = _measure_apart(case)
        mesh = case.depends_on == _GROUPS_PER_LAYER
        # Each size against the one before it; the mesh has one size only. The smallest takes milliseconds, so that on
        # a busy machine it is the largest against the middle that says most.
        smaller = None if mesh else taken_before.get(case.fail_first_layer)
        line, good = _row(case, taken, smaller)
        print(line, flush=True)
        all_good = all_good and good
        taken_before[case.fail_first_layer] = (case, taken)
    return 0 if all_good else 1


if __name__ == "__main__":
    sys.exit(main())
