"""One site at a simulated Drydock: its design is committed, its actions are driven, and a controller looks at it."""

from __future__ import annotations

import itertools
import json
import logging
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx
from sqlalchemy import text as sql

from design_rendering.design import read_design
from design_rendering.documents import load_documents
from provisioner_client.protocol import Provisioner
from site_engine.actions.finalization import finalize_action
from site_engine.actions.kinds import kind_of
from site_engine.actions.parameters import parse_parameters
from site_engine.controller.controller import Controller
from site_engine.controller.node_reports import report_nodes
from site_engine.controller.owner_jobs import check_owners, watch_owners
from site_engine.monitoring.owners import ProvisionerObserver
from site_engine.node_states.drift_watch import DriftWatch
from site_engine.node_states.leader import SiteLeader
from site_engine.plans.planning import plan_action, strategy_of
from site_engine.process import SharedClock
from site_engine.redaction import redact_for_action
from site_store import SiteStore
from site_store.node_states.user_states import lease_of
from site_store.records import StepState
from slipway_airflow import connections
from slipway_api.monitoring import metrics
from strategy_lib.phase import Phase
from tests.support.driving import Driving
from tests.support.led_sites import AT_ONCE
from tests.support.revisions import commit_design
from tests.support.simulators import Simulator
from tests.support.sites import document, group, node, site

SITE = "alpha"
NODES = ("n1", "n2", "n3", "n4", "n5")
GROUPS: Mapping[str, tuple[str, ...]] = {"control": ("n1", "n2"), "compute": ("n3", "n4"), "storage": ("n5",)}
LOG = logging.getLogger("views")


def design(other: Collection[str] = (), approval: str = "") -> str:
    """Return the site's design: `other` nodes have a tag more, and the group `approval` waits for a person."""
    groups = [
        group("control", GROUPS["control"], percent_successful_nodes=100),
        group("compute", GROUPS["compute"], critical=False, after=["control"]),
        group("storage", GROUPS["storage"], after=["compute"], percent_successful_nodes=100),
    ]
    for one in groups:
        if one["name"] == approval:
            one["approval"] = "before"
    nodes = [node(name, tags=["other"] if name in other else []) for name in NODES]
    settings = document("slipway/SiteSettings/v1", "settings", {"node_states": dict(AT_ONCE)})
    return f"{site(nodes, groups, region=SITE)}---\n{json.dumps(settings)}\n"


@dataclass
class Scene:
    """The site, and what may happen to it. `watched` says whether somebody looks at its machines."""

    store: SiteStore
    simulator: Simulator
    client: httpx.Client
    folder: Path
    watched: bool = True
    action: str = ""
    revision: int = 0
    _runs: Iterator[int] = field(default_factory=lambda: itertools.count(1))
    _seconds: float = 0.0

    def __post_init__(self) -> None:
        self.lead()

    def lead(self) -> None:
        """Have a controller begin that holds no lease yet."""
        self._held: Any = None
        well = {name: SimpleNamespace(problem=None, silent_for=0.0) for name in ("scheduler", "triggerer")}
        jobs = [check_owners(lambda: well), watch_owners(), report_nodes()]
        self._controller = Controller(self.store, "host-1:1", jobs, monotonic=lambda: self._seconds)

    def commit(self, other: Collection[str] = (), approval: str = "") -> None:
        """Commit a design as a person does."""
        text = design(other, approval)
        self.revision = commit_design(self.store, SITE, text).number
        self._file.write_text(text)

    @property
    def _file(self) -> Path:
        return self.folder / f"{self.revision}.yaml"

    def begin(self, kind: str, **parameters: Any) -> Driving:
        """Begin an action, and plan it as its task does."""
        driving = self._created(kind, parameters)
        for step in kind_of(kind).steps:
            self.store.steps.begin(driving.action.id, step, 1)
            self.store.steps.leave(driving.action.id, step, 1, StepState.SUCCESS)
        if kind == "redeploy_server":
            driving.node_step(Phase.DESTROY, parameters["target_nodes"])
        self._plan(driving, kind, parameters)
        return driving

    def run(self, kind: str, **parameters: Any) -> None:
        """Carry an action out to its report."""
        driving = self.begin(kind, **parameters)
        for record in self.store.groups.of_action(driving.action.id):
            driving.group(record.name)
        self.end(driving)

    def end(self, driving: Driving) -> None:
        """Report, and free the site."""
        states = dict.fromkeys(kind_of(driving.action.kind).steps, "success")
        finalize_action(self.store, driving.action, states, LOG, connections)
        self.store.locks.release(driving.action.id)

    def _created(self, kind: str, parameters: Mapping[str, Any]) -> Driving:
        asked = parse_parameters(dict(parameters), kind_of(kind)).to_record()
        run = f"{SITE}__run-{next(self._runs)}"
        made = self.store.actions.ensure(kind, run, kind, SITE, self.revision, asked, "ann")
        self.store.locks.acquire(made.id)
        self.action = made.id
        return Driving(self.store, made, self._file.as_uri(), self._connect, SharedClock(self.store))

    def _connect(self, driving: Driving) -> Provisioner:
        connection = connections.for_action(self.store, driving.action)
        observer = ProvisionerObserver(self.store, connection, driving.action.dag_id)
        return connection.connect(redact_for_action(self.store, driving.action), observer=observer)

    def _plan(self, driving: Driving, kind_id: str, parameters: Mapping[str, Any]) -> None:
        kind = kind_of(kind_id)
        asked = parse_parameters(dict(parameters), kind)
        text = self._file.read_text()
        read = read_design(load_documents(text, "site.yaml"))
        records = self.store.nodes.of_site(SITE)
        provisioner = driving.connect()
        conditions = {name: one.condition for name, one in provisioner.nodes().items()}
        provisioner.close()
        strategy = strategy_of(kind, asked, read, records)
        plan = plan_action(kind, asked, read, strategy, records, conditions)
        targets = set(asked.target_nodes or NODES)
        digests = {name: digest for name, digest in read.digests.items() if name in targets}
        self.store.groups.save_plan(
            driving.action.id, plan.groups, plan.done, digests, plan.other, plan.settled, group_step=kind.group_step
        )

    def look(self, times: int = 1) -> None:
        """Have the controller look: at the list, the machines, the owners, and the reports."""
        for _ in range(times):
            self._seconds += 60.0
            self._controller.look()
            if self._held is None:
                self._held = self.store.leases.take(lease_of(SITE), "host-1:1", 3600)
                self._leader = SiteLeader(self.store, SITE, self._held, self.store.now().timestamp())
                self._watch = DriftWatch(self.store, SITE, monotonic=lambda: self._seconds)
            body = {"epoch": self._held.epoch, "secret": self._held.secret}
            self.client.post(f"/api/v1.0/sites/{SITE}/observe", json=body)
            self._leader.look()
            self._watch.look(self._held)

    def passes(self, seconds: float) -> None:
        """Let this long pass since anybody was seen, and since anything was listed."""
        moved = f"- interval '{seconds} seconds'"
        with self.store._database.engine.begin() as tx:
            tx.execute(sql(f"UPDATE owner SET last_seen = last_seen {moved}"))
            tx.execute(sql(f"UPDATE lease SET expires_at = expires_at {moved}"))
            tx.execute(sql(f"UPDATE provisioner_list SET read_at = read_at {moved}"))
            tx.execute(sql(f"UPDATE node SET listed_at = listed_at {moved}"))

    def metrics_are_counted_anew(self) -> None:
        """Have the next answer with metrics not be one of the last seconds."""
        metrics._kept._text.clear()

    def machines(self) -> dict[str, tuple[bool, bool]]:
        """Return of each machine whether it is deployed, and whether it is powered on: the truth."""
        return {
            one["name"]: (one["status"] == "Deployed", one["power_state"] == "on")
            for one in self.simulator.get("nodes")
        }
