"""${message}."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = ${repr(up_revision)}
down_revision = ${repr(down_revision)}
branch_labels = None
depends_on = None

#: Whether code of the schema before may go on beside that of this one: it only adds what older code survives.
ROLLING = False


def upgrade() -> None:
    """${message}."""
    ${upgrades if upgrades else "pass"}
