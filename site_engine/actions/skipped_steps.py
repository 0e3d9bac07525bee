"""Which steps of an action have no work, and why: their tasks are skipped before they have a process."""

from __future__ import annotations

from collections.abc import Iterable

from design_rendering.design import Design
from site_engine.actions.finalization import why_no_stage
from site_engine.actions.site_steps import GOOD_RESULTS
from site_engine.kinds import AFTER_SUCCESS, DEPLOY_GROUP, PLAN_GROUPS, STEPS, kind_of
from site_engine.plans.differences import node_differences
from site_engine.plans.erasures import nodes_to_remove, why_not_asked
from site_store import ActionRecord, SiteStore
from strategy_lib.goals.update import Change
from strategy_lib.outcome import NodeCondition
from strategy_lib.phase import Phase
from strategy_lib.status.node_row import NodeRow

DRY_RUN = "dry run: nothing is submitted; the report says what would be"


def steps_without_work(store: SiteStore, action: ActionRecord, design: Design) -> dict[str, str]:
    """Return the steps behind `validate_design` that have no work, as far as the design tells, each with the reason."""
    kind = kind_of(action.kind)
    if action.dry_run:
        # Its groups are skipped once they are planned.
        steps = (*kind.steps, *kind.steps_behind)
        return {step: DRY_RUN for step in steps if STEPS[step].submits and step != DEPLOY_GROUP}
    found = {}
    is_begun = bool(store.tasks.of_step(action.id, Phase.RELABEL))
    if kind.relabels and not is_begun and not _may_relabel(design, store.nodes.of_site(action.site)):
        found[Phase.RELABEL.value] = "no node differs by its labels alone"
    if kind.prunes and (why := why_not_asked(action)):
        found[Phase.DESTROY.value] = why
    if AFTER_SUCCESS in kind.steps_behind and (why := why_no_stage(action, design.configuration.after_success)):
        found[AFTER_SUCCESS] = why
    return found


def _may_relabel(design: Design, records: Iterable[NodeRow]) -> bool:
    """Whether a node may differ by its labels alone: the store tells, the provisioner need not be asked."""
    deployed = dict.fromkeys(design.digests, NodeCondition.DEPLOYED)
    found = node_differences(design.digests, records, deployed).values()
    return any(each.change is Change.RELABEL for each in found)


def site_steps_without_work(store: SiteStore, action: ActionRecord, groups: int) -> dict[str, str]:
    """Return the steps on the whole site that a plan leaves out, each with the reason; none where one has work.

    They are left out where no node is to be sent, and the newest of each on this site succeeded for this revision. Not
    where a provisioner task was not seen to be over: of one whose provisioner was killed only a newer one proves that.

    Parameters
    ----------
    groups : how many groups have something to submit.
    """
    order = kind_of(action.kind).steps
    behind = order[order.index(PLAN_GROUPS) + 1 :]
    steps = [step for step in behind if step in (Phase.VERIFY_SITE, Phase.PREPARE_SITE)]
    if action.dry_run or groups or nodes_to_remove(store, action) or store.operations.unfinished(action.site):
        return {}
    for step in steps:
        newest = store.operations.newest_of_site(action.site, Phase(step))
        if newest is None or newest.result not in GOOD_RESULTS[Phase(step)]:
            return {}
        other = store.actions.get(newest.action_id)
        if (other.revision, other.connection) != (action.revision, action.connection):
            return {}
    return dict.fromkeys(steps, f"no node is to be sent, and it succeeded for revision {action.revision} before")
