"""What administrators set for nodes, and what the controller publishes of them."""

from __future__ import annotations

from sqlalchemy import Column, Index, String, Table, Text

from site_store.dialects import UtcDateTime
from site_store.tables.metadata import metadata

# What a person, or the controller in a person's place, has set for a node; one that was never set is up.
user_state = Table(
    "user_state",
    metadata,
    Column("site", String, primary_key=True),
    Column("node", String, primary_key=True),
    # up, retired, maintenance or down.
    Column("state", String, nullable=False),
    Column("reason", Text, nullable=False),
    # When it ends by itself; NULL: never.
    Column("until", UtcDateTime),
    Column("set_by", String, nullable=False),
    Column("set_at", UtcDateTime, nullable=False),
    Index("ix_user_state_site_state", "site", "state"),
    sqlite_with_rowid=False,
)
