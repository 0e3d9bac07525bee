"""Production: who may write (60), where a store lives (61), what processes are, how node agents sign (63)."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from site_store.tables import metadata

revision = "0101"
down_revision = "0100"
branch_labels = None
depends_on = None

#: Code of the schema before may not write beside that of this one: 0.9.0 does not ask whether it may.
ROLLING = False


def upgrade() -> None:
    """Bring a store of schema 0100 to this one; a new store has it from its tables, and never runs this."""
    _wait_for_writers()
    op.create_table(
        "store_state",
        sa.Column("id", sa.Integer(), sa.CheckConstraint("id = 1", name="one_row"), autoincrement=False),
        sa.Column("writes_from", sa.String(), nullable=False),
        sa.Column("salt", sa.String(), nullable=False, server_default=sa.text("gen_random_uuid()::text")),
        sa.Column("incarnation", sa.String()),
        sa.Column("system_id", sa.String()),
        sa.Column("database_id", sa.BigInteger()),
        sa.Column("table_id", sa.BigInteger()),
        sa.Column("digest_key", sa.LargeBinary(), nullable=True),
        sa.Column("timeline", sa.BigInteger()),
        sa.Column("compared", sa.JSON()),
        sa.Column("newer_op", sa.BigInteger()),
        sa.Column("known_op", sa.BigInteger()),
        sa.PrimaryKeyConstraint("id", name="pk_store_state"),
    )
    op.create_table(
        "process",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("role", sa.String(), nullable=False),
        sa.Column("version", sa.String(), nullable=False),
        sa.Column("store_schema", sa.String(), nullable=False),
        sa.Column("host", sa.String(), nullable=False),
        sa.Column("pid", sa.Integer(), nullable=False),
        sa.Column("started", sa.DateTime(timezone=True), nullable=False),
        sa.Column("last_sign", sa.DateTime(timezone=True), nullable=False),
        sa.Column("every_seconds", sa.Float(), nullable=True),
        sa.Column("clock_offset", sa.Float(), nullable=False),
        sa.Column("environment", sa.JSON(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_process"),
    )
    op.add_column("node", sa.Column("signed", sa.Integer()))


def _wait_for_writers() -> None:
    """Wait for transactions of 0.9.0, which share no lock, and keep them from writing until the fence stands."""
    tx = op.get_bind()
    own = sorted(set(sa.inspect(tx).get_table_names()) & set(metadata.tables))
    tx.execute(sa.text(f"LOCK TABLE {', '.join(own)} IN SHARE ROW EXCLUSIVE MODE"))
