"""Nodes as people look for them: the table of a site, the nodes of an action, and all that happened to one node."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from site_engine.kinds import DEPLOY_GROUP
from site_engine.monitoring.owners import airflow_owner
from site_engine.trees.action import judges_of
from site_engine.trees.action_groups import Groups
from site_engine.trees.owners import Owners
from site_engine.trees.reported import SEPARATOR, Reports
from site_engine.trees.site import judge_node
from site_store import EventRecord, NodePast, NodePastFacts, NodeQuery, SiteStore
from site_store.nodes.node_errors import NodeErrorRecord
from site_store.trees.tree_facts import LeafPage
from strategy_lib.node import TaskStatus
from strategy_lib.node_states.repair import why_unrepaired
from strategy_lib.phase import GROUP_PHASES
from strategy_lib.status.entry import entry_to_dict
from strategy_lib.status.leaf import Shown, UnknownCause, status_of_task
from strategy_lib.status.node_row import NodeRow
from strategy_lib.status.words import Status

TROUBLED = (TaskStatus.ERROR.value, TaskStatus.UNKNOWN.value, TaskStatus.WITHHELD.value)
"""Stored statuses of tasks that failed, are lost or were not submitted."""


def site_nodes(store: SiteStore, site: str, query: NodeQuery | None = None) -> dict[str, Any]:
    """Return a page of a site's nodes, as plain data.

    Parameters
    ----------
    query : which of them, in which order; None: the first by name. Where it asks for states, each node has them.

    Raises
    ------
    site_store.ValueRefused : there is no such column, or `after` is from no page of this query.
    """
    page = store.site_nodes.page(site, query or NodeQuery())
    owners = Owners(page.owners, page.read_at, at_work=page.leased)
    airflow = airflow_owner(page.dag_id) if page.dag_id is not None else ""
    return {
        "token": page.token,
        "read_at": page.read_at.isoformat(),
        "total": page.total,
        "after": page.after,
        "nodes": [
            node_to_dict(node, owners, page.default_owner, airflow)
            | ({"states": page.states[node.name]} if page.states else {})
            for node in page.nodes
        ],
    }


def node_to_dict(node: NodeRow, owners: Owners, default_owner: str = "", airflow: str = "") -> dict[str, Any]:
    """Return a node of a site as plain data; `status` is what is shown, `message` why.

    Parameters
    ----------
    default_owner : who is expected to work on a node that names nobody.
    airflow : who reads what comes of the work that is under way on it; "" where that is not known.
    """
    shown = judge_node(node, owners, default_owner, airflow)
    return {
        "node": node.name,
        "status": shown.status.value,
        "serves": node.serves,
        "message": shown.message,
        "groups": list(node.groups),
        "rack": node.rack,
        "wanted_revision": node.wanted_revision,
        "wanted_version": node.wanted_version,
        "done_version": node.done_version,
        "touched": node.touched,
        "touched_by": node.touched_by,
        "done_revision": node.done_revision,
        "as_wanted": node.standing == Status.SUCCESS,
        "done_at": _iso(node.done_at),
        "provisioner_status": node.provisioner_status or node.condition,
        "power": node.power,
        "listed_at": _iso(node.listed_at),
        "error": node.error,
        "error_revision": node.error_revision,
        "error_action": node.error_action,
        "error_version": node.error_version,
        "fixed": node.fixed,
        "doubt": node.doubt,
        "op": node.op,
        "owner": node.owner or default_owner or None,
        "version": node.version,
        "failures": node.failures,
        "next_try": _iso(node.next_try),
        "first_updated": _iso(node.first_updated),
        "last_updated": _iso(node.last_updated),
    }


def action_nodes(
    store: SiteStore,
    action_id: str,
    *,
    group: str | None = None,
    phase: str | None = None,
    troubled: bool = False,
    limit: int = 100,
    after: Sequence[str] | None = None,
) -> dict[str, Any]:
    """Return a page of the nodes of an action as they stand under its groups, by name, as plain data.

    Parameters
    ----------
    group, phase : only those; None: all.
    troubled : only those that failed, are lost or were not submitted.
    limit : how many tasks of nodes at most.
    after : what the page before said.

    Raises
    ------
    site_store.NotFound : no action has this id.
    """
    statuses = TROUBLED if troubled else ()
    page = store.trees.group_nodes(action_id, group, phase, statuses, max(1, min(limit, 1000)), place_of(after))
    return leaves_to_dict(page)


def place_of(after: Sequence[str] | None) -> tuple[str, str, str] | None:
    """Return the place in the nodes of an action that a page said to go on behind; None: the beginning."""
    return None if after is None or len(after) != 3 else (after[0], after[1], after[2])


def leaves_to_dict(page: LeafPage, groups: Groups | None = None) -> dict[str, Any]:
    """Return a page of nodes of an action as plain data.

    Parameters
    ----------
    groups : what judges them, where it is made already.
    """
    if groups is None:
        _, groups = judges_of(page.facts)
    now = page.facts.read_at
    return {
        "token": page.facts.token,
        "read_at": now.isoformat(),
        "after": list(page.after) if page.after is not None else None,
        "nodes": [
            {"group": leaf.group, "phase": leaf.phase, **entry_to_dict(groups.tasks.leaf_entry(leaf), now=now)}
            for leaf in page.facts.leaves
        ],
    }


def node_history(
    store: SiteStore, site: str, name: str, limit: int = 50, before: str | None = None
) -> dict[str, Any] | None:
    """Return everything that ever happened to a node, newest first, as plain data; None where nothing is known of it.

    Parameters
    ----------
    limit : how many actions at most.
    before : what the page before said.
    """
    return past_to_dict(site, name, store.site_nodes.past(site, name, limit, before))


def past_to_dict(site: str, name: str, past: NodePastFacts) -> dict[str, Any] | None:
    """Return what happened to a node as plain data; None where nothing is known of it."""
    facts, now = past.node, past.read_at
    if facts is None and not past.tasks:
        return None
    owners = Owners(past.owners, now)
    actions: dict[str, dict[str, Any]] = {}
    for one in past.tasks:
        action = actions.setdefault(one.action_id, _action(one))
        action["phases"].append({**_phase(one, now), "failed_tries": _failed_tries(one, past.events)})
    for noted in past.events:
        if noted.action_id in actions:
            actions[noted.action_id]["events"].append(_event(noted))
    tries = _tries(past)
    return {
        "site": site,
        "name": name,
        "read_at": now.isoformat(),
        "node": None if facts is None else node_to_dict(facts, owners, past.default_owner, _airflow_of(past.tasks)),
        "retry": _retry(facts, past),
        "actions": list(actions.values()),
        "reported": _reported(past, actions, owners),
        "errors": [_error(record, tries) for record in past.errors],
        "before": past.before,
    }


def _retry(node: NodeRow | None, past: NodePastFacts) -> dict[str, Any] | None:
    """Return whether anything tries a failed node again by itself, and whether that is due; None: it has not failed."""
    if node is None or node.standing != Status.ERROR or not node.failures or node.next_try is None:
        return None
    mode, stopped, user = past.repair
    is_wanted = node.wanted_digest is not None
    is_older = node.done_digest != node.wanted_digest
    # The error of a drift names no action.
    lost = node.error_action is None and (node.doubt is not None or (is_older and node.done_revision is None))
    grouped = bool(node.groups)
    why = why_unrepaired(mode, stopped=stopped, wanted=is_wanted, grouped=grouped, user=user, known=not lost)
    return {"by": None if why else "repair", "is_due": past.read_at >= node.next_try, "why_not": why or None}


def _reported(past: NodePastFacts, actions: Mapping[str, Mapping[str, Any]], owners: Owners) -> list[dict[str, Any]]:
    """Return what reporters say of a node, in the standing view ("action" is None) and in these actions."""
    found = []
    for one in past.reported:
        action = actions.get(one.action_id)
        if action is not None and one.parent.count(SEPARATOR) == 1 and one.parent.startswith(DEPLOY_GROUP):
            continue  # It stands below a group of this name.
        over = action is not None and action["state"] not in ("pending", "running")
        wanted = action["revision"] if action is not None else past.committed
        leaf = Reports({}, owners, over, wanted).leaf(one)
        found.append(
            {
                "action": one.action_id or None,
                "parent": one.parent,
                "name": one.name,
                "owner": one.owner,
                "status": leaf.status.value if leaf.status is not None else None,
                "message": "; ".join(text.removeprefix(f"{one.name}: ") for text in leaf.messages),
                "last_updated": one.last_updated.isoformat(),
            }
        )
    return found


def _airflow_of(tasks: Sequence[NodePast]) -> str:
    """Return who reads what comes of the work that is under way on a node; "" where none is."""
    at_work = next((one for one in tasks if one.state in ("pending", "running") and not one.dry_run), None)
    return airflow_owner(at_work.kind) if at_work is not None else ""


def _action(one: NodePast) -> dict[str, Any]:
    return {
        "id": one.action_id,
        "kind": one.kind,
        "revision": one.revision,
        "state": one.state,
        "user": one.user,
        "created": one.created.isoformat(),
        "dry_run": one.dry_run,
        "groups": list(one.groups),
        "phases": [],
        "events": [],
    }


def _phase(one: NodePast, now: datetime) -> dict[str, Any]:
    cause = UnknownCause.TIMEOUT if one.operation_status == "timed_out" else UnknownCause.LOST
    over = "" if one.state in ("pending", "running") else "the action is over"
    shown = status_of_task(
        one.status,
        note=one.message or "",
        never_begins=over,
        as_wanted=one.op is None and one.phase in GROUP_PHASES,
        done_for=one.done_revision,
        unknown_because=cause,
    )
    if one.dry_run and one.status == TaskStatus.PENDING:
        shown = Shown(Status.PENDING, "a dry run submits nothing")
    elif one.dry_run and one.status == TaskStatus.WITHHELD:
        shown = Shown(Status.PENDING, f"it would not be submitted: {one.message or 'withheld'}")
    end = one.ended or (now if one.started is not None and not over else None)
    return {
        "phase": one.phase,
        "status": shown.status.value,
        "message": shown.message,
        "owner": one.owner,
        "processed_by": one.owner_group,
        "op": one.op,
        "done_op": one.done_op,
        "attempt": one.attempt,
        "round": one.round,
        "tries": one.tries,
        "held": one.held,
        "provisioner_task": one.provisioner_task,
        "found": one.found,
        "fixed": one.fixed,
        "started": _iso(one.started),
        "ended": _iso(one.ended),
        "duration": (end - one.started).total_seconds() if one.started is not None and end is not None else None,
    }


def _failed_tries(one: NodePast, events: Sequence[EventRecord]) -> list[dict[str, Any]]:
    """Return the tries of a phase that failed before the present one, oldest first."""
    tried = (
        (noted.data["try"], noted)
        for noted in events
        if noted.action_id == one.action_id and noted.data.get("phase") == one.phase and "try" in noted.data
    )
    return [
        {"try": number, "at": noted.at.isoformat(), "op": noted.data.get("op"), "error": noted.data.get("error")}
        for number, noted in sorted(tried, key=lambda found: found[0])
    ]


def _tries(past: NodePastFacts) -> dict[int, int]:
    """Return of each operation on a node which try of its phase it was, within its action."""
    found = {one.op: one.tries for one in past.tasks if one.op is not None}
    for noted in past.events:
        if isinstance(noted.data.get("op"), int) and isinstance(noted.data.get("try"), int):
            found[noted.data["op"]] = noted.data["try"]
    return found


def _error(record: NodeErrorRecord, tries: Mapping[int, int]) -> dict[str, Any]:
    error = record.error
    return {
        "op": error.op,
        "code": error.code.value,
        "text": error.text,
        "phase": error.phase.value,
        "try": tries.get(error.op),
        "action": error.action,
        "provisioner_task": error.provisioner_task,
        "wanted_version": error.wanted_version,
        "time": error.time.isoformat(),
        "standing": record.standing.value,
        "report": record.state.value,
        "acknowledged_by": record.acknowledged_by,
        "acknowledged_at": _iso(record.acknowledged_at),
    }


def _event(noted: EventRecord) -> dict[str, Any]:
    return {
        "at": noted.at.isoformat(),
        "kind": noted.kind,
        "group": noted.group,
        "message": noted.message,
        "data": dict(noted.data),
    }


def _iso(moment: datetime | None) -> str | None:
    return None if moment is None else moment.isoformat()
