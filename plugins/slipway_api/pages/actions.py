"""The page of an action: how far it is, what went wrong and why, and what can be done now."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any
from urllib.parse import urlencode

from fastapi import Query, Request
from fastapi.responses import Response

from site_engine.kinds import DEPLOY_GROUP, DEPLOY_GROUP_BESIDE, PLAN_GROUPS, REPORT, kind_of, task_of
from site_engine.parameters import parameters_of
from site_engine.trees.reported import SEPARATOR
from site_engine.trees.status_trees import StatusTree, action_tree_with_group, whole_action
from site_store import ActionRecord, ApprovalRecord, SiteStore
from slipway_api.actions.lookup import find_action, find_known_action
from slipway_api.http import airflow_access as access
from slipway_api.http.api_errors import ApiError
from slipway_api.http.dependencies import Store
from slipway_api.pages.drawings import group_graph, timeline
from slipway_api.pages.rendering import live_page, page, page_router
from slipway_api.pages.wording import counted, number, reported_leaves, segment
from slipway_api.status.task_routes import tasks_of
from strategy_lib.phase import NODE_STEPS
from strategy_lib.status.entry import Entry, EntryKind, GroupDetails
from strategy_lib.status.site import TROUBLES
from strategy_lib.status.words import Status

router = page_router()

FAILED_SHOWN = 200
"""Failed nodes that an action's page names; a group's own page has all of its nodes."""
NODES_SHOWN = 100
"""Nodes of a group on one page, each once for each phase; those that failed come before."""


@dataclass(frozen=True, slots=True)
class Failure:
    """A step or group in which something went wrong: why it matters, and the nodes that failed in it.

    `more` counts the nodes of a group that did not succeed and are not among `nodes`: those that never began, too.
    """

    entry: Entry
    log: str
    nodes: Sequence[Mapping[str, Any]]
    more: int = 0

    @property
    def spared(self) -> bool:
        """Whether it is a group that met its criteria, although nodes of it failed."""
        return self.entry.group is not None and self.entry.group.state == "success"


@router.get("/actions/{action_id}", dependencies=[access.may_read])
def action(request: Request, action_id: str, store: Store, caller: access.CallerDep) -> Response:
    """Show an action."""
    record, token, asked = find_known_action(store, caller, action_id)
    # Buttons: who may not press them does not see them.
    may = _rights(caller, record)
    root = request.scope.get("root_path", "")
    answers = _may_answer(caller, record, asked)

    def values() -> dict[str, Any]:
        return _action_values(store, record, root)

    fresh = {
        "id": record.id,
        "site": record.site,
        "kind": record.kind,
        # Before its plan it has no groups yet, and can be held back.
        "has_groups": kind_of(record.kind).has_groups,
        "may": may,
        "may_answer": answers,
    }
    reader = " ".join((*sorted(may), *map(segment, sorted(answers))))
    return live_page(request, store, "action.html", token=token, reader=reader, values=values, fresh=fresh)


@router.get("/actions/{action_id}/group", dependencies=[access.may_read])
def group(
    request: Request, action_id: str, store: Store, caller: access.CallerDep, name: Annotated[str, Query()]
) -> Response:
    """Show a group of an action with its nodes."""
    record, token, _ = find_known_action(store, caller, action_id)
    root = request.scope.get("root_path", "")

    def values() -> dict[str, Any]:
        most = 0 if after else FAILED_SHOWN
        tree, listed, failed = action_tree_with_group(store, record.id, name, NODES_SHOWN, after, most)
        found = next((entry for entry in groups_of(tree.root) if entry.name == name), None)
        own = next((entry for entry in groups_of(tree.own) if entry.name == name), found)
        if found is None:
            raise ApiError(404, f"action {record.id} has no group {name[:64]!r}")
        log = group_log(root, record, found.group)
        return {
            "group": found,
            "own": own,
            "reported": reported_leaves(tree, f"{DEPLOY_GROUP}{SEPARATOR}{name}"),
            "log": log,
            "failed": failed,
            "nodes": listed["nodes"],
            "next": urlencode({"name": name, "after": listed["after"]}, doseq=True) if listed["after"] else "",
        }

    after = request.query_params.getlist("after")
    fresh = {"id": record.id, "site": record.site, "kind": record.kind, "name": name, "may": _rights(caller, record)}
    reader = " ".join(sorted(fresh["may"]))
    return live_page(request, store, "group.html", token=token, reader=reader, values=values, fresh=fresh)


@router.get("/actions/{action_id}/nodes", dependencies=[access.may_read])
def nodes_of_steps(request: Request, action_id: str, store: Store, caller: access.CallerDep) -> Response:
    """Show the nodes of an action's steps on nodes, which are in no group (rule 31)."""
    record, token, _ = find_known_action(store, caller, action_id)
    after = request.query_params.getlist("after")

    def values() -> dict[str, Any]:
        tree, listed, _ = action_tree_with_group(store, record.id, "", NODES_SHOWN, after)
        return {
            "node_steps": node_steps(tree.root),
            "nodes": listed["nodes"],
            "next": urlencode({"after": listed["after"]}, doseq=True) if listed["after"] else "",
        }

    fresh = {"id": record.id, "site": record.site, "kind": record.kind}
    return live_page(request, store, "step_nodes.html", token=token, reader="", values=values, fresh=fresh)


@router.get("/actions/{action_id}/operations/{op}", dependencies=[access.may_read])
def tasks(
    request: Request,
    action_id: str,
    op: int,
    store: Store,
    caller: access.CallerDep,
    node: Annotated[str | None, Query()] = None,
) -> Response:
    """Show what the provisioner itself says of an operation, of one node or of all: its tree of tasks, asked now."""
    action = find_action(store, caller, action_id)
    asked = tasks_of(store, action, op, node or None)
    return page(request, "tasks.html", {"action": action, "asked": asked})


def _may_answer(caller: access.Caller, record: ActionRecord, asked: Sequence[ApprovalRecord]) -> frozenset[str]:
    """Return the groups that wait for an approval that the caller may give."""
    if record.state.is_end:
        return frozenset()
    unnamed = any(not one.approvers for one in asked)
    may = unnamed and caller.may_control(access.COMMIT_DAG) and caller.may_create(record.kind)
    return frozenset(one.group for one in asked if (caller.name in one.approvers if one.approvers else may))


def _rights(caller: access.Caller, record: ActionRecord) -> frozenset[str]:
    if not caller.may_control(record.dag_id):
        return frozenset()
    return frozenset({"control", "retry"} if caller.may_control(access.COMMIT_DAG) else {"control"})


def _action_values(store: SiteStore, record: ActionRecord, root: str) -> dict[str, Any]:
    found = whole_action(store, record.id, FAILED_SHOWN, NODES_SHOWN)
    tree, listed = found.tree, found.step_nodes
    groups = groups_of(tree.root)
    begun = record.started or record.created
    header = tree.header
    ended = datetime.fromisoformat(header["ended"]) if header["ended"] else None
    address = f"{root}/ui/actions/{record.id}/group?name="
    # What reporters say is told apart, and fails nothing.
    own = groups_of(tree.own)
    wrong = failures(tree.own, own, failed_nodes(found.troubled), record, root, header["verdict"])
    return {
        "tree": tree,
        "steps": [child for child in tree.root.children if child.kind in (EntryKind.STEP, EntryKind.STAGE)],
        "groups": groups,
        "headline": headline(tree, groups),
        "failures": [one for one in wrong if not one.spared],
        "spared": [one for one in wrong if one.spared],
        "not_run": [each for each in own if _did_not_run(each)],
        # Then a retry begins with the first step that did not succeed.
        "never_begun": header["state"] in ("failed", "cancelled")
        and any(child.status not in (None, Status.SUCCESS) for child in tree.own.children),
        "node_steps": node_steps(tree.root),
        "step_nodes": listed["nodes"],
        "more_step_nodes": listed["after"] is not None,
        "reported": reported_leaves(tree),
        "waiting": [each for each in groups if _asks(each)],
        "graph_drawn": group_graph.draw(groups, lambda name: address + segment(name)),
        "time_drawn": timeline.draw(groups, found.spans, begun, ended or tree.read_at),
        "logs": {each.name: group_log(root, record, each.group) for each in groups if _has_begun(each)},
        "run": run_link(root, record),
        "running": header["state"] in ("pending", "running"),
    }


def groups_of(entry: Entry) -> list[Entry]:
    """Return the groups below an entry, in the order of processing."""
    found = []
    for child in entry.children:
        found += [child] if child.kind is EntryKind.GROUP else groups_of(child)
    return found


def node_steps(root: Entry) -> list[str]:
    """Return the names of an action's steps that are on nodes and in no group, such as `destroy_nodes`."""
    return [child.name for child in root.children if child.name in NODE_STEPS and child.counts]


def headline(tree: StatusTree, groups: Sequence[Entry]) -> str:
    """Return in a sentence how far an action is, or what came of it."""
    header = tree.header
    if tree.root.status is None:
        return tree.root.reason
    if header["state"] not in ("pending", "running"):
        return str(header["verdict"] or header["state"])
    asking = [each.name for each in groups if _asks(each)]
    if asking:
        return f"Group {asking[0]} waits for a person's approval. No other group starts meanwhile."
    done = sum(1 for each in groups if each.group is not None and each.group.state in ("success", "failure"))
    progress = f"{done} of {counted(len(groups), 'group')} done." if groups else ""
    if header["paused"]:
        return f"Paused: no further group starts. {progress}".rstrip()
    for each in groups:
        if each.group is not None and each.group.state == "running":
            now = ", ".join(words for words in (_batch(each), _under_way(each)) if words)
            return f"Working on group {each.name}{f': {now}' if now else ''}. {progress}"
    step = next((child for child in tree.root.children if child.status is Status.PROCESSING), None)
    if step is not None:
        return f"Step {step.name} is under way. {progress}".rstrip()
    return f"Waiting for Airflow to start its next step. {progress}".rstrip()


def _batch(group: Entry) -> str:
    """Return at which batch a group is; "" where it goes in none."""
    batches = group.group.batches if group.group is not None else None
    if batches is None or batches["at"] is None:
        return ""
    return f"batch {batches['at']} of {'about ' if batches['of'] != batches['at'] else ''}{batches['of']}"


def _under_way(group: Entry) -> str:
    phase = next((phase for phase in reversed(group.children) if phase.status is Status.PROCESSING), None)
    if phase is None:
        return ""
    ended = phase.leaves - phase.counts.get(Status.PENDING, 0) - phase.counts.get(Status.PROCESSING, 0)
    return f"{phase.name}, {number(ended)} of {counted(phase.leaves, 'node')}"


def _asks(group: Entry) -> bool:
    approval = group.group.approval if group.group is not None else None
    return approval is not None and approval.get("answered") is None


def _has_begun(group: Entry) -> bool:
    return group.group is not None and group.group.started is not None


def _did_not_run(group: Entry) -> bool:
    """Whether a group will not begin any more: another one blocks it, or its action is over."""
    if group.blame is not None and group.blame.role == "victim":
        # Its task may have started, to find that another group has failed it.
        return True
    return group.group is not None and group.group.started is None and group.status in TROUBLES


def failures(
    root_entry: Entry,
    groups: Sequence[Entry],
    failed: Mapping[str, Sequence[Mapping[str, Any]]],
    record: ActionRecord,
    root: str,
    verdict: str | None = None,
) -> list[Failure]:
    """Return where something went wrong, the groups to blame first; groups that never began are left out.

    Parameters
    ----------
    failed : the failed nodes by group, as `failed_nodes` returns them; those of a step on nodes are of the group "".
    verdict : of the action, which stands above all this.
    """
    found = []
    for child in root_entry.children:
        if child.kind in (EntryKind.STEP, EntryKind.STAGE) and child.name != DEPLOY_GROUP and child.status in TROUBLES:
            nodes = failed.get("", ()) if child.kind is EntryKind.STAGE else ()
            found.append(Failure(child, task_log(root, record, child.name, None), nodes))
    for each in groups:
        if each.group is None or _did_not_run(each):
            continue
        nodes = failed.get(each.name, ())
        if each.status in TROUBLES or nodes:
            log = group_log(root, record, each.group)
            found.append(Failure(each, log, nodes, max(0, each.counts.get(Status.ERROR, 0) - len(nodes))))
    if any(one.entry.kind is EntryKind.GROUP and not one.spared for one in found):
        # The report is red because groups failed, and says no more than the verdict.
        found = [one for one in found if one.entry.name != REPORT or list(one.entry.messages) != [verdict]]
    return sorted(found, key=lambda one: one.entry.kind is EntryKind.GROUP and one.entry.blame is None)


def failed_nodes(nodes: Sequence[Mapping[str, Any]]) -> dict[str, list[Mapping[str, Any]]]:
    """Return the nodes that failed, each with a `message`, by group; those that never began are left out.

    Parameters
    ----------
    nodes : as `action_nodes` returns them.
    """
    found = defaultdict[str, list[Mapping[str, Any]]](list)
    for node in nodes:
        said = node["messages"][0] if node["messages"] else "the provisioner said nothing about it"
        if node["status"] in (Status.ERROR, Status.UNDEFINED) and not said.startswith(("not started:", "blocked by ")):
            found[node["group"]].append({**node, "message": said})
    return dict(found)


def run_link(root: str, record: ActionRecord) -> str:
    """Return where Airflow shows the run of an action; "" where it has none."""
    if record.run_id is None:
        return ""
    return f"{root.removesuffix('/slipway')}/dags/{segment(record.dag_id)}/runs/{segment(record.run_id)}"


def group_log(root: str, record: ActionRecord, group: GroupDetails | None) -> str:
    """Return where Airflow shows the log of a group's task; of the plan, where the group was judged with it."""
    if group is None or group.map_index is None:
        return task_log(root, record, PLAN_GROUPS, None)
    return task_log(root, record, parameters_of(record).group_task, group.map_index)


def task_log(root: str, record: ActionRecord, step: str, map_index: int | None) -> str:
    """Return where Airflow shows the log of a step, or of a group's task; "" where there is none."""
    run = run_link(root, record)
    if not run or step not in (*kind_of(record.kind).steps, DEPLOY_GROUP, DEPLOY_GROUP_BESIDE, REPORT, "release"):
        return ""
    mapped = "" if map_index is None else f"/mapped/{map_index}"
    return f"{run}/tasks/{segment(task_of(step))}{mapped}"
