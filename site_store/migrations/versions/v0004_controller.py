"""Facts: steps of actions, what is wanted of nodes, actions without a run; the controller's lease and checks."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None

MOMENT = sa.DateTime(timezone=True)
SERIAL = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
OPEN = sa.text("state IN ('pending', 'running')")


def upgrade() -> None:
    """Add the tables and the index."""
    op.create_table(
        "lease",
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("owner", sa.String(), nullable=False),
        sa.Column("epoch", SERIAL, nullable=False),
        sa.Column("expires_at", MOMENT, nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_lease")),
    )
    op.create_table(
        "check_result",
        sa.Column("subject", sa.String(), nullable=False),
        sa.Column("problem", sa.Text()),
        sa.Column("since", MOMENT, nullable=False),
        sa.Column("checked_at", MOMENT, nullable=False),
        sa.PrimaryKeyConstraint("subject", name=op.f("pk_check_result")),
    )
    op.create_table(
        "action_step",
        sa.Column("action_id", sa.String(length=26), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("group_name", sa.String(), nullable=False),
        sa.Column("state", sa.String(), nullable=False),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("started", MOMENT, nullable=False),
        sa.Column("ended", MOMENT),
        sa.Column("message", sa.Text()),
        sa.ForeignKeyConstraint(["action_id"], ["action.id"], name=op.f("fk_action_step_action"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("action_id", "name", "group_name", name=op.f("pk_action_step")),
    )
    # Actions on named nodes were not always marked as such: they bring no site to a revision.
    op.execute(
        sa.text("UPDATE action SET targeted = true WHERE kind NOT IN ('deploy_site', 'update_site') AND NOT targeted")
    )
    op.create_index("ix_action_open", "action", ["id"], sqlite_where=OPEN, postgresql_where=OPEN)
