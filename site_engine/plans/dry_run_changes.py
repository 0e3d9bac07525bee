"""What a dry run's report says of each node: by the action's plan, what is recorded, and the list it was made from."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING

from site_engine.actions.kinds import kind_of
from site_engine.actions.parameters import parameters_of
from site_engine.plans.node_lists import last_conditions
from site_engine.plans.planned_differences import planned_differences
from site_engine.plans.site_plans import explain
from site_engine.plans.site_rehearsals import SiteRehearsal, kept_nodes
from site_store import GroupGoal, SiteGoals
from strategy_lib.goals.update import TO_DO
from strategy_lib.reports.report_changes import (
    ReportedChange,
    ReportedChanges,
    ReportedDocument,
    ReportedField,
    ReportedGroupChanges,
)

if TYPE_CHECKING:
    from design_rendering.changes.document_changes import DocumentChange
    from site_engine.plans.planning import DryRun
    from site_engine.plans.site_plans import SitePlan
    from site_store import ActionRecord, PlannedGroup, SiteStore

_MOST_FIELDS = 200
"""Fields of one document."""


def dry_run_changes(
    store: SiteStore,
    action: ActionRecord,
    groups: Sequence[PlannedGroup],
    rehearsal: DryRun,
    withheld: Mapping[str, str],
) -> ReportedChanges:
    """Return what a dry run says has to be done to each node that the action considers.

    Parameters
    ----------
    groups : those of the action's plan, in processing order.
    rehearsal : what it would submit.
    withheld : nodes that it would not submit, each with the reason: those too that cannot be prepared as they are.
    """
    kind, parameters = kind_of(action.kind), parameters_of(action)
    records = store.nodes.of_site(action.site)
    # The plan names the digest of each node of its groups; of the others the newest revision's is wanted.
    digests = {record.name: record.wanted_digest for record in records if record.wanted_digest is not None}
    for planned in groups:
        digests.update(store.tasks.digests(action.id, planned.group.name))
    conditions, listed_at = last_conditions(store, action.site)
    out_of_use = store.user_states.left_out(action.site, kind.name)
    found = planned_differences(kind, parameters, digests, records, conditions, out_of_use=out_of_use)
    goals = SiteGoals(
        action.revision,
        {},
        {record.name: record for record in records if record.name in found},
        tuple(
            GroupGoal(one.group.name, one.group.critical, one.group.depends_on, len(one.nodes), one.nodes)
            for one in groups
        ),
    )
    to_do = {name for name, each in found.items() if each.change in TO_DO}
    redeploy = frozenset[str]().union(*(planned.plan.redeploy for planned in groups))
    kept = kept_nodes(rehearsal, {planned.group.name: planned.nodes for planned in groups}, to_do)
    kept |= {name: why for name, why in withheld.items() if name in to_do}
    submitted = SiteRehearsal(rehearsal.submitted, kept, redeploy)
    return fold_changes(explain(store, action.site, goals, found, listed_at, submitted))


def fold_changes(plan: SitePlan) -> ReportedChanges:
    """Return a plan for a report: the nodes of which the same is to be said stand in one entry."""
    alike: defaultdict[tuple[object, ...], list[str]] = defaultdict(list)
    for name, planned in plan.nodes.items():
        each = planned.difference
        documents = None if planned.documents is None else _documents(planned.documents)
        facts = (each.change.value, each.reason, planned.is_submitted, planned.withheld)
        # Documents may have lists in them, which cannot be looked up.
        alike[*facts, each.done_version, each.wanted_version, repr(documents)].append(name)
    return ReportedChanges(
        {change.value: number for change, number in plan.counts.items()},
        tuple(
            ReportedGroupChanges(
                group.name, {change.value: number for change, number in group.counts.items()}, group.submitted
            )
            for group in plan.groups
        ),
        tuple(_entry(plan, names) for names in alike.values()),
    )


def _entry(plan: SitePlan, names: Collection[str]) -> ReportedChange:
    nodes = tuple(sorted(names))
    planned = plan.nodes[nodes[0]]
    each = planned.difference
    return ReportedChange(
        each.change.value,
        each.reason,
        planned.is_submitted,
        planned.withheld,
        each.done_version,
        each.wanted_version,
        None if planned.documents is None else _documents(planned.documents),
        nodes,
    )


def _documents(documents: Sequence[DocumentChange]) -> tuple[ReportedDocument, ...]:
    return tuple(
        ReportedDocument(
            document.schema,
            document.name,
            document.change.value,
            tuple(
                ReportedField(one.path, one.change.value, one.before, one.after)
                for one in document.fields[:_MOST_FIELDS]
            ),
        )
        for document in documents
    )
