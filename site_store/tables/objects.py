"""What the newest design of each site consists of, and what uses what; errors of nodes, each of one operation."""

from __future__ import annotations

from sqlalchemy import Column, Index, Integer, String, Table, Text, text

from site_store.sql.postgresql import Json, Serial, UtcDateTime
from site_store.tables.metadata import metadata

# Written by commit, in the transaction of its revision; only what changed is written.

design_object = Table(
    "design_object",
    metadata,
    Column("site", String, primary_key=True),
    Column("kind", String, primary_key=True),
    Column("name", String, primary_key=True),
    # Of its own data alone: what it uses has digests of its own.
    Column("digest", String, nullable=False),
    # Kind and name of each object that it uses directly; it may be missing.
    Column("uses", Json, nullable=False),
    # Grows with each change of the digest.
    Column("version", Integer, nullable=False),
    # The revision that brought this version.
    Column("revision", Integer, nullable=False),
    # The version and the set of policies that it was judged in (rule 43); NULL: never. The set, a colon, and the digest
    # of the whole document, with its metadata, in which these policies left it as it is.
    Column("policed_version", Integer),
    Column("policed_set", String),
    # The policies that changed it; NULL: none did.
    Column("by_policy", Json),
)

# Who asked for what of a site's nodes outside of an action; kept.
site_audit = Table(
    "site_audit",
    metadata,
    Column("id", String(26), primary_key=True),
    Column("site", String, nullable=False),
    Column("command", String, nullable=False),
    Column("nodes", Json, nullable=False),
    Column("detail", Text),
    Column("created_by", String, nullable=False),
    Column("at", UtcDateTime, nullable=False),
    Index("ix_site_audit_site_id", "site", "id"),
)

_TO_REPORT = text("state IN ('failed', 'reported')")

# One error of one operation on one node, and how far its report is (rules 45 to 48).
node_error = Table(
    "node_error",
    metadata,
    Column("site", String, primary_key=True),
    Column("node", String, primary_key=True),
    Column("op", Serial, primary_key=True, autoincrement=False),
    Column("code", String),
    Column("text", Text),
    Column("phase", String, nullable=False),
    Column("action_id", String(26), nullable=False),
    Column("provisioner_task", String),
    Column("wanted_version", Integer),
    Column("time", UtcDateTime, nullable=False),
    # tracked, failed, reported or cleared.
    Column("state", String, nullable=False),
    Column("acknowledged_at", UtcDateTime),
    Column("acknowledged_by", String),
    Index("ix_node_error_action_id", "action_id"),
    Index("ix_node_error_to_report", "site", "node", "op", postgresql_where=_TO_REPORT),
)
