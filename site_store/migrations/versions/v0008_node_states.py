"""Node states: what administrators set for nodes, what the controller knows of them, and its published versions."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None

MOMENT = sa.DateTime(timezone=True)
SERIAL = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Add the tables. Every node is up, and nothing is published yet."""
    op.create_table(
        "user_state",
        sa.Column("site", sa.String(), nullable=False),
        sa.Column("node", sa.String(), nullable=False),
        sa.Column("state", sa.String(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("until", MOMENT),
        sa.Column("set_by", sa.String(), nullable=False),
        sa.Column("set_at", MOMENT, nullable=False),
        sa.PrimaryKeyConstraint("site", "node", name=op.f("pk_user_state")),
        sqlite_with_rowid=False,
    )
    op.create_index("ix_user_state_site_state", "user_state", ["site", "state"])
    op.create_table(
        "node_view",
        sa.Column("site", sa.String(), nullable=False),
        sa.Column("node", sa.String(), nullable=False),
        sa.Column("word", sa.String()),
        sa.Column("power", sa.String()),
        sa.Column("reported", sa.String()),
        sa.Column("reported_since", sa.Float()),
        sa.Column("crashes", sa.Integer(), nullable=False),
        sa.Column("history", sa.JSON(), nullable=False),
        sa.Column("state", sa.String(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("since", sa.Float(), nullable=False),
        sa.Column("user_since", sa.Float(), nullable=False),
        sa.PrimaryKeyConstraint("site", "node", name=op.f("pk_node_view")),
        sqlite_with_rowid=False,
    )
    op.create_index("ix_node_view_site_state", "node_view", ["site", "state", "node"])
    op.create_table(
        "site_view",
        sa.Column("site", sa.String(), nullable=False),
        sa.Column("epoch", SERIAL, nullable=False),
        sa.Column("number", SERIAL, nullable=False),
        sa.Column("published_at", MOMENT, nullable=False),
        sa.Column("owner", sa.String(), nullable=False),
        sa.Column("state", sa.String(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("digest", sa.String(), nullable=False),
        sa.Column("body", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("site", name=op.f("pk_site_view")),
    )
    op.create_table(
        "site_view_change",
        sa.Column("site", sa.String(), nullable=False),
        sa.Column("epoch", SERIAL, autoincrement=False, nullable=False),
        sa.Column("number", SERIAL, autoincrement=False, nullable=False),
        sa.Column("published_at", MOMENT, nullable=False),
        sa.Column("owner", sa.String(), nullable=False),
        sa.Column("changes", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("site", "epoch", "number", name=op.f("pk_site_view_change")),
    )
    op.create_index("ix_site_view_change_published_at", "site_view_change", ["published_at"])
