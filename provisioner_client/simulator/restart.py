"""What a new process makes of the store that the last one left: the three restart modes."""

from __future__ import annotations

import time

from provisioner_client.simulator.settings import RestartMode, Settings
from provisioner_client.simulator.store import Store
from provisioner_client.simulator.tasks.ledger import TaskLedger


def recover(store: Store, ledger: TaskLedger, settings: Settings) -> float | None:
    """Deal with the task that was running when the last process ended.

    Returns until when the queue waits (epoch seconds), or None.

    Machines go on by themselves in every mode: MAAS is another server than Drydock.

    - orphan: the task and its leaves stay `running` for ever; after a crash the queue waits for the grace period
    - resume: the task goes on as if nothing had been
    - lost: the task is gone
    """
    now = time.time()
    with store.transaction():
        starts = int(store.meta("starts") or 0)
        crashed = starts > 0 and store.meta("ended_cleanly") != "yes"
        alive_at = float(store.meta("alive_at") or now)
        store.set_meta("starts", starts + 1)
        store.set_meta("ended_cleanly", "no")
        store.set_meta("alive_at", now)
        row = ledger.running()
        if row is not None and settings.restart_mode is RestartMode.ORPHAN:
            store.execute("UPDATE task SET frozen_at = ?, ends_at = NULL WHERE task_id = ?", (alive_at, row["task_id"]))
        if row is not None and settings.restart_mode is RestartMode.LOST:
            ledger.remove(row["task_id"], now)
    if crashed and settings.restart_mode is RestartMode.ORPHAN:
        return now + settings.grace / settings.speed
    return None
