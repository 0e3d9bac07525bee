"""How entries of the status tree roll up, and which failed groups are culprits or victims."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import chain, islice

from strategy_lib.phase import GroupState, Reason
from strategy_lib.status.entry import Blame, Entry, EntryKind, EntryType, GroupDetails, OwnerSeen, Role
from strategy_lib.status.leaf import OwnerRecord, blocked_by, status_of_record, status_of_records
from strategy_lib.status.roll_up import highest, status_of_parent
from strategy_lib.status.serves import Serves, serving_of_node
from strategy_lib.status.words import Status, status_from

MOST_MESSAGES = 10
_COUNT_ONCE = frozenset(kind for kind in EntryKind if kind.type is EntryType.SUPERGOAL)
NO_GROUP = "no group"
TO_BE_REMOVED = "to be removed"


def task_entry(
    name: str,
    records: Sequence[OwnerRecord],
    *,
    kind: EntryKind = EntryKind.NODE,
    over: bool = False,
    processed_by: str | None = None,
    owners: tuple[OwnerSeen, ...] = (),
    op: int | None = None,
    provisioner_task: str | None = None,
    tries: int = 0,
    fixed: str = "",
    serves: Serves | None = None,
) -> Entry:
    """Return the entry of a task from what its expected owners have stored.

    Parameters
    ----------
    name : of the node or step.
    records : one for each expected owner, also for one that has written nothing.
    over : its action is over (rule 29).
    processed_by : the group that processed the node, if it is not the one that this entry stands under (rule 34).
    tries : the number of its present try in its action, from 1.
    fixed : what had to be fixed before it succeeded, and when; said where it is a success.
    serves : of a node in the view of its site: what it serves.
    """
    status = status_of_records(records, over=over)
    worst = (record for record in records if status_of_record(record, over=over) is status)
    messages = _first_messages(record.messages for record in worst)
    if fixed and status is Status.SUCCESS:
        messages = (f"had to be fixed: {fixed}", *messages)[:MOST_MESSAGES]
    return Entry(
        kind,
        name,
        status,
        last_status=_last_status(records),
        first_updated=earliest(record.first_updated for record in records),
        last_updated=latest(record.last_updated for record in records),
        leaves=1,
        own_leaves=0 if processed_by else 1,
        messages=messages,
        counts={status: 1},
        processed_by=processed_by,
        owners=owners,
        op=op,
        provisioner_task=provisioner_task,
        tries=tries,
        fixed=fixed,
        serving=None if serves is None else serving_of_node(serves, status),
    )


def parent_entry(
    kind: EntryKind,
    name: str,
    children: Iterable[Entry],
    *,
    own: OwnerRecord | None = None,
    blame: Blame | None = None,
    counts: Mapping[Status, int] | None = None,
    owners: tuple[OwnerSeen, ...] = (),
    group: GroupDetails | None = None,
) -> Entry:
    """Return the entry of a site, action, step, group or phase from its children.

    Parameters
    ----------
    kind : a supergoal counts each node once, a supertask counts all that stand under it (rule 34).
    name : of the entry. What stands under `NO_GROUP` does not count in the status of the parent (rule 33).
    children : in the order in which they are shown.
    own : what is stored about the entry itself, such as the state of a group's task. It rolls up as a child does.
    blame : of a failed group. It makes the entry an error whose first message says so.
    counts : how many nodes below it show which status; None: those of its children. Where the entry itself is
        undefined, that is counted too (rule 27).
    owners, group : as in `Entry`.
    """
    kept = tuple(children)
    said: list[tuple[Status, tuple[str, ...]]] = []
    last: list[Status] = []
    first_times: list[datetime | None] = []
    last_times: list[datetime | None] = []
    said_itself: Status | None = None
    if blame is not None:
        said.append((Status.ERROR, (blame.message,)))
    if own is not None:
        said_itself = status_of_record(own)
        said.append((said_itself, own.messages))
        if own.stored is not None:
            last.append(status_from(own.stored))
    own_leaves = leaves = 0
    for child in kept:
        first_times.append(child.first_updated)
        last_times.append(child.last_updated)
        own_leaves += child.own_leaves
        leaves += child.leaves
        if child.status is not None and child.rolls_up:
            said.append((child.status, child.messages))
        if child.last_status is not None:
            last.append(child.last_status)
    if own is not None:
        first_times.append(own.first_updated)
        last_times.append(own.last_updated)
    status = status_of_parent([its for its, _ in said])
    return Entry(
        kind,
        name,
        status,
        last_status=highest(last) if last else None,
        first_updated=earliest(first_times),
        last_updated=latest(last_times),
        leaves=own_leaves if kind in _COUNT_ONCE else leaves,
        own_leaves=own_leaves,
        messages=_first_messages([words for its, words in said if its is status and words]),
        counts=_with_own(_sum(kept) if counts is None else counts, said_itself),
        rolls_up=name != NO_GROUP,
        blame=blame,
        owners=owners,
        group=group,
        children=kept,
    )


def unrecorded_entry(
    kind: EntryKind, name: str, reason: str, *, children: tuple[Entry, ...] = (), group: GroupDetails | None = None
) -> Entry:
    """Return the entry of something that no facts are kept about: it is never an error, and no roll-up counts it."""
    return Entry(kind, name, None, reason=reason, rolls_up=False, children=children, group=group)


@dataclass(frozen=True, slots=True)
class GroupStanding:
    """A group as it stands, for blame: its dependencies, state and reason, and the sentence that explains a failure."""

    name: str
    depends_on: tuple[str, ...] = ()
    state: GroupState = GroupState.PENDING
    reason: Reason | None = None
    explanation: str = ""


def blame_groups(groups: Iterable[GroupStanding]) -> dict[str, Blame]:
    """Tell culprits from victims, in time linear in the graph (rules 9 and 28).

    Parameters
    ----------
    groups : in processing order: each after those it depends on.

    Returns
    -------
    dict
        An entry for each group that has failed or stands behind one that has. A victim names the culprit at the root:
        of several failed dependencies the first one's.
    """
    blames: dict[str, Blame] = {}
    explanations: dict[str, str] = {}
    for group in groups:
        failed = group.state is GroupState.FAILURE
        if failed and group.reason is not Reason.DEPENDENCY:
            explanations[group.name] = group.explanation or str(group.reason or "failed")
            blames[group.name] = Blame(Role.CULPRIT, group.name, explanations[group.name])
        elif failed or group.state is GroupState.PENDING:
            culprit = next((blames[other].culprit for other in group.depends_on if other in blames), None)
            if culprit is not None:
                message = blocked_by(culprit, explanations[culprit])
                blames[group.name] = Blame(Role.VICTIM, culprit, message)
    return blames


def _with_own(counts: Mapping[Status, int], own: Status | None) -> Mapping[Status, int]:
    if own is not Status.UNDEFINED:
        return counts
    return {**counts, own: counts.get(own, 0) + 1}


def _sum(children: Iterable[Entry]) -> Mapping[Status, int]:
    total: Counter[Status] = Counter()
    for child in children:
        total.update(child.counts)
    return dict(total)


def _last_status(records: Sequence[OwnerRecord]) -> Status | None:
    stored = [status_from(record.stored) for record in records if record.stored is not None]
    return highest(stored) if stored else None


def _first_messages(messages: Iterable[tuple[str, ...]]) -> tuple[str, ...]:
    return tuple(islice(dict.fromkeys(chain.from_iterable(messages)), MOST_MESSAGES))


def earliest(times: Iterable[datetime | None]) -> datetime | None:
    """Return the first of these times, None where there is none."""
    known = [time for time in times if time is not None]
    return min(known) if known else None


def latest(times: Iterable[datetime | None]) -> datetime | None:
    """Return the last of these times, None where there is none."""
    known = [time for time in times if time is not None]
    return max(known) if known else None
