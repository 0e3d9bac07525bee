"""Errors: one of an older wanted version is superseded, and what was not submitted has a number, too."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None

SERIAL = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
STANDING = """
CASE
  WHEN status IS NOT NULL AND status NOT IN ('pending', 'processing', 'success', 'error', 'deleted') THEN 'undefined'
  WHEN status = 'processing' THEN 'processing'
  WHEN wanted_digest IS NULL AND done_digest IS NULL THEN 'deleted'
  WHEN wanted_digest IS NULL AND status = 'error' THEN 'error'
  WHEN wanted_digest IS NULL THEN 'pending'
  WHEN status = 'error' AND (error_version >= wanted_version OR ((error_version IS NULL OR wanted_version IS NULL)
    AND (error_revision IS NULL OR error_revision >= wanted_revision))) THEN 'error'
  WHEN done_digest IS NULL OR doubt IS NOT NULL OR done_digest <> wanted_digest THEN 'pending'
  WHEN touched IS NOT NULL AND (done_version IS NULL OR done_version < touched) THEN 'pending'
  ELSE 'success'
END
""".strip()


def upgrade() -> None:
    """Add the column, and judge errors by their version; what is stored stands afterwards as it did before."""
    with _without_triggers():
        op.add_column("task", sa.Column("done_op", SERIAL))
        for standing, version in (("= 'error'", "wanted_version"), ("<> 'error'", "wanted_version - 1")):
            op.execute(
                f"UPDATE node SET error_version = {version} WHERE status = 'error' AND wanted_digest IS NOT NULL "  # noqa: S608 - made of constants
                f"AND error_version IS NOT NULL AND wanted_version IS NOT NULL AND standing {standing} "
                f"AND (error_version >= wanted_version) <> (standing = 'error')"
            )
        op.drop_index("ix_node_site_standing_name", "node")
        op.drop_column("node", "standing")
        computed = sa.Computed(STANDING, persisted=op.get_bind().dialect.name == "postgresql")
        op.add_column("node", sa.Column("standing", sa.String(), computed, nullable=False))
        op.create_index("ix_node_site_standing_name", "node", ["site", "standing", "name"])


@contextmanager
def _without_triggers() -> Iterator[None]:
    """Change tables as if they had no triggers: SQLite looks through all of them when a column goes.

    Nothing that is done meanwhile changes what they count.
    """
    tx = op.get_bind()
    if tx.dialect.name != "sqlite":
        yield
        return
    kept = tx.execute(sa.text("SELECT name, sql FROM sqlite_master WHERE type = 'trigger' ORDER BY rowid")).all()
    for name, _made_by in kept:
        tx.exec_driver_sql(f'DROP TRIGGER "{name}"')
    yield
    for _name, made_by in kept:
        tx.exec_driver_sql(made_by)
