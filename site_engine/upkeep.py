"""The controller's jobs that keep the store small: the roll-up's parts are merged, old notifications forgotten."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Final

from site_engine.controller import Job

if TYPE_CHECKING:
    from site_engine.controller import Controller

MERGE_EVERY: Final = 30.0
FORGET_EVERY: Final = 3600.0
NOTIFICATIONS_KEPT: Final = timedelta(days=90)


def merge_counts() -> Job:
    """Return the job that merges what single transactions have left of the roll-up."""

    def work(controller: Controller) -> None:
        controller.store.counts.merge()

    return Job("roll-up", MERGE_EVERY, work)


def forget_notifications() -> Job:
    """Return the job that forgets notifications that are older than `NOTIFICATIONS_KEPT`."""

    def work(controller: Controller) -> None:
        controller.store.outbox.prune(controller.lease(), controller.store.now() - NOTIFICATIONS_KEPT)

    return Job("old notifications", FORGET_EVERY, work)
