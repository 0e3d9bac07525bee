"""Tasks in trouble are found by their group in a table of their own: no result changes an index of `task` any more."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from site_store.migrations import troubles_0015

revision = "0015"
down_revision = "0014"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the table, and the triggers that keep it, filled with what is in trouble already; drop the index."""
    op.create_table(
        "task_trouble",
        sa.Column("action_id", sa.String(26), nullable=False),
        sa.Column("owner_group", sa.String(), nullable=False),
        sa.Column("node", sa.String(), nullable=False),
        sa.Column("phase", sa.String(), nullable=False),
        sa.Column("status", sa.String(), nullable=False),
        sa.PrimaryKeyConstraint("action_id", "owner_group", "node", "phase", name=op.f("pk_task_trouble")),
        sqlite_with_rowid=False,
    )
    op.drop_index("ix_task_troubled", "task")
    tx = op.get_bind()
    for statement in troubles_0015.statements(tx.dialect.name):
        tx.exec_driver_sql(statement)
