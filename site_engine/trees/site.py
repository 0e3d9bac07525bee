"""The standing tree of a site: its groups, and their nodes, each compared with what is wanted now (rules 29, 33)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from site_engine.monitoring.owners import airflow_owner
from site_engine.trees.owners import Owners
from site_engine.trees.reported import Reports, by_parent
from site_engine.trees.waiting import approve_command, batches_to_dict
from site_store import ActionBrief, GroupFacts, SiteFacts, StatusCount
from site_store.status.leases import CONTROLLER
from site_store.trees.tree_facts import Times
from strategy_lib.groups.batch_words import batches_so_far
from strategy_lib.status.entry import Entry, EntryKind, GroupDetails, OwnerSeen
from strategy_lib.status.leaf import OwnerRecord, Shown, status_in_site
from strategy_lib.status.node_row import NodeRow
from strategy_lib.status.roll_up import highest, in_order, status_of_parent
from strategy_lib.status.serves import Serves, Serving
from strategy_lib.status.site import TROUBLES, WATCHING, FirstLine, Watched, first_line, judge_watching
from strategy_lib.status.tree import (
    MOST_MESSAGES,
    NO_GROUP,
    TO_BE_REMOVED,
    latest,
    parent_entry,
    task_entry,
    unrecorded_entry,
)
from strategy_lib.status.words import Status, status_from

NOTHING_WANTED = "nothing was committed for it yet"


@dataclass(frozen=True)
class SiteView:
    """Judges the standing of one site."""

    facts: SiteFacts
    owners: Owners
    _judged: dict[tuple[str, str], Status] = field(default_factory=dict)

    @cached_property
    def cells(self) -> Mapping[str, Sequence[StatusCount]]:
        """The roll-up by group, those of no group and those to be removed under these names."""
        found: defaultdict[str, list[StatusCount]] = defaultdict(list)
        for cell in self.facts.counts:
            if cell.group:
                found[cell.group].append(cell)
            elif cell.phase in (NO_GROUP, TO_BE_REMOVED):
                found[cell.phase].append(cell)
        return found

    @cached_property
    def nodes(self) -> Mapping[str, Sequence[NodeRow]]:
        """The nodes that were read, by group."""
        found: defaultdict[str, list[NodeRow]] = defaultdict(list)
        for group, node in self.facts.nodes:
            found[group].append(node)
        return found

    def judge(self, standing: str, owner: str, message: str = "") -> Shown:
        """Return what is shown of how a node stands: an owner that is gone is missed where it is not as wanted."""
        shown = self.owners.judge(owner or self.default_owner, Shown(status_from(standing), message))
        return judge_at_work(shown, self.owners, self.airflow)

    @property
    def airflow(self) -> str:
        """Who reads what comes of work on the site: `airflow:<dag>` of the running action; "" where none is."""
        running = self.facts.running
        return airflow_owner(running.dag_id) if running is not None and running.dag_id is not None else ""

    @property
    def default_owner(self) -> str:
        """Who is expected to work on nodes that name nobody; "" where that was never decided."""
        return self.facts.owner or ""

    def group_entry(self, name: str, group: GroupFacts | None) -> Entry:
        """Return the entry of a group from the roll-up, with the nodes that were read."""
        tally, stored = self.tally(self.cells.get(name, ()))
        status = status_of_parent(tally)
        nodes = self.nodes.get(name, ())
        children = tuple([node_entry(node, self.owners, self.default_owner, self.airflow) for node in nodes])
        total = sum(tally.values())
        times = self.facts.times.get(name, Times())
        details = GroupDetails(critical=False, nodes=total)
        if group is not None:
            details = GroupDetails(
                group.critical,
                group.depends_on,
                position=group.position,
                nodes=total,
                batches=batches_to_dict(batches_so_far(group.max_in_flight, group.canary, total)),
            )
        return Entry(
            EntryKind.GROUP,
            name,
            status,
            last_status=highest(stored) if stored else None,
            # Not of the nodes that were read: at each depth it is the same.
            first_updated=times.first,
            last_updated=times.last,
            leaves=total,
            own_leaves=total,
            messages=self.messages(name, status, children),
            counts=tally,
            serving=self.serving(self.cells.get(name, ())),
            rolls_up=name != NO_GROUP,
            group=details,
            children=children,
            left_out=total - len(children),
        )

    def tally(self, cells: Sequence[StatusCount]) -> tuple[dict[Status, int], set[Status]]:
        """Return how many nodes show which status, and which statuses are stored."""
        # No cell is of nothing.
        tally: dict[Status, int] = {}
        stored: set[Status] = set()
        for cell in cells:
            status = self._judged_cell(cell)
            tally[status] = tally.get(status, 0) + cell.records
            if cell.status != Status.PENDING:
                stored.add(status_from(cell.status))
        return in_order(tally), stored

    def _judged_cell(self, cell: StatusCount) -> Status:
        status = self._judged.get((cell.status, cell.owner))
        if status is None:
            status = self._judged[cell.status, cell.owner] = self.judge(cell.status, cell.owner).status
        return status

    def serving(self, cells: Sequence[StatusCount]) -> Serving:
        """Return how many nodes serve what, and how many of those that are pending do."""
        counts: dict[Serves, int] = {}
        pending: dict[Serves, int] = {}
        for cell in cells:
            word = Serves(cell.serves)
            counts[word] = counts.get(word, 0) + cell.records
            if word is not Serves.NOTHING and self._judged_cell(cell) is Status.PENDING:
                pending[word] = pending.get(word, 0) + cell.records
        return Serving(counts, pending)

    def messages(self, name: str, status: Status, children: Sequence[Entry]) -> tuple[str, ...]:
        """Return the first messages of the worst nodes."""
        troubles = self.facts.troubles.get(name, ())
        found = [
            f"{node}: {message or 'failed'}"
            for one in troubles
            if one.standing == status
            for node, message in zip(one.nodes, one.messages, strict=True)
        ]
        if not found:
            found = [
                f"{child.name}: {child.messages[0]}" for child in children if child.status is status and child.messages
            ]
        if not found and status is Status.UNRESPONSIVE:
            gone = {cell.owner or self.default_owner for cell in self.cells.get(name, ())}
            if any(cell.status == Status.PROCESSING for cell in self.cells.get(name, ())):
                gone.add(self.airflow)
            found = [self.owners.silence(owner) for owner in sorted(gone) if not self.owners.is_there(owner)]
        return tuple(found[:MOST_MESSAGES])

    @cached_property
    def of_design(self) -> Sequence[StatusCount]:
        """The cells of all nodes of the design, each node once."""
        return [cell for cell in self.facts.counts if not cell.group and cell.phase != TO_BE_REMOVED]

    def whole(self) -> dict[Status, int]:
        """Return how many nodes of the design show which status, each once."""
        return self.tally(self.of_design)[0]


def site_view(facts: SiteFacts) -> SiteView:
    """Return what judges a site."""
    return SiteView(facts, Owners(facts.owners, facts.read_at, at_work=facts.leased))


def site_entry(facts: SiteFacts) -> Entry:
    """Return the entry of a site with its groups, and the nodes that were read, without what reporters say of it."""
    view = site_view(facts)
    if facts.committed is None and not facts.counts:
        return unrecorded_entry(EntryKind.SITE, facts.site, NOTHING_WANTED)
    children = [view.group_entry(group.name, group) for group in facts.groups]
    children += [view.group_entry(name, None) for name in (NO_GROUP, TO_BE_REMOVED) if view.cells.get(name)]
    if facts.watched is not None:
        children.append(watching_entry(facts.watched, view.owners))
    root = parent_entry(EntryKind.SITE, facts.site, children, counts=view.whole())
    root = replace(root, serving=view.serving(view.of_design))
    leaves = sum(cell.records for cell in facts.counts if not cell.group)
    root = replace(root, last_updated=latest([root.last_updated, facts.last_updated]))
    return replace(root, leaves=leaves, own_leaves=leaves)


def watching_entry(watched: Watched, owners: Owners) -> Entry:
    """Return the entry that says whether anybody looks at the nodes; these keep their word where nobody does."""
    shown = judge_watching(watched, owners.now)
    is_gone = watched.is_silent(owners.now)
    # By the same rule the list of owners judges it: it owes an answer in time, and no more.
    seen = [OwnerSeen(CONTROLLER, not is_gone or watched.led, status=shown.status)]
    if watched.provisioner:
        answers = not (is_gone and watched.led and watched.leads)
        seen.append(OwnerSeen(watched.provisioner, answers, watched.answered, watched.allowed, shown.status))
    return Entry(
        EntryKind.WATCHING,
        WATCHING,
        shown.status,
        messages=(shown.message,) if shown.message else (),
        # Its success makes no site of deleted nodes a success.
        rolls_up=shown.status in TROUBLES,
        owners=() if watched.stopped else tuple(seen),
    )


def reports_of_site(facts: SiteFacts) -> Reports:
    """Return the leaves that reporters have below the standing view of a site."""
    return Reports(by_parent(facts.reported), site_view(facts).owners, wanted=facts.committed)


def judge_node(node: NodeRow, owners: Owners, default_owner: str = "", airflow: str = "") -> Shown:
    """Return what is shown of a node: unresponsive where it is not as wanted, and who is to work on it is gone.

    Parameters
    ----------
    airflow : who reads what comes of the work that is under way on it; "" where that is not known.
    """
    return judge_at_work(owners.judge(node.owner or default_owner, status_in_site(node)), owners, airflow)


def judge_at_work(shown: Shown, owners: Owners, airflow: str) -> Shown:
    """Judge what is under way once more: it needs Airflow too, as nobody else reads how it ends (rule 30)."""
    return owners.judge(airflow, shown) if shown.status is Status.PROCESSING and airflow else shown


def node_entry(node: NodeRow, owners: Owners, default_owner: str = "", airflow: str = "") -> Entry:
    """Return the entry of a node of a site."""
    owner = node.owner or default_owner
    judged = judge_node(node, owners, default_owner, airflow)
    record = OwnerRecord(
        owner,
        None if node.standing == Status.PENDING else node.standing,
        alive=judged.status is not Status.UNRESPONSIVE,
        messages=tuple(said for said in (judged.message, next_try(node)) if said),
        first_updated=node.first_updated,
        last_updated=node.last_updated or node.done_at,
    )
    return task_entry(
        node.name,
        [record],
        owners=tuple(owners.seen(name, judged.status) for name in _owners_of(node, owner, airflow)),
        op=node.op,
        fixed=node.fixed or "",
        serves=Serves(node.serves),
    )


def _owners_of(node: NodeRow, owner: str, airflow: str) -> list[str]:
    """Return who is expected to work on a node."""
    names = [owner, airflow if node.standing == Status.PROCESSING else ""]
    return [name for name in names if name]


def next_try(node: NodeRow) -> str:
    """Say how often a failed node has failed, and until when repair leaves it alone; "" where it has not failed.

    Whether anything tries it then depends on the site: its page says so.
    """
    if node.standing != Status.ERROR or not node.failures or node.next_try is None:
        return ""
    times = "once" if node.failures == 1 else f"in {node.failures} actions in a row"
    return f"failed {times}; no repair before {node.next_try:%Y-%m-%d %H:%M:%S} UTC"


def site_header(facts: SiteFacts) -> dict[str, Any]:
    """Return what stands above the tree of a site, as plain data."""
    counts = site_view(facts).whole()
    return {
        "name": facts.site,
        "revision_committed": facts.committed,
        "revision_done": facts.done,
        "nodes": sum(counts.values()),
        "nodes_as_wanted": counts.get(Status.SUCCESS, 0),
        "running": _brief(facts.running),
        "last": _brief(facts.last),
        "hold": facts.hold,
        "stopped": None if facts.watched is None else facts.watched.stopped or None,
    }


def _brief(action: ActionBrief | None) -> dict[str, Any] | None:
    if action is None:
        return None
    return {
        "id": action.id,
        "kind": action.kind,
        "revision": action.revision,
        "state": action.state,
        "verdict": action.verdict,
        "left_alone": action.left_alone,
        "user": action.user,
        "created": action.created.isoformat(),
        "ended": action.ended.isoformat() if action.ended is not None else None,
        "paused": action.paused.isoformat() if action.paused is not None else None,
        "asks": action.asks,
        "approve": approve_command(action.id, action.asks) if action.asks else None,
    }


def first_line_of(facts: SiteFacts, root: Entry) -> FirstLine:
    """Say how a site stands against its design, and whether it is healthy.

    Parameters
    ----------
    root : its entry, with what reporters say.
    """
    if facts.committed is None:
        return FirstLine()
    view = site_view(facts)
    # Nodes in no group do not count in how the site stands (rule 33).
    grouped = [cell for cell in view.of_design if cell.phase != NO_GROUP]
    leaving = view.cells.get(TO_BE_REMOVED, ())
    again = (cell for cell in grouped if cell.status == Status.PENDING and cell.serves == Serves.WANTED)
    return first_line(
        view.serving(grouped).counts,
        view.tally([*grouped, *leaving])[0],
        asked_again=sum(cell.records for cell in again),
        to_be_removed=sum(cell.records for cell in leaving if cell.status != Status.DELETED),
        since=facts.behind_since,
        others=[words for child in root.children for words in _other_trouble(child)],
    )


def _other_trouble(child: Entry) -> Sequence[str]:
    """Return what is wrong with a child of a site beside its nodes: what stands below a group, or the child itself."""
    if child.status not in TROUBLES or not child.rolls_up or child.counts.get(child.status, 0):
        return ()
    name = f"group {child.name}" if child.kind is EntryKind.GROUP else child.name
    said = next(iter(child.messages), child.status.value).removeprefix(f"{child.name}: ")
    return (f"{name}: {said}",)
