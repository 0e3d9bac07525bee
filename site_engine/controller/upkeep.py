"""The controller's housekeeping: the roll-up is merged, old notifications and events forgotten, metrics given on."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import TYPE_CHECKING, Final

from site_engine.controller.controller import Job

if TYPE_CHECKING:
    from site_engine.controller.controller import Controller

MERGE_EVERY: Final = 30.0
FORGET_EVERY: Final = 3600.0
METRICS_EVERY: Final = 60.0
NOTIFICATIONS_KEPT: Final = timedelta(days=90)
EVENTS_KEPT: Final = timedelta(days=365)
"""Facts are kept for ever, the history of how they came about for a year (docs/store.md)."""
LISTS_KEPT: Final = timedelta(days=1)
"""For so long a server's list is kept that nobody asks for: the server may be gone."""


def merge_counts() -> Job:
    """Return the job that merges what single transactions have left of the roll-up."""

    def work(controller: Controller) -> None:
        controller.store.counts.merge(controller.lease())

    return Job("roll-up", MERGE_EVERY, work)


def give_metrics(read: Callable[[], object]) -> Job:
    """Return the job that has Slipway's API read its metrics, which gives them to Airflow's own, also unasked.

    Parameters
    ----------
    read : asks for them, raises `EngineError`.
    """

    def work(_controller: Controller) -> None:
        read()

    return Job("metrics", METRICS_EVERY, work)


def forget_notifications() -> Job:
    """Return the job that forgets notifications that are older than `NOTIFICATIONS_KEPT`."""

    def work(controller: Controller) -> None:
        controller.store.outbox.prune(controller.lease(), controller.store.now() - NOTIFICATIONS_KEPT)

    return Job("old notifications", FORGET_EVERY, work)


def forget_events() -> Job:
    """Return the job that forgets old events, also where no run of a DAG does, and lists that nobody asks for."""

    def work(controller: Controller) -> None:
        now = controller.store.now()
        controller.store.events.prune(now - EVENTS_KEPT, controller.lease())
        controller.store.shared_lists.prune(controller.lease(), now - LISTS_KEPT)

    return Job("old events", FORGET_EVERY, work)
