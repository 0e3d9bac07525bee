"""An action on a site that is planned and held, and the means to drive its groups as Airflow's tasks do."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from typing import Any

from provisioner_client.drydock.provisioner import DrydockProvisioner
from provisioner_client.drydock.submission import SubmissionPolicy
from provisioner_client.protocol import TaskAction, TaskState
from site_engine.clock import SystemClock
from site_engine.group_run import GroupRequest, GroupRun
from site_engine.node_step import NodeStepRequest, NodeStepRun, NodeStepVerdict
from site_engine.operations.run import OperationRun
from site_engine.operations.wait import PhaseTimes, StillRunning
from site_store import ActionRecord, GroupRecord, OperationPhase, SiteStore
from strategy_lib.phase import NodeStep, Phase
from tests.support.simulators import Simulator

LOG = logging.getLogger("group")


@dataclass
class Driving:
    """An action on a site that is planned and held, and the means to drive its groups."""

    store: SiteStore
    simulator: Simulator
    action: ActionRecord
    design_ref: str
    timeout: float = 60.0
    patience: float = 60.0
    queue_timeout: float = 60.0
    settle: float = 1.0
    clock: SystemClock = field(default_factory=SystemClock)

    def connect(self) -> DrydockProvisioner:
        """Return a client of the simulator, with short waits after a lost answer."""
        policy = SubmissionPolicy(look_delay=0.1, settle=self.settle)
        return DrydockProvisioner(self.simulator.url, submission=policy)

    def outlive(self, task_id: str) -> None:
        """Have the provisioner carry out others until one is so much newer than this task that this one is dead."""
        provisioner = self.connect()
        newer = 0
        while not provisioner.is_dead(task_id):
            newer += 1
            assert newer < 100
            begun = provisioner.submit(TaskAction.VERIFY_SITE, self.design_ref, None, f"slipway-other-{newer}")
            while provisioner.task(begun).state is not TaskState.COMPLETE:
                pass
        provisioner.close()

    def group(self, name: str, attempt_key: str = "6", **more: Any) -> GroupRecord | StillRunning:
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
            return GroupRun(self.store, operations, request, LOG).advance()
        finally:
            provisioner.close()

    def node_step(
        self, step: NodeStep, nodes: Collection[str], attempt: int = 20, **more: Any
    ) -> NodeStepVerdict | StillRunning:
        """Drive a step on nodes, as its Airflow task does."""
        provisioner = self.connect()
        clock = SystemClock()
        request = NodeStepRequest(
            self.action.id,
            self.action.site,
            step,
            tuple(sorted(nodes)),
            attempt,
            self.design_ref,
            PhaseTimes(0.05, self.timeout, self.queue_timeout),
            clock.now(),
            **more,
        )
        try:
            operations = OperationRun(self.store, provisioner, clock, self.patience, LOG)
            return NodeStepRun(self.store, operations, request, LOG).advance()
        finally:
            provisioner.close()

    def step_states(self, step: NodeStep) -> dict[str, str]:
        """Return what came of each node in a step."""
        tasks = self.store.step_tasks(self.action.id, OperationPhase(step.value))
        return {name: record.status.value for name, record in tasks}

    def states(self) -> dict[str, str]:
        """Return the state of every node."""
        return {name: state.value for name, state in self.store.node_states(self.action.id).items()}


Begin = Callable[..., Driving]
