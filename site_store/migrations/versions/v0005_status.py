"""How it stands: owners, steps and groups before they begin, errors of nodes, the roll-up, reporters, gates, outbox."""

from __future__ import annotations

import zlib
from typing import Any

import sqlalchemy as sa
from alembic import op

from design_rendering.design import Design, read_design
from design_rendering.documents import load_documents
from site_store.migrations import counting_0005
from strategy_lib.errors import StrategyLibError
from strategy_lib.ordering import order_groups
from strategy_lib.selectors import resolve
from strategy_lib.strategy import group_to_data

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None

MOMENT = sa.DateTime(timezone=True)
SERIAL = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
UNDELIVERED = sa.text("delivered IS NULL")
NOT_ROUTED = sa.text("routed IS NULL")
STANDING = """
CASE
  WHEN status IS NOT NULL AND status NOT IN ('pending', 'processing', 'success', 'error', 'deleted') THEN 'undefined'
  WHEN status = 'processing' THEN 'processing'
  WHEN wanted_digest IS NULL AND done_digest IS NULL THEN 'deleted'
  WHEN wanted_digest IS NULL AND status = 'error' THEN 'error'
  WHEN wanted_digest IS NULL THEN 'pending'
  WHEN status = 'error' AND (error_revision IS NULL OR error_revision >= wanted_revision) THEN 'error'
  WHEN done_digest IS NULL OR doubt IS NOT NULL OR done_digest <> wanted_digest THEN 'pending'
  ELSE 'success'
END
""".strip()


def upgrade() -> None:
    """Add the columns, indexes, tables and triggers, and count what is there."""
    _change_actions()
    _change_steps()
    _change_tasks()
    _change_nodes()
    _create_site_groups()
    _create_owners()
    _create_approvals()
    _create_counts()
    _create_outbox()
    _say_who_is_expected()
    _say_how_nodes_were_left()
    _write_site_groups()
    for statement in (*counting_0005.first_counts(), *counting_0005.statements(op.get_bind().dialect.name)):
        # As it is: there is nothing in it for SQLAlchemy to fill in.
        op.get_bind().exec_driver_sql(statement)


def _change_actions() -> None:
    op.add_column("action", sa.Column("noted", MOMENT))
    # Runs that ended before keep the notes that they have.
    op.execute("UPDATE action SET noted = ended")
    where = sa.text("noted IS NULL AND ended IS NOT NULL")
    op.create_index("ix_action_not_noted", "action", ["id"], sqlite_where=where, postgresql_where=where)


def _change_steps() -> None:
    with op.batch_alter_table("action_step") as batch:
        batch.alter_column("started", existing_type=MOMENT, nullable=True)
        batch.add_column(sa.Column("owner", sa.String()))
        batch.add_column(sa.Column("position", sa.Integer()))
        batch.add_column(sa.Column("fixed", sa.Text()))


def _change_tasks() -> None:
    op.add_column("task", sa.Column("owner", sa.String()))
    op.add_column("task", sa.Column("fixed", sa.Text()))
    op.create_index("ix_group_node_action_id_node", "group_node", ["action_id", "node"])
    troubled = sa.text("status IN ('error', 'unknown')")
    op.create_index(
        "ix_task_troubled",
        "task",
        ["action_id", "owner_group", "node", "phase", "status"],
        sqlite_where=troubled,
        postgresql_where=troubled,
    )
    of_a_node = sa.text("node IS NOT NULL")
    op.create_index(
        "ix_event_site_node_id", "event", ["site", "node", "id"], sqlite_where=of_a_node, postgresql_where=of_a_node
    )


def _change_nodes() -> None:
    columns: dict[str, sa.types.TypeEngine[Any]] = {
        "owner": sa.String(),
        "status": sa.String(),
        "error": sa.Text(),
        "error_revision": sa.Integer(),
        "error_action": sa.String(length=26),
        "fixed": sa.Text(),
        "first_updated": MOMENT,
        "last_updated": MOMENT,
        "rack": sa.String(),
        "provisioner_status": sa.String(),
        "power": sa.String(),
        "listed_at": MOMENT,
    }
    for name, kind in columns.items():
        op.add_column("node", sa.Column(name, kind))
    # SQLite adds no stored one to a table, and PostgreSQL has no index on one that is not.
    computed = sa.Computed(STANDING, persisted=op.get_bind().dialect.name == "postgresql")
    op.add_column("node", sa.Column("standing", sa.String(), computed, nullable=False))
    op.create_index("ix_node_site_standing_name", "node", ["site", "standing", "name"])
    for column in ("rack", "done_revision", "provisioner_status", "power", "last_updated"):
        op.create_index(f"ix_node_site_{column}_name", "node", ["site", column, "name"])


def _say_who_is_expected() -> None:
    """Name the owners of what is there: the provisioner's connection of each action, and its DAG."""
    its_connection = "'provisioner:' || coalesce({connection}, 'slipway_provisioner')"
    of_action = its_connection.format(connection="action.connection")
    op.execute(f"UPDATE task SET owner = (SELECT {of_action} FROM action WHERE action.id = task.action_id)")  # noqa: S608
    newest = (
        "(SELECT connection FROM action WHERE action.site = node.site AND connection IS NOT NULL "
        "ORDER BY id DESC LIMIT 1)"
    )
    op.execute(f"UPDATE node SET owner = {its_connection.format(connection=newest)}")  # noqa: S608
    op.execute(
        "UPDATE action_step SET owner = "
        "(SELECT 'airflow:' || dag_id FROM action WHERE action.id = action_step.action_id AND run_id IS NOT NULL)"
    )


def _say_how_nodes_were_left() -> None:
    """Have each node say what the task of its newest operation says, as outcomes do from now on."""
    words = {
        "status": "CASE WHEN task.status = 'processing' THEN 'processing' "
        "WHEN task.status IN ('error', 'unknown') THEN 'error' "
        "WHEN task.status = 'success' AND task.phase = 'deploy' THEN 'success' "
        "WHEN task.status = 'success' AND task.phase = 'destroy_nodes' THEN 'deleted' "
        "WHEN task.status = 'success' AND task.phase = 'relabel_nodes' AND node.done_digest IS NOT NULL THEN 'success' "
        "END",
        "error": "CASE WHEN task.status = 'error' THEN coalesce(task.error, task.phase || ' failed') "
        "WHEN task.status = 'unknown' THEN CASE WHEN operation.status = 'timed_out' THEN 'timeout' ELSE 'lost' END "
        "|| coalesce(': ' || task.error, '') END",
        "error_revision": "CASE WHEN task.status IN ('error', 'unknown') THEN action.revision END",
        "error_action": "CASE WHEN task.status IN ('error', 'unknown') THEN action.id END",
        "first_updated": "task.started",
        "last_updated": "coalesce(task.ended, task.started)",
    }
    its_task = (
        "FROM task JOIN operation ON operation.op = task.op JOIN action ON action.id = task.action_id "
        "WHERE task.op = node.op AND task.node = node.name AND action.site = node.site"
    )
    assigned = ", ".join(f"{column} = (SELECT {word} {its_task})" for column, word in words.items())
    op.execute(f"UPDATE node SET {assigned} WHERE op IS NOT NULL")  # noqa: S608 - made of constants


def _write_site_groups() -> None:
    """Write the groups and racks of each site's newest design, as commits do from now on; where it can be read."""
    tx = op.get_bind()
    group = sa.table(
        "site_group",
        *(sa.column(name) for name in ("site", "name", "position", "critical")),
        sa.column("depends_on", sa.JSON()),
        sa.column("definition", sa.JSON()),
    )
    member = sa.table("site_group_node", *(sa.column(name) for name in ("site", "group_name", "node")))
    newest = tx.execute(sa.text("SELECT site, max(number) FROM revision GROUP BY site")).all()
    racked = sa.text("UPDATE node SET rack = :rack WHERE site = :site AND name = :name")
    for site, number in newest:
        design = stored_design(tx, site, number)
        if design is None:
            continue
        nodes = resolve(design.strategy, design.nodes)
        for position, name in enumerate(order_groups(design.strategy)):
            one = design.strategy.group(name)
            facts = {"position": position, "critical": one.critical, "depends_on": list(one.depends_on)}
            tx.execute(group.insert().values(site=site, name=name, definition=group_to_data(one), **facts))
            if nodes[name]:
                rows = [{"site": site, "group_name": name, "node": node} for node in sorted(nodes[name])]
                tx.execute(member.insert(), rows)
        racks = [{"site": site, "name": one.name, "rack": one.rack} for one in design.nodes if one.rack is not None]
        if racks:
            tx.execute(racked, racks)


def stored_design(tx: sa.Connection, site: str, number: int) -> Design | None:
    """Return a revision's stored design; None where there is none that can be read."""
    query = sa.text(
        "SELECT content.text FROM revision JOIN content ON content.id = revision.design_id "
        "WHERE revision.site = :site AND revision.number = :number"
    )
    text = tx.scalar(query, {"site": site, "number": number})
    if text is None:
        return None
    try:
        design = read_design(load_documents(zlib.decompress(bytes(text)).decode(), f"revision {number}"))
        order_groups(design.strategy)
        resolve(design.strategy, design.nodes)
    except StrategyLibError:
        return None
    return design


def _create_site_groups() -> None:
    op.create_table(
        "site_group",
        sa.Column("site", sa.String(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("critical", sa.Boolean(), nullable=False),
        sa.Column("depends_on", sa.JSON(), nullable=False),
        sa.Column("definition", sa.JSON(), nullable=False),
        sa.PrimaryKeyConstraint("site", "name", name=op.f("pk_site_group")),
    )
    op.create_table(
        "site_group_node",
        sa.Column("site", sa.String(), nullable=False),
        sa.Column("group_name", sa.String(), nullable=False),
        sa.Column("node", sa.String(), nullable=False),
        sa.ForeignKeyConstraint(
            ["site", "group_name"],
            ["site_group.site", "site_group.name"],
            name=op.f("fk_site_group_node_site_group"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("site", "group_name", "node", name=op.f("pk_site_group_node")),
        sqlite_with_rowid=False,
    )
    op.create_index("ix_site_group_node_site_node", "site_group_node", ["site", "node"])
    op.create_table(
        "provisioner_list",
        sa.Column("site", sa.String(), nullable=False),
        sa.Column("connection", sa.String(), nullable=False),
        sa.Column("read_at", MOMENT, nullable=False),
        sa.Column("nodes", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("site", name=op.f("pk_provisioner_list")),
    )


def _create_owners() -> None:
    op.create_table(
        "owner",
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("last_seen", MOMENT, nullable=False),
        sa.Column("interval_seconds", sa.Float(), nullable=False),
        sa.Column("detail", sa.Text()),
        sa.Column("unresponsive_since", MOMENT),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_owner")),
    )
    op.create_table(
        "provisioner_call",
        sa.Column("owner", sa.String(), nullable=False),
        sa.Column("call", sa.String(), nullable=False),
        sa.Column("result", sa.String(), nullable=False),
        sa.Column("bucket", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("calls", sa.BigInteger(), nullable=False),
        sa.Column("seconds", sa.Float(), nullable=False),
        sa.PrimaryKeyConstraint("owner", "call", "result", "bucket", name=op.f("pk_provisioner_call")),
    )
    op.create_table(
        "reporter",
        sa.Column("id", sa.String(length=26), nullable=False),
        sa.Column("site", sa.String(), nullable=False),
        sa.Column("owner", sa.String(), nullable=False),
        sa.Column("token_hash", sa.String(), nullable=False),
        sa.Column("created", MOMENT, nullable=False),
        sa.Column("created_by", sa.String(), nullable=False),
        sa.Column("revoked", MOMENT),
        sa.Column("last_used", MOMENT),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_reporter")),
        sa.UniqueConstraint("token_hash", name=op.f("uq_reporter_token_hash")),
    )
    op.create_index("ix_reporter_site", "reporter", ["site"])
    op.create_table(
        "reported",
        sa.Column("site", sa.String(), nullable=False),
        sa.Column("action_id", sa.String(length=26), nullable=False),
        sa.Column("parent", sa.String(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("owner", sa.String(), nullable=False),
        sa.Column("status", sa.String(), nullable=False),
        sa.Column("message", sa.Text()),
        sa.Column("revision", sa.Integer()),
        sa.Column("first_updated", MOMENT, nullable=False),
        sa.Column("last_updated", MOMENT, nullable=False),
        sa.PrimaryKeyConstraint("site", "action_id", "parent", "name", "owner", name=op.f("pk_reported")),
    )


def _create_approvals() -> None:
    op.create_table(
        "approval",
        sa.Column("action_id", sa.String(length=26), nullable=False),
        sa.Column("group_name", sa.String(), nullable=False),
        sa.Column("attempt", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("moment", sa.String(), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("approvers", sa.JSON(), nullable=False),
        sa.Column("asked", MOMENT, nullable=False),
        sa.Column("deadline", MOMENT),
        sa.Column("answered", MOMENT),
        sa.Column("answer", sa.String()),
        sa.Column("answered_by", sa.String()),
        sa.Column("comment", sa.Text()),
        sa.ForeignKeyConstraint(["action_id"], ["action.id"], name=op.f("fk_approval_action"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("action_id", "group_name", "attempt", "moment", name=op.f("pk_approval")),
    )


def _create_counts() -> None:
    op.create_table(
        "status_count",
        sa.Column("action_id", sa.String(length=26), nullable=False),
        sa.Column("site", sa.String(), nullable=False),
        sa.Column("group_name", sa.String(), nullable=False),
        sa.Column("phase", sa.String(), nullable=False),
        sa.Column("owner", sa.String(), nullable=False),
        sa.Column("status", sa.String(), nullable=False),
        sa.Column("fresh", sa.Boolean(), nullable=False),
        sa.Column("part", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("records", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint(
            "action_id",
            "site",
            "group_name",
            "phase",
            "owner",
            "status",
            "fresh",
            "part",
            name=op.f("pk_status_count"),
        ),
        sqlite_with_rowid=False,
    )


def _create_outbox() -> None:
    op.create_table(
        "outbox",
        sa.Column("id", SERIAL, sa.Identity(always=True), nullable=False),
        sa.Column("event_id", sa.String(), nullable=False),
        sa.Column("site", sa.String(), nullable=False),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("action_id", sa.String(length=26)),
        sa.Column("group_name", sa.String()),
        sa.Column("created", MOMENT, nullable=False),
        sa.Column("data", sa.JSON(), nullable=False),
        sa.Column("routed", MOMENT),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_outbox")),
        sa.UniqueConstraint("event_id", name=op.f("uq_outbox_event_id")),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_outbox_not_routed", "outbox", ["id"], sqlite_where=NOT_ROUTED, postgresql_where=NOT_ROUTED)
    op.add_column("revision", sa.Column("notifications", sa.JSON()))
    op.create_table(
        "delivery",
        sa.Column("outbox_id", SERIAL, autoincrement=False, nullable=False),
        sa.Column("target", sa.String(), nullable=False),
        sa.Column("attempts", sa.Integer(), server_default="0", nullable=False),
        sa.Column("next_try", MOMENT),
        sa.Column("delivered", MOMENT),
        sa.Column("error", sa.Text()),
        sa.ForeignKeyConstraint(["outbox_id"], ["outbox.id"], name=op.f("fk_delivery_outbox"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("outbox_id", "target", name=op.f("pk_delivery")),
    )
    op.create_index("ix_delivery_due", "delivery", ["next_try"], sqlite_where=UNDELIVERED, postgresql_where=UNDELIVERED)
