"""Which versions of Slipway may write in a store: each writing transaction asks first, and an upgrade waits for all.

An upgrade has the database's lock for itself, and writing transactions share it (rule 60). So none that an older
version began is under way while the schema changes, and none begins behind it.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import UTC, datetime
from typing import Final

from sqlalchemy import Connection, text

#: The newest step in `migrations/versions`; a test proves it. Kept here so that opening a store need not load Alembic.
CURRENT = "0101"

#: What PostgreSQL answers to who may not write. Of class 55: Slipway 0.9.0 takes that for a store that is not usable.
REFUSED: Final = "55S01"

_LOCK: Final = 0x534C4950  # "SLIP"; any number, the same for all who write or upgrade
_WRITER: Final = "slipway.writer"

# It returns the time, which most who write ask for next. Each of its statements sees what was committed before it, in
# transactions that read what is committed: so the row is that of behind the lock.
_FUNCTIONS: Final = f"""
CREATE OR REPLACE FUNCTION slipway_may_write(version text) RETURNS timestamptz LANGUAGE plpgsql AS $$
DECLARE
    lowest text;
BEGIN
    IF current_setting('transaction_read_only')::boolean THEN
        -- A replica, too: who only asks whether something may be sent must not take it for the server.
        RAISE read_only_sql_transaction USING MESSAGE = 'this server takes no writes';
    END IF;
    PERFORM pg_advisory_xact_lock_shared({_LOCK});
    SELECT writes_from INTO lowest FROM store_state;
    IF lowest IS NULL THEN
        RAISE EXCEPTION USING ERRCODE = '{REFUSED}', MESSAGE =
            'nothing may be written: the table store_state has lost its row; restore the store from a backup';
    ELSIF version COLLATE "C" < lowest THEN
        RAISE EXCEPTION USING ERRCODE = '{REFUSED}', MESSAGE = format(
            'the store was upgraded, and only Slipway of schema %s or newer may write there; this process is of schema '
            '%s: nothing was written; stop it and start the version that is installed now', lowest, version);
    END IF;
    PERFORM set_config('{_WRITER}', version, true);
    RETURN clock_timestamp();
END
$$;

CREATE OR REPLACE FUNCTION slipway_refuse_write() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION USING ERRCODE = '{REFUSED}', MESSAGE =
        'the store was upgraded, and this process is of an older Slipway: nothing was written; stop it and start the '
        'version that is installed now; by hand, begin a transaction with SELECT slipway_may_write(''{CURRENT}'')';
END
$$;
"""  # noqa: S608 - constants

_FENCE: Final = f"""
CREATE TRIGGER fence BEFORE INSERT OR UPDATE OR DELETE OR TRUNCATE ON "%s" FOR EACH STATEMENT
WHEN (coalesce(current_setting('{_WRITER}', true), '') = '') EXECUTE FUNCTION slipway_refuse_write()
"""

_WITHOUT_FENCE: Final = text(
    "SELECT relname FROM pg_class c WHERE relnamespace = current_schema()::regnamespace AND relname = ANY(:tables) "
    "AND NOT EXISTS (SELECT 1 FROM pg_trigger t WHERE t.tgrelid = c.oid AND t.tgname = 'fence') ORDER BY relname"
)

_ENTER: Final = text("SELECT slipway_may_write(:version)")
_LOWEST: Final = text("SELECT writes_from FROM store_state")


def enter(tx: Connection, version: str) -> datetime:
    """Begin to write, as code of this schema; return the database's time. The database refuses who may not.

    It waits while an upgrade is under way, and an upgrade waits until the transaction ends.
    """
    found: datetime = tx.execute(_ENTER, {"version": version}).scalar_one()
    return found.astimezone(UTC)


def lowest_writer(tx: Connection) -> str | None:
    """Return the oldest schema whose code may write in a store of schema 0101 or newer; None: it does not say."""
    found: str | None = tx.scalar(_LOWEST)
    return found


def close(tx: Connection, seconds: float) -> None:
    """Wait until nobody writes, and keep all others from it until the transaction ends; it may write itself.

    Parameters
    ----------
    seconds : so long any lock of the transaction is waited for, this one and those of its steps.
    """
    tx.execute(text("SELECT set_config('lock_timeout', :most, true)"), {"most": f"{round(seconds * 1000)}ms"})
    tx.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _LOCK})
    tx.execute(text("SELECT set_config(:name, 'upgrade', true)"), {"name": _WRITER})


def install(tx: Connection, tables: Collection[str], lowest: str) -> None:
    """Have the database refuse older code than that of a schema, and all who do not ask before they write.

    Each upgrade does so behind its steps: no step can forget a table.

    Parameters
    ----------
    tables : all of the store's.
    """
    # By the driver itself: without parameters it takes several statements at once.
    cursor = tx.connection.cursor()
    cursor.execute(_FUNCTIONS)
    for table in unfenced(tx, tables):
        cursor.execute(_FENCE % table)
    row = "INSERT INTO store_state (id, writes_from) VALUES (1, :lowest)"
    tx.execute(text(f"{row} ON CONFLICT (id) DO UPDATE SET writes_from = excluded.writes_from"), {"lowest": lowest})


def unfenced(tx: Connection, tables: Collection[str]) -> Sequence[str]:
    """Return those of the store's tables in which anybody could write without a question."""
    return tx.scalars(_WITHOUT_FENCE, {"tables": list(tables)}).all()
