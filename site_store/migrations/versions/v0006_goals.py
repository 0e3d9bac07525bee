"""Goals: wanted and done versions of nodes, what a design consists of, errors by operation, batches and retries."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import sqlalchemy as sa
from alembic import op

from design_rendering.changes.digests import VERSION
from site_store.migrations import counting_0006
from site_store.migrations.digests_0006 import DIGESTS, StoredDesigns, insert_objects, with_labels

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None

MOMENT = sa.DateTime(timezone=True)
SERIAL = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
NO_GROUP = sa.text("group_name IS NULL")
TO_REPORT = sa.text("state IN ('failed', 'reported')")
STANDING = """
CASE
  WHEN status IS NOT NULL AND status NOT IN ('pending', 'processing', 'success', 'error', 'deleted') THEN 'undefined'
  WHEN status = 'processing' THEN 'processing'
  WHEN wanted_digest IS NULL AND done_digest IS NULL THEN 'deleted'
  WHEN wanted_digest IS NULL AND status = 'error' THEN 'error'
  WHEN wanted_digest IS NULL THEN 'pending'
  WHEN status = 'error' AND (error_revision IS NULL OR error_revision >= wanted_revision)
    AND (touched IS NULL OR error_version IS NULL OR error_version >= touched) THEN 'error'
  WHEN done_digest IS NULL OR doubt IS NOT NULL OR done_digest <> wanted_digest THEN 'pending'
  WHEN touched IS NOT NULL AND (done_version IS NULL OR done_version < touched) THEN 'pending'
  ELSE 'success'
END
""".strip()


def upgrade() -> None:
    """Add the columns and tables, and number what is wanted and done so that nothing becomes dirty."""
    with _without_triggers():
        _change_nodes()
        _change_operations()
        _change_tasks()
        op.add_column("action", sa.Column("version", sa.Integer(), nullable=False, server_default="1"))
        op.add_column("revision", sa.Column("settings", sa.JSON()))
        # Until now every group had a task in Airflow, at its place in the order.
        op.add_column("group_run", sa.Column("map_index", sa.Integer()))
        op.execute("UPDATE group_run SET map_index = position")
        op.add_column("revision", sa.Column("policies", sa.JSON()))
        _create_objects()
        _create_errors()
        _number_versions()
        _compute_digests()
    for statement in counting_0006.statements(
        op.get_bind().dialect.name,
        ("wanted_version", "touched", "done_version", "error_version", "failures", "next_try"),
    ):
        op.get_bind().exec_driver_sql(statement)


@contextmanager
def _without_triggers() -> Iterator[None]:
    """Change tables as if they had no triggers: SQLite drops those of a table that it rebuilds.

    Nothing that is done meanwhile may change what they count.
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


def _change_nodes() -> None:
    columns: dict[str, sa.types.TypeEngine[Any]] = {
        "wanted_version": sa.Integer(),
        "touched": sa.Integer(),
        "touched_by": sa.String(),
        "digest_version": sa.Integer(),
        "depends_on": sa.JSON(),
        "done_version": sa.Integer(),
        "next_try": MOMENT,
        "tried_action": sa.String(length=26),
        "error_version": sa.Integer(),
    }
    for name, kind in columns.items():
        op.add_column("node", sa.Column(name, kind))
    op.add_column("node", sa.Column("failures", sa.Integer(), nullable=False, server_default="0"))
    op.add_column("node", sa.Column("version", sa.Integer(), nullable=False, server_default="1"))
    op.drop_index("ix_node_site_standing_name", "node")
    op.drop_column("node", "standing")
    computed = sa.Computed(STANDING, persisted=op.get_bind().dialect.name == "postgresql")
    op.add_column("node", sa.Column("standing", sa.String(), computed, nullable=False))
    op.create_index("ix_node_site_standing_name", "node", ["site", "standing", "name"])
    for name, condition in (("capitals", "name <> lower(name)"), ("error", "error IS NOT NULL")):
        where = sa.text(condition)
        op.create_index(f"ix_node_with_{name}", "node", ["site", "name"], sqlite_where=where, postgresql_where=where)


def _change_operations() -> None:
    """Number the batches and retries. SQLite rebuilds the table; the numbers that it has given are not given again."""
    tx = op.get_bind()
    find = sa.text("SELECT seq FROM sqlite_sequence WHERE name = 'operation'")
    given = tx.scalar(find) if tx.dialect.name == "sqlite" else None
    op.drop_index("ix_operation_without_group", "operation")
    with op.batch_alter_table("operation", table_kwargs={"sqlite_autoincrement": True}) as batch:
        batch.add_column(sa.Column("round", sa.Integer(), nullable=False, server_default="0"))
        batch.add_column(sa.Column("left_out", sa.JSON()))
        batch.drop_constraint("uq_operation_action_id_group_name_attempt_phase", type_="unique")
        batch.create_unique_constraint(
            "uq_operation_action_id_group_name_attempt_phase_round",
            ["action_id", "group_name", "attempt", "phase", "round"],
        )
    op.create_index(
        "ix_operation_without_group",
        "operation",
        ["action_id", "attempt", "phase", "round"],
        unique=True,
        sqlite_where=NO_GROUP,
        postgresql_where=NO_GROUP,
    )
    if given is not None:
        op.execute("DELETE FROM sqlite_sequence WHERE name = 'operation'")
        kept = sa.text("INSERT INTO sqlite_sequence (name, seq) VALUES ('operation', :seq)")
        op.execute(kept.bindparams(seq=given))


def _change_tasks() -> None:
    op.add_column("task", sa.Column("wanted_version", sa.Integer()))
    op.add_column("task", sa.Column("tries", sa.Integer(), nullable=False, server_default="1"))
    op.add_column("task", sa.Column("held", sa.Text()))
    op.add_column("group_run", sa.Column("plan", sa.JSON()))


def _create_objects() -> None:
    op.create_table(
        "design_object",
        sa.Column("site", sa.String(), nullable=False),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("digest", sa.String(), nullable=False),
        sa.Column("uses_digest", sa.String(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("revision", sa.Integer(), nullable=False),
        sa.Column("policed_version", sa.Integer()),
        sa.Column("policed_set", sa.String()),
        sa.Column("by_policy", sa.JSON()),
        sa.PrimaryKeyConstraint("site", "kind", "name", name=op.f("pk_design_object")),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "object_use",
        sa.Column("site", sa.String(), nullable=False),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("uses_kind", sa.String(), nullable=False),
        sa.Column("uses_name", sa.String(), nullable=False),
        sa.PrimaryKeyConstraint("site", "kind", "name", "uses_kind", "uses_name", name=op.f("pk_object_use")),
        sqlite_with_rowid=False,
    )
    op.create_index("ix_object_use_used", "object_use", ["site", "uses_kind", "uses_name", "kind", "name"])
    op.create_table(
        "site_audit",
        sa.Column("id", sa.String(length=26), nullable=False),
        sa.Column("site", sa.String(), nullable=False),
        sa.Column("command", sa.String(), nullable=False),
        sa.Column("nodes", sa.JSON(), nullable=False),
        sa.Column("detail", sa.Text()),
        sa.Column("created_by", sa.String(), nullable=False),
        sa.Column("at", MOMENT, nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_site_audit")),
    )
    op.create_index("ix_site_audit_site_id", "site_audit", ["site", "id"])


def _create_errors() -> None:
    op.create_table(
        "node_error",
        sa.Column("site", sa.String(), nullable=False),
        sa.Column("node", sa.String(), nullable=False),
        sa.Column("op", SERIAL, autoincrement=False, nullable=False),
        sa.Column("code", sa.String()),
        sa.Column("text", sa.Text()),
        sa.Column("phase", sa.String(), nullable=False),
        sa.Column("action_id", sa.String(length=26), nullable=False),
        sa.Column("provisioner_task", sa.String()),
        sa.Column("wanted_version", sa.Integer()),
        sa.Column("time", MOMENT, nullable=False),
        sa.Column("state", sa.String(), nullable=False),
        sa.Column("acknowledged_at", MOMENT),
        sa.Column("acknowledged_by", sa.String()),
        sa.PrimaryKeyConstraint("site", "node", "op", name=op.f("pk_node_error")),
        sqlite_with_rowid=False,
    )
    op.create_index("ix_node_error_action_id", "node_error", ["action_id"])
    op.create_index(
        "ix_node_error_to_report",
        "node_error",
        ["site", "node", "op"],
        sqlite_where=TO_REPORT,
        postgresql_where=TO_REPORT,
    )


def _number_versions() -> None:
    """Give what is wanted and done its numbers: of a node that is done in another design, wanted is one ahead."""
    op.execute(
        "UPDATE node SET wanted_version = CASE WHEN done_digest IS NOT NULL AND wanted_digest IS NOT NULL "
        "AND done_digest <> wanted_digest THEN 2 ELSE 1 END, "
        "done_version = CASE WHEN done_digest IS NOT NULL THEN 1 END "
        "WHERE wanted_digest IS NOT NULL OR done_digest IS NOT NULL"
    )
    op.execute(
        "UPDATE node SET error_version = CASE WHEN error_revision IS NULL OR wanted_revision IS NULL "
        "OR error_revision >= wanted_revision THEN wanted_version ELSE wanted_version - 1 END WHERE status = 'error'"
    )
    # What is under way is about what the plan of its action wanted.
    op.execute(
        "UPDATE task SET wanted_version = (SELECT CASE WHEN node.wanted_digest = task.digest OR task.digest IS NULL "
        "THEN node.wanted_version ELSE node.wanted_version - 1 END FROM node JOIN action ON action.site = node.site "
        "WHERE action.id = task.action_id AND node.name = task.node) WHERE action_id IN (SELECT id FROM action "
        "WHERE state IN ('pending', 'running')) OR op IN (SELECT op FROM node)"
    )


def _compute_digests() -> None:
    """Compute the digests anew from the stored designs, and write what the newest designs consist of (rule 38).

    No node becomes dirty: one that was done in the design that is wanted is done in it afterwards too, whatever the
    digests before did not see.
    """
    tx = op.get_bind()
    designs = StoredDesigns(tx)
    latest = tx.execute(sa.text("SELECT site, max(number) AS number FROM revision GROUP BY site")).all()
    newest: dict[str, int] = {row.site: row.number for row in latest}
    nodes = sa.text("SELECT site, name, wanted_digest, done_revision, done_digest FROM node ORDER BY site, name")
    changed = []
    for row in tx.execute(nodes).all():
        wanted, done = row.wanted_digest, row.done_digest
        if wanted is not None:
            wanted = designs.digest(row.site, newest.get(row.site), row.name) or wanted
        if done is not None:
            was_wanted = designs.former_digest(row.site, newest.get(row.site), row.name)
            was_done = done
            if done.startswith(f"{VERSION}:"):
                # An upgrade from an older schema has computed it already.
                was_done = designs.former_digest(row.site, row.done_revision, row.name)
            if row.wanted_digest is not None and was_done in (row.wanted_digest, was_wanted):
                done = wanted
            else:
                anew = designs.digest(row.site, row.done_revision, row.name)
                # Its labels may be newer than the revision that it was deployed in.
                done = done if anew is None else with_labels(anew, done)
        facts = {"site": row.site, "name": row.name, "wanted": wanted, "done": done, "version": DIGESTS}
        changed.append(facts)
    update = sa.text(
        "UPDATE node SET wanted_digest = :wanted, done_digest = :done, digest_version = :version "
        "WHERE site = :site AND name = :name"
    )
    if changed:
        tx.execute(update, changed)
    _compute_planned(tx, designs)
    for site, number in sorted(newest.items()):
        objects = designs.objects(site, number)
        if objects is not None:
            insert_objects(tx, site, number, objects)


def _compute_planned(tx: sa.Connection, designs: StoredDesigns) -> None:
    """Compute what deploys of open actions, and those that nodes were done by, are to bring about."""
    planned = sa.text(
        "SELECT task.action_id, action.site, action.revision, task.node, task.digest FROM task "
        "JOIN action ON action.id = task.action_id WHERE task.digest IS NOT NULL AND action.revision IS NOT NULL "
        "AND (action.state IN ('pending', 'running') OR task.op IN (SELECT op FROM node) "
        "OR action.id IN (SELECT max(id) FROM action GROUP BY site))"
    )
    rows = [
        {"action": row.action_id, "node": row.node, "old": row.digest, "new": with_labels(anew, row.digest)}
        for row in tx.execute(planned).all()
        if (anew := designs.digest(row.site, row.revision, row.node)) is not None
    ]
    if rows:
        new = "UPDATE task SET digest = :new WHERE action_id = :action AND node = :node AND digest = :old"
        tx.execute(sa.text(new), rows)
