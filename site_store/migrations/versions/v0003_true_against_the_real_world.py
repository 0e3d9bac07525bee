"""What a real Drydock taught: when something was first sent, which connection an action uses, what is doubtful."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None

MOMENT = sa.DateTime(timezone=True)


def upgrade() -> None:
    """Add the columns, and fill them from what is known."""
    _change_operations()
    _change_actions()
    _change_nodes()


def _change_operations() -> None:
    op.add_column("operation", sa.Column("sending", MOMENT))
    # Whoever had the right to send may have sent.
    op.execute("UPDATE operation SET sending = created WHERE lease_owner IS NOT NULL OR provisioner_task IS NOT NULL")


def _change_actions() -> None:
    op.add_column("action", sa.Column("connection", sa.String()))
    op.add_column("action", sa.Column("design_fetch", sa.Integer(), nullable=False, server_default="0"))


def _change_nodes() -> None:
    op.add_column("node", sa.Column("doubt", sa.Text()))
