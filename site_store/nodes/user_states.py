"""What administrators set for nodes: maintenance, retired, down or up; judged and written in one transaction.

It holds for claims at once, whether or not it is published (rule 54): who claims a node locks the site's row, and so
does who sets a state.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Connection, Select, delete, select, update
from ulid import ULID

from site_store.nodes.nodes import read_common_version, words_for
from site_store.sql.database import Repository
from site_store.sql.errors import VersionChanged
from site_store.sql.postgresql import among, clock, insert, names
from site_store.status.counting import touch_site
from site_store.status.events import EventKind, NewEvent, write_events
from site_store.status.leases import lease_of
from site_store.tables import (
    is_not_up,
    lease,
    node,
    node_view,
    operation,
    provisioner_list,
    site,
    site_audit,
    site_group,
    site_group_node,
    site_view,
    user_state,
)
from strategy_lib.node_states.generated import NodeAvailability
from strategy_lib.node_states.reported import reported_state
from strategy_lib.node_states.user_state import Change, GuardedGroup, SiteView, UserState, left_out, set_user_state
from strategy_lib.parsing.strategy_parser import group_from_data
from strategy_lib.status.words import Status

_A = NodeAvailability
CONTROLLER = "the controller"
"""Who has set what a controller set by itself: whichever process that was, and why is the reason."""
# Words of the provisioner for a machine that carries nothing.
_EMPTY = frozenset({"new", "ready", "reserved", "retired", "failed commissioning", "missing", "failed testing"})


@dataclass(frozen=True, slots=True)
class UserStateRecord:
    """A user state as it was set, by whom and when; `until`: when it ends by itself."""

    site: str
    node: str
    state: NodeAvailability
    reason: str
    until: datetime | None
    set_by: str
    set_at: datetime

    def value(self, now: datetime) -> UserState:
        """Return what is in force at this time."""
        if self.until is not None and now >= self.until:
            return UserState()
        return UserState(self.state, self.reason, None if self.until is None else self.until.timestamp())


@dataclass(frozen=True, slots=True)
class AskedState:
    """A request for nodes.

    Attributes
    ----------
    state, reason : what is set, and why.
    until : when it ends by itself; None: never.
    force : whatever speaks against it.
    probe : only judge it.
    """

    state: NodeAvailability
    reason: str = ""
    until: datetime | None = None
    force: bool = False
    probe: bool = False


@dataclass(frozen=True, slots=True)
class UserStateChange:
    """The answer to a request, and the time at which it was decided, by the database's clock.

    Attributes
    ----------
    version : the one that the records of these nodes have together afterwards.
    """

    change: Change
    at: datetime
    version: str


def left_out_nodes(tx: Connection, now: datetime, site_name: str, kind: str, nodes: Collection[str]) -> dict[str, str]:
    """Return those of these nodes that an action of this kind leaves out, each with the reason (rules 51 and 54).

    Until the transaction ends nobody sets another state on the site.
    """
    tx.execute(select(site.c.name).where(site.c.name == site_name).with_for_update(read=True))
    these = among(user_state.c.node, nodes)
    return reasons_to_leave_out(kind, tx.execute(in_force(now).where(user_state.c.site == site_name, these)))


def reasons_to_leave_out(kind: str, rows: Iterable[Sequence[Any]]) -> dict[str, str]:
    """Return the nodes of rows of `in_force` that an action of this kind leaves out, each with the reason."""
    reasons = {node: left_out(kind, UserState(_A(state), reason), set_by) for node, state, reason, set_by in rows}
    return {node: why for node, why in sorted(reasons.items()) if why is not None}


def forget_states(tx: Connection, site_name: str, digests: Collection[str]) -> None:
    """Forget in the caller's transaction what was set for nodes that the design does not have any more."""
    tx.execute(delete(user_state).where(user_state.c.site == site_name, user_state.c.node.not_in(names(digests))))


class UserStates(Repository):
    """User states of the nodes of sites."""

    def of_site(self, site_name: str) -> dict[str, UserStateRecord]:
        """Return what was set for each node of a site, also what has ended by itself since; others were never set."""
        query = select(user_state).where(user_state.c.site == site_name).order_by(user_state.c.node)

        def work(tx: Connection) -> dict[str, UserStateRecord]:
            return {row.node: UserStateRecord(**{**row._mapping, "state": _A(row.state)}) for row in tx.execute(query)}

        return self._database.read(work)

    def in_force(self, site_name: str) -> dict[str, UserState]:
        """Return what is set now for nodes that are not simply up."""

        def work(tx: Connection) -> dict[str, UserState]:
            rows = tx.execute(in_force(self._shared_now(tx)).where(user_state.c.site == site_name))
            return {row.node: UserState(_A(row.state), row.reason) for row in rows}

        return self._database.read(work)

    def is_led(self, site_name: str) -> bool:
        """Whether a controller leads the site now."""
        query = select(lease.c.expires_at).where(lease.c.name == lease_of(site_name))

        def work(tx: Connection) -> bool:
            until: datetime | None = tx.scalar(query)
            return until is not None and until > self._shared_now(tx)

        return self._database.read(work)

    def left_out(self, site_name: str, kind: str) -> dict[str, str]:
        """Return the nodes of a site that an action of this kind would leave out now, each with the reason.

        Another state may be set right afterwards; what is claimed asks again, in the transaction of the claim.
        """
        query = in_force(clock()).where(user_state.c.site == site_name)
        return self._database.read_once(lambda tx: reasons_to_leave_out(kind, tx.execute(query)))

    def change(
        self,
        site_name: str,
        nodes: Collection[str],
        asked: AskedState,
        user: str,
        *,
        most_groups: int = 1,
        version: str | None = None,
    ) -> UserStateChange:
        """Set the user state of nodes, all of them or none, if nothing speaks against it (rule 52).

        It raises the version of each node's record.

        Parameters
        ----------
        nodes : of the site's design; a caller looks before whether it has them.
        most_groups : how many groups may have user states at once (`max_groups_in_maintenance`).
        version : the one that the records of these nodes are to have together, where the caller has seen them.

        Raises
        ------
        VersionChanged : they have another by now; nothing was written.
        """
        until = asked.until
        wanted = UserState(asked.state, asked.reason, None if until is None else until.timestamp())

        def work(tx: Connection) -> UserStateChange:
            tx.execute(select(site.c.name).where(site.c.name == site_name).with_for_update())
            now = self._shared_now(tx)
            known = read_common_version(tx, site_name, nodes)
            if version is not None and version != known:
                raise VersionChanged(words_for(nodes), version, known)
            view, leading = _facts(tx, now, site_name, most_groups)
            change = set_user_state(view, nodes, wanted, force=asked.force, leading=leading)
            if change.modified and not asked.probe:
                _write(tx, now, site_name, sorted(nodes), wanted, until, user, change.objections)
                known = read_common_version(tx, site_name, nodes)
            return UserStateChange(change, now, known)

        return self._database.write(work)

    def version(self, site_name: str, nodes: Collection[str]) -> str:
        """Return the version that the records of these nodes have together."""
        return self._database.read(lambda tx: read_common_version(tx, site_name, nodes))


def write_by_controller(
    tx: Connection,
    site_name: str,
    taken_down: Mapping[str, UserState],
    seen: datetime | None,
    clock: Callable[[Connection], datetime],
) -> None:
    """Set in the caller's transaction what the controller decided, where no person has set anything meanwhile.

    Parameters
    ----------
    seen : when the newest user state was set that the controller has taken in, None where it knew of none.
    clock : reads the database's time, once nobody else sets a state.
    """
    tx.execute(select(site.c.name).where(site.c.name == site_name).with_for_update())
    now = clock(tx)
    query = select(user_state.c.node).where(user_state.c.site == site_name)
    unseen = set(tx.scalars(query if seen is None else query.where(user_state.c.set_at > seen)))
    query = in_force(now).where(user_state.c.site == site_name, among(user_state.c.node, taken_down))
    there = {row.node: row.state for row in tx.execute(query)}
    for name, wanted in sorted(taken_down.items()):
        if name not in unseen and there.get(name, _A.UP) in (_A.UP, _A.RETIRED):
            _write(tx, now, site_name, [name], wanted, None, CONTROLLER, ())


def in_force(now: datetime | ColumnElement[Any]) -> Select[tuple[str, str, str, str]]:
    """Select node, state, reason and who set it, of the user states that hold at a time and are not simply up."""
    facts = (user_state.c.node, user_state.c.state, user_state.c.reason, user_state.c.set_by)
    return select(*facts).where(is_not_up(now))


def _write(
    tx: Connection,
    now: datetime,
    site_name: str,
    nodes: list[str],
    wanted: UserState,
    until: datetime | None,
    user: str,
    overridden: tuple[str, ...],
) -> None:
    facts = {"state": str(wanted.state), "reason": wanted.reason, "until": until, "set_by": user, "set_at": now}
    rows = insert(user_state).values([{"site": site_name, "node": name, **facts} for name in nodes])
    changes = {name: rows.excluded[name] for name in facts}
    tx.execute(rows.on_conflict_do_update(index_elements=["site", "node"], set_=changes))
    records = update(node).where(node.c.site == site_name, among(node.c.name, nodes))
    tx.execute(records.values(version=node.c.version + 1))
    ends = "" if until is None else f" until {until:%Y-%m-%d %H:%M} UTC"
    why = f": {wanted.reason}" if wanted.reason else ""
    against = f"; by force, against: {'; '.join(overridden)}" if overridden else ""
    text = f"set to {wanted.state}{ends} by {user}{why}{against}"
    audit = {"id": str(ULID.from_datetime(now)), "site": site_name, "command": f"set {wanted.state}", "nodes": nodes}
    tx.execute(insert(site_audit).values(**audit, detail=text, created_by=user, at=now))
    data = {"user": user, "state": str(wanted.state), "reason": wanted.reason}
    touch_site(tx, site_name)
    write_events(
        tx, now, site_name, None, [NewEvent(EventKind.USER_STATE, text, node=name, data=data) for name in nodes]
    )


def _facts(tx: Connection, now: datetime, site_name: str, most_groups: int) -> tuple[SiteView, bool]:
    """Read what a safe change is judged by, and whether a controller leads the site and has published."""
    groups: dict[str, set[str]] = {}
    for row in tx.execute(
        select(site_group_node.c.group_name, site_group_node.c.node).where(site_group_node.c.site == site_name)
    ):
        groups.setdefault(row.group_name, set()).add(row.node)
    guarded = [
        GuardedGroup(
            row.name, frozenset(groups.get(row.name, ())), row.critical, group_from_data(row.definition).criteria
        )
        for row in tx.execute(select(site_group).where(site_group.c.site == site_name).order_by(site_group.c.position))
    ]
    set_now = tx.execute(in_force(now).where(user_state.c.site == site_name))
    users = {row.node: UserState(_A(row.state), row.reason) for row in set_now}
    reported: dict[str, NodeAvailability] = {}
    empty, serving, unseen = set(), set(), set()
    busy: dict[str, str] = {}
    listed = tx.scalar(select(provisioner_list.c.site).where(provisioner_list.c.site == site_name)) is not None
    query = (
        select(
            node.c.name,
            node.c.provisioner_status,
            node.c.power,
            node.c.done_digest,
            node.c.status,
            operation.c.action_id,
            node_view.c.reported,
        )
        .outerjoin(operation, operation.c.op == node.c.op)
        .outerjoin(node_view, (node_view.c.site == node.c.site) & (node_view.c.node == node.c.name))
        .where(node.c.site == site_name)
    )
    for found in tx.execute(query):
        word = found.provisioner_status
        if found.reported is not None:
            reported[found.name] = _A(found.reported)
        elif word is not None:
            reported[found.name] = reported_state(word, found.power, None).state
        if listed and (word is None or word.lower() in _EMPTY):
            empty.add(found.name)
        if found.done_digest is not None and reported.get(found.name) is _A.UP:
            serving.add(found.name)
        if found.status == Status.PROCESSING and found.action_id is not None:
            busy[found.name] = found.action_id
        if found.reported is None:
            unseen.add(found.name)
    led = tx.execute(select(lease).where(lease.c.name == lease_of(site_name), lease.c.expires_at > now)).one_or_none()
    epoch = tx.scalar(select(site_view.c.epoch).where(site_view.c.site == site_name))
    leading = led is not None and epoch == led.epoch
    facts = SiteView(
        guarded, users, reported, frozenset(serving), frozenset(empty), busy, frozenset(unseen), most_groups
    )
    return facts, leading
