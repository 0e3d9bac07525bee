"""DAG runs as a scheduler and its workers would leave them, and actions to go with them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import httpx
from airflow.models.taskinstance import TaskInstance
from airflow.utils.session import create_session
from sqlalchemy import update

from site_engine.kinds import task_of
from site_store import NewPlan, PlannedGroup, SiteStore
from strategy_lib.strategy import Group, SuccessCriteria
from tests.conftest import AIRFLOW_HOME
from tests.support.revisions import commit_design
from tests.support.sites import group, node, site

ACTIONS = "/api/v1.0/actions"
DESIGN = site(
    [node("n1"), node("n2"), node("n3")],
    [group("control", ["n1", "n2"], minimum_successful_nodes=2), group("compute", ["n3"], critical=False)],
)


def commit(store: SiteStore, name: str = "default", times: int = 1) -> int:
    """Commit so many revisions of a site; return the newest one's number."""
    number = 0
    for count in range(times):
        number = commit_design(store, name, f"{DESIGN}# {count}\n").number
    return number


def ask(client: httpx.Client, kind: object = "deploy_site", query: str = "", **parameters: Any) -> httpx.Response:
    """Ask for an action."""
    return client.post(f"{ACTIONS}{query}", json={"name": kind, "parameters": parameters})


def create(client: httpx.Client, kind: str = "deploy_site", query: str = "", **parameters: Any) -> dict[str, Any]:
    """Create an action."""
    answer = ask(client, kind, query, **parameters)
    assert answer.status_code == 201, answer.text
    created: dict[str, Any] = answer.json()
    return created


def plan(store: SiteStore, action_id: str) -> None:
    """Let an action hold its site and have a plan of two groups, for what is wanted of the nodes."""
    store.locks.acquire(action_id)
    names = ("n1", "n2", "n3")
    wanted = {record.name: record.wanted_digest for record in store.nodes.of_site(store.actions.get(action_id).site)}
    groups = [
        PlannedGroup(
            Group("control", critical=True, criteria=SuccessCriteria(minimum_successful_nodes=2)), ("n1", "n2")
        ),
        PlannedGroup(Group("compute", critical=False), ("n3",)),
    ]
    store.groups.save_plan(
        action_id, NewPlan(groups, frozenset(), {name: wanted.get(name) or "digest" for name in names})
    )


def run_of(action_id: str, site_name: str = "default") -> str:
    """Return the id of the DAG run of an action that was created by the API; another run's id stays as it is."""
    return f"{site_name}__{action_id}" if len(action_id) == 26 else action_id


class AirflowRuns:
    """Airflow's runs, seen and changed as its administrator. A run may be named by its action of the site `default`."""

    def __init__(self, origin: str, token: str) -> None:
        self._client = httpx.Client(base_url=f"{origin}/api/v2", headers={"Authorization": f"Bearer {token}"})

    def switch(self, dag_id: str, *, on: bool) -> None:
        """Use Airflow's switch of a DAG."""
        self._client.patch(f"/dags/{dag_id}", json={"is_paused": not on}).raise_for_status()

    def state(self, dag_id: str, run_id: str) -> str | None:
        """Return a run's state, None when there is no such run."""
        answer = self._client.get(f"/dags/{dag_id}/dagRuns/{run_of(run_id)}")
        return None if answer.status_code == 404 else str(answer.raise_for_status().json()["state"])

    def run(self, dag_id: str, run_id: str) -> dict[str, Any]:
        """Return a run."""
        found: dict[str, Any] = self._client.get(f"/dags/{dag_id}/dagRuns/{run_of(run_id)}").raise_for_status().json()
        return found

    def start(self, dag_id: str, run_id: str, **conf: Any) -> None:
        """Trigger a run, as Slipway does; nobody schedules it."""
        body = {"dag_run_id": run_id, "logical_date": None, "conf": conf}
        self._client.post(f"/dags/{dag_id}/dagRuns", json=body).raise_for_status()

    def end(self, dag_id: str, run_id: str, state: str = "failed") -> None:
        """Let a run be over, teardown and all."""
        run = f"/dags/{dag_id}/dagRuns/{run_of(run_id)}"
        self._client.patch(f"{run}/taskInstances/release", json={"new_state": state}).raise_for_status()
        self._client.patch(run, json={"state": state}).raise_for_status()

    def delete(self, dag_id: str, run_id: str) -> None:
        """Delete a run, as a person can who cleans up."""
        self.end(dag_id, run_id)
        self._client.delete(f"/dags/{dag_id}/dagRuns/{run_of(run_id)}").raise_for_status()

    def states(self, dag_id: str, run_id: str) -> dict[str, str | None]:
        """Return the state of each of a run's tasks."""
        answer = self._client.get(f"/dags/{dag_id}/dagRuns/{run_of(run_id)}/taskInstances").raise_for_status().json()
        return {instance["task_id"]: instance["state"] for instance in answer["task_instances"]}

    def begin(self, run_id: str, step: str, state: str, map_index: int = -1, tries: int = 1) -> None:
        """Let a step's task have been tried, and be in a state. The first mapped one takes the unmapped one's place."""
        with create_session() as session:
            session.execute(
                update(TaskInstance)
                .where(TaskInstance.run_id == run_of(run_id), TaskInstance.task_id == task_of(step))
                .where(TaskInstance.map_index.in_((-1, map_index)))
                .values(state=state, map_index=map_index, try_number=tries)
            )

    def write_log(self, dag_id: str, run_id: str, step: str, text: str, map_index: int = -1, tries: int = 1) -> None:
        """Write the log of a step's task where Airflow's own handler looks for it."""
        place = f"dag_id={dag_id}/run_id={run_of(run_id)}/task_id={task_of(step)}"
        folder = Path(AIRFLOW_HOME) / "logs" / place / (f"map_index={map_index}" if map_index >= 0 else "")
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"attempt={tries}.log").write_text(text)

    def close(self) -> None:
        """Give the connections back."""
        self._client.close()
