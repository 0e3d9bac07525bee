"""An action on a site that is planned and held, and the means to drive its groups as Airflow's tasks do."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from design_rendering.design import read_design
from design_rendering.reading.documents import load_documents
from provisioner_client.connection import ConnectionValues
from provisioner_client.designs import DesignSource
from provisioner_client.drydock.provisioner import DrydockProvisioner
from provisioner_client.drydock.submission import SubmissionPolicy
from provisioner_client.http_settings import HttpSettings
from provisioner_client.protocol import Provisioner, TaskRef, TaskState
from site_engine.actions.node_steps import NodeStepRequest, NodeStepSubject, NodeStepVerdict
from site_engine.controller.follow import Followed, follow_site
from site_engine.groups.attempt import GroupRequest, GroupSubject, StillBeside
from site_engine.kinds import kind_of
from site_engine.monitoring.owners import ProvisionerObserver
from site_engine.operations.readiness import Answer, AskNodes, ReadyRun, StillAsking
from site_engine.operations.resume import Subject, SubjectDriver
from site_engine.operations.run import OperationRun
from site_engine.operations.wait import PhaseTimes, StillRunning
from site_engine.parameters import ActionParameters, parse_parameters
from site_engine.plans.planning import Known, make_plan, plan_action
from site_engine.process import Clock
from site_engine.provisioners import ProvisionerConnection
from site_store import ActionRecord, ApprovalRecord, GroupRecord, NewAction, NewPlan, SiteStore
from strategy_lib.phase import Phase
from tests.support.revisions import commit_design
from tests.support.simulators import Simulator

LOG = logging.getLogger("group")


Connection = Callable[["Driving"], Provisioner]
"""Gives the driven action's provisioner; it is closed after each use."""


async def nobody_answers(_: str, urls: Mapping[str, str], __: int) -> Mapping[str, Answer]:
    """Stand for nodes of which none answers."""
    return dict.fromkeys(urls, "Connection refused")


@dataclass
class Driving:
    """An action on a site that is planned and held, and the means to drive its groups.

    ``settle`` is for clients of a simulator: how long they wait after a lost answer. ``ask`` asks nodes whether they
    are ready.
    """

    store: SiteStore
    action: ActionRecord
    design_ref: str
    connection: Connection
    clock: Clock
    timeout: float = 60.0
    patience: float = 60.0
    queue_timeout: float = 60.0
    settle: float = 1.0
    ask: AskNodes = field(default_factory=lambda: nobody_answers)

    def connect(self) -> Provisioner:
        """Return a client of the provisioner."""
        return self.connection(self)

    def outlive(self, task_id: str) -> None:
        """Have the provisioner carry out others until one is so much newer than this task that this one is dead."""
        provisioner = self.connect()
        newer = 0
        while not provisioner.is_dead(task_id):
            newer += 1
            assert newer < 100
            begun = provisioner.submit(Phase.VERIFY_SITE, DesignSource(self.design_ref), None, f"slipway-other-{newer}")
            while provisioner.task(TaskRef(begun)).state is not TaskState.COMPLETE:
                self.clock.sleep(0.001)
        provisioner.close()

    def group(
        self, name: str, attempt_key: str = "6", **more: Any
    ) -> GroupRecord | ApprovalRecord | StillRunning | StillAsking | StillBeside:
        """Drive one group, as its Airflow task does."""
        provisioner = self.connect()
        times = PhaseTimes(0.05, self.timeout, self.queue_timeout)
        request = GroupRequest(
            self.action.id,
            self.action.site,
            name,
            attempt_key,
            self.design_ref,
            {Phase.PREPARE: times, Phase.DEPLOY: times},
            times,
            **more,
        )
        try:
            operations = OperationRun(self.store, provisioner, self.clock, self.patience, LOG)
            subject: Subject[GroupRecord | ApprovalRecord | StillBeside] = GroupSubject(operations, request)
            ready = ReadyRun(self.store, self.ask, self.clock, self.patience, LOG, operations.stopping)
            return SubjectDriver(operations, ready).run(subject)
        finally:
            provisioner.close()

    def finish(self, name: str = "all", key: str = "6", **more: Any) -> GroupRecord:
        """Drive a group to its verdict."""
        record = self.group(name, key, **more)
        assert isinstance(record, GroupRecord), record
        return record

    def follow(self) -> Followed:
        """Look at what nobody waits for, as the controller has it done."""
        return follow_site(self.store, self.action.site, lambda _: self.connect(), LOG, self.clock)

    def node_step(
        self, step: Phase, nodes: Collection[str], attempt: int = 20, **more: Any
    ) -> NodeStepVerdict | StillRunning | StillAsking:
        """Drive a step on nodes, as its Airflow task does."""
        provisioner = self.connect()
        request = NodeStepRequest(
            self.action.id,
            self.action.site,
            step,
            tuple(sorted(nodes)),
            attempt,
            self.design_ref,
            PhaseTimes(0.05, self.timeout, self.queue_timeout),
            self.clock.now(),
            **more,
        )
        try:
            operations = OperationRun(self.store, provisioner, self.clock, self.patience, LOG)
            return SubjectDriver(operations).run(NodeStepSubject(operations, request))
        finally:
            provisioner.close()

    def step_states(self, step: Phase) -> dict[str, str]:
        """Return what came of each node in a step."""
        tasks = self.store.tasks.of_step(self.action.id, step)
        return {name: record.status.value for name, record in tasks}

    def states(self) -> dict[str, str]:
        """Return the state of every node."""
        return {name: state.value for name, state in self.store.tasks.node_states(self.action.id).items()}


Begin = Callable[..., Driving]
"""Begins an action: the design's text, then the DAG run's id and the site; `update`: the parameters of an update.

`places` is how many groups may be at work at once.
"""


def begin_with(store: SiteStore, folder: Path, connection: Connection, clock: Clock) -> Begin:
    """Return what commits a design and begins an action on it."""

    def begin(
        text: str,
        run_id: str = "run-1",
        site: str = "alpha",
        update: Mapping[str, Any] | None = None,
        places: int = 1,
    ) -> Driving:
        documents = load_documents(text, "site.yaml")
        design = read_design(documents).keyed(store.secret_texts.digest_key())
        revision = commit_design(store, site, text, documents)
        path = folder / f"{site}-{revision.number}.yaml"
        path.write_text(text)
        asked = ActionParameters(max_parallel_groups=places if places > 1 else None).to_record()
        action = store.actions.ensure(
            "deploy_site", run_id, NewAction("deploy_site", site, revision.number, asked, "tester")
        )
        store.locks.acquire(action.id)
        driving = Driving(store, store.actions.get(action.id), path.as_uri(), connection, clock)
        plan = make_plan(design.strategy, design.nodes, Known(edges=design.edges))
        if update is not None:
            kind = kind_of("update_site")
            conditions = {name: node.condition for name, node in driving.connect().nodes().items()}
            records = store.nodes.of_site(site)
            plan = plan_action(kind, parse_parameters(update, kind), design, design.strategy, records, conditions)
        store.groups.save_plan(action.id, NewPlan(plan.groups, plan.done, design.digests, plan.other, plan.withheld))
        return driving

    return begin


def simulated(simulator: Simulator) -> Connection:
    """Return what connects to a simulator, with short waits after a lost answer."""
    return lambda driving: DrydockProvisioner(
        simulator.url,
        http=HttpSettings(shown=shown_to(driving.store)),
        submission=SubmissionPolicy(look_delay=0.1, settle=driving.settle),
    )


def shown_to(store: SiteStore) -> Callable[[Mapping[str, int]], None]:
    """Return what compares a store with all that a provisioner shows, as for every client that serves one."""
    return ProvisionerObserver(store, ProvisionerConnection(ConnectionValues("drydock", "slipway_provisioner"))).shown


def verdict(driving: Driving, step: Phase, *nodes: str, attempt: int = 20, **more: Any) -> str:
    """Drive a step to its end; return what is said of the nodes that are not done, and "" when all are."""
    ended = driving.node_step(step, nodes, attempt, **more)
    assert isinstance(ended, NodeStepVerdict)
    assert ended.criterion.met is not ended.failure.startswith(step.value)
    return ended.failure
