"""Steps outside of groups: on the site as a whole, on the target nodes, and on nodes that the plan finds.

What is done to nodes is to destroy them or to give them new labels (rules 21, 25 and 40).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from airflow.sdk import Context
from airflow.sdk.exceptions import AirflowSkipException
from airflow.sdk.log import mask_secret

from design_rendering.design import KeyedDesign, read_design
from site_engine.actions import site_steps
from site_engine.actions.node_steps import NodeStepRequest, NodeStepSubject
from site_engine.errors import StepError
from site_engine.groups.turns import hold_back
from site_engine.kinds import BEGIN_ACTION, STEP_WARNING, Override, kind_of
from site_engine.log_messages import count, names
from site_engine.node_lists import read_list
from site_engine.operations.readiness import StillAsking
from site_engine.operations.reconcile import OperationOwner
from site_engine.operations.resume import SubjectDriver
from site_engine.operations.wait import StillRunning
from site_engine.parameters import parameters_of
from site_engine.plans.erasures import nodes_to_remove, removal_of, why_no_removal
from site_engine.plans.planning import plan_action
from site_store import RevisionRecord, SiteStore, StepState
from slipway_airflow.group_driving import phase_times
from slipway_airflow.operators.base import CONFIGURATION_KEY, design_address, step_states
from slipway_airflow.operators.waiting import StepWork, WaitingOperator
from strategy_lib.phase import Phase
from strategy_lib.strategy import targeted_strategy


class SiteStepsOperator(WaitingOperator):
    """Carry out the steps of the site, one after the other. What is proven done is not done again.

    Parameters
    ----------
    steps : ``verify_site``, ``prepare_site``, or both.
    """

    def __init__(self, *, steps: Sequence[str], **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.steps = tuple(steps)

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

    That is a verdict, and not tried again. Trouble on the way is. Its id is that of the step: ``destroy_nodes`` or
    ``relabel_nodes``.
    """

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
        store, action, step = work.store, work.action, Phase(self.step_name())
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

    def design(self, work: StepWork) -> KeyedDesign:
        """Return the design of the action."""
        _, documents = self.read_revision(work.store, work.action.site, work.action.revision)
        return read_design(documents).keyed(work.store.secret_texts.digest_key())

    def _waits_for(self, work: StepWork, nodes: Sequence[str]) -> dict[str, tuple[str, ...]]:
        """Return which of these nodes wait for which of them, by the action's design (rule 40)."""
        edges, targets = self.design(work).edges, frozenset(nodes)
        found = {name: tuple(other for other in edges.get(name, ()) if other in targets) for name in nodes}
        return {name: others for name, others in found.items() if others}


class RelabelFoundNodesOperator(NodeStepOperator):
    """Give new labels to the nodes of the site that differ by nothing else, before the groups.

    What is not proven fails no step: the plan that follows leaves such a node alone, and its group counts it as not
    successful (rule 15).
    """

    def carry_out(self, work: StepWork) -> Any:
        """Find the nodes, unless an earlier try has, and relabel them. Raises `AirflowSkipException`: there is none."""
        nodes = self._nodes(work)
        if not nodes:
            self.finalize_cleared_task(work, "skipped")
            raise AirflowSkipException("no node differs by its labels alone")
        return self.drive(work, self.request(work, nodes, self.configuration))

    def end(self, work: StepWork, failure: str) -> None:
        """Say in the report which nodes are not proven to have their labels."""
        if failure:
            self.log.error("%s", failure)
            work.store.events.add(work.action.site, STEP_WARNING, failure, action_id=work.action.id)
        self.finalize_cleared_task(work, "success")

    def _nodes(self, work: StepWork) -> tuple[str, ...]:
        store, action = work.store, work.action
        known = store.tasks.of_step(action.id, Phase.RELABEL)
        if known:
            return tuple(name for name, _ in known)
        design, parameters = self.design(work), parameters_of(action)
        records = store.nodes.of_site(action.site)
        if not any(record.done_digest is not None for record in records):
            return ()
        listed = read_list(store, action.site, work.connection.id, work.operations.provisioner)
        targets = parameters.target_nodes
        strategy = design.strategy if targets is None else targeted_strategy(targets)
        conditions = {name: node.condition for name, node in listed.items()}
        out_of_use = store.user_states.left_out(action.site, action.kind)
        plan = plan_action(
            kind_of(action.kind), parameters, design, strategy, records, conditions, out_of_use=out_of_use
        )
        # Another try goes on with these, whatever they differ by then.
        store.tasks.plan_step(action.id, Phase.RELABEL, plan.relabel)
        return plan.relabel


class RemoveFoundNodesOperator(NodeStepOperator):
    """Destroy the nodes that left the design, where that is asked for, behind groups that did not fail.

    Those of its plan: each by the design that it was done for. It fails unless every one is proven destroyed.
    """

    def run_step(self, context: Context, store: SiteStore) -> Any:
        """Look first whether there is anything to do. Raises `AirflowSkipException`: there is not."""
        action = self.action(store, context)
        why = why_no_removal(store, action, step_states(context, store, kind_of(action.kind).steps))
        if why is not None:
            raise AirflowSkipException(why)
        return super().run_step(context, store)

    def carry_out(self, work: StepWork) -> Any:
        """Drive the removal to its verdict."""
        store, action = work.store, work.action
        # Pulled, and not templated: where that failed there are no settings.
        settings = work.context["ti"].xcom_pull(task_ids=BEGIN_ACTION, key=CONFIGURATION_KEY)
        nodes = nodes_to_remove(store, action)

        def address(revision: RevisionRecord) -> str:
            mask_secret(store.secret_texts.token_of(revision.design_handle))
            return work.connection.design_address(
                revision.design_handle, store.actions.design_fetch(action.site, revision.number)
            )

        removal = removal_of(store, action, nodes, address)
        request = self.request(work, nodes, settings)
        self.log.info("No longer in the design: %s: %s.", count(len(nodes), "node"), names(nodes))
        return self.drive(work, replace(request, design_refs=removal.design_refs, waits_for=removal.waits_for))
