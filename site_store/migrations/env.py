"""What Alembic runs to carry out steps: on the connection of `schema_version.upgrade`, or on the default one."""

from __future__ import annotations

from alembic import context
from sqlalchemy import Connection

from site_store.sql import home
from site_store.sql.address import resolve
from site_store.sql.database import Database
from site_store.sql.fence import install
from site_store.sql.schema_version import VERSION_TABLE, lowest_writer
from site_store.sql.sealing import make_digest_key, read_keys
from site_store.tables import metadata


def run(connection: Connection) -> None:
    """Carry the steps out in the connection's own transaction, so that a failed upgrade leaves nothing behind."""
    context.configure(
        connection=connection,
        target_metadata=metadata,
        version_table=VERSION_TABLE,
        transactional_ddl=True,
        compare_type=True,
    )
    with context.begin_transaction():
        context.run_migrations()
        # Behind each upgrade, so that no step can forget it (rule 60).
        install(connection, list(metadata.tables), lowest_writer(context.config))
        home.install(connection)
        make_digest_key(connection, context.config.attributes["keys"])


given = context.config.attributes.get("connection")
if given is not None:
    run(given)
else:
    database = Database(resolve(), bounded=False, keys=read_keys())
    context.config.attributes["keys"] = database.sealing.keys
    database.upgrade(run)
