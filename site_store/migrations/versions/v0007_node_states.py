"""Node states: what administrators set for nodes."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None

MOMENT = sa.DateTime(timezone=True)


def upgrade() -> None:
    """Add the table; every node is up."""
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
