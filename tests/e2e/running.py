"""A running Slipway as the end-to-end tests see it: its APIs, and the means to kill parts of it."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import time
from collections.abc import Callable, Collection
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from api_client.airflow import AirflowClient
from api_client.airflow_health import AirflowHealth
from api_client.session import ApiSession
from api_client.slipway import SlipwayClient
from site_engine.trees.status_trees import action_tree, site_tree
from site_store import ActionRecord, SiteStore
from site_store.sql.address import URL_FILE
from slipway_cli.demo.airflow import BackgroundAirflow
from slipway_cli.embedded.home import Runtime, read_runtime
from slipway_cli.embedded.processes import members, servers_of
from strategy_lib.status.entry import Entry
from strategy_lib.status.words import Status
from tests.support.airflow_answers import AirflowTask, tasks_of
from tests.support.simulators import Simulator

DAG = "deploy_site"
AIRFLOW = ["api-server", "scheduler", "dag-processor", "triggerer"]
COMPONENTS = [*AIRFLOW, "controller"]
# Seconds after which what a test waits for hangs: a busy machine is slow, and no test times anything.
HANGS = 300.0


def wait_until(condition: Callable[[], bool], what: str, timeout: float = HANGS) -> None:
    """Wait until the condition holds; fails the test with `what` if it does not in time."""
    end = time.monotonic() + timeout
    begun = time.monotonic()
    while not condition():
        assert time.monotonic() < end, f"not in {timeout:g} s: {what}"
        # What is asked of an API server costs it as long as the caller: it has other work than to answer.
        time.sleep(min(max(0.1, 3 * (time.monotonic() - begun)), 1.0))
        begun = time.monotonic()


def sessions_of(runtime: Runtime) -> set[int]:
    """Return the sessions of the supervisor and of each component."""
    return {runtime.pid, *runtime.components.values()}


def leftovers(home: Path, sessions: Collection[int]) -> list[int]:
    """Processes that belong to the home (by their environment or their current folder) or to one of the sessions."""
    found = {*members(sessions), *servers_of(home / "postgresql" / "data")}
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal() and int(entry.name) != os.getpid():
            try:
                environment = (entry / "environ").read_bytes()
            except OSError:
                continue
            if f"SLIPWAY_HOME={home}\0".encode() in environment:
                found.add(int(entry.name))
    return sorted(found)


@dataclass
class RunningSlipway:
    """An embedded Airflow with Slipway in it. Process ids are read anew each time: they change with every restart."""

    background: BackgroundAirflow
    airflow: AirflowClient
    slipway: SlipwayClient

    @classmethod
    def of(cls, background: BackgroundAirflow) -> RunningSlipway:
        """Log in as admin; waits until it is ready."""
        runtime = background.wait_ready()
        session = ApiSession(runtime.url, "admin", runtime.password("admin"), HANGS)
        return cls(background, AirflowClient(session), SlipwayClient(session))

    @property
    def home(self) -> Path:
        return self.background.settings.home

    @property
    def runtime(self) -> Runtime:
        found = read_runtime(self.home)
        assert found is not None, "it runs"
        return found

    @property
    def url(self) -> str:
        return self.airflow.session.url

    def open_store(self) -> SiteStore:
        """Its store, past its API."""
        return SiteStore.open((self.home / URL_FILE).read_text())

    def new_session(self) -> ApiSession:
        """Another session of admin's, for a thread of its own."""
        return ApiSession(self.url, "admin", self.runtime.password("admin"), HANGS)

    def connect(self, site: str, provisioner_url: str, **extra: Any) -> None:
        """Set the site's connection to its provisioner; `extra` as in the connection's form."""
        fields = {
            "conn_type": "drydock",
            "host": provisioner_url,
            "port": 0,
            "extra": json.dumps({"poll_interval": 0.5, **extra}),
        }
        self.airflow.set_connection(f"slipway_provisioner_{site}", fields)

    def action(self, run_id: str, dag_id: str = DAG) -> ActionRecord:
        """Return the action of a run."""
        with self.open_store() as store:
            action = store.actions.of_run(dag_id, run_id)
        assert action is not None
        return action

    def report(self, run_id: str, dag_id: str = DAG) -> dict[str, Any]:
        """The stored report of a run that has ended."""
        report = self.slipway.report(run_id)
        assert report is not None, f"no report; action {self.slipway.action(run_id).state}"
        self._require_defined(dag_id, run_id)
        return dict(report)

    def _require_defined(self, dag_id: str, run_id: str) -> None:
        """Rule 35: neither in the tree of the action nor in that of its site is anything undefined."""
        action = self.action(run_id, dag_id)
        with self.open_store() as store:
            trees = [action_tree(store, action.id)]
            if action.site in store.sites.committed():
                trees.append(site_tree(store, action.site))
        for tree in trees:
            assert _undefined(tree.root) == []

    def tasks(self, run_id: str, task_id: str | None = None, dag_id: str = DAG) -> list[AirflowTask]:
        """The run's tasks, or those of one id."""
        return [t for t in tasks_of(self.airflow, dag_id, run_id) if task_id in (None, t.task_id)]

    def wait_for_task(
        self, run_id: str, task_id: str, state: str, name: str | None = None, dag_id: str = DAG, timeout: float = HANGS
    ) -> AirflowTask:
        """Wait until a task (`name`: of this group) is in a state; a running one has a living process."""
        found: list[AirflowTask] = []

        def there() -> bool:
            found[:] = [
                task
                for task in self.tasks(run_id, task_id, dag_id)
                if task.state == state and name in (None, task.name) and (state != "running" or _lives(task.pid))
            ]
            return bool(found)

        wait_until(there, f"{task_id} {name or ''} {state}", timeout)
        return found[0]

    def cancel(self, run_id: str, dag_id: str = DAG) -> None:
        """Mark a run failed, as a person does who cancels it."""
        self.airflow.fail_run(dag_id, run_id)

    def kill_task(self, task: AirflowTask, *, with_worker: bool = True) -> None:
        """Kill -9 a running task's process: together with the worker that watches it, as the end of a machine would."""
        assert task.pid is not None
        if not with_worker:
            os.kill(task.pid, signal.SIGKILL)
            return
        stat = Path(f"/proc/{task.pid}/stat").read_text()
        worker = int(stat.rpartition(")")[2].split()[1])
        assert b"LocalExecutor" in Path(f"/proc/{worker}/cmdline").read_bytes(), "not a worker of the executor"
        os.kill(worker, signal.SIGKILL)
        os.kill(task.pid, signal.SIGKILL)

    def kill_component(self, name: str) -> None:
        """Kill -9 the main process of api-server, scheduler, dag-processor or triggerer, and wait for its successor."""
        before = self.runtime.components[name]
        os.kill(before, signal.SIGKILL)
        wait_until(lambda: self.runtime.components[name] != before, f"{name} started again")

    def wait_healthy(self, since: datetime | None = None, timeout: float = HANGS) -> None:
        """Wait until every component has given a sign of life since then (default: now)."""
        moment = since or datetime.now(UTC)
        with contextlib.closing(ApiSession.with_token(self.url, "", None, 5.0)) as session:
            health = AirflowHealth(session)
            wait_until(lambda: not health.unhealthy(moment), "all components healthy", timeout)


@dataclass
class OwnSite:
    """A site of one test alone, and the simulated Drydock that it is connected with."""

    slipway: RunningSlipway
    simulator: Simulator
    name: str

    def connect(self, **extra: Any) -> None:
        """Connect it with its simulator; `extra` as in the connection's form."""
        self.slipway.connect(self.name, self.simulator.url, **extra)

    def start(self, text: str, dag_id: str = DAG, **conf: Any) -> str:
        """Commit the documents, trigger the DAG for them, and return the run's id."""
        revision = self.slipway.slipway.commit(self.name, text)
        self.slipway.airflow.wait_for_dag(dag_id)
        return self.slipway.airflow.trigger(dag_id, {"site": self.name, "revision": revision.number, **conf})

    def deploy(self, text: str, dag_id: str = DAG, timeout: float = HANGS, **conf: Any) -> tuple[str, str]:
        """Start and wait; the run's id and its final state."""
        run_id = self.start(text, dag_id, **conf)
        return run_id, self.slipway.airflow.wait_for_run(dag_id, run_id, timeout)


def _lives(pid: int | None) -> bool:
    return pid is not None and Path(f"/proc/{pid}").exists()


def _undefined(entry: Entry) -> list[str]:
    """Return the names of the entries that are undefined, or have nodes that are."""
    here = [entry.name] if entry.status is Status.UNDEFINED or entry.counts.get(Status.UNDEFINED) else []
    return here + [name for child in entry.children for name in _undefined(child)]
