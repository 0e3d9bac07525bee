"""Steps outside of groups: verify or prepare the site as a whole; destroy or relabel the target nodes (rule 25)."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from design_rendering.design import read_design
from site_engine.actions import site_steps
from site_engine.actions.dead_actions import take_site
from site_engine.actions.node_steps import NodeStepRequest, NodeStepSubject
from site_engine.errors import StepError
from site_engine.groups.pause import hold_back
from site_engine.kinds import Override
from site_engine.operations.readiness import StillAsking
from site_engine.operations.resume import SubjectDriver
from site_engine.operations.run import OperationRun
from site_engine.operations.wait import StillRunning
from site_engine.parameters import parameters_of
from site_store import SiteStore, StepState
from slipway_airflow.group_driving import phase_times
from slipway_airflow.operators.action import run_states
from slipway_airflow.operators.base import design_address
from slipway_airflow.operators.waiting import WaitingOperator
from strategy_lib.phase import Phase

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from airflow.sdk import Context

    from site_engine.provisioners import ProvisionerConnection
    from site_store import ActionRecord


class SiteStepsOperator(WaitingOperator):
    """Carry out the steps of the site, one after the other. What is proven done is not done again.

    Parameters
    ----------
    steps : ``verify_site``, ``prepare_site``, or both.
    configuration : the design's settings, as ``load_design`` returned them (templated).
    """

    template_fields = ("configuration",)

    def __init__(self, *, steps: Sequence[str], configuration: Any, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.steps = tuple(steps)
        self.configuration = configuration

    def is_done(self, store: SiteStore, context: Context) -> bool:
        """Whether this is proven of the step, so that the task goes on with the next one."""
        action, step = self.action(store, context), self.step_name()
        noted = (row.state for row in store.steps.of_action(action.id) if row.name == step)
        return StepState.SUCCESS in noted and site_steps.is_proven_done(store, action.id, Phase(step))

    def carry_out(
        self, context: Context, store: SiteStore, connection: ProvisionerConnection, operations: OperationRun
    ) -> Any:
        """Submit the step or re-join it, and see it to its end."""
        action, phase = self.action(store, context), Phase(self.step_name())
        # The plan before it may have been cleared long after its run had given the site back (rule 23).
        take_site(store, action.id, run_states(context["ti"]), self.log)
        request = site_steps.SiteStepRequest(
            action_id=action.id,
            site=action.site,
            phase=phase,
            # Airflow raises max_tries when a person clears the task, and only then.
            attempt=int(context["ti"].max_tries),
            design_ref=design_address(store, action, connection),
            times=phase_times(phase, self.configuration, connection.settings),
        )
        return site_steps.run_site_step(operations, request)


class NodeStepOperator(WaitingOperator):
    """Carry out one step on exactly the target nodes; it fails unless every one of them is proven done.

    That is a verdict, and not tried again. Trouble on the way is.

    Parameters
    ----------
    step : ``destroy_nodes`` or ``relabel_nodes``.
    configuration : the design's settings, as ``load_design`` returned them (templated).
    """

    template_fields = ("configuration",)

    def __init__(self, *, step: str, configuration: Any, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.step = step
        self.configuration = configuration

    def carry_out(
        self, context: Context, store: SiteStore, connection: ProvisionerConnection, operations: OperationRun
    ) -> Any:
        """Wait while the action is paused, then drive the step to its verdict.

        Raises `StepError`: not every node is proven done.
        """
        action, step = self.action(store, context), Phase(self.step)
        # The step may have been cleared long after its run had given the site back (rule 23).
        take_site(store, action.id, run_states(context["ti"]), self.log)
        targets = tuple(sorted(parameters_of(action).target_nodes or ()))
        request = self.request(context, store, connection, action, targets, self.configuration)
        if step is Phase.DESTROY and len(request.nodes) > 1:
            request = replace(request, waits_for=self._waits_for(store, action, request.nodes))
        subject = NodeStepSubject(operations, request)
        if not subject.has_begun():
            self.wait_while_paused(action, hold_back(action))
            if step is Phase.RELABEL:
                # What is done names the version it was done for.
                _, documents = self.read_revision(store, action.site, action.revision)
                digests = read_design(documents).digests
                subject = NodeStepSubject(operations, replace(request, digests=digests))
        verdict = SubjectDriver(operations).run(subject)
        if isinstance(verdict, StillRunning | StillAsking):
            return verdict
        self.finalize_cleared_task(context, store, action, "failed" if verdict.failure else "success")
        if verdict.failure:
            raise StepError(verdict.failure)
        return None

    def request(
        self,
        context: Context,
        store: SiteStore,
        connection: ProvisionerConnection,
        action: ActionRecord,
        nodes: tuple[str, ...],
        configuration: Mapping[str, Any],
    ) -> NodeStepRequest:
        """Return what is asked of the step: to be done to these nodes by this attempt."""
        ti, step = context["ti"], Phase(self.step)
        begun = (row.started for row in store.steps.of_action(action.id) if row.name == self.step_name())
        return NodeStepRequest(
            action_id=action.id,
            site=action.site,
            phase=step,
            nodes=nodes,
            # Airflow raises max_tries when a person clears the task, and only then: a retry keeps it (rule 23).
            attempt=int(ti.max_tries),
            design_ref=design_address(store, action, connection),
            times=phase_times(step, configuration, connection.settings),
            # Kept when the task comes back from the triggerer. Airflow's own time of its start is of another clock.
            since=next(begun, None) or store.now(),
            ignore_older_tasks=parameters_of(action).allows(Override.IGNORE_OLDER_TASKS),
        )

    def _waits_for(self, store: SiteStore, action: ActionRecord, nodes: Sequence[str]) -> dict[str, tuple[str, ...]]:
        """Return which of these nodes wait for which of them, by the action's design (rule 40)."""
        _, documents = self.read_revision(store, action.site, action.revision)
        edges, targets = read_design(documents).edges, frozenset(nodes)
        found = {name: tuple(other for other in edges.get(name, ()) if other in targets) for name in nodes}
        return {name: others for name, others in found.items() if others}
