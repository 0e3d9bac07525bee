"""What happened, who is told of it, what the controller keeps for itself, and the one row about the store itself."""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    CheckConstraint,
    Column,
    ForeignKey,
    Identity,
    Index,
    Integer,
    LargeBinary,
    String,
    Table,
    Text,
    text,
)

from site_store.tables.metadata import Json, Serial, UtcDateTime, metadata

_UNDELIVERED = text("delivered IS NULL")
_OF_A_NODE = text("node IS NOT NULL")
_NOT_ROUTED = text("routed IS NULL")

event = Table(
    "event",
    metadata,
    Column("id", Serial, Identity(always=True), primary_key=True),
    Column("at", UtcDateTime, nullable=False),
    Column("site", String, nullable=False),
    Column("action_id", String(26)),
    Column("group_name", String),
    Column("node", String),
    Column("kind", String, nullable=False),
    Column("message", Text, nullable=False),
    Column("data", Json, nullable=False),
    Index("ix_event_action_id_id", "action_id", "id"),
    Index("ix_event_at", "at"),
    Index("ix_event_site_node_id", "site", "node", "id", postgresql_where=_OF_A_NODE),
)

# The controller's. Times of a lease are the database's; what its owner writes is fenced by the epoch.

lease = Table(
    "lease",
    metadata,
    Column("name", String, primary_key=True),
    Column("owner", String, nullable=False),
    Column("epoch", Serial, nullable=False),
    Column("expires_at", UtcDateTime, nullable=False),
    Column("renewed", UtcDateTime, nullable=False),
    Column("secret_hash", String),
)

check_result = Table(
    "check_result",
    metadata,
    Column("subject", String, primary_key=True),
    Column("problem", Text),
    Column("since", UtcDateTime, nullable=False),
    Column("checked_at", UtcDateTime, nullable=False),
)

# What others are told: written in the transaction of its event, and sent by the controller at least once.

outbox = Table(
    "outbox",
    metadata,
    Column("id", Serial, Identity(always=True), primary_key=True),
    Column("event_id", String, nullable=False, unique=True),
    Column("site", String, nullable=False),
    Column("kind", String, nullable=False),
    Column("action_id", String(26)),
    Column("group_name", String),
    Column("created", UtcDateTime, nullable=False),
    Column("data", Json, nullable=False),
    # When it was decided who is told; NULL: not yet.
    Column("routed", UtcDateTime),
    Index("ix_outbox_not_routed", "id", postgresql_where=_NOT_ROUTED),
)

delivery = Table(
    "delivery",
    metadata,
    Column("outbox_id", Serial, ForeignKey("outbox.id", ondelete="CASCADE"), primary_key=True, autoincrement=False),
    Column("target", String, primary_key=True),
    Column("attempts", Integer, nullable=False, server_default="0"),
    Column("next_try", UtcDateTime),
    Column("delivered", UtcDateTime),
    Column("error", Text),
    Index("ix_delivery_due", "next_try", postgresql_where=_UNDELIVERED),
)

# The store itself: one row, which `slipway store upgrade` writes (rule 60).

store_state = Table(
    "store_state",
    metadata,
    Column("id", Integer, CheckConstraint("id = 1", name="one_row"), primary_key=True, autoincrement=False),
    # The oldest schema whose code may write: code of older ones is refused.
    Column("writes_from", String, nullable=False),
    # What digests of keys are made with, so that they say nothing elsewhere.
    Column("salt", String, nullable=False, server_default=text("gen_random_uuid()::text")),
    # Part of every reference: random, and new when the store is made or is cloned (rule 61).
    Column("incarnation", String),
    # Where it lives: PostgreSQL's system identifier (NULL: it does not tell), and the oids of the database and of this
    # table. Where they are not those of the place that it is in, it is a copy.
    Column("system_id", String),
    Column("database_id", BigInteger),
    Column("table_id", BigInteger),
    # The key of digests over texts with secrets, encrypted as these are; NULL: there never was any.
    Column("digest_key", LargeBinary),
    # When PostgreSQL was started, in microseconds: another moment where it was started anew, or a replica took over.
    # The sites whose provisioners were compared with the store since, each with the start then.
    Column("server_start", BigInteger),
    Column("compared", Json),
    # An operation of this store that a provisioner shows, and that was newer than all that the store knew.
    Column("newer_op", BigInteger),
    # Operations up to this number count as known without a row: the store was put back, or a site deleted.
    Column("known_op", BigInteger),
)
