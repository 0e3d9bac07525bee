"""Go on with a group beside others in the triggerer, without a worker and without Airflow's ways between two tasks.

It does what the group's task does, by the same code and from the same store: it begins the group when a place is free,
submits, waits, and judges. What it cannot do, or fails at, it leaves to the task: that comes back and does it again.
"""

from __future__ import annotations

import asyncio
import contextvars
import time
from collections.abc import AsyncIterator, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import datetime
from functools import partial
from itertools import repeat
from typing import Any, NoReturn, TypeVar

from airflow.triggers.base import TriggerEvent

from site_engine.groups.attempt import StillBeside, is_final, submitted
from site_engine.groups.turns import LOOK_AGAIN, hold_group_back, turn_by_store
from site_engine.monitoring.metrics import use_sink
from site_engine.operations.run import ActionClients
from site_engine.operations.wait import StillRunning, intervals
from site_engine.parameters import parameters_of
from site_engine.process import Stopping
from site_engine.provisioners import ProvisionerConnection
from site_engine.redaction import RedactedLog, redact_for_action
from site_engine.shared_lists import SHORT_PATIENCE
from site_store import ActionRecord, PlaceTaken, SiteStore
from slipway_airflow.airflow_stats import emit
from slipway_airflow.group_driving import GroupTask, drive_group
from slipway_airflow.triggers import (
    GROUPS_CHANGED,
    StoredTrigger,
    connection_of_id,
    stay_quiet,
    until_groups,
    watched_end,
)
from strategy_lib.actors import Actor
from strategy_lib.phase import GroupState

Found = TypeVar("Found")

# Submitting takes a while for each node. The loop's own threads are for short looks, those of other triggers too.
_THREADS = ThreadPoolExecutor(max_workers=32, thread_name_prefix="group")

# Where another one was faster at a free place.
_PAUSE = 1.0

# A task that is started without need is one too many: it waits so long between two starts (rule 8).
_AT_LEAST = LOOK_AGAIN.total_seconds()
_TURN = StillBeside(())
"""It is not the group's turn: no operation in particular is waited for."""


class GroupTrigger(StoredTrigger):
    """Goes on with a group; fires when it has its verdict, or when only its task can go on.

    Parameters
    ----------
    conn_id : Airflow connection of the provisioner; the secret itself is not stored with the trigger.
    action_id, group : what it goes on with.
    attempt_key : that of the task's attempt (rule 23); it never goes on with another one.
    configuration : the design's settings.
    since : the database's time, ISO, at which the task started: an earlier command to stop was about an earlier try.
    slipway_url : where a provisioner finds Slipway's API; workers know that.
    """

    def __init__(
        self,
        conn_id: str,
        action_id: str,
        group: str,
        attempt_key: str,
        configuration: Mapping[str, Any],
        since: str,
        slipway_url: str,
    ) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.conn_id = conn_id
        self.action_id = action_id
        self.group = group
        self.attempt_key = attempt_key
        self.configuration = dict(configuration)
        self.since = since
        self.slipway_url = slipway_url

    async def run(self) -> AsyncIterator[TriggerEvent]:
        """Go on with the group until its task has something to come back for."""
        started, quiet = time.monotonic(), 0.0
        stopping = Stopping(action_id=self.action_id, since=datetime.fromisoformat(self.since))
        try:
            connection = replace(await connection_of_id(self.conn_id), slipway_url=self.slipway_url)
            await self._drive(connection, stopping)
        except Exception as error:  # noqa: BLE001 - whatever it is, the task goes on where this ends
            if not isinstance(error, _ForTheTask):
                # Its words are the task's to say, which meets the same trouble, and hides what is secret.
                self.log.warning("The trigger stops after %s; the group's task continues.", type(error).__name__)
            # The task may find that it has to wait, and come back here.
            quiet = _AT_LEAST
        finally:
            # A thread cannot be cancelled: where the task was, it submits nothing more.
            stopping.told = True
        await stay_quiet(started, quiet)
        yield TriggerEvent({"waited_for": f"group {self.group}"})

    async def _drive(self, connection: ProvisionerConnection, stopping: Stopping) -> None:
        before: StillRunning | StillBeside | None = None
        while True:
            found = await _in_thread(partial(self._go_on, connection, stopping))
            GROUPS_CHANGED.notify_all()
            if isinstance(found, StillRunning):
                if found == before:
                    # What was seen to be over is not, or could not be recorded.
                    return
                longest = found.times.interval
                pauses = repeat(max(longest, 0.2)) if found.settling else intervals(longest)
                await watched_end(connection, found, pauses, self.log)
            elif isinstance(found, StillBeside):
                if found == before:
                    await asyncio.sleep(_PAUSE)
                if not await until_groups(partial(self._is_over, found.ops), self.log):
                    return
            else:
                return
            before = found

    def _is_over(self, ops: tuple[int, ...], store: SiteStore) -> bool:
        """Whether something has come of what is waited for: one of the operations, or a free place."""
        if ops:
            return any(store.operations.get(op).ended is not None for op in ops)
        action = store.actions.get(self.action_id)
        places = parameters_of(action).places
        return action.state.is_end or (
            turn_by_store(self.group, store.groups.turns(self.action_id), places).wait_for is None
        )

    def _go_on(self, connection: ProvisionerConnection, stopping: Stopping) -> StillRunning | StillBeside | None:
        """Go on as far as it goes now. Return what to wait for; None: it is for the task to go on, or to end.

        Raises `_ForTheTask`: so it is, and the log says why.
        """
        use_sink(emit)
        with SiteStore.open(actor=Actor.STEP) as store:
            stopping.store = store
            action = store.actions.get(self.action_id)
            log = RedactedLog(self.log, redact_for_action(store, action))
            try:
                return self._driven(ActionClients(store, action, connection, _not_here, stopping, SHORT_PATIENCE), log)
            except PlaceTaken:
                return _TURN
            except Exception as error:  # noqa: BLE001 - as above
                log.warning("The trigger stops; the group's task continues: %s", error)
                raise _ForTheTask from None

    def _driven(self, clients: ActionClients, log: RedactedLog) -> StillRunning | StillBeside | None:
        store, action, connection = clients.store, clients.action, clients.connection
        turns = store.groups.turns(action.id)
        (ours,) = (turn for turn in turns if turn.name == self.group)
        if action.state.is_end or is_final(ours, self.attempt_key) or store.home.held(action.site) is not None:
            return None
        has_submitted = partial(submitted, store, action, self.group)
        if hold_group_back(action, turns, self.group, self.attempt_key, has_submitted) is not None:
            return None
        places = parameters_of(action).places
        if ours.state is not GroupState.RUNNING:
            if turn_by_store(self.group, turns, places).wait_for is not None:
                return _TURN
            if ours.is_judged:
                raise _ForTheTask("a person has cleared it: its task begins the new attempt")
            for turn in turns:
                if turn.name in ours.after and turn.state is GroupState.FAILURE:
                    raise _ForTheTask(f"only Airflow knows whether group {turn.name} is about to be tried again")
        handle = store.revisions.design_handle(action.site, action.revision)
        with clients.operations(log) as operations:
            result = drive_group(
                operations,
                connection,
                action,
                GroupTask(self.group, self.attempt_key, self.configuration),
                connection.design_address(handle, action.design_fetch),
                # No task is taken to have ended early: that is for the tasks to see, which can ask Airflow.
                (lambda now: turn_by_store(self.group, now, places).wait_for is None) if places > 1 else None,
                patience_for_nodes=0.0,
                takes_over=False,
            )
        if isinstance(result, StillBeside) or (isinstance(result, StillRunning) and result.give_up is None):
            return result
        return None


class _ForTheTask(Exception):
    """Only the group's task can go on: it can look connections up, and ask Airflow."""


def _not_here(_store: SiteStore, action: ActionRecord) -> NoReturn:
    """Leave it to the task to look up the connection of another action."""
    raise _ForTheTask(f"operations of action {action.id} are asked about over another connection")


async def _in_thread(work: Callable[[], Found]) -> Found:
    """Do something that blocks, in a thread that logs as this trigger does."""
    run = contextvars.copy_context().run
    return await asyncio.get_running_loop().run_in_executor(_THREADS, run, work)
