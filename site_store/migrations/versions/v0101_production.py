"""Production: who may write (60), where a store lives (61), keyed digests (62), how node agents sign (63)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import sqlalchemy as sa
from alembic import context, op

from design_rendering.kinds.objects import DigestKey, keyed, keyed_again
from site_store.sql.postgresql import text_rows
from site_store.sql.sealing import make_digest_key
from site_store.tables import metadata

revision = "0101"
down_revision = "0100"
branch_labels = None
depends_on = None

#: Code of the schema before may not write beside that of this one: 0.9.0 does not ask whether it may.
ROLLING = False

#: The version of the digests of nodes that stores of this schema hold (rule 38).
DIGESTS = 4

_AT_ONCE = 5000


def upgrade() -> None:
    """Bring a store of schema 0100 to this one; a new store has it from its tables, and never runs this."""
    _wait_for_writers()
    op.create_table(
        "store_state",
        sa.Column("id", sa.Integer(), sa.CheckConstraint("id = 1", name="one_row"), autoincrement=False),
        sa.Column("writes_from", sa.String(), nullable=False),
        sa.Column("salt", sa.String(), nullable=False, server_default=sa.text("gen_random_uuid()::text")),
        sa.Column("incarnation", sa.String()),
        sa.Column("system_id", sa.String()),
        sa.Column("database_id", sa.BigInteger()),
        sa.Column("table_id", sa.BigInteger()),
        sa.Column("digest_key", sa.LargeBinary(), nullable=True),
        sa.Column("server_start", sa.BigInteger()),
        sa.Column("compared", sa.JSON()),
        sa.Column("newer_op", sa.BigInteger()),
        sa.Column("known_op", sa.BigInteger()),
        sa.PrimaryKeyConstraint("id", name="pk_store_state"),
    )
    op.create_table(
        "process",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("role", sa.String(), nullable=False),
        sa.Column("version", sa.String(), nullable=False),
        sa.Column("store_schema", sa.String(), nullable=False),
        sa.Column("host", sa.String(), nullable=False),
        sa.Column("pid", sa.Integer(), nullable=False),
        sa.Column("started", sa.DateTime(timezone=True), nullable=False),
        sa.Column("last_sign", sa.DateTime(timezone=True), nullable=False),
        sa.Column("every_seconds", sa.Float(), nullable=True),
        sa.Column("clock_offset", sa.Float(), nullable=False),
        sa.Column("environment", sa.JSON(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_process"),
    )
    op.add_column("node", sa.Column("signed", sa.Integer()))
    _key_digests(op.get_bind())
    _hide_tokens(op.get_bind())


def _wait_for_writers() -> None:
    """Wait for transactions of 0.9.0, which share no lock, and keep them from writing until the fence stands."""
    tx = op.get_bind()
    own = sorted(set(sa.inspect(tx).get_table_names()) & set(metadata.tables))
    tx.execute(sa.text(f"LOCK TABLE {', '.join(own)} IN SHARE ROW EXCLUSIVE MODE"))


def _key_digests(tx: sa.Connection) -> None:
    """Replace each plain digest of a node and of an object by the keyed one, which new code computes (rule 62).

    What was the same stays the same, and what differed differs: no node is done anew, and nothing is proven by it.
    """
    tx.execute(sa.text("INSERT INTO store_state (id, writes_from) VALUES (1, '0101')"))
    key = make_digest_key(tx, context.config.attributes["keys"])

    def again(stored: str) -> str:
        return keyed_again(key, stored)

    _replace(tx, "node", ("site", "name"), ("wanted_digest", "done_digest"), again)
    _replace(tx, "task", ("action_id", "node", "phase"), ("digest",), again)
    objects = ("site", "kind", "name")
    _replace(tx, "design_object", objects, ("digest",), lambda plain: keyed(key, plain))
    _replace(tx, "design_object", objects, ("policed_set",), lambda said: _judged(key, said))


def _hide_tokens(tx: sa.Connection) -> None:
    """Keep a hash of each token of a design in place of it: an address of before opens its design, and no dump does."""
    hashed = "translate(encode(substr(sha256(convert_to({}, 'UTF8')), 1, 12), 'base64'), '+/', '-_')"
    ours = r"^(.*/slipway/d/)([^?]*)(.*)$"
    part = "(regexp_match(design_ref, :ours))[{}]"
    handle = f"{part.format(1)} || {hashed.format(part.format(2))} || {part.format(3)}"
    revision, candidate = hashed.format("design_token"), hashed.format("token")
    tx.execute(sa.text(f"UPDATE revision SET design_token = {revision}"))  # noqa: S608 - constants
    tx.execute(sa.text(f"UPDATE candidate SET token = {candidate}"))  # noqa: S608 - constants
    operation = f"UPDATE operation SET design_ref = {handle} WHERE design_ref ~ :ours"  # noqa: S608 - constants
    tx.execute(sa.text(operation), {"ours": ours})


def _judged(key: DigestKey, policed: str) -> str:
    """Return the set of policies and, behind a colon, the digest in which they left an object."""
    by, colon, digest = policed.partition(":")
    return f"{by}{colon}{keyed(key, digest)[:32]}" if digest else policed


def _replace(
    tx: sa.Connection, table: str, known_by: Sequence[str], columns: Sequence[str], new: Callable[[str], str]
) -> None:
    """Write what `new` makes of texts of a table, by its key: no old one is in a statement, which a log may have."""
    stored = sa.table(table, *map(sa.column, (*known_by, *columns)))
    is_there = sa.or_(*(stored.c[name].is_not(None) for name in columns))
    query = sa.select(stored).where(is_there).order_by(*(stored.c[name] for name in known_by))
    for rows in tx.execute(query, execution_options={"yield_per": _AT_ONCE}).partitions():
        made = [(*row[: len(known_by)], *(one and new(one) for one in row[len(known_by) :])) for row in rows]
        given = text_rows((*known_by, *columns), made)
        same = sa.and_(*(stored.c[name] == given.c[name] for name in known_by))
        tx.execute(sa.update(stored).values({name: given.c[name] for name in columns}).where(same))
