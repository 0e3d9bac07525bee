"""The metrics, as Prometheus reads them: for who may see the runs of `deploy_site`, or has the token of a file."""

from __future__ import annotations

import hmac
import logging
import os
from typing import Annotated

from fastapi import Depends, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import Response
from fastapi.security import HTTPAuthorizationCredentials

from site_engine.monitoring.metrics import CONTENT_TYPE, Distribution, Metric, Sample, Shape, measure, to_text
from site_engine.trees.metric_samples import read_samples
from slipway_api.http import airflow_access as access
from slipway_api.http.answers import ERRORS
from slipway_api.http.dependencies import Store, blocking_router
from slipway_api.http.kept import Kept
from slipway_api.sites.view_answers import READERS
from strategy_lib.settings import SLIPWAY_METRICS_TOKEN_FILE

log = logging.getLogger(__name__)
router = blocking_router("monitoring")

SHORTEST_TOKEN = 16
KEPT_FOR = 5.0
"""Seconds for which an answer is used again: many may ask, and the numbers are counted anew each time."""


async def may_scrape(
    request: Request, credentials: Annotated[HTTPAuthorizationCredentials | None, Depends(access.bearer)]
) -> None:
    """Let a reader pass, and who has the token of the file.

    Raises `ApiError` 401 or 403, as for every route that a reader may use.
    """
    if credentials is not None and has_token(credentials.credentials):
        return
    reader = await access.caller(request, credentials)
    await run_in_threadpool(reader.require_read, access.COMMIT_DAG)


def has_token(given: str) -> bool:
    """Tell whether this is the token of the file. The file is read each time: it may be replaced."""
    file = SLIPWAY_METRICS_TOKEN_FILE.read(os.environ)
    if file is None:
        return False
    try:
        token = file.read_text("utf-8").strip()
    except (OSError, ValueError) as error:
        log.warning("The file that %s names cannot be read: %s", SLIPWAY_METRICS_TOKEN_FILE.name, type(error).__name__)
        return False
    if len(token) < SHORTEST_TOKEN:
        named_by = SLIPWAY_METRICS_TOKEN_FILE.name
        log.warning("The token in the file that %s names is shorter than %d characters.", named_by, SHORTEST_TOKEN)
        return False
    return hmac.compare_digest(token.encode(), given.encode())


_kept: Kept[str] = Kept(1, KEPT_FOR)
"""Of this process, by store."""


@router.get(
    "/metrics",
    dependencies=[Depends(may_scrape)],
    summary="All metrics, as Prometheus reads them",
    response_class=Response,
    responses={
        **ERRORS,
        200: {
            "description": "Text in Prometheus' format.",
            "content": {"text/plain": {"schema": {"type": "string"}, "example": 'slipway_nodes{site="north"} 5\n'}},
        },
    },
)
def metrics(store: Store) -> Response:
    """Return all metrics, from what is on record; the answer may be some seconds old."""

    def make() -> str:
        samples = [*read_samples(store), *READERS.samples(store)]
        export(samples)
        return to_text(samples)

    return Response(_kept.get(store.location, make), media_type=None, headers={"Content-Type": CONTENT_TYPE})


_exported: set[tuple[Metric, tuple[str, ...]]] = set()
"""The gauges that this process has given: what is no more is 0, and there a gauge would keep its last value."""


def export(samples: list[Sample]) -> None:
    """Give what stands for a moment to Airflow's own metrics, too; what is counted is given when it happens."""
    there = {
        (sample.metric, sample.labels): sample.value
        for sample in samples
        if sample.metric.shape is Shape.GAUGE and not isinstance(sample.value, Distribution)
    }
    for (metric, labels), value in {**dict.fromkeys(_exported, 0.0), **there}.items():
        measure(metric, labels, value)
    _exported.clear()
    _exported.update(there)
