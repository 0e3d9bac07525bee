"""The first tables: sites and their revisions, actions with their groups, tasks and operations, nodes, events."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

MOMENT = sa.DateTime(timezone=True)
SERIAL = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Create all tables."""
    op.create_table(
        "site",
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("created", MOMENT, nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_site")),
    )
    op.create_table(
        "revision",
        sa.Column("id", SERIAL, sa.Identity(always=True), nullable=False),
        sa.Column("site", sa.String(), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("digest", sa.String(), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("design_token", sa.String(), nullable=False),
        sa.Column("created", MOMENT, nullable=False),
        sa.Column("created_by", sa.String(), nullable=False),
        sa.ForeignKeyConstraint(["site"], ["site.name"], name=op.f("fk_revision_site")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_revision")),
        sa.UniqueConstraint("design_token", name=op.f("uq_revision_design_token")),
        sa.UniqueConstraint("site", "number", name=op.f("uq_revision_site_number")),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "document",
        sa.Column("revision_id", SERIAL, autoincrement=False, nullable=False),
        sa.Column("position", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("schema", sa.String(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("layer", sa.String()),
        sa.Column("data", sa.JSON()),
        sa.ForeignKeyConstraint(
            ["revision_id"], ["revision.id"], name=op.f("fk_document_revision"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("revision_id", "position", name=op.f("pk_document")),
    )
    op.create_table(
        "action",
        sa.Column("id", sa.String(length=26), nullable=False),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("site", sa.String(), nullable=False),
        sa.Column("revision", sa.Integer()),
        sa.Column("parameters", sa.JSON(), nullable=False),
        sa.Column("dag_id", sa.String(), nullable=False),
        sa.Column("run_id", sa.String(), nullable=False),
        sa.Column("created_by", sa.String(), nullable=False),
        sa.Column("created", MOMENT, nullable=False),
        sa.Column("started", MOMENT),
        sa.Column("ended", MOMENT),
        sa.Column("planned", MOMENT),
        sa.Column("state", sa.String(), nullable=False),
        sa.Column("verdict", sa.Text()),
        sa.Column("report", sa.JSON()),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_action")),
        sa.UniqueConstraint("dag_id", "run_id", name=op.f("uq_action_dag_id_run_id")),
    )
    op.create_index("ix_action_site_created", "action", ["site", "created"], unique=False)
    op.create_table(
        "site_lock",
        sa.Column("site", sa.String(), nullable=False),
        sa.Column("action_id", sa.String(length=26), nullable=False),
        sa.Column("dag_id", sa.String(), nullable=False),
        sa.Column("run_id", sa.String(), nullable=False),
        sa.Column("acquired", MOMENT, nullable=False),
        sa.ForeignKeyConstraint(["action_id"], ["action.id"], name=op.f("fk_site_lock_action")),
        sa.PrimaryKeyConstraint("site", name=op.f("pk_site_lock")),
        sa.UniqueConstraint("action_id", name=op.f("uq_site_lock_action_id")),
    )
    op.create_table(
        "group_run",
        sa.Column("action_id", sa.String(length=26), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("critical", sa.Boolean(), nullable=False),
        sa.Column("definition", sa.JSON(), nullable=False),
        sa.Column("state", sa.String(), nullable=False),
        sa.Column("reason", sa.String()),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("attempt_key", sa.String()),
        sa.Column("criteria", sa.JSON(), nullable=False),
        sa.Column("counts", sa.JSON(), nullable=False),
        sa.Column("started", MOMENT),
        sa.Column("ended", MOMENT),
        sa.ForeignKeyConstraint(["action_id"], ["action.id"], name=op.f("fk_group_run_action"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("action_id", "name", name=op.f("pk_group_run")),
    )
    op.create_table(
        "group_node",
        sa.Column("action_id", sa.String(length=26), nullable=False),
        sa.Column("group_name", sa.String(), nullable=False),
        sa.Column("node", sa.String(), nullable=False),
        sa.ForeignKeyConstraint(
            ["action_id", "group_name"],
            ["group_run.action_id", "group_run.name"],
            name=op.f("fk_group_node_group_run"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("action_id", "group_name", "node", name=op.f("pk_group_node")),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "task",
        sa.Column("action_id", sa.String(length=26), nullable=False),
        sa.Column("node", sa.String(), nullable=False),
        sa.Column("phase", sa.String(), nullable=False),
        sa.Column("owner_group", sa.String()),
        sa.Column("op", SERIAL),
        sa.Column("status", sa.String(), nullable=False),
        sa.Column("error", sa.Text()),
        sa.Column("digest", sa.String()),
        sa.Column("started", MOMENT),
        sa.Column("ended", MOMENT),
        sa.ForeignKeyConstraint(["action_id"], ["action.id"], name=op.f("fk_task_action"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("action_id", "node", "phase", name=op.f("pk_task")),
        sqlite_with_rowid=False,
    )
    op.create_index("ix_task_op_node", "task", ["op", "node"], unique=False)
    op.create_table(
        "operation",
        sa.Column("op", SERIAL, sa.Identity(always=True), nullable=False),
        sa.Column("action_id", sa.String(length=26), nullable=False),
        sa.Column("site", sa.String(), nullable=False),
        sa.Column("group_name", sa.String(), nullable=False),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("phase", sa.String(), nullable=False),
        sa.Column("reference", sa.String()),
        sa.Column("nodes", sa.JSON(), nullable=False),
        sa.Column("design_ref", sa.Text(), nullable=False),
        sa.Column("provisioner_task", sa.String()),
        sa.Column("lease_owner", sa.String()),
        sa.Column("lease_until", MOMENT),
        sa.Column("created", MOMENT, nullable=False),
        sa.Column("submitted", MOMENT),
        sa.Column("running_since", MOMENT),
        sa.Column("ended", MOMENT),
        sa.Column("over", MOMENT),
        sa.Column("status", sa.String(), nullable=False),
        sa.Column("result", sa.Text()),
        sa.ForeignKeyConstraint(["action_id"], ["action.id"], name=op.f("fk_operation_action"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("op", name=op.f("pk_operation")),
        sa.UniqueConstraint(
            "action_id", "group_name", "attempt", "phase", name=op.f("uq_operation_action_id_group_name_attempt_phase")
        ),
        sa.UniqueConstraint("reference", name=op.f("uq_operation_reference")),
        sqlite_autoincrement=True,
    )
    op.create_index(
        "ix_operation_not_over",
        "operation",
        ["site"],
        unique=False,
        sqlite_where=sa.text("over IS NULL"),
        postgresql_where=sa.text("over IS NULL"),
    )
    op.create_table(
        "node",
        sa.Column("site", sa.String(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("wanted_revision", sa.Integer()),
        sa.Column("wanted_digest", sa.String()),
        sa.Column("op", SERIAL),
        sa.Column("done_revision", sa.Integer()),
        sa.Column("done_digest", sa.String()),
        sa.Column("done_at", MOMENT),
        sa.Column("condition", sa.String()),
        sa.PrimaryKeyConstraint("site", "name", name=op.f("pk_node")),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "event",
        sa.Column("id", SERIAL, sa.Identity(always=True), nullable=False),
        sa.Column("at", MOMENT, nullable=False),
        sa.Column("site", sa.String(), nullable=False),
        sa.Column("action_id", sa.String(length=26)),
        sa.Column("group_name", sa.String()),
        sa.Column("node", sa.String()),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("message", sa.Text(), nullable=False),
        sa.Column("data", sa.JSON(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_event")),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_event_action_id_id", "event", ["action_id", "id"], unique=False)
    op.create_index("ix_event_at", "event", ["at"], unique=False)
