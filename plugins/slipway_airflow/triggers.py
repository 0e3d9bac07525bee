"""Wait in the triggerer: for the end of one provisioner task, until the nodes of a group are ready, or for groups.

These decide nothing: the resumed task reads the store. The one that goes on with a group is in `group_trigger`.
"""

from __future__ import annotations

import inspect
import os
import time
from collections.abc import AsyncIterator
from datetime import datetime
from itertools import repeat
from typing import Any

from airflow.triggers.base import BaseTrigger, TriggerEvent

from provisioner_client.node_agent.request import SiteAsker
from site_engine.operations.readiness import ask_in_turn
from site_engine.operations.wait import PhaseTimes, StillRunning
from site_engine.process import process_identity
from slipway_airflow.trigger_waits import connection_of_id, opened_store, stay_quiet, watched_end


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
