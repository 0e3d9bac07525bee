"""What triggers wait for: the quiet time, the end of a provisioner task, other groups. The loop stays free."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import ExitStack, asynccontextmanager, closing
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from airflow.sdk import BaseHook

from provisioner_client.redacting import redacted_or_not_shown
from site_engine.monitoring.owners import ProvisionerObserver
from site_engine.operations.wait import EndKind, StillRunning, TaskWatch
from site_engine.process import SharedClock
from site_engine.redaction import redact_for_action
from site_engine.shared_lists import SHORT_PATIENCE, shared_by
from site_store import SiteStore, StoreError
from slipway_airflow.connections import provisioner_connection
from strategy_lib.actors import Actor

if TYPE_CHECKING:
    from site_engine.log_messages import TaskLog
    from site_engine.provisioners import ProvisionerConnection

Found = TypeVar("Found")

# Airflow 3.3 may mark a task failed whose trigger fires within seconds of its deferral (docs/architecture.md, Waiting).
QUIET_SECONDS = 15.0
# Between two looks at other groups, and after which a task looks itself: it knows Airflow's states, too.
_LOOK_AT_GROUPS = 2.0
_LONGEST_WAIT_FOR_GROUPS = 120.0


class Condition:
    """Wakes the coroutines of this process that wait for other groups, when a group has changed."""

    def __init__(self) -> None:
        self.count = 0
        self._waiting: set[asyncio.Future[None]] = set()

    def notify_all(self) -> None:
        """Wake all that wait. Call it in the event loop."""
        self.count += 1
        for one in self._waiting:
            if not one.done():
                one.set_result(None)

    async def wait(self, seconds: float, seen: int) -> None:
        """Wait at most `seconds`; return at once if it was notified since its `count` was `seen`."""
        if self.count != seen:
            return
        woken: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.add(woken)
        try:
            await asyncio.wait_for(woken, seconds)
        except TimeoutError:
            return
        finally:
            self._waiting.discard(woken)


GROUPS_CHANGED = Condition()
"""The condition of this process: most groups are driven by the triggerer in which the waiting groups wait."""


async def stay_quiet(started: float, longer: float = 0.0) -> None:
    """Wait until Airflow takes an event of a trigger for one, that was started at this moment (monotonic seconds).

    Parameters
    ----------
    longer : seconds since then that have to be over at least.
    """
    await asyncio.sleep(max(0.0, max(QUIET_SECONDS, longer) - (time.monotonic() - started)))


async def in_thread(work: Callable[..., Found], *arguments: Any) -> Found:
    """Do something that blocks in a thread: the loop belongs to all triggers.

    One that is cancelled waits for the thread: what that uses is closed only then.
    """
    doing = asyncio.ensure_future(asyncio.to_thread(work, *arguments))
    try:
        return await asyncio.shield(doing)
    finally:
        if not doing.done():
            await asyncio.wait([doing])


@asynccontextmanager
async def opened_store() -> AsyncIterator[SiteStore]:
    """Give a store to a trigger."""
    opened = ExitStack()
    try:
        yield await in_thread(lambda: opened.enter_context(closing(SiteStore.open(actor=Actor.STEP))))
    finally:
        await in_thread(opened.close)


async def connection_of_id(conn_id: str) -> ProvisionerConnection:
    """Return an Airflow connection for a trigger."""
    found = await BaseHook.aget_connection(conn_id)
    # It may read Airflow's settings, and the metadata database.
    return await in_thread(provisioner_connection, found)


async def watched_end(
    connection: ProvisionerConnection, still: StillRunning, pauses: Iterator[float], log: TaskLog
) -> EndKind:
    """Watch a provisioner task until its end, or its deadline; return which of them came.

    Parameters
    ----------
    still : the task as it was left.
    pauses : seconds between two looks.
    """
    opened = ExitStack()

    def begin() -> TaskWatch:
        store = opened.enter_context(closing(SiteStore.open(actor=Actor.STEP)))
        operation = store.operations.get(still.op)
        action = store.actions.get(operation.action_id)
        redact = redact_for_action(store, action)
        observer = ProvisionerObserver(store, connection, action.dag_id)
        # The threads of the triggerer are few, and for all triggers: a list that others ask for is waited for in turns.
        shared = shared_by(store, patience=SHORT_PATIENCE)
        client = connection.connect(partial(redacted_or_not_shown, redact), None, observer, shared)
        opened.enter_context(closing(client))
        return TaskWatch(
            store,
            client,
            SharedClock(store),
            log,
            replace(operation, provisioner_task=still.provisioner_task),
            still.times,
            still.give_up,
            by_triggerer=True,
        )

    try:
        watch = await in_thread(begin)
        while (end := await in_thread(watch.look)) is None:
            await asyncio.sleep(next(pauses))
    finally:
        await in_thread(opened.close)
    return end


async def until_groups(is_over: Callable[[SiteStore], bool], log: TaskLog) -> bool:
    """Look at the store until that is so; False: it is not, and a task should look itself, which knows Airflow."""
    started = time.monotonic()
    async with opened_store() as store:
        while time.monotonic() - started < _LONGEST_WAIT_FOR_GROUPS:
            seen = GROUPS_CHANGED.count
            try:
                if await in_thread(is_over, store):
                    return True
            except StoreError as error:
                log.warning("How other groups stand is not known, asking again: %s", error)
            await GROUPS_CHANGED.wait(_LOOK_AT_GROUPS, seen)
    return False
