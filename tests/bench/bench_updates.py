"""How long a second update takes that has nothing to submit, in a real Airflow, with many groups.

Run it as `python -m tests.bench.bench_updates`: an embedded Airflow deploys one group of all nodes, then the strategy
becomes one group a node, and `update_site` runs twice. Prints the seconds of both runs; exits 1 when the target is
missed.
"""

from __future__ import annotations

from datetime import datetime

from tests.bench.harness import RunningAirflow, Table, embedded_airflow, options, simulated
from tests.support.airflow_answers import tasks_of
from tests.support.sites import group, node, site

SITE, UPDATE = "many", "update_site"
TARGET = 30.0
"""Seconds of an update with nothing to submit."""


def seconds_between(first: str, last: str) -> float:
    """Return the seconds between two times of Airflow's API."""
    return (datetime.fromisoformat(last) - datetime.fromisoformat(first)).total_seconds()


def updated(running: RunningAirflow, revision: int) -> tuple[float, str]:
    """Return the seconds of an update, and of each of its tasks as a text."""
    run_id = running.run(SITE, revision, UPDATE)
    about, tasks = running.airflow.run(UPDATE, run_id), tasks_of(running.airflow, UPDATE, run_id)
    mapped = [task for task in tasks if task.task_id == "deploy_group" and task.map_index >= 0]
    assert not mapped, "a group with nothing to submit gets no task"
    each = [
        f"{task.task_id} {seconds_between(task.start, task.end):.1f}"
        for task in tasks
        if task.start is not None and task.end is not None
    ]
    return seconds_between(about["start_date"], about["end_date"]), ", ".join(each)


def main() -> int:
    """Measure, print, judge."""
    count = options(__doc__, groups=500).groups
    names = [f"n{number:04}" for number in range(count)]
    nodes = [node(name) for name in names]
    table = Table(f"an update of {count} groups, nothing to submit")
    with simulated(50_000) as simulator, embedded_airflow() as running:
        running.connect(SITE, simulator.url)
        first = running.slipway.commit(SITE, site(nodes, [group("all", percent_successful_nodes=100)]))
        running.run(SITE, first.number)
        groups = [group(f"g-{name}", [name], percent_successful_nodes=100) for name in names]
        second = running.slipway.commit(SITE, site(nodes, groups))
        before = len(simulator.submissions())
        for what, most in (("first", None), ("second", TARGET)):
            seconds, each = updated(running, second.number)
            table.row(what, seconds, most, "s")
            print(f"  {each}")
        assert [one for one in simulator.submissions()[before:] if one[1]] == [], "it has nothing to submit"
    return table.missed


if __name__ == "__main__":
    raise SystemExit(main())
