"""Whom an operation asks whether nodes are ready is written down with it."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0016"
down_revision = "0015"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the table. An operation that asks already reads its design once more."""
    op.create_table(
        "node_question",
        sa.Column("op", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=False, nullable=False),
        sa.Column("urls", sa.JSON(), nullable=False),
        sa.Column("most", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(["op"], ["operation.op"], ondelete="CASCADE", name=op.f("fk_node_question_operation")),
        sa.PrimaryKeyConstraint("op", name=op.f("pk_node_question")),
    )
