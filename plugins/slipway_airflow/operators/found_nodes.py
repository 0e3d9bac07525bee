"""Steps on nodes that nobody names and the plan finds: new labels in place, removals (rules 21, 25 and 40)."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from airflow.sdk.exceptions import AirflowSkipException
from airflow.sdk.log import mask_secret

from site_engine.kinds import BEGIN_ACTION, STEP_WARNING, kind_of
from site_engine.log_messages import count, names
from site_engine.node_lists import read_list
from site_engine.parameters import parameters_of
from site_engine.plans.erasures import nodes_to_remove, removal_of, why_no_removal
from site_engine.plans.planning import plan_action
from slipway_airflow.operators.base import step_states
from slipway_airflow.operators.begin_action import CONFIGURATION_KEY
from slipway_airflow.operators.steps import NodeStepOperator
from strategy_lib.phase import Phase
from strategy_lib.strategy import targeted_strategy

if TYPE_CHECKING:
    from airflow.sdk import Context

    from site_store import RevisionRecord, SiteStore
    from slipway_airflow.operators.waiting import StepWork


class RelabelFoundNodesOperator(NodeStepOperator):
    """Give new labels to the nodes of the site that differ by nothing else, before the groups.

    What is not proven fails no step: the plan that follows leaves such a node alone, and its group counts it as not
    successful (rule 15).
    """

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(step=Phase.RELABEL.value, **kwargs)

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

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(step=Phase.DESTROY.value, configuration=None, **kwargs)

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
            mask_secret(revision.design_token)
            return work.connection.design_address(
                revision.design_token, store.actions.design_fetch(action.site, revision.number)
            )

        removal = removal_of(store, action, nodes, address)
        request = self.request(work, nodes, settings)
        self.log.info("No longer in the design: %s: %s.", count(len(nodes), "node"), names(nodes))
        return self.drive(work, replace(request, design_refs=removal.design_refs, waits_for=removal.waits_for))
