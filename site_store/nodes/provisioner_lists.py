"""The list of nodes that each site's provisioner gave last: what can be shown and planned without asking it again."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

import msgspec
from sqlalchemy import ColumnElement, Connection, case, exists, func, literal, select, update

from site_store.records import Lease
from site_store.sql.postgresql import among, insert, json_rows
from site_store.sql.rows import filled, json_list
from site_store.status.leases import LedRepository
from site_store.status.status_records import ProvisionerListRecord
from site_store.status.watches import note_gap
from site_store.tables import node, operation, provisioner_list
from strategy_lib.outcome import NodeCondition
from strategy_lib.phase import Phase
from strategy_lib.status.watching import SHORTEST_SILENCE

# At most this many nodes are changed by one statement, which must end within the database's time limit.
_AT_ONCE = 10_000
_HEAD = select(provisioner_list.c.connection, provisioner_list.c.digest, provisioner_list.c.read_at)


class ProvisionerLists(LedRepository):
    """Lists by site."""

    def save(
        self,
        site: str,
        connection: str,
        nodes: Mapping[str, Mapping[str, Any]],
        asked: datetime | None = None,
        *,
        based_on: str | None = None,
    ) -> bool:
        """Keep a list that was just read, and what it says of each node of the site; one asked for later replaces it.

        Parameters
        ----------
        connection : the Airflow connection over which it was read.
        nodes : by name, as JSON values without secrets, with `status` and `power`: the provisioner's own words.
        asked : when it was asked for, by the database's clock.  [now]
        based_on : digest of the list of which it is the changed one. Where another is kept by now, this one is not.

        Returns
        -------
        bool
            False: it is not kept. A list that was asked for later is kept already, and this one says nothing new; or it
            is based on another.
        """
        written = msgspec.json.encode(dict(nodes), order="deterministic")
        text, digest = written.decode(), hashlib.sha256(written).hexdigest()

        def work(tx: Connection, now: datetime) -> bool:
            over = tx.scalar(select(func.max(operation.c.over)).where(operation.c.site == site))
            read_at = min(asked or now, now)
            if over is not None and over > now:
                # It says more than what operations left before it, also where the clock runs backwards.
                read_at = over
            kept = tx.execute(_HEAD.where(provisioner_list.c.site == site).with_for_update()).one_or_none()
            if based_on is not None and (kept is None or kept.digest != based_on):
                return False
            if kept is not None and (now - kept.read_at).total_seconds() > SHORTEST_SILENCE:
                note_gap(tx, now, site)
            is_same = kept is not None and (kept.connection, kept.digest) == (connection, digest)
            facts = {"connection": connection, "read_at": read_at, "digest": digest}
            row = insert(provisioner_list).values(site=site, nodes="" if is_same else text, **facts)
            names_of = facts if is_same else (*facts, "nodes")
            # One from the future was written by a clock that was put back since.
            replaced = row.on_conflict_do_update(
                index_elements=["site"],
                set_={column: row.excluded[column] for column in names_of},
                where=(provisioner_list.c.read_at <= read_at) | (provisioner_list.c.read_at > now),
            )
            if tx.execute(replaced.returning(provisioner_list.c.site)).one_or_none() is None:
                return False
            known = select(node.c.name, node.c.provisioner_status, node.c.power, node.c.listed_at)
            if is_same:
                # Of the others it was written down what it says.
                known = known.where(node.c.listed_at.is_(None))
            changed: defaultdict[tuple[Any, Any], list[str]] = defaultdict(list)
            for name, status, power, listed_at in tx.execute(known.where(node.c.site == site)):
                said = nodes.get(name)
                new = (None, None) if said is None else (said.get("status"), said.get("power"))
                if new != (status, power) or (listed_at is None and said is not None):
                    changed[new].append(name)
            # Few words are said of very many nodes, and each statement is counted once (`schema.sql`).
            for (status, power), names in changed.items():
                values = {"provisioner_status": status, "power": power, "listed_at": now}
                for first in range(0, len(names), _AT_ONCE):
                    these = among(node.c.name, names[first : first + _AT_ONCE])
                    tx.execute(update(node).where(node.c.site == site, these).values(values))
            return True

        return self._transact(work)

    def get(self, site: str) -> ProvisionerListRecord | None:
        """Return the list that was read last, None where none ever was."""
        query = select(provisioner_list).where(provisioner_list.c.site == site)
        row = self._database.read(lambda tx: tx.execute(query).one_or_none())
        return None if row is None else filled(ProvisionerListRecord, row)

    def note_pace(self, held: Lease, site: str, seconds: float) -> None:
        """Note how many seconds lie between two questions of the site's leader now. Raises `LeaseLost`."""

        def work(tx: Connection, _now: datetime) -> None:
            tx.execute(update(provisioner_list).where(provisioner_list.c.site == site).values(every_seconds=seconds))

        self._transact_led(held, work)

    def left_since(self, site: str, read_at: datetime) -> dict[str, str]:
        """Return how operations that were over only after a list was read have left their nodes.

        The newest operation of each node counts: what the provisioner said of the node then. Where it said nothing, a
        deploy that has succeeded left the node deployed, as did a question whether it is ready (rule 58), and any other
        operation tells nothing.
        """
        moment = literal(read_at, operation.c.over.type)

        def work(tx: Connection) -> dict[str, str]:
            return left_words(json_list(tx.scalar(select(left_column(literal(site), moment)))))

        return self._database.read_once(work)


def left_column(site: ColumnElement[str], read_at: ColumnElement[Any]) -> ColumnElement[str]:
    """Return a column for `left_words`: the nodes of operations of a site that were over only after a list was read.

    Parameters
    ----------
    read_at : when the list was read: a value, or the column of `provisioner_list`.
    """
    over = (operation.c.site == site, operation.c.over > read_at)
    facts = (node.c.name, node.c.left_as, node.c.done_at.is_not(None), operation.c.phase)
    left = select(*facts).join(operation, operation.c.op == node.c.op).where(node.c.site == site, *over)
    rows = json_rows(left.correlate(provisioner_list))
    # Most often there is no such operation, and the nodes are not looked through for it.
    return case((exists().where(*over).correlate(provisioner_list), rows))


def left_words(rows: Iterable[Sequence[Any]]) -> dict[str, str]:
    """Return what `ProvisionerLists.left_since` does, of the rows of `left_column`."""
    found = {}
    for name, left_as, is_done, phase in rows:
        proven = NodeCondition.DEPLOYED.value if is_done and phase in (Phase.DEPLOY, Phase.READY) else None
        if (said := left_as or proven) is not None:
            found[name] = said
    return found
