"""Who is at work in a store, for an upgrade: read by plain names, as the store may be of an older schema.

It proves nothing: who says nothing may work all the same. What keeps older code from writing is the fence (rule 60).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import Connection, inspect, text

_MOST = 10
"""So many of each are named."""

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
    at_work : what keeps an upgrade waiting, a sentence for each: processes with a fresh sign, and open actions.
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
    more.append("what Airflow has queued was not asked for: `airflow dags list-runs DAG --state running` tells")
    return Census(at_work, more)
