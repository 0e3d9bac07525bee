"""What an update of a site would do now, node by node, with what differs and why: from the store, in a moment."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

from fastapi import APIRouter, Query
from fastapi.responses import JSONResponse
from pydantic import BaseModel, Field

from design_rendering.drydock_kinds import PROFILE_SCHEMA
from site_engine.errors import ConnectionLookupFailed, SettingsError
from site_engine.plans.next_steps import next_step
from site_engine.plans.schedules import schedule
from site_engine.plans.site_plans import plan_site
from slipway_api import airflow_access as access
from slipway_api.documents.differences import ChangedField, shown_field
from slipway_api.http.answers import Moment, answers
from slipway_api.http.concurrency import BlockingRoute
from slipway_api.http.dependencies import SitePath, Store, provisioners, require_site
from slipway_api.sites.site_statuses import read_list
from strategy_lib.goals.update import Change

if TYPE_CHECKING:
    from design_rendering.changes.document_changes import DocumentChange
    from site_engine.plans.site_plans import PlannedNode, SitePlan

router = APIRouter(tags=["status"], route_class=BlockingRoute)

MOST_FIELDS = 20_000
"""Differing fields in one answer; of the documents after them only the names are given."""


class NodeVersion(BaseModel):
    """A version of a node, and the revision that brought it."""

    version: int | None = Field(examples=[2])
    revision: int | None = Field(examples=[3])


class MakingDocument(BaseModel):
    """A document that makes a node, and differs."""

    schema_: str = Field(alias="schema", examples=[PROFILE_SCHEMA])
    name: str = Field(examples=["rack-7"])
    change: str = Field(examples=["modified"])
    fields_: list[ChangedField] = Field(alias="fields")


class ChangedNode(BaseModel):
    """What an update has to do to a node: add, change, redo, relabel, remove or none."""

    name: str = Field(examples=["r7-compute-01"])
    change: Change = Field(examples=["change"])
    reason: str = Field(examples=["the design differs: done for revision 1, wanted is revision 2"])
    submitted: bool = Field(examples=[False])
    withheld: str | None = Field(examples=["design changed, needs redeploy (redeploy_server)"])
    groups: list[str] = Field(examples=[["rack-7"]])
    done: NodeVersion
    wanted: NodeVersion
    documents: list[MakingDocument] | None = Field(
        description="Which documents and fields differ; nothing where that is not known."
    )


class ChangedGroup(BaseModel):
    """What an update has to do in a group; it counts all of its nodes."""

    name: str = Field(examples=["rack-7"])
    critical: bool = Field(examples=[True])
    depends_on: list[str] = Field(examples=[["control"]])
    nodes: int = Field(examples=[20])
    counts: dict[Change, int] = Field(examples=[{"change": 20}])
    submitted: int = Field(examples=[0])
    failing: str | None = Field(
        examples=["prepare_criteria"], description="Why it would fail even if every submitted node succeeded."
    )


class UsedEdge(BaseModel):
    """An edge of the order that is used: both are groups, or both are nodes."""

    kind: str = Field(examples=["group"])
    later: str = Field(examples=["rack-7"])
    earlier: str = Field(examples=["control"])


class ShownSchedule(BaseModel):
    """When groups run, if every submitted node succeeds."""

    max_parallel_groups: int = Field(examples=[8], description="So many run side by side.")
    waves: list[list[str]] = Field(
        examples=[[["control"], ["rack-7", "rack-8"]]],
        description="The rounds. Groups with nothing to submit, and those behind a failed one, are in none.",
    )
    seconds: float | None = Field(
        examples=[5400.0],
        description="About so long they take, by the newest operations on the site; nothing where there were none.",
    )
    note: str | None = Field(
        examples=["groups side by side gain nothing: Drydock does one task at a time, and the others wait in its queue"]
    )


class ShownNextStep(BaseModel):
    """The action that brings the newest revision about, with all that it has to be told."""

    name: str = Field(examples=["update_site"])
    parameters: dict[str, bool] = Field(examples=[{"allow_redeploy": True}])
    why: str = Field(examples=["3 nodes are deployed otherwise than wanted, and left alone without allow_redeploy"])


class PlannedSite(BaseModel):
    """What an update of a site would do now."""

    site: str = Field(examples=["default"])
    revision: int | None = Field(examples=[3])
    listed_at: Moment | None = Field(description="When the provisioner's list was read that this plan uses.")
    counts: dict[Change, int] = Field(examples=[{"change": 20, "none": 80}])
    groups: list[ChangedGroup]
    nodes: list[ChangedNode]
    order: list[list[str]] = Field(examples=[[["r7-compute-01"]]])
    edges: list[UsedEdge]
    schedule: ShownSchedule
    batches: list[str] = Field(
        examples=[["Group rack-7 goes in 5 batches of at most 4 nodes."]],
        description="What is to be said of groups whose nodes go in batches.",
    )
    released: list[str] = Field(
        examples=[["r7-compute-01"]], description="Nodes that would be erased and released first."
    )
    next: ShownNextStep | None = Field(description="How the site goes on; nothing before its first commit.")
    refusal: str | None = Field(
        examples=[None], description="Why the whole update would be refused, and nothing submitted."
    )


Fresh = Annotated[bool, Query(description="Ask the provisioner for a new list first; by default the last one is used.")]
All = Annotated[bool, Query(alias="all", description="Name also the nodes that are as wanted.")]


@router.get(
    "/sites/{site}/plan",
    dependencies=[access.may_read],
    summary="What an update would do",
    responses=answers(PlannedSite),
)
def get_site_plan(site: SitePath, store: Store, with_unchanged: All = False, fresh: Fresh = False) -> JSONResponse:
    """Say what `update_site` would do to each node of the newest revision, with what differs, and why.

    It uses the provisioner's list that was read last; only `fresh` has the provisioner asked for a new one. A node
    that is in no group is named, and not submitted; nodes that left the design are named, and stay.
    """
    if fresh:
        require_site(store, site, default_exists=True)
        read_list(store, site)
    plan = plan_site(store, site)
    if not plan.is_known:
        # Looked up only where nothing was found, so that a plan is three statements at most.
        require_site(store, site, default_exists=True)
    return JSONResponse(shown_plan(plan, with_unchanged=with_unchanged))


def shown_plan(plan: SitePlan, *, with_unchanged: bool) -> dict[str, Any]:
    """Return a plan, as `PlannedSite` describes it."""
    step = next_step(plan)
    return {
        "site": plan.site,
        "revision": plan.revision,
        "listed_at": None if plan.listed_at is None else plan.listed_at.isoformat(),
        "refusal": plan.refusal,
        "schedule": shown_schedule(plan),
        "batches": list(plan.batches),
        "released": list(plan.released),
        "next": None if step is None else step.to_data(),
        **shown_changes(plan, with_unchanged=with_unchanged),
    }


def shown_schedule(plan: SitePlan) -> dict[str, Any]:
    """Return when the groups of a plan run, as `ShownSchedule` describes it."""
    connection = None
    if plan.max_parallel_groups > 1:
        # Which provisioner it is matters only then, and a plan is shown also where that cannot be looked up.
        with suppress(ConnectionLookupFailed, SettingsError):
            connection = provisioners().find_for_site(plan.site)
    found = schedule(plan.waves, plan.max_parallel_groups, plan.usual, connection)
    return {**asdict(found), "waves": [list(wave) for wave in found.waves]}


def shown_changes(plan: SitePlan, *, with_unchanged: bool) -> dict[str, Any]:
    """Return what a plan says of groups and nodes, and in which order."""
    left = MOST_FIELDS
    nodes = []
    for planned in plan.nodes.values():
        shown = _node(planned, left)
        left -= sum(len(document["fields"]) for document in shown["documents"] or ())
        nodes.append(shown)
    if with_unchanged:
        nodes += [_unchanged(name, *done) for name, done in plan.unchanged.items()]
        nodes.sort(key=lambda node: str(node["name"]))
    return {
        "counts": _words(plan.counts),
        "groups": [
            {
                "name": group.name,
                "critical": group.critical,
                "depends_on": list(group.depends_on),
                "nodes": group.total,
                "counts": _words(group.counts),
                "submitted": group.submitted,
                "failing": group.failing,
            }
            for group in plan.groups
        ],
        "nodes": nodes,
        "order": [list(wave) for wave in plan.order],
        "edges": [{"kind": edge.kind, "later": edge.later, "earlier": edge.earlier} for edge in plan.edges],
    }


def _node(planned: PlannedNode, fields: int) -> dict[str, Any]:
    each = planned.difference
    return {
        "name": each.name,
        "change": each.change.value,
        "reason": each.reason,
        "submitted": planned.is_submitted,
        "withheld": planned.withheld,
        "groups": list(planned.groups),
        "done": {"version": each.done_version, "revision": each.done_revision},
        "wanted": {"version": each.wanted_version, "revision": each.wanted_revision},
        "documents": None
        if planned.documents is None
        else [_document(document, fields) for document in planned.documents],
    }


def _unchanged(name: str, version: int | None, revision: int | None) -> dict[str, Any]:
    done = {"version": version, "revision": revision}
    since = f"version {version}" if version is not None else f"revision {revision}"
    facts: dict[str, Any] = {
        "submitted": False,
        "withheld": None,
        "groups": [],
        "documents": [],
        "done": done,
        "wanted": done,
    }
    return {"name": name, "change": Change.NONE.value, "reason": f"as wanted since {since}", **facts}


def _document(change: DocumentChange, fields: int) -> dict[str, Any]:
    return {
        "schema": change.schema,
        "name": change.name,
        "change": change.change.value,
        "fields": [shown_field(field) for field in change.fields[: max(0, fields)]],
    }


def _words(counts: Mapping[Change, int]) -> dict[str, int]:
    return {change.value: number for change, number in counts.items()}
