"""What triggers wait for: the quiet time, the end of a provisioner task, other groups. The loop stays free."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import datetime
from functools import cache
from typing import TYPE_CHECKING

from airflow.sdk import BaseHook

if TYPE_CHECKING:
    from provisioner_client.redacting import Redact
    from site_engine.operations.wait import EndKind, PhaseTimes
    from site_engine.process import TaskLog
    from site_engine.provisioners import ProvisionerConnection
    from site_store import ActionRecord, SiteStore

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


async def connection_of_id(conn_id: str) -> ProvisionerConnection:
    """Return an Airflow connection for a trigger."""
    from slipway_airflow.connections import provisioner_connection

    found = await BaseHook.aget_connection(conn_id)
    # It may read Airflow's settings, and the metadata database.
    return await asyncio.to_thread(provisioner_connection, found)


def redact_in_trigger(store: SiteStore, action: ActionRecord) -> Redact:
    """Return what takes the secrets of the action's revision out of a text, also what opens its design."""
    from site_engine.redaction import redact_for_action

    token = store.revisions.get(action.site, action.revision).design_token
    of_design = redact_for_action(store, action)
    return lambda text: of_design(text.replace(token, "***"))


async def watched_end(
    connection: ProvisionerConnection,
    op: int,
    provisioner_task: str,
    times: PhaseTimes,
    give_up: datetime | None,
    pauses: Iterator[float],
    log: TaskLog,
    *,
    settling: bool = False,
) -> EndKind:
    """Watch the provisioner task of an operation until its end, or its deadline; return which of them came.

    Parameters
    ----------
    give_up : the deadline where it is not that of ``times``.
    pauses : seconds between two looks.
    settling : the task is over, and nodes of it were seen at work: it is watched until they are not.
    """
    from provisioner_client.redacting import redacted_or_not_shown
    from site_engine.monitoring.owners import ProvisionerObserver
    from site_engine.operations.wait import TaskWatch
    from site_engine.process import SharedClock
    from site_engine.shared_lists import SHORT_PATIENCE, shared_by
    from site_store import SiteStore
    from strategy_lib.actors import Actor

    @cache
    def hide() -> Redact:
        return redact_in_trigger(store, store.actions.get(store.operations.get(op).action_id))

    def observer_of(store: SiteStore) -> ProvisionerObserver:
        action_id = store.operations.get(op).action_id
        return ProvisionerObserver(store, connection, store.actions.get(action_id).dag_id)

    def redact(text: str) -> str:
        return redacted_or_not_shown(lambda said: hide()(said), text)

    # Requests and SQL block: they run in threads, the triggerer's loop belongs to all triggers.
    store = await asyncio.to_thread(SiteStore.open, actor=Actor.STEP)
    provisioner = None
    try:
        observer = await asyncio.to_thread(observer_of, store)
        # The threads of the triggerer are few, and for all triggers: a list that others ask for is waited for in turns.
        shared = shared_by(store, patience=SHORT_PATIENCE)
        provisioner = await asyncio.to_thread(connection.connect, redact, None, observer, shared)
        operation = replace(await asyncio.to_thread(store.operations.get, op), provisioner_task=provisioner_task)
        clock = await asyncio.to_thread(SharedClock, store)
        watch = TaskWatch(
            store,
            provisioner,
            clock,
            log,
            operation,
            times,
            give_up,
            just_checked=True,
            only_end=True,
            settling=settling,
        )
        while (end := await asyncio.to_thread(watch.look)) is None:
            await asyncio.sleep(next(pauses))
    finally:
        if provisioner is not None:
            await asyncio.to_thread(provisioner.close)
        await asyncio.to_thread(store.close)
    return end


async def until_groups(is_over: Callable[[SiteStore], bool], log: TaskLog) -> bool:
    """Look at the store until that is so; False: it is not, and a task should look itself, which knows Airflow."""
    from site_store import SiteStore, StoreError
    from strategy_lib.actors import Actor

    store = await asyncio.to_thread(SiteStore.open, actor=Actor.STEP)
    started = time.monotonic()
    try:
        while time.monotonic() - started < _LONGEST_WAIT_FOR_GROUPS:
            seen = GROUPS_CHANGED.count
            try:
                if await asyncio.to_thread(is_over, store):
                    return True
            except StoreError as error:
                log.warning("How other groups stand is not known, asking again: %s", error)
            await GROUPS_CHANGED.wait(_LOOK_AT_GROUPS, seen)
    finally:
        await asyncio.to_thread(store.close)
    return False


def marker(action: ActionRecord) -> str:
    """Return the name under which the provisioner logs what is done for an action."""
    return action.context_marker or action.id
