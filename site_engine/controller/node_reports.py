"""The controller's job that has failed nodes told: it writes the notification, and the outbox sends it (rule 48)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from site_engine.controller.controller import Job

if TYPE_CHECKING:
    from site_engine.controller.controller import Controller

REPORT_EVERY: Final = 5.0


def report_nodes() -> Job:
    """Return the job that has told what nobody was told of yet, with all that nobody has acknowledged."""

    def work(controller: Controller) -> None:
        controller.store.node_reports.notify(controller.lease())

    return Job("node reports", REPORT_EVERY, work)
