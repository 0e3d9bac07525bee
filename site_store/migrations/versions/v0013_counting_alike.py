"""PostgreSQL puts rows that moved alike together before it counts them; nothing that is counted is another."""

from __future__ import annotations

from alembic import op

from site_store.migrations import counting_0013

revision = "0013"
down_revision = "0012"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Change the functions that count. Tables and counts stay."""
    tx = op.get_bind()
    shown = ("wanted_version", "touched", "done_version", "error_version", "failures", "next_try")
    for statement in counting_0013.statements(tx.dialect.name, shown):
        tx.exec_driver_sql(statement)
