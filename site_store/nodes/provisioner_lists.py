"""Lists of nodes: what each site's provisioner said last, and those of one server that processes share."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

import msgspec
from sqlalchemy import ColumnElement, Connection, case, delete, exists, func, literal, select, update

from site_store.records import Lease
from site_store.sql.postgresql import among, clock, insert, json_rows
from site_store.sql.rows import filled, json_list, moment
from site_store.status.leases import LedRepository
from site_store.status.owners import note_gap
from site_store.status.status_records import ProvisionerListRecord, SharedListRecord
from site_store.tables import node, operation, provisioner_list, shared_list
from strategy_lib.node_condition import NodeCondition
from strategy_lib.phase import Phase
from strategy_lib.status.site import SHORTEST_SILENCE

# At most this many nodes are changed by one statement, which must end within the database's time limit.
_AT_ONCE = 10_000
_HEAD = select(provisioner_list.c.connection, provisioner_list.c.digest, provisioner_list.c.read_at)


class ProvisionerLists(LedRepository):
    """Lists by site."""

    def save(
        self,
        site: str,
        connection: str,
        nodes: Mapping[str, Mapping[str, Any]],
        asked: datetime | None = None,
        *,
        based_on: str | None = None,
    ) -> bool:
        """Keep a list that was just read, and what it says of each node of the site; one asked for later replaces it.

        Parameters
        ----------
        connection : the Airflow connection over which it was read.
        nodes : by name, as JSON values without secrets, with `status` and `power`: the provisioner's own words.
        asked : when it was asked for, by the database's clock.  [now]
        based_on : digest of the list of which it is the changed one. Where another is kept by now, this one is not.

        Returns
        -------
        bool
            False: it is not kept. A list that was asked for later is kept already, and this one says nothing new; or it
            is based on another.
        """
        written = msgspec.json.encode(dict(nodes), order="deterministic")
        text, digest = written.decode(), hashlib.sha256(written).hexdigest()

        def work(tx: Connection, now: datetime) -> bool:
            over = tx.scalar(select(func.max(operation.c.over)).where(operation.c.site == site))
            read_at = min(asked or now, now)
            if over is not None and over > now:
                # It says more than what operations left before it, also where the clock runs backwards.
                read_at = over
            kept = tx.execute(_HEAD.where(provisioner_list.c.site == site).with_for_update()).one_or_none()
            if based_on is not None and (kept is None or kept.digest != based_on):
                return False
            if kept is not None and (now - kept.read_at).total_seconds() > SHORTEST_SILENCE:
                note_gap(tx, now, site)
            is_same = kept is not None and (kept.connection, kept.digest) == (connection, digest)
            facts = {"connection": connection, "read_at": read_at, "digest": digest}
            row = insert(provisioner_list).values(site=site, nodes="" if is_same else text, **facts)
            names_of = facts if is_same else (*facts, "nodes")
            # One from the future was written by a clock that was put back since.
            replaced = row.on_conflict_do_update(
                index_elements=["site"],
                set_={column: row.excluded[column] for column in names_of},
                where=(provisioner_list.c.read_at <= read_at) | (provisioner_list.c.read_at > now),
            )
            if tx.execute(replaced.returning(provisioner_list.c.site)).one_or_none() is None:
                return False
            known = select(node.c.name, node.c.provisioner_status, node.c.power, node.c.listed_at)
            if is_same:
                # Of the others it was written down what it says.
                known = known.where(node.c.listed_at.is_(None))
            changed: defaultdict[tuple[Any, Any], list[str]] = defaultdict(list)
            for name, status, power, listed_at in tx.execute(known.where(node.c.site == site)):
                said = nodes.get(name)
                new = (None, None) if said is None else (said.get("status"), said.get("power"))
                if new != (status, power) or (listed_at is None and said is not None):
                    changed[new].append(name)
            # Few words are said of very many nodes, and each statement is counted once (`schema.sql`).
            for (status, power), names in changed.items():
                values = {"provisioner_status": status, "power": power, "listed_at": now}
                for first in range(0, len(names), _AT_ONCE):
                    these = among(node.c.name, names[first : first + _AT_ONCE])
                    tx.execute(update(node).where(node.c.site == site, these).values(values))
            return True

        return self._transact(work)

    def get(self, site: str) -> ProvisionerListRecord | None:
        """Return the list that was read last, None where none ever was."""
        query = select(provisioner_list).where(provisioner_list.c.site == site)
        row = self._database.read(lambda tx: tx.execute(query).one_or_none())
        return None if row is None else filled(ProvisionerListRecord, row)

    def note_pace(self, held: Lease, site: str, seconds: float) -> None:
        """Note how many seconds lie between two questions of the site's leader now. Raises `LeaseLost`."""

        def work(tx: Connection, _now: datetime) -> None:
            tx.execute(update(provisioner_list).where(provisioner_list.c.site == site).values(every_seconds=seconds))

        self._transact_led(held, work)

    def left_since(self, site: str, read_at: datetime) -> dict[str, str]:
        """Return how operations that were over only after a list was read have left their nodes.

        The newest operation of each node counts: what the provisioner said of the node then. Where it said nothing, a
        deploy that has succeeded left the node deployed, as did a question whether it is ready (rule 58), and any other
        operation tells nothing.
        """
        moment = literal(read_at, operation.c.over.type)

        def work(tx: Connection) -> dict[str, str]:
            return left_words(json_list(tx.scalar(select(left_column(literal(site), moment)))))

        return self._database.read_once(work)


def left_column(site: ColumnElement[str], read_at: ColumnElement[Any]) -> ColumnElement[str]:
    """Return a column for `left_words`: the nodes of operations of a site that were over only after a list was read.

    Parameters
    ----------
    read_at : when the list was read: a value, or the column of `provisioner_list`.
    """
    over = (operation.c.site == site, operation.c.over > read_at)
    facts = (node.c.name, node.c.left_as, node.c.done_at.is_not(None), operation.c.phase)
    left = select(*facts).join(operation, operation.c.op == node.c.op).where(node.c.site == site, *over)
    rows = json_rows(left.correlate(provisioner_list))
    # Most often there is no such operation, and the nodes are not looked through for it.
    return case((exists().where(*over).correlate(provisioner_list), rows))


def left_words(rows: Iterable[Sequence[Any]]) -> dict[str, str]:
    """Return what `ProvisionerLists.left_since` does, of the rows of `left_column`."""
    found = {}
    for name, left_as, is_done, phase in rows:
        proven = NodeCondition.DEPLOYED.value if is_done and phase in (Phase.DEPLOY, Phase.READY) else None
        if (said := left_as or proven) is not None:
            found[name] = said
    return found


_FLIGHT = (
    shared_list.c.asked_at,
    shared_list.c.begun_at,
    shared_list.c.alive_until,
    shared_list.c.problem,
    shared_list.c.again_at,
)


class SharedLists(LedRepository):
    """Long lists of one server, by name: one process at a time asks for one, and all share who needed it before that.

    Who asks has a flight: it ends by itself soon after its process was killed. What ends it is written only by who has
    it.
    """

    def get(self, name: str) -> SharedListRecord:
        """Return how it stands with a list, without its answer: it is asked for again and again."""

        def work(tx: Connection) -> SharedListRecord:
            query = select(clock().label("now"), *_FLIGHT).where(shared_list.c.name == name)
            row = tx.execute(query).one_or_none()
            if row is None:
                return SharedListRecord(self._shared_now(tx))
            now = moment(row.now)
            is_asked = row.alive_until is not None and row.alive_until > now
            return SharedListRecord(now, row.asked_at, row.begun_at, is_asked, row.problem, row.again_at)

        return self._database.read(work)

    def answer(self, name: str, since: datetime) -> str | None:
        """Return the answer that was asked for after a moment, None where there is none."""
        query = select(shared_list.c.answer).where(shared_list.c.name == name, shared_list.c.asked_at > since)
        return self._database.read_once(lambda tx: tx.scalar(query))

    def begin(self, name: str, flight: str, seconds: float, since: datetime) -> float | None:
        """Take the flight for a list. Another process may have it, or an answer may be as new as is needed.

        Parameters
        ----------
        flight : a name for it that is used once.
        seconds : for how long its process is taken to be alive.

        Returns
        -------
        float or None
            The seconds that the last answer took, 0 where there was none. None: not now.
        """

        def work(tx: Connection, now: datetime) -> float | None:
            begun = {"flight": flight, "begun_at": now, "alive_until": now + timedelta(seconds=seconds)}
            row = insert(shared_list).values(name=name, answer="", took=0.0, timed_out=0, **begun)
            known = shared_list.c
            taken = row.on_conflict_do_update(
                index_elements=["name"],
                set_={**begun, "problem": None},
                where=(known.alive_until.is_(None) | (known.alive_until <= now))
                & (known.asked_at.is_(None) | (known.asked_at <= since))
                & (known.again_at.is_(None) | (known.again_at <= now)),
            )
            took: float | None = tx.scalar(taken.returning(known.took))
            return took

        return self._transact(work)

    def prolong(self, name: str, flight: str, seconds: float) -> bool:
        """Say that the process of a flight is alive; False: another has taken the flight over meanwhile."""
        return self._change(name, flight, lambda now: {"alive_until": now + timedelta(seconds=seconds)})

    def land(self, name: str, flight: str, answer: str, took: float) -> bool:
        """Keep the answer, which took so many seconds, and end the flight; False where another has it by now."""
        kept = {"answer": answer, "asked_at": shared_list.c.begun_at, "took": took, "timed_out": 0, "again_at": None}
        return self._change(name, flight, lambda _: {**kept, "alive_until": None})

    def fail(self, name: str, flight: str, problem: str | None) -> bool:
        """End a flight that brought no answer; False where another has it by now.

        Parameters
        ----------
        problem : what is wrong with the server, without secrets; None: it is the caller's alone.
        """
        return self._change(name, flight, lambda _: {"problem": problem, "alive_until": None})

    def time_out(self, name: str, flight: str, problem: str, took: float, pauses: tuple[float, ...]) -> bool:
        """End a flight whose answer did not come in time.

        Parameters
        ----------
        took : the seconds for which it was waited for; the server may be at work for as long again.
        pauses : for how many seconds the list is not asked for again: after the first, the second, … in a row. After
            a long wait more, up to the last of these.
        """

        def work(tx: Connection) -> bool:
            mine = (shared_list.c.name == name, shared_list.c.flight == flight)
            before = tx.scalar(select(shared_list.c.timed_out).where(*mine).with_for_update())
            if before is None:
                return False
            pause = timedelta(seconds=max(pauses[min(before, len(pauses) - 1)], min(took, pauses[-1])))
            ended = {"alive_until": None, "problem": problem, "took": took, "timed_out": before + 1}
            tx.execute(update(shared_list).where(*mine).values(**ended, again_at=self._shared_now(tx) + pause))
            return True

        return self._database.write(work)

    def prune(self, held: Lease, older_than: datetime) -> int:
        """Delete lists that nobody has asked for since a moment, and return how many. Raises `LeaseLost`."""
        old = delete(shared_list).where(shared_list.c.begun_at < older_than)

        def work(tx: Connection, now: datetime) -> int:
            is_over = shared_list.c.alive_until.is_(None) | (shared_list.c.alive_until <= now)
            return tx.execute(old.where(is_over)).rowcount

        return self._transact_led(held, work)

    def _change(self, name: str, flight: str, values: Any) -> bool:
        def work(tx: Connection) -> bool:
            mine = (shared_list.c.name == name, shared_list.c.flight == flight)
            return bool(tx.execute(update(shared_list).where(*mine).values(values(self._shared_now(tx)))).rowcount)

        return self._database.write(work)
