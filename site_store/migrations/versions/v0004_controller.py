"""Steps of actions, what newest commits want of nodes, work without run or group; the controller's lease and checks."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from site_store.migrations.versions.v0003_true_against_the_real_world import stored_digests

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None

MOMENT = sa.DateTime(timezone=True)
SERIAL = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
OPEN = sa.text("state IN ('pending', 'running')")
NO_GROUP = sa.text("group_name IS NULL")


def upgrade() -> None:
    """Add the tables and indexes, let columns be empty, and write down what the newest revisions want."""
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
    _write_wanted()
    _allow_null("action", "run_id")
    _allow_null("site_lock", "run_id")
    _allow_null("operation", "group_name", sqlite_autoincrement=True)
    op.execute("UPDATE operation SET group_name = NULL WHERE group_name = ''")
    op.create_index("ix_action_open", "action", ["id"], sqlite_where=OPEN, postgresql_where=OPEN)
    op.create_index(
        "ix_operation_without_group",
        "operation",
        ["action_id", "attempt", "phase"],
        unique=True,
        sqlite_where=NO_GROUP,
        postgresql_where=NO_GROUP,
    )


def _write_wanted() -> None:
    """Have the newest revision of each site say what is wanted of its nodes, as a commit does from now on.

    Before, planning an action said it. Where a newest design cannot be read, what was wanted stays.
    """
    tx = op.get_bind()
    newest = tx.execute(sa.text("SELECT site, max(number) AS number FROM revision GROUP BY site")).all()
    none = sa.text("UPDATE node SET wanted_revision = NULL, wanted_digest = NULL WHERE site = :site")
    one = sa.text(
        "INSERT INTO node (site, name, wanted_revision, wanted_digest) VALUES (:site, :name, :number, :digest) "
        "ON CONFLICT (site, name) DO UPDATE "
        "SET wanted_revision = excluded.wanted_revision, wanted_digest = excluded.wanted_digest"
    )
    for site, number in newest:
        digests = stored_digests(tx, site, number)
        if digests is None:
            continue
        tx.execute(none, {"site": site})
        facts = {"site": site, "number": number}
        if digests:
            tx.execute(one, [{**facts, "name": name, "digest": digest} for name, digest in sorted(digests.items())])


def _allow_null(table: str, column: str, **table_kwargs: bool) -> None:
    """Let a column be NULL. SQLite rebuilds the table for that; the numbers that it has given are not given again."""
    tx = op.get_bind()
    find = sa.text("SELECT seq FROM sqlite_sequence WHERE name = :name")
    given = tx.scalar(find, {"name": table}) if tx.dialect.name == "sqlite" else None
    with op.batch_alter_table(table, table_kwargs=table_kwargs) as batch:
        batch.alter_column(column, existing_type=sa.String(), nullable=True)
    if given is not None:
        op.execute(sa.text("DELETE FROM sqlite_sequence WHERE name = :name").bindparams(name=table))
        kept = sa.text("INSERT INTO sqlite_sequence (name, seq) VALUES (:name, :seq)")
        op.execute(kept.bindparams(name=table, seq=given))
