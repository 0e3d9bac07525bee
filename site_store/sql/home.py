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

COPY: Final = "copy"
_WHY: Final = {
    COPY: "this store is a copy: it lives in another database than the one that it was written in, and sends nothing "
    "to a provisioner; run `slipway store restored` where it takes the place of the original, or "
    "`slipway store restored --clone` where the original goes on beside it"
}

# A managed PostgreSQL may keep its system identifier to itself: then the other two count. The table's number is that
# of the very row that is read.
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
    "incarnation = coalesce(:incarnation, incarnation) RETURNING incarnation"
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


class Home(Repository):
    """Whether the store may have anything sent."""

    def held(self) -> str | None:
        """Return why nothing is sent to a provisioner, in a sentence with the command that ends it; None: it may be."""
        return why_held(self._database.read_once(lambda tx: tx.execute(_LOOK).one().held))

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
