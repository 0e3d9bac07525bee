"""Repairs: the ledger of what was begun for which node, and the switch that stops it all."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"
branch_labels = None
depends_on = None

MOMENT = sa.DateTime(timezone=True)


def upgrade() -> None:
    """Add the tables. Nothing was repaired yet, and nothing is stopped."""
    op.create_table(
        "repair",
        sa.Column("site", sa.String(), nullable=False),
        sa.Column("node", sa.String(), nullable=False),
        sa.Column("cause", sa.String(), nullable=False),
        sa.Column("attempt", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("redeploy", sa.Boolean(), nullable=False),
        sa.Column("begun", MOMENT, nullable=False),
        sa.Column("run_id", sa.String()),
        sa.Column("action_id", sa.String(26)),
        sa.Column("ended", MOMENT),
        sa.Column("result", sa.String()),
        sa.PrimaryKeyConstraint("site", "node", "cause", "attempt", name=op.f("pk_repair")),
        sqlite_with_rowid=False,
    )
    op.create_index("ix_repair_site_begun", "repair", ["site", "begun"])
    op.create_table(
        "repair_switch",
        sa.Column("site", sa.String(), nullable=False),
        sa.Column("stopped_at", MOMENT, nullable=False),
        sa.Column("stopped_by", sa.String(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("site", name=op.f("pk_repair_switch")),
    )
