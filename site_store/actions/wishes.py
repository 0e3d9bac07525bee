"""What a person asks for of single nodes: that one is done again, or counts as done as it is. Kept for good."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection, insert, select, update
from ulid import ULID

from site_store.actions.site_locks import require_free
from site_store.designs.contents import newest_number
from site_store.nodes.nodes import require_versions
from site_store.nodes.repair_switches import ALL_SITES
from site_store.nodes.unsent import next_op
from site_store.sql.database import Repository
from site_store.sql.postgresql import among
from site_store.status.events import EventKind, NewEvent, write_events
from site_store.status.object_changes import touched_nodes, write_changes
from site_store.tables import action, action_audit, node, site_audit
from strategy_lib.status.words import Status


@dataclass(frozen=True, slots=True)
class AuditedRequest:
    """What a person asked for of a site's nodes, `touch` or `adopt`; or a command that was given to an action."""

    id: str
    site: str
    command: str
    nodes: tuple[str, ...]
    detail: str | None
    user: str
    at: datetime
    action_id: str | None = None


class Wishes(Repository):
    """Requests about nodes outside of any action."""

    def touch(
        self, site: str, nodes: Collection[str], user: str, versions: Mapping[str, int] | None = None
    ) -> dict[str, int]:
        """Ask for nodes again: each is wanted in a new version of the same design, and has failed in none (rule 37).

        Parameters
        ----------
        versions : the versions that records of nodes are to have, where the caller has seen them.

        Returns
        -------
        dict
            The new wanted version of each node that is in the design; others are left out.

        Raises
        ------
        VersionChanged : a record has another version by now; nothing was written.
        """

        def work(tx: Connection, now: datetime) -> dict[str, int]:
            require_versions(tx, site, versions)
            version = node.c.wanted_version + 1
            these = (node.c.site == site, node.c.wanted_digest.is_not(None), among(node.c.name, nodes))
            asked = update(node).where(*these).values(touched_by=user, failures=0, next_try=None)
            asked = asked.values(wanted_version=version, touched=version, version=node.c.version + 1)
            found = tx.execute(asked.returning(node.c.name, node.c.wanted_version)).all()
            touched: dict[str, int] = {row.name: row.wanted_version for row in found}
            said = {
                name: f"asked for again by {user}, as version {number} of the node" for name, number in touched.items()
            }
            _keep(tx, now, site, "touch", EventKind.TOUCHED, said, user, None)
            write_changes(tx, now, site, touched_nodes(touched), user)
            return touched

        return self._transact(work)

    def adopt(
        self,
        site: str,
        nodes: Collection[str],
        user: str,
        detail: str | None = None,
        versions: Mapping[str, int] | None = None,
    ) -> dict[str, int]:
        """Record nodes as done in what is wanted of them, as no action has done them.

        It is an operation of its own: what is learnt later of an older one goes to the history (rule 45).

        It is left to the caller to see that they are deployed. Nodes that are not in the design are left out.

        Returns
        -------
        dict
            The revision of each node that counts as done now.

        Raises
        ------
        SiteBusy : an action is at work on the site, or is to be.
        VersionChanged : a record has another version than `versions` say.
        """

        def work(tx: Connection, now: datetime) -> dict[str, int]:
            require_versions(tx, site, versions)
            require_free(tx, site)
            number = newest_number(tx, site)
            adopted = tx.scalars(
                update(node)
                .where(node.c.site == site, node.c.wanted_digest.is_not(None), among(node.c.name, nodes))
                .where(node.c.status.is_distinct_from(str(Status.PROCESSING)))
                .values(
                    op=next_op(tx),
                    left_as=None,
                    done_revision=number,
                    done_digest=node.c.wanted_digest,
                    done_version=node.c.wanted_version,
                    done_at=now,
                    doubt=None,
                    status=str(Status.SUCCESS),
                    error=None,
                    error_revision=None,
                    error_version=None,
                    error_action=None,
                    failures=0,
                    next_try=None,
                    last_updated=now,
                    version=node.c.version + 1,
                )
                .returning(node.c.name)
            ).all()
            said = dict.fromkeys(adopted, f"adopted by {user}: counts as done in revision {number}")
            _keep(tx, now, site, "adopt", EventKind.ADOPTED, said, user, detail)
            return dict.fromkeys(sorted(adopted), int(number or 0))

        return self._transact(work)

    def audit(self, site: str, limit: int = 50, before: str | None = None) -> list[AuditedRequest]:
        """Return who asked for what of a site's nodes, or gave its actions a command, the newest first.

        Parameters
        ----------
        limit, before : how many at most; only what is older than the one of this id.
        """
        these = site_audit.c.site.in_((site, ALL_SITES))
        nodes = select(site_audit).where(these).order_by(site_audit.c.id.desc()).limit(limit)
        commands = (
            select(action_audit)
            .join(action, action.c.id == action_audit.c.action_id)
            .where(action.c.site == site)
            .order_by(action_audit.c.id.desc())
            .limit(limit)
        )
        if before is not None:
            nodes, commands = nodes.where(site_audit.c.id < before), commands.where(action_audit.c.id < before)

        def work(tx: Connection) -> list[AuditedRequest]:
            found = [
                AuditedRequest(row.id, site, row.command, tuple(row.nodes), row.detail, row.created_by, row.at)
                for row in tx.execute(nodes)
            ]
            found += [
                AuditedRequest(row.id, site, row.command, (), None, row.created_by, row.at, row.action_id)
                for row in tx.execute(commands)
            ]
            return sorted(found, key=lambda one: one.id, reverse=True)[:limit]

        return self._database.read(work)


def _keep(
    tx: Connection,
    now: datetime,
    site: str,
    command: str,
    kind: EventKind,
    said: Mapping[str, str],
    user: str,
    detail: str | None,
) -> None:
    """Note a request with the site and in the history of its nodes; nothing where it concerned none."""
    if not said:
        return
    facts = {"id": str(ULID.from_datetime(now)), "site": site, "command": command, "nodes": sorted(said)}
    tx.execute(insert(site_audit).values(**facts, detail=detail, created_by=user, at=now))
    events = [NewEvent(kind, message, node=name, data={"user": user}) for name, message in sorted(said.items())]
    write_events(tx, now, site, None, events)
