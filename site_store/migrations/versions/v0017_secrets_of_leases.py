"""A lease has a secret, of which its hash is kept."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0017"
down_revision = "0016"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the column. A lease that is held meanwhile has no secret until it is taken anew."""
    op.add_column("lease", sa.Column("secret_hash", sa.String(), nullable=True))
