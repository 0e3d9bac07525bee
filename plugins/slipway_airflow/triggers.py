"""Wait in the triggerer: for the end of one provisioner task, until the nodes of a group are ready, or for groups.

The loop stays free: what blocks is done in threads.

These decide nothing: the resumed task reads the store. The one that goes on with a group is in `group_trigger`.
"""

from __future__ import annotations

import asyncio
import inspect
import os
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import ExitStack, asynccontextmanager, closing
from dataclasses import replace
from datetime import datetime
from functools import partial
from itertools import repeat
from typing import Any, TypeVar

from airflow.sdk import BaseHook
from airflow.triggers.base import BaseTrigger, TriggerEvent

from provisioner_client.node_agent.request import SiteAsker
from provisioner_client.redacting import redacted_or_not_shown
from site_engine.log_messages import TaskLog
from site_engine.monitoring.owners import ProvisionerObserver
from site_engine.operations.readiness import ask_in_turn
from site_engine.operations.wait import EndKind, PhaseTimes, StillRunning, TaskWatch
from site_engine.process import SharedClock, process_identity
from site_engine.provisioners import ProvisionerConnection
from site_engine.redaction import redact_for_action
from site_engine.shared_lists import SHORT_PATIENCE, shared_by
from site_store import SiteStore, StoreError
from slipway_airflow.connections import provisioner_connection
from strategy_lib.actors import Actor

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


class StoredTrigger(BaseTrigger):
    """Base of the triggers: each keeps the arguments that it is made with under their names.

    The class's path and arguments are stored by Airflow: they must stay readable after an upgrade.
    """

    def serialize(self) -> tuple[str, dict[str, Any]]:
        """Return the class's path and the arguments that make the same trigger again."""
        kind = type(self)
        names = inspect.signature(kind).parameters
        return f"{kind.__module__}.{kind.__qualname__}", {name: getattr(self, name) for name in names}


class ProvisionerTaskTrigger(StoredTrigger):
    """Fires when a provisioner task is over, gone, or past its deadline.

    Parameters
    ----------
    conn_id : Airflow connection of the provisioner; the secret itself is not stored with the trigger.
    provisioner_task : the provisioner's task id.
    op : the operation in Slipway's store; the trigger notes there when the provisioner started the task (rule 14).
    interval, timeout, queue_timeout : poll interval and timeouts, seconds.
    give_up : ISO time (UTC) at which to fire in any case, instead of the timeouts.
    settling : the task is over, and the list of nodes shows some of it at work: fire when it does not any more.
    """

    def __init__(
        self,
        conn_id: str,
        provisioner_task: str,
        op: int,
        interval: float,
        timeout: float,
        queue_timeout: float,
        give_up: str | None = None,
        settling: bool = False,
    ) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.conn_id = conn_id
        self.provisioner_task = provisioner_task
        self.op = op
        self.interval = interval
        self.timeout = timeout
        self.queue_timeout = queue_timeout
        self.give_up = give_up
        self.settling = settling

    async def run(self) -> AsyncIterator[TriggerEvent]:
        """Look until there is something to come back for: how an operation ends (`EndKind`)."""
        started = time.monotonic()
        connection = await connection_of_id(self.conn_id)
        give_up = datetime.fromisoformat(self.give_up) if self.give_up else None
        times = PhaseTimes(self.interval, self.timeout, self.queue_timeout)
        still = StillRunning(self.op, self.provisioner_task, times, give_up, self.settling)
        end = await watched_end(connection, still, repeat(max(self.interval, 0.2)), self.log)
        await stay_quiet(started)
        yield TriggerEvent({"op": self.op, "provisioner_task": self.provisioner_task, "how": end.value})


class NodesReadyTrigger(StoredTrigger):
    """Fires when the nodes that an operation asks are all ready, or when its time is over (rule 58).

    Parameters
    ----------
    op : the operation in Slipway's store; the trigger notes there which nodes are ready by now.
    timeout : seconds from the beginning of the operation on.
    """

    def __init__(self, op: int, timeout: float) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.op = op
        self.timeout = timeout

    async def run(self) -> AsyncIterator[TriggerEvent]:
        """Ask until there is something to come back for."""
        started = time.monotonic()
        # Whom to ask is written down with the operation.
        async with opened_store() as store:
            ask = SiteAsker(os.environ, process_identity())
            ready = await ask_in_turn(store, ask, self.op, self.timeout, self.log)
        await stay_quiet(started)
        yield TriggerEvent({"op": self.op, "how": "complete" if ready else "timed_out"})
