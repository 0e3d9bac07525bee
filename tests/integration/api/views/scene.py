"""Two sites at one simulated Drydock: designs are committed, actions are driven, and a controller looks at them.

What happens, happens to the site `alpha`. The other one, `beta`, was deployed, and stays as it is.
"""

from __future__ import annotations

import json
import logging
import uuid
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx
from sqlalchemy import text as sql

from design_rendering.design import read_design
from design_rendering.reading.documents import load_documents
from provisioner_client.protocol import Provisioner
from site_engine.actions.finalization import finalize_action
from site_engine.controller.controller import Controller
from site_engine.controller.notifications import report_nodes
from site_engine.controller.owner_jobs import check_owners, watch_owners
from site_engine.kinds import kind_of
from site_engine.monitoring.owners import ProvisionerObserver
from site_engine.node_states.drift_watch import DriftWatch
from site_engine.node_states.leader import SiteLeader
from site_engine.parameters import parse_parameters
from site_engine.plans.planning import plan_action, strategy_of
from site_engine.process import SharedClock
from site_engine.redaction import redact_for_action
from site_store import ActionRecord, ActionState, ApprovalAnswer, ApprovalRecord, NewAction, NewPlan, SiteStore
from site_store.records import Lease, StepState
from site_store.status.leases import lease_of
from slipway_airflow import connections
from slipway_api.status import metrics
from strategy_lib.phase import GroupState, Phase
from tests.integration.api.airflow_runs import AirflowRuns
from tests.support.driving import Driving
from tests.support.led_sites import AT_ONCE
from tests.support.revisions import commit_design
from tests.support.simulators import Simulator
from tests.support.sites import document, group, node, site

SITE = "alpha"
OTHER = "beta"
NODES = ("n1", "n2", "n3", "n4", "n5")
GROUPS: Mapping[str, tuple[str, ...]] = {"control": ("n1", "n2"), "compute": ("n3", "n4"), "storage": ("n5",)}
LOG = logging.getLogger("views")


OTHERS = ("b1", "b2")


def other_design() -> str:
    """Return the design of the other site."""
    groups = [group("control", OTHERS, percent_successful_nodes=100)]
    return _with_settings(site(map(node, OTHERS), groups, region=OTHER))


def _with_settings(text: str, **settings: Any) -> str:
    found = document("slipway/SiteSettings/v1", "settings", {"node_states": dict(AT_ONCE), **settings})
    return f"{text}---\n{json.dumps(found)}\n"


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
    return _with_settings(site(nodes, groups, region=SITE), **settings)


class Led:
    """A site that the controller leads, from its first look on."""

    def __init__(self, scene: Scene, name: str) -> None:
        self.name = name
        held = scene.store.leases.take(lease_of(name), "host-1:1", 3600)
        assert held is not None
        self.held = held
        self._leader = SiteLeader(scene.store, name, held, scene.store.now().timestamp())
        self._watch = DriftWatch(scene.store, name, monotonic=lambda: scene.seconds)

    def look(self, client: httpx.Client) -> None:
        """Look at the list, and at the machines."""
        body = {"epoch": self.held.epoch, "secret": self.held.secret}
        client.post(f"/api/v1.0/sites/{self.name}/observe", json=body)
        self._leader.look()
        self._watch.look(self.held)


@dataclass
class Scene:
    """The sites, and what may happen to the first. `watched` says whether somebody looks at their machines.

    `ended`: the newest action has just ended, and nothing happened to its machines since. `is_restored`: the store was
    restored, and nobody took over what the machines are.
    """

    store: SiteStore
    simulator: Simulator
    client: httpx.Client
    airflow: AirflowRuns
    folder: Path
    watched: bool = True
    action: str = ""
    ended: bool = False
    _asked: ApprovalRecord | None = None
    is_restored: bool = False
    seconds: float = 0.0
    _revisions: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.lead()
        self._commit(OTHER, other_design())
        self.run("deploy_site", OTHER)
        self.action = ""

    def lead(self) -> None:
        """Have a controller begin that holds no lease yet."""
        self._led: list[Led] = []
        well = {name: SimpleNamespace(problem=None, silent_for=0.0) for name in ("scheduler", "triggerer")}
        jobs = [check_owners(lambda: well), watch_owners(), report_nodes()]
        self._controller = Controller(self.store, "host-1:1", jobs, monotonic=lambda: self.seconds)

    def commit(self, other: Collection[str] = (), approval: str = "", **settings: Any) -> None:
        """Commit a design as a person does."""
        self._commit(SITE, design(other, approval, **settings))

    def _commit(self, name: str, text: str) -> None:
        self._revisions[name] = commit_design(self.store, name, text).number
        self._file(name, self._revisions[name]).write_text(text)

    def _file(self, name: str, revision: int) -> Path:
        """Return where the provisioner finds the design of a revision."""
        return self.folder / f"{name}-{revision}.yaml"

    def begin(self, kind: str, name: str = SITE, **parameters: Any) -> Driving:
        """Begin an action, and plan it as its task does."""
        driving = self._created(kind, name, parameters)
        self._prepare(driving)
        return driving

    def _prepare(self, driving: Driving) -> None:
        """Go through the steps of an action up to its plan."""
        kind, parameters = driving.action.kind, driving.action.parameters
        for step in kind_of(kind).steps:
            self.store.steps.begin(driving.action.id, step, 1)
            self.store.steps.leave(driving.action.id, step, 1, StepState.SUCCESS)
        if kind == "redeploy_server":
            driving.node_step(Phase.DESTROY, parameters["target_nodes"])
        self._plan(driving, kind, parameters)

    def run(self, kind: str, name: str = SITE, **parameters: Any) -> None:
        """Carry an action out to its report."""
        self._driving = self.begin(kind, name, **parameters)
        self.go_on()

    def carry_out(self, action_id: str) -> None:
        """Carry an action out that Slipway's API has made."""
        self.store.locks.acquire(action_id)
        self._driving = self._driven(self.store.actions.get(action_id))
        self._prepare(self._driving)
        self.go_on()

    def go_on(self) -> None:
        """Drive the groups to their ends, or to one that waits for a person."""
        self._asked = None
        for record in self.store.groups.of_action(self._driving.action.id):
            if record.state in (GroupState.SUCCESS, GroupState.FAILURE):
                continue
            ended = self._driving.group(record.name)
            if isinstance(ended, ApprovalRecord):
                self._asked = ended
                return
        self._end(self._driving)

    @property
    def waits(self) -> str:
        """Return the group that waits for a person; "" if none does."""
        return self._asked.group if self._asked else ""

    def approve(self) -> None:
        """Answer the group that waits, and go on."""
        assert self._asked is not None
        self.store.approvals.answer(self._asked, ApprovalAnswer.APPROVED, "ann")
        self.go_on()

    def _end(self, driving: Driving) -> None:
        for step in ("after_success", "report", "release"):
            self.store.steps.begin(driving.action.id, step, 1)
            self.store.steps.leave(driving.action.id, step, 1, StepState.SUCCESS)
        states = dict.fromkeys(kind_of(driving.action.kind).steps, "success")
        finalize_action(self.store, driving.action, states, LOG, connections)
        self.store.locks.release(driving.action.id)
        ended = self.store.actions.get(driving.action.id)
        assert ended.run_id is not None
        self.airflow.end(ended.dag_id, ended.run_id, "success" if ended.state is ActionState.SUCCESS else "failed")
        self.ended = True

    def _created(self, kind: str, name: str, parameters: Mapping[str, Any]) -> Driving:
        asked = parse_parameters(dict(parameters), kind_of(kind)).to_record()
        run = f"{name}__{uuid.uuid4()}"
        self.airflow.start(kind, run, site=name, **parameters)
        revision = parameters.get("revision") or self._revisions[name]
        made = self.store.actions.ensure(kind, run, NewAction(kind, name, revision, asked, "ann"))
        self.store.locks.acquire(made.id)
        return self._driven(made)

    def _driven(self, action: ActionRecord) -> Driving:
        self.action, self.ended = action.id, False
        file = self._file(action.site, action.revision or 0).as_uri()
        return Driving(self.store, action, file, self._connect, SharedClock(self.store))

    def _connect(self, driving: Driving) -> Provisioner:
        connection = connections.for_action(self.store, driving.action)
        observer = ProvisionerObserver(self.store, connection, driving.action.dag_id)
        return connection.connect(redact_for_action(self.store, driving.action), observer=observer)

    def _plan(self, driving: Driving, kind_id: str, parameters: Mapping[str, Any]) -> None:
        kind, name = kind_of(kind_id), driving.action.site
        asked = parse_parameters(dict(parameters), kind)
        documents = load_documents(self._file(name, driving.action.revision or 0).read_text(), "site.yaml")
        read = read_design(documents).keyed(self.store.secret_texts.digest_key())
        records = self.store.nodes.of_site(name)
        provisioner = driving.connect()
        conditions = {node: one.condition for node, one in provisioner.nodes().items()}
        provisioner.close()
        strategy = strategy_of(kind, asked, read, records)
        plan = plan_action(kind, asked, read, strategy, records, conditions)
        other = () if asked.target_nodes else plan.other
        self.store.groups.save_plan(
            driving.action.id,
            NewPlan(
                plan.groups,
                plan.done,
                read.digests,
                other,
                plan.settled,
                group_step=kind.group_step,
                repairs=kind.repairs,
            ),
        )

    def look(self, times: int = 1) -> None:
        """Have the controller look: at the lists, the machines, the owners, and the reports."""
        for _ in range(times):
            self.seconds += 60.0
            self._controller.look()
            self._led = self._led or [Led(self, name) for name in (SITE, OTHER)]
            for led in self._led:
                led.look(self.client)

    def passes(self, seconds: float) -> None:
        """Let this long pass since anybody was seen, and since anything was listed."""
        moved = f"- interval '{seconds} seconds'"
        changes = (
            f"UPDATE owner SET last_seen = last_seen {moved}",
            f"UPDATE lease SET expires_at = expires_at {moved}",
            f"UPDATE provisioner_list SET read_at = read_at {moved}",
            f"UPDATE node SET listed_at = listed_at {moved}",
        )
        self.store._database.write(lambda tx: [tx.execute(sql(change)) for change in changes])

    def metrics_are_counted_anew(self) -> None:
        """Have the next answer with metrics not be one of the last seconds."""
        metrics._kept._places.clear()

    def machines(self) -> dict[str, tuple[bool, bool]]:
        """Return of each machine whether it is deployed, and whether it is powered on: the truth."""
        return {
            one["name"]: (one["status"] == "Deployed", one["power_state"] == "on")
            for one in self.simulator.get("nodes")
        }

    @property
    def lease(self) -> Lease:
        """The controller's."""
        return self._controller.lease()

    def deployed_for(self, name: str) -> int:
        """Return the revision whose design a machine was deployed with last, as the provisioner's tasks have it."""
        tasks = self.simulator.get("tasks")
        refs = [one["design_ref"] for one in tasks if one["action"] == "deploy_nodes" and name in one["nodes"]]
        return int(Path(refs[-1]).stem.removeprefix(f"{SITE}-"))
