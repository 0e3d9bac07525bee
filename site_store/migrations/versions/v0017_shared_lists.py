"""Long lists of a server are asked for by one process at a time, and shared by all."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0017"
down_revision = "0016"
branch_labels = None
depends_on = None

MOMENT = sa.DateTime(timezone=True)


def upgrade() -> None:
    """Add the table."""
    op.create_table(
        "shared_list",
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("answer", sa.LargeBinary(), nullable=False),
        sa.Column("asked_at", MOMENT),
        sa.Column("took", sa.Float(), nullable=False),
        sa.Column("flight", sa.String(32)),
        sa.Column("begun_at", MOMENT),
        sa.Column("alive_until", MOMENT),
        sa.Column("problem", sa.Text()),
        sa.Column("timed_out", sa.Integer(), nullable=False),
        sa.Column("again_at", MOMENT),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_shared_list")),
    )
