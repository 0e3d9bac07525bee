"""What administrators set for nodes, and what the controller knows and publishes of them."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import Boolean, Column, ColumnElement, Float, Index, Integer, String, Table, Text, and_, or_, text

from site_store.tables.metadata import CompressedText, Json, Serial, UtcDateTime, metadata

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
)


def is_not_up(now: datetime | ColumnElement[Any]) -> ColumnElement[bool]:
    """Whether a user state holds at a time, and is not simply up."""
    return and_(user_state.c.state != "up", or_(user_state.c.until.is_(None), user_state.c.until > now))


# What the leader of a site knows of a node, and the next leader goes on with. Times in seconds, of the database.
node_view = Table(
    "node_view",
    metadata,
    Column("site", String, primary_key=True),
    Column("node", String, primary_key=True),
    # What the provisioner's list said last.
    Column("word", String),
    Column("power", String),
    # What that is taken for, and since when: up, initializing, stopping or down; NULL: it was never seen.
    Column("reported", String),
    Column("reported_since", Float),
    Column("crashes", Integer, nullable=False),
    # All of `strategy_lib.node_states.node_memory.NodeHistory`.
    Column("history", Json, nullable=False),
    # What was made of it and the user state: one of the six words, why, and since when.
    Column("state", String, nullable=False),
    Column("reason", Text, nullable=False),
    Column("since", Float, nullable=False),
    Column("user_since", Float, nullable=False),
    Index("ix_node_view_site_state", "site", "state", "node"),
    # In the orders of the page of nodes.
    Index("ix_node_view_site_reported", "site", "reported", "node"),
    Index("ix_node_view_site_crashes", "site", "crashes", "node"),
    Index("ix_node_view_site_since", "site", "since", "node"),
)

# The newest published version of a site's node states: all readers of it get these bytes.
site_view = Table(
    "site_view",
    metadata,
    Column("site", String, primary_key=True),
    Column("epoch", Serial, nullable=False),
    Column("number", Serial, nullable=False),
    Column("published_at", UtcDateTime, nullable=False),
    # The process that published it.
    Column("owner", String, nullable=False),
    # Of the whole site: up or down, and why.
    Column("state", String, nullable=False),
    Column("reason", Text, nullable=False),
    Column("digest", String, nullable=False),
    Column("body", CompressedText, nullable=False),
)

# The log of versions: what each one changed.
site_view_change = Table(
    "site_view_change",
    metadata,
    Column("site", String, primary_key=True),
    Column("epoch", Serial, primary_key=True, autoincrement=False),
    Column("number", Serial, primary_key=True, autoincrement=False),
    Column("published_at", UtcDateTime, nullable=False),
    Column("owner", String, nullable=False),
    # Node to its state before and after, and why; NULL for a state before it came or after it went.
    Column("changes", CompressedText, nullable=False),
    Index("ix_site_view_change_published_at", "published_at"),
)

_OPEN = text("ended IS NULL")

# A node that was done and is no longer as it was left (rule 56): one row for each drift, kept when it is over.
node_drift = Table(
    "node_drift",
    metadata,
    Column("site", String, primary_key=True),
    Column("node", String, primary_key=True),
    # When it was first seen.
    Column("since", UtcDateTime, primary_key=True),
    Column("reason", Text, nullable=False),
    # The newest operation of the node then; NULL: it was adopted.
    Column("op", Serial),
    Column("ended", UtcDateTime),
    Index("ix_node_drift_open", "site", "node", postgresql_where=_OPEN),
)

# Nodes that are in error or undefined, as far as others were told: the next edge is told against it.
node_trouble = Table(
    "node_trouble",
    metadata,
    Column("site", String, primary_key=True),
    Column("node", String, primary_key=True),
    Column("status", String, nullable=False),
    Column("since", UtcDateTime, nullable=False),
)

# What was begun to repair a node: one row for each attempt at one cause. Attempt 0: it was only said what would be.
repair = Table(
    "repair",
    metadata,
    Column("site", String, primary_key=True),
    Column("node", String, primary_key=True),
    # The drift, or the operation that failed.
    Column("cause", String, primary_key=True),
    Column("attempt", Integer, primary_key=True, autoincrement=False),
    # The error of the node then.
    Column("reason", Text, nullable=False),
    Column("redeploy", Boolean, nullable=False),
    # What it is brought back to; NULL: nothing is deployed.
    Column("revision", Integer),
    Column("begun", UtcDateTime, nullable=False),
    # The id of the run in Airflow, known before it is there; then its action.
    Column("run_id", String),
    Column("action_id", String(26)),
    Column("ended", UtcDateTime),
    # observed, success, failure or refused; NULL: it goes on.
    Column("result", String),
    Index("ix_repair_site_begun", "site", "begun"),
)

# Sites whose repair is stopped: no row where it is not. With an empty name: all sites, also those that come later.
repair_switch = Table(
    "repair_switch",
    metadata,
    Column("site", String, primary_key=True),
    Column("stopped_at", UtcDateTime, nullable=False),
    Column("stopped_by", String, nullable=False),
    Column("reason", Text, nullable=False),
)
