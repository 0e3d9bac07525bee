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
from site_store import ActionRecord, SiteStore
from site_store.node_states.user_states import lease_of
from site_store.records import Lease, StepState
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


def design(other: Collection[str] = (), approval: str = "", **settings: Any) -> str:
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
    settings = document("slipway/SiteSettings/v1", "settings", {"node_states": dict(AT_ONCE), **settings})
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

    def commit(self, other: Collection[str] = (), approval: str = "", **settings: Any) -> None:
        """Commit a design as a person does."""
        text = design(other, approval, **settings)
        self.revision = commit_design(self.store, SITE, text).number
        self.file(self.revision).write_text(text)

    def file(self, revision: int) -> Path:
        """Return where the provisioner finds the design of a revision."""
        return self.folder / f"{revision}.yaml"

    def begin(self, kind: str, **parameters: Any) -> Driving:
        """Begin an action, and plan it as its task does."""
        driving = self._created(kind, parameters)
        self.plan(driving)
        return driving

    def plan(self, driving: Driving) -> None:
        """Go through the steps of an action up to its plan."""
        kind, parameters = driving.action.kind, driving.action.parameters
        for step in kind_of(kind).steps:
            self.store.steps.begin(driving.action.id, step, 1)
            self.store.steps.leave(driving.action.id, step, 1, StepState.SUCCESS)
        if kind == "redeploy_server":
            driving.node_step(Phase.DESTROY, parameters["target_nodes"])
        self._plan(driving, kind, parameters)

    def run(self, kind: str, **parameters: Any) -> None:
        """Carry an action out to its report."""
        self._carry_out(self.begin(kind, **parameters))

    def carry_out(self, action_id: str) -> None:
        """Carry an action out that Slipway's API has made."""
        self.store.locks.acquire(action_id)
        driving = self._driving(self.store.actions.get(action_id))
        self.plan(driving)
        self._carry_out(driving)

    def _carry_out(self, driving: Driving) -> None:
        for record in self.store.groups.of_action(driving.action.id):
            driving.group(record.name)
        self.end(driving)

    def end(self, driving: Driving) -> None:
        """Report, and free the site."""
        states = dict.fromkeys(kind_of(driving.action.kind).steps, "success")
        finalize_action(self.store, driving.action, states, LOG, connections)
        self.store.locks.release(driving.action.id)

    def _created(self, kind: str, parameters: Mapping[str, Any]) -> Driving:
        asked = parse_parameters(dict(parameters), kind_of(kind))
        revision = asked.revision or self.revision
        run = f"{SITE}__run-{next(self._runs)}"
        made = self.store.actions.ensure(kind, run, kind, SITE, revision, asked.to_record(), "ann")
        self.store.locks.acquire(made.id)
        return self._driving(made)

    def _driving(self, action: ActionRecord) -> Driving:
        self.action = action.id
        design = self.file(action.revision or 0).as_uri()
        return Driving(self.store, action, design, self._connect, SharedClock(self.store))

    def _connect(self, driving: Driving) -> Provisioner:
        connection = connections.for_action(self.store, driving.action)
        observer = ProvisionerObserver(self.store, connection, driving.action.dag_id)
        return connection.connect(redact_for_action(self.store, driving.action), observer=observer)

    def _plan(self, driving: Driving, kind_id: str, parameters: Mapping[str, Any]) -> None:
        kind = kind_of(kind_id)
        asked = parse_parameters(dict(parameters), kind)
        text = self.file(driving.action.revision or 0).read_text()
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
            driving.action.id,
            plan.groups,
            plan.done,
            digests,
            plan.other,
            plan.settled,
            group_step=kind.group_step,
            repairs=kind.repairs,
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

    @property
    def lease(self) -> Lease:
        """The controller's."""
        return self._controller.lease()

    def deployed_for(self, name: str) -> int:
        """Return the revision whose design a machine was deployed with last, as the provisioner's tasks have it."""
        tasks = self.simulator.get("tasks")
        refs = [one["design_ref"] for one in tasks if one["action"] == "deploy_nodes" and name in one["nodes"]]
        return int(Path(refs[-1]).stem)

    def machines(self) -> dict[str, tuple[bool, bool]]:
        """Return of each machine whether it is deployed, and whether it is powered on: the truth."""
        return {
            one["name"]: (one["status"] == "Deployed", one["power_state"] == "on")
            for one in self.simulator.get("nodes")
        }
