"""The report of an action in the form that is asked for: a page to mail, JSON to keep, text to read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
from fastapi import Query
from fastapi.responses import HTMLResponse, PlainTextResponse, Response
from jinja2 import Environment, FileSystemLoader, StrictUndefined, Template

from slipway_api.actions.lookup import ActionId, find_action
from slipway_api.http import airflow_access as access
from slipway_api.http.api_errors import ApiError
from slipway_api.http.dependencies import Store, blocking_router
from strategy_lib.reports.report import Report, culprits_of, from_dict, seconds_between
from strategy_lib.reports.report_text import (
    criterion_text,
    nodes_alike,
    nodes_of_steps,
    render,
    troubled_nodes,
    why_failed,
)
from strategy_lib.status.words import duration_words

router = blocking_router("actions")

MOST_NODES = 500
"""Nodes in trouble that a page names, of each sort."""
# It needs nothing from elsewhere, and runs no script, wherever it is opened.
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'self'; base-uri 'none'; form-action 'none'"

Form = Annotated[
    Literal["text", "json", "html"],
    Query(
        alias="format", description="`html`: one page without anything from elsewhere, to mail; `json`: as it is kept."
    ),
]


@router.get(
    "/actions/{action_id}/report",
    dependencies=[access.may_read],
    summary="The report of an action",
    response_class=Response,
    responses={
        200: {
            "description": "The report; failures come first.",
            "content": {
                "text/plain": {
                    "schema": {"type": "string"},
                    "example": "deploy_site of site default, revision 3: SUCCESS: every group succeeded\n",
                },
                "application/json": {"schema": {"type": "object"}, "example": {"verdict": "success"}},
                "text/html": {"schema": {"type": "string"}, "example": "<!doctype html>"},
            },
        }
    },
)
def get_report(action_id: ActionId, store: Store, caller: access.CallerDep, form: Form = "text") -> Response:
    """Return what became of an action (rule 20): its verdict and why, failures first.

    There is none before the action ends, and of one that was closed without a report (404).
    """
    action = find_action(store, caller, action_id)
    found = store.reports.get(action.id)
    if found is None:
        why = f"it was closed without one: {action.verdict}" if action.state.is_end else "it is not over yet"
        raise ApiError(404, f"action {action.id} has no report: {why}", "Report not found")
    name = f"{action.kind}-{action.site}-{action.id}"
    if form == "json":
        return Response(msgspec.json.encode(found), media_type="application/json")
    if form == "text":
        return PlainTextResponse(f"{render(from_dict(found))}\n")
    headers = {"Content-Security-Policy": _POLICY, "Content-Disposition": f'inline; filename="{name}.html"'}
    return HTMLResponse(report_page(from_dict(found)), headers=headers)


def report_page(report: Report) -> str:
    """Return a report as one HTML page: all that people or a provisioner said is shown as text."""
    return _template().render(**_shown(report))


@cache
def _template() -> Template:
    folder = FileSystemLoader(Path(__file__).parent)
    environment = Environment(
        loader=folder, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    return environment.get_template("report.html.j2")


def _shown(report: Report) -> Mapping[str, Any]:
    states = {group.name: group.state for group in report.groups}
    culprits = culprits_of(report.groups)
    failed = sorted(report.failed_groups, key=lambda group: not group.critical)
    tally = Counter(str(node.state) for node in report.nodes)
    return {
        "report": report,
        "action": report.action,
        "took": duration_words(seconds_between(report.action.started, report.action.ended)),
        "failed_groups": [
            (group, why_failed(group, states, culprits), [criterion_text(result) for result in group.criteria])
            for group in failed
        ],
        "troubled": [(title, len(nodes), nodes[:MOST_NODES]) for title, nodes in troubled_nodes(report.nodes) if nodes],
        "withheld": list(islice(nodes_alike(node for node in report.nodes if node.withheld), MOST_NODES)),
        "number_withheld": sum(node.withheld for node in report.nodes),
        "of_steps": list(nodes_of_steps(report)),
        "groups": [(group, duration_words(group.seconds)) for group in report.groups],
        "tally": sorted(tally.items()),
    }
