"""The first schema: the tables of `site_store/tables/`, then what `schema.sql` adds to them."""

from __future__ import annotations

from importlib.resources import files

from alembic import op

from site_store.tables import metadata

revision = "0100"
down_revision = None
branch_labels = None
depends_on = None

#: Nothing of Slipway's was there before it.
ROLLING = False

#: The version of the digests of nodes that stores of this schema hold (rule 38).
DIGESTS = 3


def upgrade() -> None:
    """Make the schema as it is now: `schema_version.upgrade` runs this in an empty database alone."""
    tx = op.get_bind()
    metadata.create_all(tx, checkfirst=False)
    # By the driver itself: without parameters it takes several statements at once, and reads no `%`.
    tx.connection.cursor().execute((files("site_store") / "schema.sql").read_text(encoding="utf-8"))
