"""Who is at work in a store, for an upgrade: read by plain names, as the store may be of an older schema.

It proves nothing: who says nothing may work all the same. What keeps older code from writing is the fence (rule 60).
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from sqlalchemy import Connection, inspect, text

_MOST = 10
"""So many of each are named."""
_ASK_AIRFLOW: Final = (sys.executable, "-P", "-m", "slipway_airflow.unfinished_tasks")
"""Airflow is known to another room, and is loaded in a process that ends again."""
AIRFLOW_SECONDS: Final = 60.0
"""So long Airflow is waited for: it takes some seconds to load."""

# A process that notes itself is alive until it missed two notes.
_PROCESSES = text(
    "SELECT role, host, pid, version, round(extract(epoch FROM now() - last_sign)) AS ago, "
    "every_seconds IS NOT NULL AND now() - last_sign < make_interval(secs => 3 * every_seconds) AS is_alive "
    "FROM process WHERE now() - last_sign < interval '1 hour' ORDER BY is_alive DESC, role, host, pid"
)
_LEADERS = text("SELECT name, owner FROM lease WHERE expires_at > now() AND name = 'controller'")
_ACTIONS = text("SELECT id, kind, site, state FROM action WHERE state IN ('pending', 'running') ORDER BY created, id")
_STEPS = text(
    "SELECT s.state, count(*) FROM action_step s JOIN action a ON a.id = s.action_id "
    "WHERE a.state IN ('pending', 'running') "
    "AND s.state IN ('running', 'deferred', 'up_for_reschedule', 'awaiting_input', 'up_for_retry') "
    "GROUP BY s.state ORDER BY s.state"
)


@dataclass(frozen=True, slots=True)
class Census:
    """Who is at work.

    Attributes
    ----------
    at_work : what keeps an upgrade waiting, a sentence for each: processes with a fresh sign, open actions, and tasks
        that Airflow has not ended.
    more : what else is known, and what was not looked at.
    """

    at_work: Sequence[str]
    more: Sequence[str]


def take(tx: Connection) -> Census:
    """Ask the store who is at work in it; it has the tables of some schema of Slipway's."""
    at_work: list[str] = []
    more: list[str] = []
    if inspect(tx).has_table("process"):
        for row in tx.execute(_PROCESSES):
            said = f"{row.role} of Slipway {row.version} on {row.host} (process {row.pid}), last sign {row.ago} s ago"
            (at_work if row.is_alive else more).append(said)
    else:
        at_work += [f"controller {owner}: it leads" for _, owner in tx.execute(_LEADERS)]
        more.append("this schema does not note its processes: of them only the leading controller is known")
    actions = tx.execute(_ACTIONS).all()
    at_work += [f"action {one.id}: {one.kind} of site {one.site}, {one.state}" for one in actions[:_MOST]]
    if len(actions) > _MOST:
        at_work.append(f"and {len(actions) - _MOST} more actions that are not over")
    steps = [f"{count} {state}" for state, count in tx.execute(_STEPS)]
    if steps:
        more.append(f"tasks of these actions, as the store knows them: {', '.join(steps)}")
    return Census(at_work, more)


def of_airflow() -> Census:
    """Ask the Airflow that this environment is configured for which tasks of Slipway's DAGs it has not ended.

    Where it cannot be asked, `more` says so, and why.
    """
    try:
        done = subprocess.run(_ASK_AIRFLOW, capture_output=True, text=True, timeout=AIRFLOW_SECONDS, check=False)
        found = json.loads(done.stdout.strip().rpartition("\n")[2])
    except subprocess.TimeoutExpired:
        found = {"not_asked": f"its database gave no answer in {AIRFLOW_SECONDS:g} s"}
    except ValueError:
        found = {"not_asked": f"the process that asks it ended with status {done.returncode}"}
    if "not_asked" in found:
        return Census([], [f"Airflow was not asked for its tasks: {found['not_asked']}"])
    tasks: list[dict[str, Any]] = found["tasks"]
    at_work = [_airflow_task(task) for task in tasks[:_MOST]]
    if len(tasks) > _MOST:
        states = Counter(task["state"] for task in tasks[_MOST:])
        left = ", ".join(f"{count} {state}" for state, count in sorted(states.items()))
        at_work.append(f"and {len(tasks) - _MOST} more tasks in Airflow: {left}")
    return Census(at_work, [f"Airflow's tasks are those in its database {found['database']}"])


def _airflow_task(task: dict[str, Any]) -> str:
    index = "" if task["map_index"] < 0 else f"[{task['map_index']}]"
    host = f" on {task['host']}" if task["host"] and task["state"] == "running" else ""
    named = f"task {task['task']}{index} of {task['dag']} in Airflow, run {task['run']}"
    return f"{named}: {task['state']}{host}, try {task['try']}"
