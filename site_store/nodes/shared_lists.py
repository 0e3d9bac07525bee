"""Long lists of one server, which one process at a time asks for, and which all share who needed them before that.

Who asks has a flight: it ends by itself soon after its process was killed. What ends it is written only by who has it.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Connection, delete, select, update

from site_store.records import Lease
from site_store.sql.postgresql import clock, insert
from site_store.sql.rows import moment
from site_store.status.leases import LedRepository
from site_store.status.status_records import SharedListRecord
from site_store.tables import shared_list

_HEAD = (
    shared_list.c.asked_at,
    shared_list.c.begun_at,
    shared_list.c.alive_until,
    shared_list.c.problem,
    shared_list.c.again_at,
)


class SharedLists(LedRepository):
    """Lists by their names."""

    def get(self, name: str) -> SharedListRecord:
        """Return how it stands with a list, without its answer: it is asked for again and again."""

        def work(tx: Connection) -> SharedListRecord:
            query = select(clock().label("now"), *_HEAD).where(shared_list.c.name == name)
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
