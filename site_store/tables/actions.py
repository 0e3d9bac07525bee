"""What is being done: actions, their steps, groups and tasks, and the operations at provisioners."""

from __future__ import annotations

from sqlalchemy import (
    Boolean,
    Column,
    Double,
    ForeignKey,
    ForeignKeyConstraint,
    Identity,
    Index,
    Integer,
    String,
    Table,
    Text,
    UniqueConstraint,
    false,
    text,
)

from site_store.tables.metadata import Json, Serial, UtcDateTime, metadata

_ACTION_OPEN = text("state IN ('pending', 'running')")
_NOT_NOTED = text("noted IS NULL AND ended IS NOT NULL")
_NO_GROUP = text("group_name IS NULL")

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
    # Of a success: how many nodes of critical groups were neither submitted nor proven.
    Column("left_alone", Integer, nullable=False, server_default="0"),
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
    # Seconds between an end and the next try: nobody was at work on it.
    Column("idle", Double, nullable=False, server_default="0"),
    # When its verdict became the note of its run in Airflow.
    Column("noted", UtcDateTime),
    # The version that `If-Match` names; each command and each change of state raises it.
    Column("version", Integer, nullable=False, server_default="1"),
    UniqueConstraint("dag_id", "run_id"),
    # Ids grow with time.
    Index("ix_action_site_id", "site", "id"),
    # Few of them, and asked for every few seconds.
    Index("ix_action_open", "id", postgresql_where=_ACTION_OPEN),
    Index("ix_action_not_noted", "id", postgresql_where=_NOT_NOTED),
)

# By itself because it is large, and few read it.
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
    # The place of its task among those that Airflow maps; NULL: it has none, as there was nothing to submit.
    Column("map_index", Integer),
    Column("state", String, nullable=False),
    Column("reason", String),
    Column("attempt", Integer, nullable=False),
    Column("attempt_key", String),
    Column("criteria", Json, nullable=False),
    Column("counts", Json, nullable=False),
    # The order of its nodes, and which are redeployed; NULL: neither.
    Column("plan", Json),
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
    # The wanted version of the node that the action's plan is about.
    Column("wanted_version", Integer),
    Column("tries", Integer, nullable=False, server_default="1"),
    # Where no operation of its own decided it: the one that it was done by before, or the number that says why not.
    Column("done_op", Serial),
    # Of a node that was as wanted already: the revision that it was done for. NULL: not known.
    Column("done_revision", Integer),
    # Why it is held for another node; NULL: it is not.
    Column("held", Text),
    Index("ix_task_op_node", "op", "node"),
)

# A task that has failed or is lost, under the group that has it ("": a step): those of each group are found by its key.
# Triggers keep it, in the transaction of each change, and nothing else writes it (`counting.py`).
task_trouble = Table(
    "task_trouble",
    metadata,
    Column("action_id", String(26), primary_key=True),
    Column("owner_group", String, primary_key=True),
    Column("node", String, primary_key=True),
    Column("phase", String, primary_key=True),
    # error or unknown, as `task.status`.
    Column("status", String, nullable=False),
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
    # Number of the batch or retry within attempt and phase.
    Column("round", Integer, nullable=False, server_default="0"),
    # Nodes that were due and could not be claimed: they are not due again in this attempt. NULL: none.
    Column("left_out", Json),
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
    # Nodes that the list showed at work once the provisioner task was over. NULL: none.
    Column("at_work", Json),
    UniqueConstraint("action_id", "group_name", "attempt", "phase", "round"),
    # The constraint above does not hold for NULL: no NULL is equal to another.
    Index(
        "ix_operation_without_group",
        "action_id",
        "attempt",
        "phase",
        "round",
        unique=True,
        postgresql_where=_NO_GROUP,
    ),
    Index("ix_operation_site_op", "site", "op"),
    Index("ix_operation_not_over", "site", postgresql_where=text("over IS NULL")),
)

# Where the nodes of an operation that is not over are asked whether they are ready, and how many at once (rule 58).
node_question = Table(
    "node_question",
    metadata,
    Column("op", Serial, ForeignKey("operation.op", ondelete="CASCADE"), primary_key=True, autoincrement=False),
    Column("urls", Json, nullable=False),
    Column("most", Integer, nullable=False),
)
