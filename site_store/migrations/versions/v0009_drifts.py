"""Nodes that are no longer as they were left, and nodes in trouble that others were told of."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None

MOMENT = sa.DateTime(timezone=True)
SERIAL = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
OPEN = sa.text("ended IS NULL")


def upgrade() -> None:
    """Add the tables. Nothing has drifted yet; of nodes that are in error the first look tells."""
    op.create_table(
        "node_drift",
        sa.Column("site", sa.String(), nullable=False),
        sa.Column("node", sa.String(), nullable=False),
        sa.Column("since", MOMENT, nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("op", SERIAL),
        sa.Column("ended", MOMENT),
        sa.PrimaryKeyConstraint("site", "node", "since", name=op.f("pk_node_drift")),
        sqlite_with_rowid=False,
    )
    op.create_index("ix_node_drift_open", "node_drift", ["site", "node"], sqlite_where=OPEN, postgresql_where=OPEN)
    op.create_table(
        "node_trouble",
        sa.Column("site", sa.String(), nullable=False),
        sa.Column("node", sa.String(), nullable=False),
        sa.Column("status", sa.String(), nullable=False),
        sa.Column("since", MOMENT, nullable=False),
        sa.PrimaryKeyConstraint("site", "node", name=op.f("pk_node_trouble")),
        sqlite_with_rowid=False,
    )
