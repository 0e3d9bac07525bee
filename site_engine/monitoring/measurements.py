"""Durations and outcomes at the moment they are known, for Airflow's own metrics; the store has the numbers for ever.

What takes them is set by who starts the engine: this room knows no Airflow.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from datetime import datetime
from typing import TYPE_CHECKING

from site_engine.monitoring.metrics import (
    ACTION_OUTCOMES,
    GROUP_OUTCOMES,
    GROUP_SECONDS,
    PHASE_SECONDS,
    QUEUE_SECONDS,
    Metric,
    Sample,
)
from site_store import OperationStatus

if TYPE_CHECKING:
    from site_store import ActionRecord, GroupRecord, Operation

log = logging.getLogger(__name__)

Sink = Callable[[Sample], None]
_sinks: list[Sink] = []


def use_sink(sink: Sink) -> None:
    """Say what takes the measurements of this process; the newest alone does."""
    _sinks[:] = [sink]


def measure(metric: Metric, labels: tuple[str, ...], value: float) -> None:
    """Give one measurement away. That it cannot be taken is no failure of the work."""
    for sink in _sinks:
        try:
            sink(Sample(metric, labels, value))
        except Exception as error:  # noqa: BLE001 - whatever Airflow's metrics are set up to do
            log.warning("A measurement of %s was lost: %s", metric.name, error)


def measure_operation(operation: Operation) -> None:
    """Measure an operation that has ended: how long it waited at the provisioner, and how long it was at work."""
    labels = (operation.site, operation.phase.value)
    begun = operation.running_since
    if operation.submitted is not None and begun is not None:
        measure(QUEUE_SECONDS, labels, max(0.0, (begun - operation.submitted).total_seconds()))
    if begun is not None and operation.ended is not None:
        measure(PHASE_SECONDS, labels, max(0.0, (operation.ended - begun).total_seconds()))


def measure_abandoned(operations: Iterable[Operation], at: datetime | None) -> None:
    """Measure those of these operations that were given up at this time, with the group or action that they are of."""
    for operation in operations:
        if operation.status is OperationStatus.ABANDONED and operation.ended == at:
            measure_operation(operation)


def measure_group(site: str, group: GroupRecord) -> None:
    """Measure a group that has its verdict."""
    critical = str(group.definition.critical).lower()
    reason = "" if group.reason is None else group.reason.value
    measure(GROUP_OUTCOMES, (site, group.state.value, reason, critical), 1)
    if group.started is not None and group.ended is not None:
        measure(GROUP_SECONDS, (site,), max(0.0, (group.ended - group.started).total_seconds()))


def measure_action(action: ActionRecord) -> None:
    """Measure an action that has ended."""
    measure(ACTION_OUTCOMES, (action.site, action.kind, action.state.value), 1)
