"""Members of groups in trouble are found by their group; PostgreSQL counts what moves alone, and looks it up once."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from site_store.migrations import counting_0010, troubles_0010

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the table, and the triggers that keep it, filled with what is in trouble already; change how is counted."""
    op.create_table(
        "site_trouble",
        sa.Column("site", sa.String(), nullable=False),
        sa.Column("group_name", sa.String(), nullable=False),
        sa.Column("standing", sa.String(), nullable=False),
        sa.Column("node", sa.String(), nullable=False),
        sa.Column("error", sa.Text()),
        sa.PrimaryKeyConstraint("site", "group_name", "standing", "node", name=op.f("pk_site_trouble")),
        sqlite_with_rowid=False,
    )
    tx = op.get_bind()
    for statement in troubles_0010.statements(tx.dialect.name):
        tx.exec_driver_sql(statement)
    shown = ("wanted_version", "touched", "done_version", "error_version", "failures", "next_try")
    for statement in counting_0010.statements(tx.dialect.name, shown):
        tx.exec_driver_sql(statement)
