"""Collections, the buffer and rendered designs; actions that are asked for before their DAG run, and their control."""

from __future__ import annotations

import hashlib
import json
import zlib
from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

MOMENT = sa.DateTime(timezone=True)
SERIAL = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
# A revision had one text until now: it becomes a collection of this name.
COLLECTION = "design"


def upgrade() -> None:
    """Give each revision's text and documents a place of their own, and each action its new columns."""
    _create_design_tables()
    _move_designs()
    _change_actions()


def _create_design_tables() -> None:
    op.create_table(
        "content",
        sa.Column("id", SERIAL, sa.Identity(always=True), nullable=False),
        sa.Column("site", sa.String(), nullable=False),
        sa.Column("digest", sa.String(), nullable=False),
        sa.Column("documents", sa.Integer()),
        sa.Column("text", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_content")),
        sa.UniqueConstraint("site", "digest", name=op.f("uq_content_site_digest")),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "revision_collection",
        sa.Column("revision_id", SERIAL, autoincrement=False, nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("content_id", SERIAL, nullable=False),
        sa.ForeignKeyConstraint(["revision_id"], ["revision.id"], name=op.f("fk_revision_collection_revision")),
        sa.ForeignKeyConstraint(["content_id"], ["content.id"], name=op.f("fk_revision_collection_content")),
        sa.PrimaryKeyConstraint("revision_id", "name", name=op.f("pk_revision_collection")),
    )
    op.create_index("ix_revision_collection_content_id", "revision_collection", ["content_id"], unique=False)
    op.create_table(
        "buffer",
        sa.Column("site", sa.String(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("changed", MOMENT),
        sa.Column("changed_by", sa.String()),
        sa.PrimaryKeyConstraint("site", name=op.f("pk_buffer")),
    )
    op.create_table(
        "buffer_collection",
        sa.Column("site", sa.String(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("content_id", SERIAL, nullable=False),
        sa.ForeignKeyConstraint(["site"], ["buffer.site"], name=op.f("fk_buffer_collection_buffer")),
        sa.ForeignKeyConstraint(["content_id"], ["content.id"], name=op.f("fk_buffer_collection_content")),
        sa.PrimaryKeyConstraint("site", "name", name=op.f("pk_buffer_collection")),
    )
    op.create_table(
        "candidate",
        sa.Column("token", sa.String(), nullable=False),
        sa.Column("site", sa.String(), nullable=False),
        sa.Column("created", MOMENT, nullable=False),
        sa.Column("text", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("token", name=op.f("pk_candidate")),
    )


def _move_designs() -> None:
    """Turn each revision's text into its only collection, which is also its rendered design."""
    tx = op.get_bind()
    # Not by Alembic: it adds no foreign key to a table of SQLite, and SQLite itself does.
    number = SERIAL.compile(dialect=tx.dialect)
    op.execute(
        f"ALTER TABLE revision ADD COLUMN design_id {number} CONSTRAINT fk_revision_content REFERENCES content (id)"
    )
    op.add_column("revision", sa.Column("base", sa.Integer()))
    op.add_column("revision", sa.Column("rollback_of", sa.Integer()))
    op.add_column("revision", sa.Column("forced", sa.Boolean(), nullable=False, server_default=sa.false()))
    op.add_column("revision", sa.Column("problems", sa.JSON(), nullable=False, server_default="[]"))
    op.execute("UPDATE revision SET base = number - 1 WHERE number > 1")
    op.execute("CREATE TABLE document_before AS SELECT * FROM document")
    op.drop_table("document")
    op.create_table(
        "document",
        sa.Column("content_id", SERIAL, autoincrement=False, nullable=False),
        sa.Column("position", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("schema", sa.String(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("layer", sa.String()),
        sa.Column("data", sa.JSON()),
        sa.ForeignKeyConstraint(["content_id"], ["content.id"], name=op.f("fk_document_content"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("content_id", "position", name=op.f("pk_document")),
    )
    # One text at a time: there may be many large ones.
    known: dict[tuple[str, str], int] = {}
    for old in tx.execute(sa.text("SELECT id, site FROM revision ORDER BY id")).all():
        text = tx.scalar(sa.text("SELECT text FROM revision WHERE id = :id"), {"id": old.id})
        key = (old.site, hashlib.sha256(text.encode()).hexdigest())
        if key not in known:
            known[key] = _move_text(tx, old.id, *key, text)
        facts = {"revision": old.id, "content": known[key], "name": COLLECTION}
        tx.execute(sa.text("INSERT INTO revision_collection VALUES (:revision, :name, :content)"), facts)
        tx.execute(sa.text("UPDATE revision SET design_id = :content WHERE id = :revision"), facts)
    op.drop_table("document_before")
    op.drop_column("revision", "text")


def _move_text(tx: sa.Connection, revision_id: int, site: str, digest: str, text: str) -> int:
    made: int = tx.scalars(
        sa.text("INSERT INTO content (site, digest, text) VALUES (:site, :digest, :text) RETURNING id"),
        {"site": site, "digest": digest, "text": zlib.compress(text.encode(), 1)},
    ).one()
    facts = {"made": made, "revision": revision_id}
    moved = tx.execute(
        sa.text(
            "INSERT INTO document SELECT :made, position, schema, name, layer, data "
            "FROM document_before WHERE revision_id = :revision"
        ),
        facts,
    ).rowcount
    tx.execute(sa.text("UPDATE content SET documents = :moved WHERE id = :made"), facts | {"moved": moved})
    return made


def _change_actions() -> None:
    """Move reports away from the facts, and take from the parameters what versions of a site are found by."""
    tx = op.get_bind()
    op.create_table(
        "action_report",
        sa.Column("action_id", sa.String(length=26), nullable=False),
        sa.Column("report", sa.JSON(), nullable=False),
        sa.ForeignKeyConstraint(["action_id"], ["action.id"], name=op.f("fk_action_report_action"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("action_id", name=op.f("pk_action_report")),
    )
    op.create_table(
        "action_audit",
        sa.Column("id", sa.String(length=26), nullable=False),
        sa.Column("action_id", sa.String(length=26), nullable=False),
        sa.Column("command", sa.String(), nullable=False),
        sa.Column("created_by", sa.String(), nullable=False),
        sa.Column("at", MOMENT, nullable=False),
        sa.ForeignKeyConstraint(["action_id"], ["action.id"], name=op.f("fk_action_audit_action"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_action_audit")),
    )
    op.create_index("ix_action_audit_action_id", "action_audit", ["action_id"], unique=False)
    op.execute("INSERT INTO action_report SELECT id, report FROM action WHERE report IS NOT NULL")
    op.drop_column("action", "report")
    op.add_column("action", sa.Column("context_marker", sa.String()))
    op.add_column("action", sa.Column("dry_run", sa.Boolean(), nullable=False, server_default=sa.false()))
    op.add_column("action", sa.Column("targeted", sa.Boolean(), nullable=False, server_default=sa.false()))
    op.add_column("action", sa.Column("step", sa.String()))
    op.add_column("action", sa.Column("paused", MOMENT))
    op.drop_index("ix_action_site_created", "action")
    op.create_index("ix_action_site_id", "action", ["site", "id"], unique=False)
    for old in tx.execute(sa.text("SELECT id, parameters FROM action")).all():
        meant: dict[str, Any] = json.loads(old.parameters) if isinstance(old.parameters, str) else old.parameters
        dry_run, targeted = str(meant.get("dry_run")).lower() == "true", bool(meant.get("target_nodes"))
        if dry_run or targeted:
            tx.execute(
                sa.text("UPDATE action SET dry_run = :dry_run, targeted = :targeted WHERE id = :id"),
                {"id": old.id, "dry_run": dry_run, "targeted": targeted},
            )
