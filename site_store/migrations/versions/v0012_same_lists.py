"""The same list of nodes is known by its digest, and the newest operation of a site is found by an index."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0011"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add both. Of lists that were read before, the digest is not known: the next one replaces them."""
    op.add_column("provisioner_list", sa.Column("digest", sa.String(64)))
    op.create_index("ix_operation_site_op", "operation", ["site", "op"])
