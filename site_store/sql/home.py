"""Where the store lives, and whose it is: a store that lives elsewhere than it says is a copy, and sends nothing.

One row has the incarnation, which is part of every reference, and the identity of the database: PostgreSQL's system
identifier, and the numbers that the database and the row's own table have there. A dump brings the row along and not
what it names, so that a restored store differs from it until `slipway store restored` was run (rule 61).
"""

from __future__ import annotations

import secrets
import string
from typing import Any, Final

from sqlalchemy import ColumnElement, Connection, Text, func, text

from site_store.sql.database import Repository
from site_store.sql.errors import SubmissionsHeld

INCARNATION_LENGTH: Final = 8
"""Characters of an incarnation: 41 bits, so that two stores that meet at one provisioner never share one."""

_CHARACTERS: Final = string.ascii_lowercase + string.digits

COPY, NEWER, FAILOVER = "copy", "newer", "failover"
_WHY: Final = {
    COPY: "this store is a copy: it lives in another database than the one that it was written in, and sends nothing "
    "to a provisioner; run `slipway store restored` where it takes the place of the original, or "
    "`slipway store restored --clone` where the original goes on beside it",
    NEWER: "this store was put back: a provisioner has a task of its own that is newer than all that it knows, and "
    "nothing is sent; run `slipway store restored`",
    FAILOVER: "a replica of the database took over, which may lack the newest: nothing is sent until the controller "
    "has compared each site's provisioner with it, of those that have a connection, which it does by itself; or run "
    "`slipway store restored`",
}

# A managed PostgreSQL may keep its system identifier to itself: then the other two count. The table's number is that
# of the very row that is read. What the sequence of operations says is not the newest of them: behind a crash, and on a
# replica, it is up to 32 ahead.
_FUNCTIONS: Final = f"""
CREATE OR REPLACE FUNCTION slipway_system() RETURNS text LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN (SELECT system_identifier::text FROM pg_control_system());
EXCEPTION WHEN OTHERS THEN
    RETURN NULL;
END
$$;

CREATE OR REPLACE FUNCTION slipway_database() RETURNS bigint LANGUAGE sql STABLE AS $$
    SELECT oid::bigint FROM pg_database WHERE datname = current_database()
$$;

CREATE OR REPLACE FUNCTION slipway_timeline() RETURNS bigint LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN ('x' || substr(pg_walfile_name(pg_current_wal_insert_lsn()), 1, 8))::bit(32)::bigint;
EXCEPTION WHEN OTHERS THEN
    RETURN NULL;
END
$$;

CREATE OR REPLACE FUNCTION slipway_newest_op() RETURNS bigint LANGUAGE sql STABLE AS $$
    SELECT greatest((SELECT max(op) FROM operation), (SELECT known_op FROM store_state), 0)
$$;

CREATE OR REPLACE FUNCTION slipway_held() RETURNS text LANGUAGE plpgsql STABLE AS $$
DECLARE
    state store_state;
    place oid;
BEGIN
    SELECT s.* INTO state FROM store_state s;
    SELECT tableoid INTO place FROM store_state;
    IF state.incarnation IS NULL OR state.database_id IS DISTINCT FROM slipway_database()
       OR state.table_id IS DISTINCT FROM place::bigint
       OR state.system_id <> coalesce(slipway_system(), state.system_id) THEN
        RETURN '{COPY}';
    END IF;
    IF state.newer_op > slipway_newest_op() THEN
        RETURN '{NEWER}';
    END IF;
    IF state.timeline <> coalesce(slipway_timeline(), state.timeline) THEN
        RETURN '{FAILOVER}';
    END IF;
    RETURN NULL;
END
$$;
"""  # noqa: S608 - constants


def held_word() -> ColumnElement[Any]:
    """Return a column with why nothing may be sent now, in a word for `why_held`; NULL: it may."""
    return func.slipway_held(type_=Text())


def why_held(word: str | None) -> str | None:
    """Return the sentence for a person, with the command that ends it; None where nothing is held."""
    return None if word is None else _WHY.get(word, word)


_LOOK: Final = text("SELECT incarnation, slipway_held() AS held FROM store_state")
_INCARNATION: Final = text("SELECT incarnation FROM store_state")
_SETTLE: Final = text(
    "UPDATE store_state SET system_id = slipway_system(), database_id = slipway_database(), table_id = tableoid, "
    "timeline = slipway_timeline(), compared = NULL, newer_op = NULL, "
    "known_op = pg_sequence_last_value(pg_get_serial_sequence('operation', 'op')::regclass), "
    "incarnation = coalesce(:incarnation, incarnation) RETURNING incarnation"
)
_SITES: Final = text(
    "SELECT site FROM (SELECT site FROM operation WHERE sending IS NOT NULL "
    "UNION SELECT site FROM action WHERE state IN ('pending', 'running') AND NOT dry_run) AS one "
    "WHERE site NOT IN (SELECT site FROM site_stop WHERE at <= clock_timestamp()) AND NOT EXISTS "
    "(SELECT FROM store_state WHERE (compared::jsonb ->> site)::bigint = slipway_timeline()) ORDER BY site"
)
_NEWER: Final = text(
    "UPDATE store_state SET newer_op = :op WHERE :op > slipway_newest_op() AND :op > coalesce(newer_op, 0)"
)
_COMPARED: Final = text(
    "UPDATE store_state SET compared = coalesce(compared::jsonb, '{}'::jsonb) "
    "|| jsonb_build_object(CAST(:site AS text), slipway_timeline()) WHERE slipway_held() = :failover"
)
_KEEP_NEWEST: Final = text("UPDATE store_state SET known_op = slipway_newest_op()")
_TOOK_OVER: Final = text(
    "UPDATE store_state SET timeline = slipway_timeline(), compared = NULL WHERE slipway_held() = :failover"
)


def install(tx: Connection) -> None:
    """Have the database tell whether the store is a copy, and give a store without an incarnation one.

    Each upgrade does so behind its steps.
    """
    # By the driver itself: without parameters it takes several statements at once.
    tx.connection.cursor().execute(_FUNCTIONS)
    if tx.scalar(_INCARNATION) is None:
        settle(tx, new_incarnation=True)


def settle(tx: Connection, *, new_incarnation: bool) -> str:
    """Write down that the store lives where it is now; return its incarnation.

    Parameters
    ----------
    new_incarnation : no reference of the time before is its own any more.
    """
    made = "".join(secrets.choice(_CHARACTERS) for _ in range(INCARNATION_LENGTH)) if new_incarnation else None
    found: str = tx.execute(_SETTLE, {"incarnation": made}).scalar_one()
    return found


def keep_newest_op(tx: Connection) -> None:
    """Keep the number of the newest operation, before operations are deleted: a provisioner may still show them."""
    tx.execute(_KEEP_NEWEST)


def newer_op(tx: Connection) -> int:
    """Return the newest operation that a provisioner has shown, and that the store did not know; 0: none."""
    return int(tx.scalar(text("SELECT newer_op FROM store_state")) or 0)


def require_own(tx: Connection) -> str:
    """Make sure, in the caller's transaction, that something may be sent now; return the store's incarnation.

    It is asked anew each time: the database behind an address may be another one since the last time.

    Raises `SubmissionsHeld`: nothing may be sent.
    """
    row = tx.execute(_LOOK).one()
    if row.held is not None:
        raise SubmissionsHeld(why_held(row.held) or "")
    incarnation: str = row.incarnation
    return incarnation


def _end_failover(tx: Connection) -> None:
    if not tx.scalars(_SITES).all():
        tx.execute(_TOOK_OVER, {"failover": FAILOVER})


class Home(Repository):
    """Whether the store may have anything sent."""

    def held(self) -> str | None:
        """Return why nothing is sent to a provisioner, in a sentence with the command that ends it; None: it may be."""
        return why_held(self._database.read_once(lambda tx: tx.execute(_LOOK).one().held))

    def is_failover(self) -> bool:
        """Whether all is held until each site's provisioner was compared."""
        return bool(self._database.read_once(lambda tx: tx.execute(_LOOK).one().held) == FAILOVER)

    def sites_to_compare(self) -> list[str]:
        """Return the sites for which something was sent, or is about to be: that it was may be lost.

        Those that are stopped are left out, and those that were compared since a failover.
        """
        return list(self._database.read_once(lambda tx: tx.scalars(_SITES).all()))

    def note_compared(self, site: str, newest: int | None) -> None:
        """Note the newest operation of this store that a site's provisioner shows; None: it shows none.

        One that the store does not know holds all that would be sent. Otherwise a failover is over once each site was
        compared since.
        """

        def work(tx: Connection) -> None:
            if newest is not None:
                tx.execute(_NEWER, {"op": newest})
            tx.execute(_COMPARED, {"site": site, "failover": FAILOVER})
            _end_failover(tx)

        self._database.write(work)

    def end_failover(self) -> None:
        """End a failover behind which no site is left to compare: nothing was sent, or the last was stopped."""
        self._database.write(_end_failover)

    def require_own(self) -> None:
        """Make sure that this process may have something sent now.

        Raises `SubmissionsHeld`: nobody may; `SchemaNotCurrent`: its version may not write, and so not act (rule 60).
        """
        # Nothing is written: a transaction that could is asked whether this version may.
        self._database.write(require_own)

    def incarnation(self) -> str:
        """Return what stands in each reference of the store's operations."""
        found: str = self._database.read_once(lambda tx: tx.execute(_INCARNATION).scalar_one())
        return found
