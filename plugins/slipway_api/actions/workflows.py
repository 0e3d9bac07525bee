"""Workflows: the DAG runs of Slipway's DAGs, as Airflow has them, in Shipyard's shape."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any

from fastapi import Path, Query, Request
from fastapi.responses import JSONResponse
from pydantic import BaseModel, Field

from site_engine.kinds import KINDS
from slipway_api.http import airflow_access as access
from slipway_api.http.airflow_access import Airflow, CallerDep
from slipway_api.http.answers import EXAMPLE_ID, Moment, answers
from slipway_api.http.api_errors import ApiError
from slipway_api.http.dependencies import blocking_router, link_to_next

router = blocking_router("workflows")

_SPAN = timedelta(days=30)
_SEPARATOR = "__"
_LARGEST_OFFSET = 1_000_000


class Workflow(BaseModel):
    """A DAG run, in Shipyard's shape."""

    workflow_id: str = Field(examples=["deploy_site__2026-03-01T12:00:00.000000"])
    id: str = Field(examples=[EXAMPLE_ID])
    dag_id: str = Field(examples=["deploy_site"])
    run_id: str = Field(examples=[EXAMPLE_ID])
    state: str = Field(examples=["success"])
    execution_date: Moment
    start_date: Moment | None
    end_date: Moment | None
    external_trigger: bool = Field(examples=[True])
    conf: dict[str, Any] | None = Field(examples=[{"site": "default", "revision": 3}])


class DescribedWorkflow(Workflow):
    """A DAG run with its steps, which are Airflow's task instances."""

    sub_dags: list[dict[str, Any]] = Field(examples=[[]])
    steps: list[dict[str, Any]] = Field(examples=[[]])


@router.get(
    "/workflows",
    dependencies=[access.may_read],
    summary="The runs of Slipway's DAGs",
    responses=answers(list[Workflow]),
)
def workflows(
    request: Request,
    airflow: Airflow,
    since: Annotated[
        str | None, Query(description="From when on, as ISO 8601 (UTC if it names no zone); 30 days ago by default.")
    ] = None,
    until: Annotated[str | None, Query(description="Up to when, as `since`; by default without an end.")] = None,
    limit: Annotated[int, Query(ge=1, le=1000, description="At most so many, the newest ones.")] = 500,
    offset: Annotated[
        int,
        Query(
            ge=0,
            le=_LARGEST_OFFSET,
            description="Leave out so many of the newest: with `until`, the header `Link` has it for the next page.",
        ),
    ] = 0,
) -> JSONResponse:
    """List the runs of Slipway's DAGs, newest first; those that Airflow lets the caller see."""
    begin = _moment(since, "since") if since else datetime.now(UTC) - _SPAN
    end = _moment(until, "until") if until else None
    found = airflow.runs(tuple(KINDS), begin, end, limit + 1, offset)
    headers = {}
    if len(found) > limit:
        # Both ends stay, so that a run that is new meanwhile moves none to another page.
        span = {"since": begin.isoformat(), "until": end.isoformat() if end else found[0]["run_after"]}
        headers = link_to_next(request, **span, limit=limit, offset=offset + limit)
    return JSONResponse([workflow_view(run) for run in found[:limit]], headers=headers)


@router.get(
    "/workflows/{workflow_id}",
    dependencies=[access.may_read],
    summary="One run with its steps",
    responses=answers(DescribedWorkflow),
)
def workflow(
    workflow_id: Annotated[str, Path(max_length=300, examples=["deploy_site__2026-01-01T10:00:00.000000"])],
    airflow: Airflow,
    caller: CallerDep,
) -> JSONResponse:
    """Show one run with its steps, which are Airflow's task instances."""
    dag_id, separator, time = workflow_id.rpartition(_SEPARATOR)
    if not separator or not dag_id:
        raise ApiError(400, "a workflow id is a DAG's id, two underscores and a time", "Bad Request")
    at = _moment(time, "the time in the workflow id")
    nothing = ApiError(404, f"there is no workflow {workflow_id!r}", "Workflow not found")
    if KINDS.get(dag_id) is None:
        raise nothing
    caller.require_read(dag_id)
    runs = airflow.runs([dag_id], at, at, limit=1)
    if not runs:
        raise nothing
    steps = airflow.task_instances(dag_id, runs[0]["dag_run_id"])
    return JSONResponse({**workflow_view(runs[0]), "sub_dags": [], "steps": steps})


def workflow_view(run: Mapping[str, Any]) -> dict[str, Any]:
    """Return a DAG run, as Airflow's REST API gives it, in Shipyard's shape.

    Airflow 3 triggers runs without a logical date; when it was due stands in for it, here and in the id.
    """
    due = datetime.fromisoformat(run["run_after"]).astimezone(UTC)
    return {
        "workflow_id": f"{run['dag_id']}{_SEPARATOR}{due:%Y-%m-%dT%H:%M:%S.%f}",
        "id": run["dag_run_id"],
        "dag_id": run["dag_id"],
        "run_id": run["dag_run_id"],
        "state": run["state"],
        "execution_date": run["logical_date"] or run["run_after"],
        "start_date": run["start_date"],
        "end_date": run["end_date"],
        "external_trigger": run["run_type"] == "manual",
        "conf": run["conf"],
    }


def _moment(text: str, what: str) -> datetime:
    try:
        # A plus sign in a query that was not escaped arrives as a blank.
        at = datetime.fromisoformat(text.replace(" ", "+") if "T" in text else text)
        return at.replace(tzinfo=UTC) if at.tzinfo is None else at.astimezone(UTC)
    except (ValueError, OverflowError):
        raise ApiError(400, f"{what} is no time in ISO 8601: {text[:100]!r}", "Bad Request") from None
