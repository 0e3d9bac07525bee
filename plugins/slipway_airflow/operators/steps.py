"""Steps outside of groups: verify or prepare the site as a whole; destroy or relabel the target nodes (rule 25)."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from design_rendering.design import read_design
from site_engine.actions import site_steps
from site_engine.actions.node_steps import NodeStepRequest, NodeStepSubject
from site_engine.errors import StepError
from site_engine.groups.turns import hold_back
from site_engine.kinds import Override
from site_engine.operations.readiness import StillAsking
from site_engine.operations.reconcile import OperationOwner
from site_engine.operations.resume import SubjectDriver
from site_engine.operations.wait import StillRunning
from site_engine.parameters import parameters_of
from site_store import SiteStore, StepState
from slipway_airflow.group_driving import phase_times
from slipway_airflow.operators.base import design_address
from slipway_airflow.operators.waiting import StepWork, WaitingOperator
from strategy_lib.phase import Phase

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from airflow.sdk import Context

    from design_rendering.design import Design


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

    def carry_out(self, work: StepWork) -> Any:
        """Submit the step or re-join it, and see it to its end."""
        action, phase = work.action, Phase(self.step_name())
        # Airflow raises max_tries when a person clears the task, and only then.
        owner = OperationOwner(action.id, action.site, None, int(work.context["ti"].max_tries))
        address = design_address(work.store, action, work.connection)
        times = phase_times(phase, self.configuration, work.connection.settings)
        try:
            result = site_steps.run_site_step(work.operations, owner, phase, address, times)
        except StepError:
            self.finalize_cleared_task(work, "failed")
            raise
        if result is None and self.step_name() == self.steps[-1]:
            self.finalize_cleared_task(work, "success")
        return result


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

    def carry_out(self, work: StepWork) -> Any:
        """Drive the step on the target nodes to its verdict."""
        targets = tuple(sorted(parameters_of(work.action).target_nodes or ()))
        request = self.request(work, targets, self.configuration)
        if request.phase is Phase.DESTROY and len(targets) > 1:
            request = replace(request, waits_for=self._waits_for(work, targets))
        return self.drive(work, request)

    def drive(self, work: StepWork, request: NodeStepRequest) -> StillRunning | StillAsking | None:
        """Wait while the action is paused, then go on to the verdict.

        Raises `StepError`: not every node is proven done.
        """
        subject = NodeStepSubject(work.operations, request)
        if not subject.has_begun():
            self.wait_while_paused(work.action, hold_back(work.action))
        verdict = SubjectDriver(work.operations).run(subject)
        if isinstance(verdict, StillRunning | StillAsking):
            return verdict
        self.end(work, verdict.failure)
        return None

    def end(self, work: StepWork, failure: str) -> None:
        """Report again where nobody else will, and fail where not every node is proven done."""
        self.finalize_cleared_task(work, "failed" if failure else "success")
        if failure:
            raise StepError(failure)

    def request(self, work: StepWork, nodes: tuple[str, ...], configuration: Mapping[str, Any]) -> NodeStepRequest:
        """Return what is asked of the step: to be done to these nodes by this attempt."""
        store, action, step = work.store, work.action, Phase(self.step)
        begun = (row.started for row in store.steps.of_action(action.id) if row.name == self.step_name())
        return NodeStepRequest(
            action_id=action.id,
            site=action.site,
            phase=step,
            nodes=nodes,
            # Airflow raises max_tries when a person clears the task, and only then: a retry keeps it (rule 23).
            attempt=int(work.context["ti"].max_tries),
            design_ref=design_address(store, action, work.connection),
            times=phase_times(step, configuration, work.connection.settings),
            # Kept when the task comes back from the triggerer. Airflow's own time of its start is of another clock.
            since=next(begun, None) or store.now(),
            ignore_older_tasks=parameters_of(action).allows(Override.IGNORE_OLDER_TASKS),
            # What is done names the version it was done for.
            digests=self.design(work).digests if step is Phase.RELABEL else {},
        )

    def design(self, work: StepWork) -> Design:
        """Return the design of the action."""
        _, documents = self.read_revision(work.store, work.action.site, work.action.revision)
        return read_design(documents)

    def _waits_for(self, work: StepWork, nodes: Sequence[str]) -> dict[str, tuple[str, ...]]:
        """Return which of these nodes wait for which of them, by the action's design (rule 40)."""
        edges, targets = self.design(work).edges, frozenset(nodes)
        found = {name: tuple(other for other in edges.get(name, ()) if other in targets) for name in nodes}
        return {name: others for name, others in found.items() if others}
