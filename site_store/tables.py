"""The tables. How they come into being is `migrations/`; a test proves that the two agree."""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Computed,
    Float,
    ForeignKey,
    ForeignKeyConstraint,
    Identity,
    Index,
    Integer,
    MetaData,
    String,
    Table,
    Text,
    UniqueConstraint,
    false,
    text,
)

from site_store.dialects import CompressedText, Json, Serial, UtcDateTime

metadata = MetaData(
    naming_convention={
        "pk": "pk_%(table_name)s",
        "fk": "fk_%(table_name)s_%(referred_table_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
    }
)

# What is wanted. Revisions are written by commit alone, and never changed.

site = Table(
    "site",
    metadata,
    Column("name", String, primary_key=True),
    Column("created", UtcDateTime, nullable=False),
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
    Column("text", CompressedText, nullable=False),
    UniqueConstraint("site", "digest"),
    sqlite_autoincrement=True,
)

document = Table(
    "document",
    metadata,
    Column("content_id", Serial, ForeignKey("content.id", ondelete="CASCADE"), primary_key=True, autoincrement=False),
    Column("position", Integer, primary_key=True, autoincrement=False),
    Column("schema", String, nullable=False),
    Column("name", String, nullable=False),
    Column("layer", String),
    Column("data", Json),
)

revision = Table(
    "revision",
    metadata,
    Column("id", Serial, Identity(always=True), primary_key=True),
    Column("site", String, ForeignKey("site.name"), nullable=False),
    Column("number", Integer, nullable=False),
    Column("digest", String, nullable=False),
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
    # Who is told what (`strategy_lib.notifications`); NULL where the design could not be read.
    Column("notifications", Json),
    UniqueConstraint("site", "number"),
    sqlite_autoincrement=True,
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
    Column("token", String, primary_key=True),
    Column("site", String, nullable=False),
    Column("created", UtcDateTime, nullable=False),
    Column("text", CompressedText, nullable=False),
)

_ACTION_OPEN = text("state IN ('pending', 'running')")
_NOT_NOTED = text("noted IS NULL AND ended IS NOT NULL")
_NO_GROUP = text("group_name IS NULL")
_UNDELIVERED = text("delivered IS NULL")
_TROUBLED = text("status IN ('error', 'unknown')")
_OF_A_NODE = text("node IS NOT NULL")
_NOT_ROUTED = text("routed IS NULL")

# What is being done. `site` is no foreign key here: an action may fail for the very reason that its site is unknown.

action = Table(
    "action",
    metadata,
    Column("id", String(26), primary_key=True),
    Column("kind", String, nullable=False),
    Column("site", String, nullable=False),
    Column("revision", Integer),
    Column("parameters", Json, nullable=False),
    Column("dag_id", String, nullable=False),
    # NULL: no DAG run carries it out.
    Column("run_id", String),
    # Not `user`: in PostgreSQL an unquoted `user` is the database's own user.
    Column("created_by", String, nullable=False),
    Column("created", UtcDateTime, nullable=False),
    Column("started", UtcDateTime),
    Column("ended", UtcDateTime),
    Column("planned", UtcDateTime),
    Column("state", String, nullable=False),
    Column("verdict", Text),
    Column("context_marker", String),
    # Versions of a site are found by these: whether it changes nothing, or does not bring its whole site to a revision.
    Column("dry_run", Boolean, nullable=False, server_default=false()),
    Column("targeted", Boolean, nullable=False, server_default=false()),
    # The step that was begun last.
    Column("step", String),
    Column("paused", UtcDateTime),
    # The Airflow connection of the provisioner, decided once (NULL until then): another is never used for this action.
    Column("connection", String),
    # How often the provisioner has to fetch the design anew, from another address each time.
    Column("design_fetch", Integer, nullable=False, server_default="0"),
    # When its verdict became the note of its run in Airflow.
    Column("noted", UtcDateTime),
    UniqueConstraint("dag_id", "run_id"),
    # Ids grow with time.
    Index("ix_action_site_id", "site", "id"),
    # Few of them, and asked for every few seconds.
    Index("ix_action_open", "id", sqlite_where=_ACTION_OPEN, postgresql_where=_ACTION_OPEN),
    Index("ix_action_not_noted", "id", sqlite_where=_NOT_NOTED, postgresql_where=_NOT_NOTED),
)

# By itself because it is large: SQLite reads through all of it to reach what stands behind it in a row.
action_report = Table(
    "action_report",
    metadata,
    Column("action_id", String(26), ForeignKey("action.id", ondelete="CASCADE"), primary_key=True),
    Column("report", Json, nullable=False),
)

action_audit = Table(
    "action_audit",
    metadata,
    Column("id", String(26), primary_key=True),
    Column("action_id", String(26), ForeignKey("action.id", ondelete="CASCADE"), nullable=False, index=True),
    Column("command", String, nullable=False),
    Column("created_by", String, nullable=False),
    Column("at", UtcDateTime, nullable=False),
)

# A step of an action, for one of its groups or none (""): pending from the action's (the group's: the plan's) creation
# on, then its newest attempt, written by the task that carries it out.
action_step = Table(
    "action_step",
    metadata,
    Column("action_id", String(26), ForeignKey("action.id", ondelete="CASCADE"), primary_key=True),
    Column("name", String, primary_key=True),
    Column("group_name", String, primary_key=True),
    Column("state", String, nullable=False),
    Column("attempt", Integer, nullable=False),
    Column("started", UtcDateTime),
    Column("ended", UtcDateTime),
    Column("message", Text),
    # Who is expected to write it: `airflow:<dag>`.
    Column("owner", String),
    # Its place in the order of the action's steps.
    Column("position", Integer),
    # What had to be repeated before it succeeded, and when that was.
    Column("fixed", Text),
)

site_lock = Table(
    "site_lock",
    metadata,
    Column("site", String, primary_key=True),
    Column("action_id", String(26), ForeignKey("action.id"), nullable=False, unique=True),
    Column("dag_id", String, nullable=False),
    Column("run_id", String),
    Column("acquired", UtcDateTime, nullable=False),
)

group_run = Table(
    "group_run",
    metadata,
    Column("action_id", String(26), ForeignKey("action.id", ondelete="CASCADE"), primary_key=True),
    Column("name", String, primary_key=True),
    Column("position", Integer, nullable=False),
    Column("critical", Boolean, nullable=False),
    Column("definition", Json, nullable=False),
    Column("state", String, nullable=False),
    Column("reason", String),
    Column("attempt", Integer, nullable=False),
    Column("attempt_key", String),
    Column("criteria", Json, nullable=False),
    Column("counts", Json, nullable=False),
    Column("started", UtcDateTime),
    Column("ended", UtcDateTime),
)

group_node = Table(
    "group_node",
    metadata,
    Column("action_id", String(26), primary_key=True),
    Column("group_name", String, primary_key=True),
    Column("node", String, primary_key=True),
    ForeignKeyConstraint(["action_id", "group_name"], ["group_run.action_id", "group_run.name"], ondelete="CASCADE"),
    Index("ix_group_node_action_id_node", "action_id", "node"),
    sqlite_with_rowid=False,
)

task = Table(
    "task",
    metadata,
    Column("action_id", String(26), ForeignKey("action.id", ondelete="CASCADE"), primary_key=True),
    Column("node", String, primary_key=True),
    Column("phase", String, primary_key=True),
    Column("owner_group", String),
    Column("op", Serial),
    Column("status", String, nullable=False),
    Column("error", Text),
    # The version that a deploy is to bring about (deploy rows only): the wanted one may move on meanwhile.
    Column("digest", String),
    # What the provisioner said of the node right before it was submitted: only a change proves anything (rule 13).
    # "not_listed": its list did not have the node; NULL: no list was read.
    Column("found", String),
    Column("started", UtcDateTime),
    Column("ended", UtcDateTime),
    # Who is expected to do it: `provisioner:<connection>`.
    Column("owner", String),
    # What had to be repeated before it succeeded, and when that was.
    Column("fixed", Text),
    Index("ix_task_op_node", "op", "node"),
    # Few of them, and shown first.
    Index(
        "ix_task_troubled",
        "action_id",
        "owner_group",
        "node",
        "phase",
        "status",
        sqlite_where=_TROUBLED,
        postgresql_where=_TROUBLED,
    ),
    sqlite_with_rowid=False,
)

operation = Table(
    "operation",
    metadata,
    Column("op", Serial, Identity(always=True), primary_key=True),
    Column("action_id", String(26), ForeignKey("action.id", ondelete="CASCADE"), nullable=False),
    Column("site", String, nullable=False),
    # NULL: it is of no group.
    Column("group_name", String),
    Column("attempt", Integer, nullable=False),
    Column("phase", String, nullable=False),
    # Holds the number of its own row, so it is written right after the insert, in the same transaction.
    Column("reference", String, unique=True),
    Column("nodes", Json, nullable=False),
    Column("design_ref", Text, nullable=False),
    Column("provisioner_task", String),
    Column("lease_owner", String),
    Column("lease_until", UtcDateTime),
    Column("created", UtcDateTime, nullable=False),
    # Right before the newest request that could start it; NULL: nothing was ever sent, and nothing is to be looked for.
    Column("sending", UtcDateTime),
    Column("submitted", UtcDateTime),
    Column("running_since", UtcDateTime),
    Column("ended", UtcDateTime),
    Column("over", UtcDateTime),
    Column("status", String, nullable=False),
    Column("result", Text),
    UniqueConstraint("action_id", "group_name", "attempt", "phase"),
    # The constraint above does not hold for NULL: no NULL is equal to another.
    Index(
        "ix_operation_without_group",
        "action_id",
        "attempt",
        "phase",
        unique=True,
        sqlite_where=_NO_GROUP,
        postgresql_where=_NO_GROUP,
    ),
    Index("ix_operation_not_over", "site", sqlite_where=text("over IS NULL"), postgresql_where=text("over IS NULL")),
    sqlite_autoincrement=True,
)

# Per site and node: what is wanted of it, and what was last done to it.

#: What `strategy_lib.status.leaf.status_in_site` says of the columns beside it; a test compares the two.
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

node = Table(
    "node",
    metadata,
    Column("site", String, primary_key=True),
    Column("name", String, primary_key=True),
    Column("wanted_revision", Integer),
    Column("wanted_digest", String),
    Column("op", Serial),
    Column("done_revision", Integer),
    Column("done_digest", String),
    Column("done_at", UtcDateTime),
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
    # How it stands in its site, of the seven words: computed by the database, so that it can be counted and sorted.
    Column("standing", String, Computed(STANDING), nullable=False),
    Index("ix_node_site_standing_name", "site", "standing", "name"),
    Index("ix_node_site_rack_name", "site", "rack", "name"),
    Index("ix_node_site_done_revision_name", "site", "done_revision", "name"),
    Index("ix_node_site_provisioner_status_name", "site", "provisioner_status", "name"),
    Index("ix_node_site_power_name", "site", "power", "name"),
    Index("ix_node_site_last_updated_name", "site", "last_updated", "name"),
    sqlite_with_rowid=False,
)

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
    sqlite_with_rowid=False,
)

# The list of nodes that the provisioner gave last.
provisioner_list = Table(
    "provisioner_list",
    metadata,
    Column("site", String, primary_key=True),
    Column("connection", String, nullable=False),
    Column("read_at", UtcDateTime, nullable=False),
    Column("nodes", CompressedText, nullable=False),
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
    Column("fresh", Boolean, primary_key=True),
    Column("part", BigInteger, primary_key=True, autoincrement=False),
    Column("records", BigInteger, nullable=False),
    sqlite_with_rowid=False,
)

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
    Index("ix_event_site_node_id", "site", "node", "id", sqlite_where=_OF_A_NODE, postgresql_where=_OF_A_NODE),
    sqlite_autoincrement=True,
)

# The controller's. Times of a lease are the database's; what its owner writes is fenced by the epoch.

lease = Table(
    "lease",
    metadata,
    Column("name", String, primary_key=True),
    Column("owner", String, nullable=False),
    Column("epoch", Serial, nullable=False),
    Column("expires_at", UtcDateTime, nullable=False),
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
    Index("ix_outbox_not_routed", "id", sqlite_where=_NOT_ROUTED, postgresql_where=_NOT_ROUTED),
    sqlite_autoincrement=True,
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
    Index("ix_delivery_due", "next_try", sqlite_where=_UNDELIVERED, postgresql_where=_UNDELIVERED),
)
