"""The link from each of Slipway's tasks to its place in the status tree; on a task's page before it starts, too."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import urlencode, urlsplit

from airflow.configuration import conf
from airflow.sdk import BaseOperatorLink

if TYPE_CHECKING:
    from airflow.sdk import BaseOperator
    from airflow.sdk.types import TaskInstanceKey

PAGE = "/plugin/slipway/slipway/ui/run"
"""The page of a DAG run below Airflow's own address, inside Airflow's frame."""


class StatusTreeLink(BaseOperatorLink):
    """A link of every task, computed by the API server; the tasks of other DAGs hide it."""

    @property
    def name(self) -> str:
        """What stands on the button."""
        return "Slipway"

    def get_link(self, operator: BaseOperator, *, ti_key: TaskInstanceKey) -> str:
        """Return the address of the task's entry; "" for a task of another DAG."""
        from site_engine.kinds import KINDS

        if ti_key.dag_id not in KINDS:
            return ""
        place = {"dag_id": ti_key.dag_id, "run_id": ti_key.run_id, "task_id": ti_key.task_id}
        if ti_key.map_index >= 0:
            place["map_index"] = str(ti_key.map_index)
        # Airflow may be served below a path.
        base = urlsplit(conf.get("api", "base_url", fallback="") or "").path.rstrip("/")
        return f"{base}{PAGE}?{urlencode(place)}"
