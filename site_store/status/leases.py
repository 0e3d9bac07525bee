"""Leases: of several processes one is at a thing, and each knows by the database's clock whether it still is.

A lease has an epoch, which grows whenever it goes to another owner. What its owner writes is fenced by that epoch:
`require_lease` in the same transaction refuses the write of one who has lost the lease meanwhile. A new epoch is at
least the time in seconds, so that those of a store that was restored are above all that anybody has seen.

The epoch is public. By a secret, which is made when a lease is taken and kept as a hash alone, its owner proves to
another process that the lease is theirs: `Leases.holds`.

Checks are here, too: the owner of a lease alone writes them.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final, TypeVar

from sqlalchemy import Connection, String, case, cast, select, update

from site_store.records import Lease
from site_store.sql.database import Repository
from site_store.sql.errors import StoreError
from site_store.sql.postgresql import among, clock, insert, pairs
from site_store.sql.rows import filled
from site_store.tables import check_result, lease

T = TypeVar("T")

CONTROLLER: Final = "controller"
"""The lease of the one controller that is at work; also what it is called as an owner."""


RIGHTS: Final = "rights of the controller"
"""The check whether the controller's account may do its work; its problem stands with the status of each site."""
DESIGN: Final = "design of site "
"""With a site's name, the check whether who leads it can read its design; its problem stands with the site's status."""


class LeaseLost(StoreError):
    """A lease has run out or was given up, and another process may have it: nothing was written; take it again."""


def require_lease(tx: Connection, held: Lease, now: datetime, *, renews: bool = False) -> None:
    """Refuse what the caller's transaction writes unless the lease is still held; nobody else gets it meanwhile.

    Parameters
    ----------
    now : the database's time.
    renews : the transaction writes the lease itself, so others that write under it are waited for.

    Raises
    ------
    LeaseLost : it has run out or was given up, and another may have it.
    """
    row = tx.execute(select(lease).where(lease.c.name == held.name).with_for_update(read=not renews)).one_or_none()
    if row is None or row.epoch != held.epoch or row.expires_at <= now:
        raise LeaseLost(f"the lease {held.name!r} of {held.owner} (epoch {held.epoch}) is lost: take it again")


class LedRepository(Repository):
    """A repository of which some methods are for who has a lease."""

    def _transact_led(self, held: Lease | None, work: Callable[[Connection, datetime], T]) -> T:
        """Run `work` in one transaction while the lease is held, with the database's time; None: anybody may.

        Raises `LeaseLost`: nothing was written.
        """

        def fenced(tx: Connection, now: datetime) -> T:
            if held is not None:
                require_lease(tx, held, now)
            return work(tx, now)

        return self._transact(fenced)


def _hash(secret: str) -> str:
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()


class Leases(LedRepository):
    """Leases by their names."""

    def take(self, name: str, owner: str, seconds: float) -> Lease | None:
        """Take a lease that is free or has run out; ask again for one's own to prolong it. Either gives a new secret.

        Parameters
        ----------
        name : what it is for, such as `controller`.
        owner : who asks, unique to the process.
        seconds : for how long, by the database's clock.

        Returns
        -------
        Lease or None
            None: another has it.
        """

        secret = secrets.token_urlsafe(32)

        def work(tx: Connection, now: datetime) -> Lease | None:
            least = int(now.timestamp())
            wanted = insert(lease).values(
                name=name,
                owner=owner,
                epoch=least,
                expires_at=now + timedelta(seconds=seconds),
                renewed=now,
                secret_hash=_hash(secret),
            )
            row = tx.execute(
                wanted.on_conflict_do_update(
                    index_elements=["name"],
                    set_={
                        "owner": owner,
                        # Whose own has run out begins anew: another may have had it, and given it up.
                        "epoch": case(
                            (lease.c.expires_at > now, lease.c.epoch),
                            (lease.c.epoch >= least, lease.c.epoch + 1),
                            else_=least,
                        ),
                        "expires_at": wanted.excluded.expires_at,
                        "renewed": wanted.excluded.renewed,
                        "secret_hash": wanted.excluded.secret_hash,
                    },
                    where=(lease.c.expires_at <= now) | (lease.c.owner == owner),
                ).returning(*lease.c)
            ).one_or_none()
            return None if row is None else Lease(row.name, row.owner, row.epoch, row.expires_at, secret)

        return self._transact(work)

    def holds(self, name: str, epoch: int, secret: str) -> bool:
        """Tell whether a lease is held now, in this epoch and by the one who has its secret."""

        def work(tx: Connection) -> bool:
            row = tx.execute(select(lease).where(lease.c.name == name)).one_or_none()
            if row is None or row.epoch != epoch or row.expires_at <= self._shared_now(tx):
                return False
            return hmac.compare_digest(row.secret_hash or "", _hash(secret))

        return self._database.read(work)

    def renew(self, held: Lease, seconds: float) -> Lease:
        """Prolong a lease, and return it as it is now.

        Raises `LeaseLost`: it has run out or was given up, and another may have it.
        """

        def work(tx: Connection, now: datetime) -> Lease:
            # A long write under this lease is waited for, and the time counts from then on.
            require_lease(tx, held, now, renews=True)
            renewed = self._shared_now(tx)
            until = renewed + timedelta(seconds=seconds)
            tx.execute(update(lease).where(lease.c.name == held.name).values(expires_at=until, renewed=renewed))
            return replace(held, expires_at=until)

        return self._transact(work)

    def renew_all(self, held: Collection[Lease], seconds: float) -> dict[str, Lease]:
        """Prolong many leases at once, and return those that were, by name.

        Any other is lost, or somebody is just writing under it: ask for that one by itself.
        """
        by_name = {one.name: one for one in held}

        def work(tx: Connection, now: datetime) -> dict[str, Lease]:
            until = now + timedelta(seconds=seconds)
            given = pairs({one.name: str(one.epoch) for one in held})
            mine = (lease.c.name == given.c.key, cast(lease.c.epoch, String) == given.c.value)
            # A long write under one of them delays no other.
            free = select(lease.c.name, lease.c.epoch).where(*mine).with_for_update(of=lease, skip_locked=True)
            there = {row.name: row.epoch for row in tx.execute(free)}
            still = (among(lease.c.name, there), lease.c.expires_at > self._shared_now(tx))
            kept = tx.scalars(update(lease).where(*still).values(expires_at=until, renewed=now).returning(lease.c.name))
            return {name: replace(by_name[name], expires_at=until) for name in kept}

        return self._transact(work) if held else {}

    def give_up(self, held: Lease) -> bool:
        """Let a lease run out now, so that the next one need not wait; False when it was lost already."""

        def work(tx: Connection, now: datetime) -> bool:
            return bool(
                tx.execute(
                    update(lease)
                    .where(lease.c.name == held.name, lease.c.epoch == held.epoch, lease.c.expires_at > now)
                    # The row stays: the next epoch is higher than any before.
                    .values(expires_at=now)
                ).rowcount
            )

        return self._transact(work)

    def of_others(self, owner: str) -> frozenset[str]:
        """Return the leases that others have now: to ask for one of those would only stand in their way."""
        query = select(lease.c.name).where(lease.c.owner != owner, lease.c.expires_at > clock())
        return self._database.read_once(lambda tx: frozenset(tx.scalars(query)))

    def get(self, name: str) -> Lease | None:
        """Return who has a lease, or had it last; None when nobody ever has."""
        row = self._database.read(lambda tx: tx.execute(select(lease).where(lease.c.name == name)).one_or_none())
        return None if row is None else Lease(row.name, row.owner, row.epoch, row.expires_at, renewed=row.renewed)


@dataclass(frozen=True, slots=True)
class CheckRecord:
    """What a check found last: a problem in a sentence, None where all was well; since when, and when it looked."""

    subject: str
    problem: str | None
    since: datetime
    checked_at: datetime


class Checks(LedRepository):
    """What was found when something outside was looked at last: Airflow, a site's provisioner."""

    def record(self, held: Lease, subject: str, problem: str | None) -> None:
        """Keep what a check found; `since` stays while it finds the same.

        Parameters
        ----------
        held : the lease of the controller, without which nothing is written.
        subject : what was looked at, such as `airflow` or `provisioner of site default`.
        problem : what is wrong in a sentence, None where all is well.

        Raises
        ------
        LeaseLost : the lease is lost.
        """

        def work(tx: Connection, now: datetime) -> None:
            row = insert(check_result).values(subject=subject, problem=problem, since=now, checked_at=now)
            same = check_result.c.problem.is_not_distinct_from(row.excluded.problem)
            since = case((same, check_result.c.since), else_=row.excluded.since)
            changes = {"problem": row.excluded.problem, "since": since, "checked_at": row.excluded.checked_at}
            tx.execute(row.on_conflict_do_update(index_elements=["subject"], set_=changes))

        self._transact_led(held, work)

    def all(self) -> list[CheckRecord]:
        """Return what every check found last, by its subject."""
        query = select(check_result).order_by(check_result.c.subject)
        return self._database.read_once(lambda tx: [filled(CheckRecord, row) for row in tx.execute(query)])


def lease_of(site_name: str) -> str:
    """Return the name of the lease of who leads a site."""
    return f"site:{site_name}"
