"""What Airflow has not ended of Slipway's DAGs, as a line of JSON: `python -m slipway_airflow.unfinished_tasks`.

An upgrade of the store asks it in a process of its own: to load Airflow takes seconds, and fails by anything. It reads
Airflow's database past its API server, which is stopped before an upgrade.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

_SETTING: Final = "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN"
_GIVEN_BY: Final = (_SETTING, f"{_SETTING}_CMD", f"{_SETTING}_SECRET")
_STATES: Final = (
    *("running", "queued", "deferred", "awaiting_input"),
    *("scheduled", "restarting", "up_for_retry", "up_for_reschedule"),
)
"""Of a task that goes on by itself, or with an answer. A task without a state waits for one of these."""


def find(environment: Mapping[str, str]) -> dict[str, Any]:
    """Ask the database of the Airflow that this environment is configured for.

    Returns
    -------
    dict
        Either `not_asked`, why, in words that follow a colon; or `database`, its name, and `tasks`, each with `dag`,
        `run`, `task`, `map_index` (-1: it is not mapped), `state`, `host` (empty: it had none) and `try`.
    """
    if not is_configured(environment):
        return {"not_asked": f"this environment does not name its database: run this with Airflow's own, {_SETTING}"}
    try:
        return _of_airflow()
    except Exception as error:  # noqa: BLE001 - loading Airflow may fail by anything
        return {"not_asked": _why(error)}


def is_configured(environment: Mapping[str, str]) -> bool:
    """Whether an environment names a database of Airflow's, in a variable or in its `airflow.cfg`.

    Without it Airflow would take a file below the home of the user who asks.
    """
    if any(environment.get(name) for name in _GIVEN_BY):
        return True
    home = Path(environment.get("AIRFLOW_HOME") or "~/airflow")
    file = environment.get("AIRFLOW_CONFIG")
    return (Path(file) if file else home / "airflow.cfg").expanduser().is_file()


def _of_airflow() -> dict[str, Any]:
    from airflow.configuration import conf
    from airflow.models.taskinstance import TaskInstance
    from airflow.utils.session import create_session

    from site_engine.controller.rights import NOTIFY
    from site_engine.kinds import KINDS

    where = urlsplit(str(conf.get("database", "sql_alchemy_conn")))
    if where.scheme.startswith("sqlite") and not Path(where.path[1:]).is_file():
        # To open it would make it.
        return {"not_asked": f"its database is a file that is not there: {where.path[1:]}"}
    name = f"{where.path.removeprefix('/')!r} on {where.hostname or 'this machine'}"
    asked = (TaskInstance.dag_id, TaskInstance.run_id, TaskInstance.task_id, TaskInstance.map_index)
    with create_session() as session:
        query = session.query(*asked, TaskInstance.state, TaskInstance.hostname, TaskInstance.try_number)
        found = query.filter(TaskInstance.dag_id.in_((*KINDS, NOTIFY)), TaskInstance.state.in_(_STATES))
        rows = found.order_by(*asked).all()
    keys = ("dag", "run", "task", "map_index", "state", "host", "try")
    return {"database": name, "tasks": [dict(zip(keys, row, strict=True)) for row in rows]}


def _why(error: Exception) -> str:
    """Say why Airflow's database was not read; never by a text that may repeat the password in its address."""
    told = getattr(error, "orig", None)
    if told is None and not isinstance(error, ImportError):
        return f"it could not be loaded ({type(error).__name__}): `airflow db check` in this environment tells more"
    first = (str(told or error).strip().splitlines() or [""])[0]
    return f"its database could not be read: {type(told or error).__name__}: {first}"


if __name__ == "__main__":
    # Airflow may write to the output, too: what counts is its last line.
    sys.stdout.write(f"\n{json.dumps(find(os.environ))}\n")
