"""How long operations usually take at the provisioner: the newest ones of a site tell."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from statistics import median
from typing import Any

from sqlalchemy import Select, func, select

from site_store.records import OperationStatus
from site_store.sql.rows import moment
from site_store.tables import operation
from strategy_lib.phase import Phase

_NEWEST = 60
"""So many operations tell how long the next ones take."""


def newest_ended(site: Any, phases: Collection[Phase]) -> Select[Any]:
    """Select phase, beginning and end of the newest operations on a site that the provisioner was seen to complete."""
    begun = func.coalesce(operation.c.running_since, operation.c.submitted)
    return (
        select(operation.c.phase, begun, operation.c.ended)
        .where(
            operation.c.site == site,
            operation.c.phase.in_([str(phase) for phase in phases]),
            operation.c.status == OperationStatus.COMPLETE,
            operation.c.submitted.is_not(None),
        )
        .order_by(operation.c.op.desc())
        .limit(_NEWEST)
    )


def usual_times(rows: Iterable[Sequence[Any]]) -> dict[Phase, float]:
    """Return what `Operations.usual_seconds` does, of the rows of `newest_ended`."""
    taken: defaultdict[Phase, list[float]] = defaultdict(list)
    for phase, begun, ended in rows:
        taken[Phase(phase)].append((moment(ended) - moment(begun)).total_seconds())
    return {phase: max(0.0, median(seconds)) for phase, seconds in taken.items()}
