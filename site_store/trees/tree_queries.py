"""The statements that facts for status trees are read with."""

from __future__ import annotations

from functools import cache
from typing import Any

from sqlalchemy import (
    BigInteger,
    ColumnElement,
    Double,
    FromClause,
    Select,
    Text,
    and_,
    bindparam,
    case,
    exists,
    func,
    null,
    select,
    union,
)

from site_store.actions.action_rows import FACTS
from site_store.designs.sites import is_known
from site_store.records import OPEN, ActionState, OperationStatus
from site_store.sql.postgresql import clock, json_columns, json_rows, names_table, nested_rows
from site_store.sql.rows import columns_of
from site_store.status.counting import changes
from site_store.status.events import EventKind
from site_store.status.owner_queries import default_owner, is_leased, owners_now, watched
from site_store.status.status_records import ApprovalRecord, ReportedLeaf
from site_store.tables import (
    action,
    action_step,
    approval,
    event,
    group_run,
    node,
    operation,
    reported,
    revision,
    site_group,
    site_lock,
    status_count,
    task,
    task_trouble,
)
from site_store.trees.leaf_queries import MOST_TROUBLES
from site_store.trees.tree_facts import ActionBrief, StepFacts
from site_store.trees.tree_times import last_update, node_times, operation_spans, operation_times
from strategy_lib.node import TaskStatus
from strategy_lib.phase import Phase
from strategy_lib.status.serves import Serves

# To make these statements takes longer than to carry them out: each is made once, and has parameters.
_THIS_SITE = bindparam("site", type_=site_group.c.site.type)
_THESE_ACTIONS = bindparam("action_ids", type_=action.c.id.type, expanding=True)
_THESE_GROUPS = bindparam("groups", type_=group_run.c.name.type, expanding=True)
_EARLIER_ACTIONS = 5
_GROUP = {"group": "group_name"}
_BRIEF = {"user": "created_by", "asks": "id"}


def fixed_tasks() -> ColumnElement[str]:
    """Return a column of `action`: the tasks that succeeded after they had failed, first by name; by group and phase.

    What failed before is noted with the node; only what a step on nodes repeats is not, and is found by its operations.
    """
    noted = select(event.c.node).where(
        event.c.action_id == action.c.id, event.c.kind == EventKind.EARLIER_RESULT, event.c.node.is_not(None)
    )
    again = (
        select(task.c.node)
        .join(operation, operation.c.op == task.c.op)
        .where(operation.c.action_id == action.c.id, operation.c.group_name.is_(None), operation.c.attempt > 1)
    )
    names = union(noted.correlate(action), again.correlate(action)).subquery()
    group = func.coalesce(task.c.owner_group, "").label("group_name")
    place = func.row_number().over(partition_by=(group, task.c.phase), order_by=task.c.node).label("place")
    ranked = (
        select(group, task.c.phase, task.c.node, task.c.fixed, place)
        .join(names, names.c.node == task.c.node)
        .where(task.c.action_id == action.c.id, task.c.status == TaskStatus.SUCCESS, task.c.fixed.is_not(None))
        .correlate(action)
        .subquery()
    )
    found = select(ranked.c.group_name, ranked.c.phase, ranked.c.node, ranked.c.fixed)
    return json_rows(found.where(ranked.c.place <= MOST_TROUBLES))


@cache
def action_query(with_spans: bool = False) -> Select[Any]:
    """Select actions with all that their trees are judged from beside leaves; a parameter: `action_ids`."""
    return _actions(with_spans).where(action.c.id.in_(_THESE_ACTIONS))


@cache
def newest_query(is_next: bool) -> Select[Any]:
    """Select the same of the newest actions of a site, and of these DAGs.

    Parameters of the statement: `site`, `dags`, `most`, and `before` where a page follows another.
    """
    these = action.alias("these")
    dags = bindparam("dags", type_=action.c.dag_id.type, expanding=True)
    newest = select(these.c.id).where(these.c.site == _THIS_SITE, these.c.dag_id.in_(dags))
    if is_next:
        newest = newest.where(these.c.id < bindparam("before", type_=action.c.id.type))
    newest = newest.order_by(these.c.id.desc()).limit(bindparam("most", type_=group_run.c.position.type))
    return _actions(with_spans=False).where(action.c.id.in_(newest))


def _actions(with_spans: bool) -> Select[Any]:
    """Select actions with all that their trees are judged from beside leaves, newest first.

    Parameters
    ----------
    with_spans : also when each operation was at work.
    """
    steps = (
        select(*columns_of(StepFacts, action_step, _GROUP))
        .where(action_step.c.action_id == action.c.id)
        .correlate(action)
    )
    worst = (
        select(task_trouble.c.action_id, task_trouble.c.node, task_trouble.c.phase)
        .where(task_trouble.c.action_id == group_run.c.action_id, task_trouble.c.owner_group == group_run.c.name)
        .order_by(task_trouble.c.node, task_trouble.c.phase)
        .limit(MOST_TROUBLES)
        .correlate(group_run)
        .subquery()
    )
    found = task.alias("found")
    same = and_(found.c.action_id == worst.c.action_id, found.c.node == worst.c.node, found.c.phase == worst.c.phase)
    of_operation = operation.c.status.label("operation_status")
    troubles = select(found.c.node, found.c.phase, found.c.status, found.c.error, of_operation).select_from(
        worst.join(found, same).outerjoin(operation, operation.c.op == found.c.op)
    )
    groups = (
        select(
            group_run.c.name,
            group_run.c.position,
            group_run.c.critical,
            group_run.c.definition["depends_on"],
            group_run.c.state,
            group_run.c.reason,
            group_run.c.attempt,
            group_run.c.criteria,
            group_run.c.started,
            group_run.c.ended,
            group_run.c.map_index,
            group_run.c.definition["ready"],
            group_run.c.definition["max_in_flight"].as_string(),
            group_run.c.definition["canary"].as_string(),
            nested_rows(troubles),
        )
        .where(group_run.c.action_id == action.c.id)
        .correlate(action)
    )
    said = (
        select(*columns_of(ReportedLeaf, reported, after=2))
        .where(reported.c.site == action.c.site, reported.c.action_id == action.c.id)
        .correlate(action)
    )
    committed = select(func.max(revision.c.number)).where(revision.c.site == action.c.site).correlate(action)
    earlier = action.alias("earlier")
    took = func.extract("epoch", earlier.c.ended - earlier.c.started) - earlier.c.idle
    durations = (
        select(took.cast(Double).label("seconds"))
        .where(
            earlier.c.site == action.c.site,
            earlier.c.id < action.c.id,
            earlier.c.kind == action.c.kind,
            earlier.c.state == ActionState.SUCCESS,
            earlier.c.dry_run.is_(False),
            earlier.c.targeted.is_(False),
            earlier.c.started.is_not(None),
            earlier.c.ended.is_not(None),
            action.c.state.in_(OPEN),
        )
        .order_by(earlier.c.id.desc())
        .limit(_EARLIER_ACTIONS)
        .correlate(action)
    )
    live = operation.c.action_id == action.c.id
    leased = exists().where(live, operation.c.lease_until > clock()).correlate(action)
    sent = (
        select(operation.c.phase)
        .where(
            live,
            operation.c.group_name.is_(None),
            operation.c.status == OperationStatus.SUBMITTED,
            operation.c.phase.in_((Phase.VERIFY_SITE, Phase.PREPARE_SITE)),
        )
        .correlate(action)
    )
    return select(
        *FACTS,
        committed.scalar_subquery().label("committed"),
        leased.label("leased"),
        json_rows(sent).label("sent"),
        operation_times().label("times"),
        fixed_tasks().label("fixed"),
        json_rows(steps).label("steps"),
        json_rows(groups).label("groups"),
        json_rows(_approvals()).label("gates"),
        (operation_spans() if with_spans else null()).label("spans"),
        json_rows(said).label("said"),
        json_rows(select(*durations.subquery().c)).label("durations"),
        _cells(action, status_count.c.action_id == action.c.id),
        *owners_now(action.c.site),
    ).order_by(action.c.id.desc())


@cache
def batches_query() -> Select[Any]:
    """Select what groups have sent in their attempts, in order. Parameters: `action_ids`, `groups`."""
    return (
        select(operation.c.action_id, operation.c.group_name, operation.c.phase, operation.c.nodes)
        .join(
            group_run,
            and_(
                group_run.c.action_id == operation.c.action_id,
                group_run.c.name == operation.c.group_name,
                group_run.c.attempt == operation.c.attempt,
            ),
        )
        .where(operation.c.action_id.in_(_THESE_ACTIONS), operation.c.group_name.in_(_THESE_GROUPS))
        .order_by(operation.c.op)
    )


@cache
def sites_query(times: bool) -> Select[Any]:
    """Select what the trees of sites are judged from beside nodes; a parameter of the statement: `sites`.

    Parameters
    ----------
    times : also when the nodes of each group were updated first and last.
    """
    these = names_table("sites")
    site = these.c.value
    of_run = case((action.c.run_id.is_not(None), action.c.dag_id)).label("dag_id")
    brief = [of_run if one is action.c.dag_id else one for one in columns_of(ActionBrief, action, _BRIEF)[:-1]]
    of_site = (action.c.site == site, action.c.dry_run.is_(False))
    ended = select(*brief).where(*of_site, action.c.state.not_in(OPEN)).order_by(action.c.id.desc()).limit(1)
    asks = select(func.min(approval.c.group_name)).where(
        approval.c.action_id == action.c.id, approval.c.answer.is_(None)
    )
    asking = asks.correlate(action).scalar_subquery().label("asks")
    running = select(*brief, asking).where(*of_site, action.c.state.in_(OPEN)).order_by(action.c.id).limit(1)
    depends_on = site_group.c.depends_on
    shares = [site_group.c.definition[name].as_string() for name in ("max_in_flight", "canary")]
    groups = select(site_group.c.name, site_group.c.position, site_group.c.critical, depends_on, *shares).where(
        site_group.c.site == site
    )
    said = select(*columns_of(ReportedLeaf, reported, after=2)).where(
        reported.c.site == site, reported.c.action_id == ""
    )
    done = (
        select(action.c.revision)
        .where(
            *of_site,
            action.c.state == ActionState.SUCCESS,
            action.c.targeted.is_(False),
            action.c.revision.is_not(None),
            action.c.started.is_not(None),
        )
        .order_by(action.c.id.desc())
        .limit(1)
    )
    committed = select(func.max(revision.c.number)).where(revision.c.site == site)
    waited_for = and_(node.c.site == revision.c.site, node.c.wanted_revision == revision.c.number)
    behind = (
        select(revision.c.created)
        .join(node, waited_for)
        .where(node.c.site == site, node.c.serves == Serves.OLDER)
        .order_by(node.c.wanted_revision)
        .limit(1)
    )
    return select(
        site.label("site"),
        is_leased(site).correlate(these).label("leased"),
        committed.correlate(these).scalar_subquery().label("committed"),
        done.correlate(these).scalar_subquery().label("done"),
        behind.correlate(these).scalar_subquery().label("behind_since"),
        default_owner(site).correlate(these).scalar_subquery().label("owner"),
        _one_row(ended.correlate(these)).label("ended"),
        _one_row(running.correlate(these)).label("running"),
        json_rows(groups.correlate(these)).label("groups"),
        json_rows(said.correlate(these)).label("said"),
        last_update(site).correlate(these).scalar_subquery().label("last_updated"),
        (node_times(these) if times else null()).label("times"),
        watched(site),
        _cells(these, status_count.c.action_id == "", status_count.c.site == site),
        *owners_now(site),
    )


def _one_row(query: Select[Any]) -> ColumnElement[str]:
    return json_rows(select(*query.subquery().c))


@cache
def action_token_query(*, by_run: bool = False) -> Select[Any]:
    """Select an action, what its change token is made of, and what it waits for; a parameter: `key`.

    Parameters
    ----------
    by_run : the key is the id of a DAG run, which several actions may have; else that of the action.
    """
    place = action.c.run_id if by_run else action.c.id
    this = bindparam("key", type_=action.c.id.type)
    committed = select(func.max(revision.c.number)).where(revision.c.site == action.c.site).scalar_subquery()
    touched = changes(action.c.id, action.c.site).label("changes")
    asked = json_rows(_approvals().where(approval.c.answer.is_(None))).label("asked")
    return (
        select(*FACTS, touched, committed.label("committed"), asked, *owners_now(action.c.site))
        .where(place == this)
        .order_by(action.c.id)
    )


def _approvals() -> Select[Any]:
    """Select the approvals of an action, as they are stored: a word that nobody knows is shown as such."""
    return (
        select(*columns_of(ApprovalRecord, approval, _GROUP, after=1))
        .where(approval.c.action_id == action.c.id)
        .correlate(action)
    )


@cache
def site_token_query() -> Select[Any]:
    """Select what the change token of a site is made of; a parameter: `site`."""
    return select(changes("", _THIS_SITE).label("changes"), watched(_THIS_SITE), *owners_now(_THIS_SITE))


@cache
def known_site_query() -> Select[Any]:
    """Select the same, whether the site exists, and whether an action holds it."""
    held = exists().where(site_lock.c.site == _THIS_SITE)
    return site_token_query().add_columns(is_known(_THIS_SITE).label("known"), held.label("held"))


def _cells(of: FromClause, *conditions: ColumnElement[bool]) -> ColumnElement[str]:
    """Return a column of `of`: the cells of a scope of the roll-up, summed over their parts."""
    cell = status_count.c
    key = (cell.group_name, cell.phase, cell.owner, cell.status, cell.serves)
    # A number that may be large is a decimal in PostgreSQL, and that is a text in JSON.
    records = func.sum(cell.records).cast(BigInteger).label("records")
    summed = select(*key, records).where(*conditions).group_by(*key).correlate(of).subquery()
    return json_columns(select(*summed.c)).cast(Text).label("cells")
