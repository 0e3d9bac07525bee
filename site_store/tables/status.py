"""How each node, group and owner stands, and the roll-up of it."""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    ColumnElement,
    Computed,
    Float,
    ForeignKey,
    ForeignKeyConstraint,
    Index,
    Integer,
    String,
    Table,
    Text,
    and_,
    or_,
    text,
)

from site_store.tables.metadata import CompressedText, Json, Serial, UtcDateTime, metadata

_HAS_ERROR = text("error IS NOT NULL")
_HAS_CAPITALS = text("name <> lower(name)")

# Per site and node: what is wanted of it, and what was last done to it.

#: What `strategy_lib.status.leaf.status_in_site` says of the columns beside it; a test compares the two.
STANDING = """
CASE
  WHEN status IS NOT NULL AND status NOT IN ('pending', 'processing', 'success', 'error', 'deleted') THEN 'undefined'
  WHEN status = 'processing' THEN 'processing'
  WHEN wanted_digest IS NULL AND done_digest IS NULL THEN 'deleted'
  WHEN wanted_digest IS NULL AND status = 'error' THEN 'error'
  WHEN wanted_digest IS NULL THEN 'pending'
  WHEN status = 'error' AND error IS NOT NULL AND error_action IS NULL THEN 'error'
  WHEN status = 'error' AND (error_version >= wanted_version OR ((error_version IS NULL OR wanted_version IS NULL)
    AND (error_revision IS NULL OR error_revision >= wanted_revision))) THEN 'error'
  WHEN done_digest IS NULL OR doubt IS NOT NULL OR done_digest <> wanted_digest THEN 'pending'
  WHEN touched IS NOT NULL AND (done_version IS NULL OR done_version < touched) THEN 'pending'
  ELSE 'success'
END
""".strip()

#: What `strategy_lib.status.serves.serves_of` says of the columns beside it; the same test compares the two. An error
#: that names no action is a drift: the machine is not as it was left.
SERVES = """
CASE
  WHEN done_digest IS NULL OR doubt IS NOT NULL THEN 'nothing'
  WHEN status IN ('error', 'processing') AND error IS NOT NULL AND error_action IS NULL THEN 'nothing'
  WHEN done_digest = wanted_digest THEN 'wanted'
  ELSE 'older'
END
""".strip()

node = Table(
    "node",
    metadata,
    Column("site", String, primary_key=True),
    Column("name", String, primary_key=True),
    Column("wanted_revision", Integer),
    Column("wanted_digest", String),
    # Grows with each commit that wants another digest than the one before, and each time a person asks for it again.
    Column("wanted_version", Integer),
    # The wanted version at which a person asked for it again, and who; NULL: nobody ever did.
    Column("touched", Integer),
    Column("touched_by", String),
    # The nodes that it waits for, by its own metadata and by the groups that it is in.
    Column("depends_on", Json),
    Column("op", Serial),
    Column("done_revision", Integer),
    Column("done_digest", String),
    # The wanted version that was handed out with the operation, not the newest.
    Column("done_version", Integer),
    Column("done_at", UtcDateTime),
    # Tries since the last success, new version or touch; and when the next one is due.
    Column("failures", Integer, nullable=False, server_default="0"),
    Column("next_try", UtcDateTime),
    # The action whose failure was counted last: an action counts once.
    Column("tried_action", String(26)),
    # The version of this record, which `If-Match` names.
    Column("version", Integer, nullable=False, server_default="1"),
    Column("condition", String),
    # How the newest operation left it, by the list of nodes; NULL where the list has said anything else since.
    Column("left_as", String),
    # Why what was recorded as done is not believed; NULL where nothing speaks against it.
    Column("doubt", Text),
    # Who is expected to work on it: `provisioner:<connection>`.
    Column("owner", String),
    # How its newest operation left it (processing, success, error, deleted); NULL where none is at work or has ended.
    Column("status", String),
    Column("error", Text),
    # What the error was about: an error about an older version than the one that is wanted is history (rule 46).
    Column("error_revision", Integer),
    Column("error_version", Integer),
    Column("error_action", String(26)),
    # What had to be repeated before it succeeded, and when that was.
    Column("fixed", Text),
    # When an operation first and last wrote any of this.
    Column("first_updated", UtcDateTime),
    Column("last_updated", UtcDateTime),
    # The rack that the committed design puts it in.
    Column("rack", String),
    # What the provisioner last said of it in its own words, and when.
    Column("provisioner_status", String),
    Column("power", String),
    Column("listed_at", UtcDateTime),
    # The newest version by which its agent signed an answer (rule 63); NULL: it never answered.
    Column("signed", Integer),
    # How it stands in its site, of the seven words: computed by the database, so that it can be counted and sorted.
    Column("standing", String, Computed(STANDING, persisted=True), nullable=False),
    # What it serves beside that: nothing, older or wanted.
    Column("serves", String, Computed(SERVES, persisted=True), nullable=False),
    Index("ix_node_site_standing_name", "site", "standing", "name"),
    # The first revision that one of those waits for is found at once.
    Index("ix_node_site_serves_wanted_revision", "site", "serves", "wanted_revision"),
    Index("ix_node_site_rack_name", "site", "rack", "name"),
    Index("ix_node_site_done_revision_name", "site", "done_revision", "name"),
    Index("ix_node_site_provisioner_status_name", "site", "provisioner_status", "name"),
    Index("ix_node_site_power_name", "site", "power", "name"),
    Index("ix_node_site_last_updated_name", "site", "last_updated", "name"),
    # Few of them each. What an error says may be too long for an index.
    Index("ix_node_with_capitals", "site", "name", postgresql_where=_HAS_CAPITALS),
    Index("ix_node_with_error", "site", "name", postgresql_where=_HAS_ERROR),
)


def is_of_wanted(version: ColumnElement[int | None]) -> ColumnElement[bool]:
    """Whether an error of this version is not superseded (rule 46), as `is_superseded` in `strategy_lib` says."""
    return or_(version.is_(None), node.c.wanted_version.is_(None), version >= node.c.wanted_version)


# The committed strategy, its groups resolved against the committed design; written by commit in its transaction.

site_group = Table(
    "site_group",
    metadata,
    Column("site", String, primary_key=True),
    Column("name", String, primary_key=True),
    Column("position", Integer, nullable=False),
    Column("critical", Boolean, nullable=False),
    Column("depends_on", Json, nullable=False),
    Column("definition", Json, nullable=False),
)

site_group_node = Table(
    "site_group_node",
    metadata,
    Column("site", String, primary_key=True),
    Column("group_name", String, primary_key=True),
    Column("node", String, primary_key=True),
    ForeignKeyConstraint(["site", "group_name"], ["site_group.site", "site_group.name"], ondelete="CASCADE"),
    Index("ix_site_group_node_site_node", "site", "node"),
)

MEMBER = and_(site_group_node.c.site == node.c.site, site_group_node.c.node == node.c.name)
"""Joins nodes to the groups that they are in."""

# A member of a group whose node is in trouble: the first of each group are found by its key, however many there are.
# Triggers keep it, in the transaction of each change, and nothing else writes it (`counting.py`).
site_trouble = Table(
    "site_trouble",
    metadata,
    Column("site", String, primary_key=True),
    Column("group_name", String, primary_key=True),
    # error or undefined, as `node.standing`.
    Column("standing", String, primary_key=True),
    Column("node", String, primary_key=True),
    # As `node.error`: to look 2,000 nodes up takes as long as all else of a view.
    Column("error", Text),
)

# The list of nodes that the provisioner gave last.
provisioner_list = Table(
    "provisioner_list",
    metadata,
    Column("site", String, primary_key=True),
    Column("connection", String, nullable=False),
    # When it was asked for: an older one never replaces a newer one.
    Column("read_at", UtcDateTime, nullable=False),
    Column("nodes", CompressedText, nullable=False),
    # Of `nodes`, so that the same list is neither written nor read again. NULL: not known.
    Column("digest", String(64)),
    # Seconds from one question of the site's leader to the next one, where that is long. NULL: not known.
    Column("every_seconds", Float),
)

# A long list of one server, such as all tasks of a Drydock: one process at a time asks for it, for all that need it.
shared_list = Table(
    "shared_list",
    metadata,
    # Which list, the address of the server, and the account that asks.
    Column("name", String, primary_key=True),
    Column("answer", CompressedText, nullable=False),
    # When `answer` was asked for, and the seconds that the last answer took, or was waited for in vain.
    Column("asked_at", UtcDateTime),
    Column("took", Float, nullable=False),
    # Who asks for it now, since when, and until when that one is taken to be alive.
    Column("flight", String(32)),
    Column("begun_at", UtcDateTime),
    Column("alive_until", UtcDateTime),
    # Why the question that was begun last has failed, without secrets; how many ran out of time in a row, and before
    # when it is not repeated.
    Column("problem", Text),
    Column("timed_out", Integer, nullable=False),
    Column("again_at", UtcDateTime),
)

# How it stands: who is there, what they report, and what there is of everything.

owner = Table(
    "owner",
    metadata,
    Column("name", String, primary_key=True),
    Column("last_seen", UtcDateTime, nullable=False),
    # It is alive for so long after it was seen.
    Column("interval_seconds", Float, nullable=False),
    # What it said of itself, or why it could not be reached; without secrets.
    Column("detail", Text),
    # Since when the controller knows that it is not there; NULL while it is.
    Column("unresponsive_since", UtcDateTime),
)

# A long-lived process that runs Slipway's code, or a machine of workers by its newest task: what it said of itself.
# No owner of anything: nothing is expected of a row here, and a task's or node's status never depends on it.
process = Table(
    "process",
    metadata,
    # Role, host, process id and a random part; of a machine of workers role and host.
    Column("id", String, primary_key=True),
    Column("role", String, nullable=False),
    # Of Slipway; and the schema that its code writes.
    Column("version", String, nullable=False),
    Column("store_schema", String, nullable=False),
    Column("host", String, nullable=False),
    Column("pid", Integer, nullable=False),
    Column("started", UtcDateTime, nullable=False),
    Column("last_sign", UtcDateTime, nullable=False),
    # It gives a sign every so many seconds; NULL: only when there is work.
    Column("every_seconds", Float),
    # Seconds that its clock is ahead of the database's.
    Column("clock_offset", Float, nullable=False),
    # Values of settings, keyed digests of secrets, versions of packages; no secret.
    Column("environment", Json, nullable=False),
)

# Calls to provisioners, counted by process and added up at each check-in; `bucket` is that of a histogram of seconds.
provisioner_call = Table(
    "provisioner_call",
    metadata,
    Column("owner", String, primary_key=True),
    Column("call", String, primary_key=True),
    Column("result", String, primary_key=True),
    Column("bucket", Integer, primary_key=True, autoincrement=False),
    Column("calls", BigInteger, nullable=False),
    Column("seconds", Float, nullable=False),
)

# Somebody else's program that may add leaves of its own to a site. Its token is stored as a digest alone.
reporter = Table(
    "reporter",
    metadata,
    Column("id", String(26), primary_key=True),
    Column("site", String, nullable=False),
    Column("owner", String, nullable=False),
    Column("token_hash", String, nullable=False, unique=True),
    Column("created", UtcDateTime, nullable=False),
    Column("created_by", String, nullable=False),
    Column("revoked", UtcDateTime),
    Column("last_used", UtcDateTime),
    Index("ix_reporter_site", "site"),
)

# A leaf that a reporter has written, below an existing entry of the tree of an action, or ("") of its site.
reported = Table(
    "reported",
    metadata,
    Column("site", String, primary_key=True),
    Column("action_id", String(26), primary_key=True),
    # The path of the entry above it.
    Column("parent", String, primary_key=True),
    Column("name", String, primary_key=True),
    Column("owner", String, primary_key=True),
    Column("status", String, nullable=False),
    Column("message", Text),
    Column("revision", Integer),
    Column("first_updated", UtcDateTime, nullable=False),
    Column("last_updated", UtcDateTime, nullable=False),
)

# A person's answer that an attempt of a group waits for, before or after its work.
approval = Table(
    "approval",
    metadata,
    Column("action_id", String(26), ForeignKey("action.id", ondelete="CASCADE"), primary_key=True),
    Column("group_name", String, primary_key=True),
    Column("attempt", Integer, primary_key=True, autoincrement=False),
    Column("moment", String, primary_key=True),
    Column("text", Text, nullable=False),
    Column("approvers", Json, nullable=False),
    Column("asked", UtcDateTime, nullable=False),
    Column("deadline", UtcDateTime),
    Column("answered", UtcDateTime),
    # approved, refused or timed_out.
    Column("answer", String),
    Column("answered_by", String),
    Column("comment", Text),
    # Since when the note of the action's run in Airflow says that it waits; NULL: the note does not say so.
    Column("noted", UtcDateTime),
)

# The roll-up: how many records share all of these; of a scope, which is an action, or ("") the standing of a site.
# Triggers keep it, in the transaction of each change, and nothing else writes it (`counting.py`).
# PostgreSQL: `part` is the transaction, so that no two ever write the same row. Sum over it; merging moves it into 0.
status_count = Table(
    "status_count",
    metadata,
    Column("action_id", String(26), primary_key=True),
    Column("site", String, primary_key=True),
    # "": the whole, in which each node counts once; a group counts all its nodes (rule 34).
    Column("group_name", String, primary_key=True),
    # Of an action: the phase. Of a site: "grouped", "no group" or "to be removed". "~touch": changes of the scope.
    Column("phase", String, primary_key=True),
    Column("owner", String, primary_key=True),
    # The stored word of a task; the standing of a node.
    Column("status", String, primary_key=True),
    # Of a site: what the node serves, as `node.serves`. Of an action: "".
    Column("serves", String, primary_key=True),
    Column("part", BigInteger, primary_key=True, autoincrement=False),
    Column("records", BigInteger, nullable=False),
)
