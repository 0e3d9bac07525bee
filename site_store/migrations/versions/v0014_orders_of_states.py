"""The nodes of a site with their states are in an index for each order that people look at them in."""

from __future__ import annotations

from alembic import op

revision = "0014"
down_revision = "0013"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the indexes."""
    for column in ("reported", "crashes", "since"):
        op.create_index(f"ix_node_view_site_{column}", "node_view", ["site", column, "node"])
