"""What a real Drydock taught: when something was first sent, an action's connection, doubts, a design's secrets."""

from __future__ import annotations

import zlib

import sqlalchemy as sa
from alembic import op

from design_rendering.changes.digests import node_digests
from design_rendering.documents import load_documents
from design_rendering.kinds.drydock_nodes import nodes_from_documents
from strategy_lib.errors import StrategyLibError

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None

MOMENT = sa.DateTime(timezone=True)
SERIAL = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Add the columns, and fill them from what is known."""
    _change_operations()
    _change_actions()
    _change_nodes()
    _change_revisions()


def _change_operations() -> None:
    op.add_column("operation", sa.Column("sending", MOMENT))
    # A process that had the right to send may have sent.
    op.execute(
        "UPDATE operation SET sending = coalesce(submitted, lease_until, created)"
        " WHERE lease_owner IS NOT NULL OR provisioner_task IS NOT NULL"
    )


def _change_actions() -> None:
    op.add_column("action", sa.Column("connection", sa.String()))
    op.add_column("action", sa.Column("design_fetch", sa.Integer(), nullable=False, server_default="0"))


def _change_nodes() -> None:
    op.add_column("task", sa.Column("found", sa.String()))
    # What is under way was submitted in the light of what was noted last.
    op.execute(
        "UPDATE task SET found = (SELECT node.condition FROM node JOIN action ON action.site = node.site "
        "WHERE action.id = task.action_id AND node.name = task.node) WHERE status IN ('processing', 'unknown')"
    )
    op.add_column("node", sa.Column("doubt", sa.Text()))
    # NULL for all: how operations left their nodes was not noted.
    op.add_column("node", sa.Column("left_as", sa.String()))
    _note_doubts()
    _compute_digests()


def _note_doubts() -> None:
    """Mark what was recorded as done by a deploy of a node that was deployed already: nothing was done to it then.

    That shows in the tasks: an earlier deploy in another design had succeeded, and nothing was destroyed in between.
    They cannot tell of a node that somebody else had deployed before its first action, or had released by hand.
    """
    tx = op.get_bind()
    history = tx.execute(
        sa.text(
            "SELECT action.site, task.node, task.phase, task.digest, task.action_id FROM task "
            "JOIN action ON action.id = task.action_id WHERE task.op IS NOT NULL AND task.status = 'success' "
            "AND task.phase IN ('deploy', 'destroy_nodes') ORDER BY task.op"
        )
    )
    # By site and node: the digest that is really deployed, and the deploy that was recorded as done in vain.
    deployed: dict[tuple[str, str], str | None] = {}
    in_vain: dict[tuple[str, str], tuple[str | None, str]] = {}
    for row in history:
        key = (row.site, row.node)
        if row.phase == "destroy_nodes":
            deployed.pop(key, None)
            in_vain.pop(key, None)
        elif key not in deployed:
            deployed[key] = row.digest
        elif deployed[key] == row.digest:
            in_vain.pop(key, None)
        else:
            in_vain[key] = (row.digest, row.action_id)
    for (site, name), (digest, action_id) in in_vain.items():
        tx.execute(
            sa.text("UPDATE node SET doubt = :doubt WHERE site = :site AND name = :name AND done_digest = :digest"),
            {
                "doubt": f"action {action_id} recorded it as done, but the node was deployed in another design before, "
                "and a provisioner touches nothing then",
                "site": site,
                "name": name,
                "digest": digest,
            },
        )


def _compute_digests() -> None:
    """Compute the digests anew, from the stored designs, as labels have a part of their own now: nothing gets dirty."""
    tx = op.get_bind()
    designs: dict[tuple[str, int], dict[str, str]] = {}

    def digest(site: str, number: int | None, node: str) -> str | None:
        if number is None:
            return None
        if (site, number) not in designs:
            designs[site, number] = stored_digests(tx, site, number) or {}
        return designs[site, number].get(node)

    nodes = sa.text("SELECT site, name, wanted_revision, wanted_digest, done_revision, done_digest, doubt FROM node")
    for row in tx.execute(nodes).all():
        wanted = digest(row.site, row.wanted_revision, row.name) or row.wanted_digest
        done, doubt = row.done_digest, row.doubt
        if done is not None:
            done = digest(row.site, row.done_revision, row.name)
            if done is None:
                done, doubt = row.done_digest, doubt or "the design that it was deployed in cannot be read any more"
        values = {"wanted": wanted, "done": done, "doubt": doubt, "site": row.site, "name": row.name}
        tx.execute(
            sa.text(
                "UPDATE node SET wanted_digest = :wanted, done_digest = :done, doubt = :doubt "
                "WHERE site = :site AND name = :name"
            ),
            values,
        )
    # A person may clear a group of any action, which deploys again. The design of each newest action is read; that
    # of an older one is known only where a node is done in it or is to be. Else the digest is forgotten: one in the old
    # form would pass for another design. What such an action deploys again is then deployed in no known design.
    newest = set(tx.scalars(sa.text("SELECT max(id) FROM action WHERE dry_run = :no GROUP BY site"), {"no": False}))
    actions = sa.text("SELECT id, site, revision FROM action WHERE id IN (SELECT action_id FROM task)")
    for action in tx.execute(actions).all():
        if action.id not in newest and (action.site, action.revision) not in designs:
            forgotten = sa.text("UPDATE task SET digest = NULL WHERE action_id = :action AND digest IS NOT NULL")
            tx.execute(forgotten, {"action": action.id})
            continue
        planned = sa.text("SELECT node FROM task WHERE action_id = :action AND phase = 'deploy' AND digest IS NOT NULL")
        rows = [
            {"action": action.id, "node": name, "digest": digest(action.site, action.revision, name)}
            for name in tx.scalars(planned, {"action": action.id}).all()
        ]
        anew = "UPDATE task SET digest = :digest WHERE action_id = :action AND node = :node AND phase = 'deploy'"
        if rows:
            tx.execute(sa.text(anew), rows)


def stored_digests(tx: sa.Connection, site: str, number: int) -> dict[str, str] | None:
    """Return the digest of each node in a revision's stored design; None where there is none that can be read."""
    query = sa.text(
        "SELECT content.text FROM revision JOIN content ON content.id = revision.design_id "
        "WHERE revision.site = :site AND revision.number = :number"
    )
    text = tx.scalar(query, {"site": site, "number": number})
    if text is None:
        return None
    try:
        documents = load_documents(zlib.decompress(bytes(text)).decode(), f"revision {number}")
        return node_digests(documents, nodes_from_documents(documents))
    except StrategyLibError:
        return None


def _change_revisions() -> None:
    # NULL for what was committed before: a task finds these secrets by rendering the design again.
    # Not by Alembic: it adds no foreign key to a table of SQLite, and SQLite itself does.
    number = SERIAL.compile(dialect=op.get_bind().dialect)
    op.execute(
        f"ALTER TABLE revision ADD COLUMN secrets_id {number} CONSTRAINT fk_revision_secrets REFERENCES content (id)"
    )
