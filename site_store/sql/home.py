"""Where the store lives, and whose it is: a store that lives elsewhere than it says is a copy, and sends nothing.

One row has the incarnation, which is part of every reference, and the identity of the database: PostgreSQL's system
identifier, and the numbers that the database and the row's own table have there. A dump brings the row along and not
what it names, so that a restored store differs from it until `slipway store restored` was run (rule 61). A disk that
was put back has all of these, and another start of its server: each site's provisioner is compared before more is sent.
"""

from __future__ import annotations

import secrets
import string
from collections.abc import Mapping
from typing import Any, Final

from sqlalchemy import ColumnElement, Connection, Text, func, text

from site_store.sql.database import Repository
from site_store.sql.errors import SubmissionsHeld

INCARNATION_LENGTH: Final = 8
"""Characters of an incarnation: 41 bits, so that two stores that meet at one provisioner never share one."""

_CHARACTERS: Final = string.ascii_lowercase + string.digits

COPY, NEWER, RESTART = "copy", "newer", "restart"
_WHY: Final = {
    COPY: "this store is a copy: it lives in another database than the one that it was written in, and sends nothing "
    "to a provisioner; run `slipway store restored` where it takes the place of the original, or "
    "`slipway store restored --clone` where the original goes on beside it",
    NEWER: "this store was put back: a provisioner has a task of its own that is newer than all that it knows, and "
    "nothing is sent; run `slipway store restored`",
    RESTART: "PostgreSQL was started anew, or a replica took over, and what was stored last may be lost: nothing is "
    "sent to a provisioner until the controller has compared it with the store, which it does by itself",
}

# A managed PostgreSQL may keep its system identifier to itself: then the other two count. The table's number is that
# of the very row that is read. What the sequence of operations says is not the newest of them: behind a crash, and on a
# replica, it is up to 32 ahead. A replica from which somebody reads started at another time than the server does.
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

CREATE OR REPLACE FUNCTION slipway_server_start() RETURNS bigint LANGUAGE plpgsql STABLE AS $$
BEGIN
    IF pg_is_in_recovery() THEN
        RETURN NULL;
    END IF;
    RETURN (extract(epoch FROM pg_postmaster_start_time()) * 1000000)::bigint;
EXCEPTION WHEN OTHERS THEN
    RETURN NULL;
END
$$;

CREATE OR REPLACE FUNCTION slipway_newest_op() RETURNS bigint LANGUAGE sql STABLE AS $$
    SELECT greatest((SELECT max(op) FROM operation), (SELECT known_op FROM store_state), 0)
$$;

CREATE OR REPLACE FUNCTION slipway_held(of_site text) RETURNS text LANGUAGE plpgsql STABLE AS $$
DECLARE
    state store_state;
    place oid;
    started bigint;
BEGIN
    SELECT s.* INTO state FROM store_state s;
    SELECT tableoid INTO place FROM store_state;
    IF state.incarnation IS NULL OR state.database_id IS DISTINCT FROM slipway_database()
       OR state.table_id IS DISTINCT FROM place::bigint
       OR state.system_id <> coalesce(slipway_system(), state.system_id) THEN
        RETURN '{COPY}';
    END IF;
    IF state.newer_op IS NOT NULL THEN
        RETURN '{NEWER}';
    END IF;
    started := slipway_server_start();
    IF state.server_start <> started
       AND (state.compared ->> of_site)::bigint IS DISTINCT FROM started THEN
        RETURN '{RESTART}';
    END IF;
    RETURN NULL;
END
$$;
"""  # noqa: S608 - constants


def held_word(site: Any) -> ColumnElement[Any]:
    """Return a column with why nothing may be sent now for a site, in a word for `why_held`; NULL: it may."""
    return func.slipway_held(site, type_=Text())


def why_held(word: str | None) -> str | None:
    """Return the sentence for a person, with the command that ends it; None where nothing is held."""
    return None if word is None else _WHY.get(word, word)


_LOOK: Final = text("SELECT incarnation, slipway_held(:site) AS held FROM store_state")
_INCARNATION: Final = text("SELECT incarnation FROM store_state")
_NEWEST: Final = text("SELECT incarnation, slipway_newest_op() AS op FROM store_state")
_SETTLE: Final = text(
    "UPDATE store_state SET system_id = slipway_system(), database_id = slipway_database(), table_id = tableoid, "
    "server_start = slipway_server_start(), compared = NULL, newer_op = NULL, "
    "known_op = pg_sequence_last_value(pg_get_serial_sequence('operation', 'op')::regclass), "
    "incarnation = coalesce(:incarnation, incarnation) RETURNING incarnation"
)
_SITES: Final = text(
    "SELECT site FROM (SELECT site FROM operation WHERE sending IS NOT NULL "
    "UNION SELECT site FROM action WHERE state IN ('pending', 'running') AND NOT dry_run "
    "UNION SELECT name FROM site WHERE EXISTS "
    "(SELECT FROM store_state WHERE server_start <> slipway_server_start())) AS one "
    "WHERE site NOT IN (SELECT site FROM site_stop WHERE at <= clock_timestamp()) AND NOT EXISTS "
    "(SELECT FROM store_state WHERE (compared ->> site)::bigint = slipway_server_start()) ORDER BY site"
)
_HAS_SENT: Final = text("SELECT EXISTS (SELECT FROM operation WHERE site = :site AND sending IS NOT NULL)")
_SHOWN: Final = text("UPDATE store_state SET newer_op = :op WHERE :op > greatest(slipway_newest_op(), newer_op)")
_UNKNOWN: Final = text(
    "UPDATE store_state SET newer_op = :op WHERE :op > greatest(known_op, newer_op, 0) "
    "AND NOT EXISTS (SELECT FROM operation WHERE reference = :reference)"
)
_COMPARED: Final = text(
    "UPDATE store_state SET compared = coalesce(compared::jsonb, '{}'::jsonb) "
    "|| jsonb_build_object(CAST(:site AS text), slipway_server_start()) WHERE slipway_held(NULL) = :restart"
)
_KEEP_NEWEST: Final = text("UPDATE store_state SET known_op = slipway_newest_op()")
_ALL_COMPARED: Final = text(
    "UPDATE store_state SET server_start = slipway_server_start(), compared = NULL WHERE slipway_held(NULL) = :restart"
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


def require_own(tx: Connection, site: str | None) -> str:
    """Make sure, in the caller's transaction, that something may be sent now for a site; return the incarnation.

    It is asked anew each time: the database behind an address may be another one since the last time.

    Raises `SubmissionsHeld`: nothing may be sent.
    """
    row = tx.execute(_LOOK, {"site": site}).one()
    if row.held is not None:
        raise SubmissionsHeld(why_held(row.held) or "")
    incarnation: str = row.incarnation
    return incarnation


def _end_restart(tx: Connection) -> None:
    if not tx.scalars(_SITES).all():
        tx.execute(_ALL_COMPARED, {"restart": RESTART})


class Home(Repository):
    """Whether the store may have anything sent."""

    def held(self, site: str | None = None) -> str | None:
        """Return why nothing is sent for a site, in a sentence with what ends it; None: it may be.

        Without a site: why nothing is sent for any, or for some.
        """
        return why_held(self._held(site))

    def is_restarted(self) -> bool:
        """Whether PostgreSQL was started since, or a replica took over, and not each site was compared."""
        return self._held(None) == RESTART

    def sites_to_compare(self) -> list[str]:
        """Return the sites for which something was sent, or is about to be; behind a start of PostgreSQL all.

        Whatever was sent may be lost then, with all that knew of it. Those that are stopped are left out, and those
        that were compared since PostgreSQL started.
        """
        return list(self._database.read_once(lambda tx: tx.scalars(_SITES).all()))

    def has_sent(self, site: str) -> bool:
        """Whether the store knows of anything that was sent for a site, or was about to be."""
        return bool(self._database.read_once(lambda tx: tx.scalar(_HAS_SENT, {"site": site})))

    def note_compared(self, site: str, newest: str | None) -> None:
        """Note the newest reference of this store that a site's provisioner shows; None: it shows none.

        One that the store does not know holds all that would be sent. Otherwise the site may go on behind a restart,
        which is over once each was compared. What the others have begun since hides nothing: it has other references.
        """

        def work(tx: Connection) -> None:
            if newest is not None:
                tx.execute(_UNKNOWN, {"op": int(newest.rpartition("-")[2]), "reference": newest})
            tx.execute(_COMPARED, {"site": site, "restart": RESTART})
            _end_restart(tx)

        self._database.write(work)

    def note_shown(self, newest: Mapping[str, int]) -> None:
        """Note the newest operations that a provisioner has shown in any answer, by the incarnations of their stores.

        One of this store's that is newer than all that it knows holds all that would be sent. What was known before
        is not kept anywhere else than in the database, which may be put back at any time.
        """
        known = self._database.read_once(lambda tx: tx.execute(_NEWEST).one())
        shown = newest.get(known.incarnation, 0)
        if shown > known.op:
            self._database.write(lambda tx: tx.execute(_SHOWN, {"op": shown}))

    def end_restart(self) -> None:
        """End a restart behind which no site is left to compare: nothing was sent, or the last was stopped."""
        self._database.write(_end_restart)

    def require_own(self, site: str) -> None:
        """Make sure that this process may have something sent now for a site.

        Raises `SubmissionsHeld`: nobody may; `SchemaNotCurrent`: its version may not write, and so not act (rule 60).
        """
        # Nothing is written: a transaction that could is asked whether this version may.
        self._database.write(lambda tx: require_own(tx, site))

    def incarnation(self) -> str:
        """Return what stands in each reference of the store's operations."""
        found: str = self._database.read_once(lambda tx: tx.execute(_INCARNATION).scalar_one())
        return found

    def _held(self, site: str | None) -> str | None:
        word: str | None = self._database.read_once(lambda tx: tx.execute(_LOOK, {"site": site}).one().held)
        return word
