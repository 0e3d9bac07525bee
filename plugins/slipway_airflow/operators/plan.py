"""Make the action's plan: groups in order, their nodes, and what is already done."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from airflow.configuration import conf
from airflow.sdk import Context

from design_rendering.design import Design, KeyedDesign, read_design
from provisioner_client.protocol import ListedNode
from site_engine.actions.site_steps import DRY_RUN, site_steps_without_work
from site_engine.admission import judge_redeploys
from site_engine.errors import StepError
from site_engine.kinds import DEPLOY_GROUP, DEPLOY_GROUP_BESIDE, STEP_WARNING, Override, kind_of
from site_engine.log_messages import by_reason, count, names, withheld
from site_engine.monitoring.metrics import measure_group
from site_engine.node_lists import read_list
from site_engine.operations.reconcile import OperationOwner, UnfinishedOperations
from site_engine.operations.wait import ONE_LOOK
from site_engine.parameters import parameters_of
from site_engine.plans.erasures import releases_of
from site_engine.plans.planning import Plan, idle_groups, plan_action
from site_engine.plans.site_rehearsals import simulate_plan
from site_store import ActionRecord, IdleGroup, NewPlan, SiteStore
from slipway_airflow.operators.base import SiteOperator, skip_tasks
from strategy_lib.groups.batch_words import announcements
from strategy_lib.node import NodeState
from strategy_lib.node_condition import NodeCondition
from strategy_lib.parsing.strategy_parser import parse_strategy
from strategy_lib.phase import GroupState, Phase
from strategy_lib.warnings import NO_GROUPS, group_count_problem


class PlanGroupsOperator(SiteOperator):
    """Order the groups, resolve their selectors, and write the plan down: one row per node and phase.

    Returns (XCom) the names of the groups in processing order; ``deploy_group`` is mapped over them. Groups that have
    nothing to submit are judged here, and get no task, unless a person clears this one. A run that is cleared keeps the
    plan that it has.

    Parameters
    ----------
    design : what `begin_action` returned (templated).
    """

    template_fields = ("design",)

    def __init__(self, *, design: Any, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.design = design

    def run_step(self, context: Context, store: SiteStore) -> list[str]:
        action = self.action(store, context)
        # Airflow raises max_tries when a person clears the task, and only then: a retry keeps it (rule 23).
        plan_key = f"plan {context['ti'].max_tries}"
        existing = store.groups.standings(action.id)
        if existing:
            mapped = store.groups.mapped(action.id, plan_key)
            groups = count(len(existing), "group")
            self.log.info("The action has its plan already: %s, of which %d get tasks.", groups, len(mapped))
            _require_mappable(len(mapped))
            self._skip_without_work(store, action, mapped)
            return mapped
        _, documents = self.read_revision(store, action.site, self.design["revision"])
        design = read_design(documents).keyed(store.secret_texts.digest_key())
        strategy = parse_strategy(self.design["strategy"])
        if not strategy.groups:
            raise StepError(NO_GROUPS)
        listed = self._listed(store, action, design)
        conditions = {name: node.condition for name, node in listed.items()}
        records = store.nodes.of_site(action.site)
        kind, parameters = kind_of(action.kind), parameters_of(action)
        # New labels have been given before, where they were to be: not in a dry run.
        out_of_use = store.user_states.left_out(action.site, action.kind)
        plan = plan_action(
            kind,
            parameters,
            design,
            strategy,
            records,
            conditions,
            relabelled=not action.dry_run,
            out_of_use=out_of_use,
        )
        self._require_few_redeploys(store, action, plan, design, conditions)
        for planned in plan.groups:
            word = "critical" if planned.group.critical else "not critical"
            self.log.info(
                "%s (%s): %s: %s",
                planned.group.name,
                word,
                count(len(planned.nodes), "node"),
                names(planned.nodes),
            )
        if plan.done:
            self.log.info("Already as wanted, not submitted: %s.", names(plan.done))
        for line in withheld(plan.settled):
            self.log.warning("%s", line)
        self._tell_out_of_use(store, action, plan)
        self._tell_removals(store, action, plan)
        refused = self._tell_rehearsal(store, action, plan, listed)
        # An action on named nodes considers no other (rule 21): its report names those alone.
        other = () if parameters.target_nodes else plan.other
        settled = _settled(store, action, plan, conditions)
        # A dry run judges no group: its report says what would become of each.
        idle = () if action.dry_run else idle_groups(plan.groups, plan.done, settled)
        _require_mappable(len(plan.groups) - len(idle))
        new = NewPlan(
            plan.groups,
            plan.done,
            design.digests,
            other,
            # A run decides about these again, right before it prepares them; a dry run has to say so now.
            {**refused, **plan.withheld} if action.dry_run else settled,
            group_step=kind.group_step,
            idle=idle,
            plan_key=plan_key,
            repairs=kind.repairs,
            # In an action that is carried out, new labels have rows already.
            step_nodes={Phase.DESTROY: plan.remove} | ({Phase.RELABEL: plan.relabel} if action.dry_run else {}),
        )
        store.groups.save_plan(action.id, new)
        self._tell_idle(store, action, idle)
        # As it stands now: another try of this task may have been faster.
        mapped = store.groups.mapped(action.id, plan_key)
        self._skip_without_work(store, action, mapped)
        return mapped

    def _skip_without_work(self, store: SiteStore, action: ActionRecord, groups: Sequence[str]) -> None:
        """Have Airflow skip what the plan leaves without work, and the task of groups that run in the other way."""
        kind, mapped = kind_of(action.kind), parameters_of(action).group_task
        reasons = site_steps_without_work(store, action, len(groups))
        for step, why in reasons.items():
            self.log.info("%s is left out: %s.", step, why)
        tasks = (DEPLOY_GROUP, DEPLOY_GROUP_BESIDE) if kind.has_parallel_groups else (DEPLOY_GROUP,)
        if action.dry_run:
            reasons = {DEPLOY_GROUP: DRY_RUN}
        skip_tasks(store, action, reasons, [task for task in tasks if action.dry_run or task != mapped])

    def _listed(self, store: SiteStore, action: ActionRecord, design: KeyedDesign) -> dict[str, ListedNode]:
        """Return what the provisioner says of the design's nodes, and note it."""
        clients = self.clients(store, action)
        with clients.operations(self.log) as operations:
            if not action.dry_run:
                # What earlier actions have brought about since they gave up waiting: their nodes may be as wanted.
                owner = OperationOwner(action.id, action.site, None, None)
                UnfinishedOperations(operations, ONE_LOOK).look_once(owner, list(design.digests))
            listed = read_list(store, action.site, clients.connection.id, operations.provisioner)
        seen = {name: listed[name] for name in design.digests if name in listed}
        if not action.dry_run:
            conditions = {name: node.condition.value for name, node in seen.items()}
            store.nodes.record_conditions(action.site, conditions, missing=set(design.digests).difference(seen))
        return seen

    def _require_few_redeploys(
        self,
        store: SiteStore,
        action: ActionRecord,
        plan: Plan,
        design: Design,
        conditions: Mapping[str, NodeCondition],
    ) -> None:
        """Raise `StepError` where more nodes would be redeployed than the site's settings allow."""
        serving = {name for name, said in conditions.items() if said is NodeCondition.DEPLOYED}
        kind, parameters = kind_of(action.kind), parameters_of(action)
        for refusal in judge_redeploys(kind, parameters, design.settings, plan.redeploy, serving, plan.remove):
            if not refusal.is_overridden:
                raise StepError(str(refusal))
            self.warn(store, action, f"in spite of it: {refusal}")

    def _tell_idle(self, store: SiteStore, action: ActionRecord, idle: Sequence[IdleGroup]) -> None:
        """Say what became of the groups that have nothing to submit, and measure them."""
        if not idle:
            return
        good = [group.name for group in idle if group.state is GroupState.SUCCESS]
        self.log.info("Nothing to submit, judged here: %s.", count(len(idle), "group"))
        if good:
            self.log.info("  Successful: %s.", names(good))
        for group in idle:
            if group.state is not GroupState.SUCCESS:
                self.log.error("  %s failed: %s.", group.name, group.reason)
        for record in store.groups.of_action(action.id):
            if record.map_index is None:
                measure_group(action.site, record)

    def _tell_rehearsal(
        self, store: SiteStore, action: ActionRecord, plan: Plan, listed: Mapping[str, ListedNode]
    ) -> Mapping[str, str]:
        """Say in the report which nodes are erased before they are prepared, and which cannot be prepared (rule 11).

        Say also which groups ask a person: while one waits, the whole action does; and log the batches. A group with
        nothing to submit asks nobody. Returns the nodes that cannot be prepared, each with the reason.
        """
        used = {name: node for name, node in listed.items() if name not in plan.out_of_use}
        # What was destroyed before is not released.
        releases = {} if kind_of(action.kind).is_destructive else releases_of(store, action.site, plan.groups, used)
        if not releases and all(one.group.approval is None and not one.group.has_batches for one in plan.groups):
            return {}
        rehearsal = simulate_plan(
            plan.groups,
            dict.fromkeys(plan.done, NodeState.SUCCESS),
            withheld=plan.withheld,
            releases=releases,
            below_criteria=parameters_of(action).allows(Override.BELOW_CRITERIA),
        )
        erased = sorted(rehearsal.released)
        lines = [f"Erased and released before they are prepared: {names(erased)}."] if erased else []
        for line in (*lines, *withheld(rehearsal.refused)):
            self.warn(store, action, line)
        for line in announcements(((one.group, len(one.nodes)) for one in plan.groups), rehearsal.submissions):
            self.log.info("%s", line)
        asking = rehearsal.submitting
        for planned in plan.groups:
            if planned.group.approval is not None and planned.group.name in asking:
                line = planned.group.approval.announcement(planned.group.name)
                self.log.info("%s", line)
                store.events.add(action.site, STEP_WARNING, line, action_id=action.id)
        return rehearsal.refused

    def _tell_out_of_use(self, store: SiteStore, action: ActionRecord, plan: Plan) -> None:
        """Say in the report which nodes an administrator has taken out of use, by whom and why (rule 51)."""
        for reason, nodes in by_reason(plan.out_of_use).items():
            line = f"Out of use, left out unless set up meanwhile: {names(nodes)}: {reason}."
            self.warn(store, action, line)

    def _tell_removals(self, store: SiteStore, action: ActionRecord, plan: Plan) -> None:
        """Say which nodes left the design: those that are destroyed after the groups, and those that stay, and why."""
        if plan.remove:
            self.log.warning("No longer in the design, destroyed after the groups: %s.", names(plan.remove))
        left = {name: why for name, why in plan.left.items() if name not in plan.out_of_use}
        for reason, nodes in by_reason(left).items():
            line = f"No longer in the design: {names(nodes)}: {reason}."
            self.warn(store, action, line)


def _settled(
    store: SiteStore, action: ActionRecord, plan: Plan, conditions: Mapping[str, NodeCondition]
) -> Mapping[str, str]:
    """Return the withheld nodes that stay so: whatever the steps on the whole site show, which come before the groups.

    They may prove that an earlier action's provisioner task is dead, and so what it has done. Its deployed nodes are
    looked at again right before they would be submitted (rule 21).
    """
    if kind_of(action.kind).repairs:
        return plan.settled
    older = [one for one in store.operations.unfinished(action.site, plan.settled) if one.action_id != action.id]
    held = {name for one in older for name in one.nodes if conditions.get(name) is NodeCondition.DEPLOYED}
    return {name: why for name, why in plan.settled.items() if name not in held}


def _require_mappable(groups: int) -> None:
    """Raise `StepError` where more groups get a task than Airflow can map."""
    problem = group_count_problem(groups, conf.getint("core", "max_map_length", fallback=1024)) if groups else None
    if problem is not None:
        raise StepError(problem)
