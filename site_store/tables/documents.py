"""What is wanted of each site: its revisions, the texts they are made of, and the buffer."""

from __future__ import annotations

from sqlalchemy import (
    Boolean,
    Column,
    ForeignKey,
    Identity,
    Index,
    Integer,
    LargeBinary,
    String,
    Table,
    Text,
    UniqueConstraint,
    false,
    text,
)

from site_store.tables.metadata import Json, Serial, UtcDateTime, metadata

# What is wanted. Revisions are written by commit alone, and never changed.

site = Table(
    "site",
    metadata,
    Column("name", String, primary_key=True),
    Column("created", UtcDateTime, nullable=False),
    # Since when nobody looks at its nodes though somebody should, as far as that was told; NULL: somebody does.
    Column("unwatched_since", UtcDateTime),
)

# A site that nobody watches from a moment on (`at`), and why: that of a demo, whose simulator goes. It need not be
# committed. `resumed`: since when it was watched last.
site_stop = Table(
    "site_stop",
    metadata,
    Column("site", String, primary_key=True),
    Column("why", String, nullable=False),
    Column("at", UtcDateTime, nullable=False),
    Column("resumed", UtcDateTime, nullable=False),
)

# A text of a site, stored once however many revisions have it: a collection as it was written, or a rendered design.
content = Table(
    "content",
    metadata,
    Column("id", Serial, Identity(always=True), primary_key=True),
    Column("site", String, nullable=False),
    Column("digest", String, nullable=False),
    # How many documents were stored with it; none were (NULL) with a text that was only ever a rendered design.
    Column("documents", Integer),
    # Compressed; encrypted where it holds secrets, and its digest is a keyed one then (`sql/sealing.py`).
    Column("text", LargeBinary, nullable=False),
    UniqueConstraint("site", "digest"),
)

document = Table(
    "document",
    metadata,
    Column("content_id", Serial, ForeignKey("content.id", ondelete="CASCADE"), primary_key=True, autoincrement=False),
    Column("position", Integer, primary_key=True, autoincrement=False),
    Column("schema", String, nullable=False),
    Column("name", String, nullable=False),
    Column("layer", String),
)

revision = Table(
    "revision",
    metadata,
    Column("id", Serial, Identity(always=True), primary_key=True),
    Column("site", String, ForeignKey("site.name"), nullable=False),
    Column("number", Integer, nullable=False),
    Column("digest", String, nullable=False),
    # The handle of its design: what its token begins with, or, of 0.9.0's, a hash of that. It opens nothing.
    Column("design_token", String, nullable=False, unique=True),
    Column("created", UtcDateTime, nullable=False),
    Column("created_by", String, nullable=False),
    # The rendered design; NULL when it was forced although it could not be rendered.
    Column("design_id", Serial, ForeignKey("content.id")),
    # What of it is secret, so that no task has to find out; NULL where it was not known at the commit.
    Column("secrets_id", Serial, ForeignKey("content.id", name="fk_revision_secrets")),
    Column("base", Integer),
    Column("rollback_of", Integer),
    Column("forced", Boolean, nullable=False, server_default=false()),
    Column("problems", Json, nullable=False, server_default="[]"),
    # Who is told what (`strategy_lib.parsing.notifications`); NULL where the design could not be read.
    Column("notifications", Json),
    # The site's settings (`strategy_lib.parsing.site_settings`); NULL where the design could not be read.
    Column("settings", Json),
    # What policies changed: the set of them, and for each object those that changed it; NULL: none was asked.
    Column("policies", Json),
    UniqueConstraint("site", "number"),
)

revision_collection = Table(
    "revision_collection",
    metadata,
    Column("revision_id", Serial, ForeignKey("revision.id"), primary_key=True, autoincrement=False),
    Column("name", String, primary_key=True),
    Column("content_id", Serial, ForeignKey("content.id"), nullable=False, index=True),
)

# What is about to be wanted: the change since the newest revision. Its version only grows, also over commits.

buffer = Table(
    "buffer",
    metadata,
    Column("site", String, primary_key=True),
    Column("version", Integer, nullable=False),
    Column("changed", UtcDateTime),
    Column("changed_by", String),
)

buffer_collection = Table(
    "buffer_collection",
    metadata,
    Column("site", String, ForeignKey("buffer.site"), primary_key=True),
    Column("name", String, primary_key=True),
    Column("content_id", Serial, ForeignKey("content.id"), nullable=False),
)

# A design that the provisioner is to look at before it is committed; kept for an hour.
candidate = Table(
    "candidate",
    metadata,
    # A hash of its token.
    Column("token", String, primary_key=True),
    Column("site", String, nullable=False),
    Column("created", UtcDateTime, nullable=False),
    # As in `content`.
    Column("text", LargeBinary, nullable=False),
)


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
