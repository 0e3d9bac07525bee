"""What a real Drydock taught: when something was first sent, an action's connection, doubts, a design's secrets."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None

MOMENT = sa.DateTime(timezone=True)
SERIAL = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Add the columns, and fill them from what is known."""
    _change_operations()
    _change_actions()
    _change_nodes()
    _change_revisions()


def _change_operations() -> None:
    op.add_column("operation", sa.Column("sending", MOMENT))
    # Whoever had the right to send may have sent.
    op.execute(
        "UPDATE operation SET sending = coalesce(submitted, lease_until, created)"
        " WHERE lease_owner IS NOT NULL OR provisioner_task IS NOT NULL"
    )


def _change_actions() -> None:
    op.add_column("action", sa.Column("connection", sa.String()))
    op.add_column("action", sa.Column("design_fetch", sa.Integer(), nullable=False, server_default="0"))


def _change_nodes() -> None:
    op.add_column("task", sa.Column("found", sa.String()))
    # What is under way was submitted in the light of what was noted last.
    op.execute(
        "UPDATE task SET found = (SELECT node.condition FROM node JOIN action ON action.site = node.site "
        "WHERE action.id = task.action_id AND node.name = task.node) WHERE status IN ('processing', 'unknown')"
    )
    op.add_column("node", sa.Column("doubt", sa.Text()))


def _change_revisions() -> None:
    # NULL for what was committed before: a task finds these secrets by rendering the design again.
    # Not by Alembic: it adds no foreign key to a table of SQLite, and SQLite itself does.
    number = SERIAL.compile(dialect=op.get_bind().dialect)
    op.execute(
        f"ALTER TABLE revision ADD COLUMN secrets_id {number} CONSTRAINT fk_revision_secrets REFERENCES content (id)"
    )
