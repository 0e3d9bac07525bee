"""Provisioner tasks that nobody waits for any more: they are looked at until they are over (rules 14 and 24).

An action may end while nodes of it are `unknown`. The truth about them is learnt by each later action that wants these
nodes, which waits for it, and by the controller's job here, which has Slipway's API ask the provisioner.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from datetime import timedelta
from itertools import takewhile
from typing import Final

from provisioner_client.errors import NoTaskListed, ProvisionerError
from provisioner_client.protocol import Provisioner
from site_engine.controller.controller import Controller, Job, each_site
from site_engine.errors import ConnectionLookupFailed, ConnectionMissing, NoConnection, SettingsError
from site_engine.log_messages import TaskLog
from site_engine.operations.reconcile import await_unfinished, record_late_result
from site_engine.operations.run import OperationRun
from site_engine.operations.wait import ONE_LOOK, OperationEnd
from site_engine.process import Clock, SharedClock
from site_store import ActionRecord, Lease, Operation, SiteStore

NOT_FOLLOWED: Final = "not_followed"
"""The kind of event that says so of an operation whose connection was deleted."""
FOLLOW_EVERY: Final = 30.0
"""Seconds between two looks at all of them."""
COMPARE_EVERY: Final = 5.0
"""Seconds until it is seen that PostgreSQL was started anew."""
LONGEST_FOLLOWED: Final = timedelta(days=31)
"""So long after nobody waits for it any more a provisioner task is followed at most; a site's settings say how long."""
LONGEST_LOOK: Final = 8.0
"""Seconds after which a look begins no further request; the request under way may take longer."""


@dataclass(frozen=True, slots=True)
class Followed:
    """What one look has come to: how many provisioner tasks were looked at, and how many are over now.

    `problem` says in a sentence what could not be asked; the rest was looked at.
    """

    looked: int = 0
    over: int = 0
    problem: str | None = None


Follow = Callable[[str, "Lease"], Followed]
"""Looks once at what is unfinished on a site, for the controller that holds this lease.

Raises `EngineError`: nothing could be looked at."""
Compare = Callable[[str, "Lease"], str | None]
"""Has `compare_site` done for the controller that holds this lease. Raises `EngineError`: it was not."""


def follow_site(
    store: SiteStore,
    site: str,
    connect: Callable[[ActionRecord], Provisioner],
    log: TaskLog,
    clock: Clock | None = None,
    monotonic: Callable[[], float] = time.monotonic,
) -> Followed:
    """Look once at each provisioner task of a site whose action is over, and record those that have ended.

    They are followed for as long as the site's settings say (`SiteSettings.follow_timeout`). Verdicts stay, and so does
    what a later operation has done. What a running action waits for is left to it. A connection that was deleted is
    named once, with the action, and is no problem of the look.

    Parameters
    ----------
    connect : gives a client for an action's own connection, which is closed here.
    """
    clock = clock or SharedClock(store)
    began, looked, over, problem = monotonic(), 0, 0, None
    seconds = min(LONGEST_FOLLOWED.total_seconds(), store.revisions.settings(site).follow_timeout)
    for operation in store.orphans.of_site(site, timedelta(seconds=seconds)):
        if monotonic() - began > LONGEST_LOOK:
            break
        try:
            provisioner = connect(store.actions.get(operation.action_id))
            with closing(provisioner):
                run = OperationRun(store, provisioner, clock, 0.0, log)
                end = await_unfinished(run, operation, ONE_LOOK, clock.now())
                looked += 1
                if isinstance(end, OperationEnd):
                    record_late_result(store, operation, end, log)
                    over += 1
        except ConnectionMissing as error:
            _note_missing(store, operation, error, log)
        except (ProvisionerError, SettingsError, ConnectionLookupFailed) as error:
            problem = f"operation {operation.op}: {error}"
    return Followed(looked, over, problem)


def compare_site(store: SiteStore, site: str, connect: Callable[[], Provisioner]) -> str | None:
    """Compare the store with what a site's provisioner shows of it: who knows more holds all (rule 61).

    A site that certainly has no connection any more is passed over: nothing is sent there, and it holds up no other.

    Parameters
    ----------
    connect : gives a client for the site's connection, which is closed here.

    Returns
    -------
    str or None
        Why the provisioner could not be asked.
    """
    try:
        with closing(connect()) as provisioner:
            newest = provisioner.newest_reference(store.home.incarnation())
    except NoConnection:
        newest = None
    except NoTaskListed as error:
        # Of a provisioner that is new this is true; one that was asked for something by this store has tasks.
        if store.home.has_sent(site):
            return f"the store is not compared with the provisioner: {error}"
        newest = None
    except (ProvisionerError, SettingsError, ConnectionLookupFailed) as error:
        return f"the store is not compared with the provisioner: {error}"
    store.home.note_compared(site, newest)
    return None


def _note_missing(store: SiteStore, operation: Operation, error: ConnectionMissing, log: TaskLog) -> None:
    """Keep with the action, once, that nobody can ask what became of an operation: its connection was deleted.

    It is looked at all the same, as the connection may be created again; until then its nodes are submitted by nobody.
    """
    known = store.events.of_action(operation.action_id, of_nodes=False)
    if any(event.kind == NOT_FOLLOWED and event.data.get("op") == operation.op for event in known):
        return
    said = f"what became of operation {operation.op} cannot be learnt: {error}"
    log.warning("%s", said)
    where = (operation.site, NOT_FOLLOWED, said)
    store.events.add(*where, action_id=operation.action_id, group=operation.group, data={"op": operation.op})


def follow_unfinished(follow: Follow) -> Job:
    """Return the job that has unknown nodes of ended actions looked at until their truth is known.

    Slipway's API looks, and records what it sees under the number of the operation. Recorded twice, also for a leader
    that was replaced meanwhile, it is recorded once (rule 45): so its transactions need no lease.
    """

    def work(controller: Controller) -> None:
        sites = controller.store.orphans.sites(LONGEST_FOLLOWED)
        each_site(sorted(sites), lambda site: follow(site, controller.lease()).problem)

    return Job("unfinished provisioner tasks", FOLLOW_EVERY, work)


def compare_sites(compare: Compare) -> Job:
    """Return the job that has the store compared with each site's provisioner (rule 61).

    It is done once since the process began, and once after each start of PostgreSQL. A site that was asked less often
    comes first, so that provisioners that do not answer keep none from its turn.
    """
    left: set[str] | None = None
    asked = Counter[str]()

    def work(controller: Controller) -> None:
        nonlocal left
        home = controller.store.home
        is_restarted = home.is_restarted()
        if left is None or is_restarted:
            left = set(home.sites_to_compare())
        if is_restarted and not left:
            home.end_restart()
        wanted, began = left, controller.monotonic()

        def look(site: str) -> str | None:
            asked[site] += 1
            problem = compare(site, controller.lease())
            if problem is None:
                wanted.discard(site)
                del asked[site]
            return problem

        turns = sorted(wanted, key=lambda site: (asked[site], site))
        each_site(takewhile(lambda _: controller.monotonic() - began <= LONGEST_LOOK, turns), look)

    return Job("what provisioners know", COMPARE_EVERY, work)
