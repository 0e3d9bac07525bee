"""What an action would do now, node by node, as everybody is told it; for an update by this route, from the store."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping
from contextlib import suppress
from datetime import datetime
from typing import Annotated, Any

from fastapi import Query
from fastapi.responses import JSONResponse
from pydantic import BaseModel, Field

from site_engine.errors import ConnectionLookupFailed, SettingsError
from site_engine.plans.plan import NextStep, SitePlan, next_step
from site_engine.plans.schedules import schedule
from site_engine.plans.site_plans import plan_site
from slipway_api.documents.commit import ShownNextStep
from slipway_api.documents.differences import NodeDifference
from slipway_api.http import airflow_access as access
from slipway_api.http.answers import Moment, answers, shown
from slipway_api.http.api_errors import Finding, plain_message
from slipway_api.http.dependencies import SitePath, Store, blocking_router, provisioners, require_site
from slipway_api.sites.site_statuses import read_list
from strategy_lib.goals.update import ERASING, Change, Deed

router = blocking_router("status")

NAME = "Plan"
"""The name of the messages that a plan has."""


class NodeVersion(BaseModel):
    """A version of a node, and the revision that brought it."""

    version: int | None = Field(examples=[2])
    revision: int | None = Field(examples=[3])


class ChangedNode(BaseModel):
    """What has to be done to a node (add, change, redo, relabel, remove or none), and what the action does with it."""

    name: str = Field(examples=["r7-compute-01"])
    change: Change = Field(examples=["change"])
    deed: Deed = Field(examples=["withhold"])
    reason: str = Field(examples=["the design differs: done for revision 1, wanted is revision 2"])
    submitted: bool = Field(examples=[False])
    withheld: str | None = Field(examples=["design changed, needs redeploy (redeploy_server)"])
    allowed_by: str | None = Field(
        examples=["--allow-redeploy"], description="What lets an action do it; nothing where it is done."
    )
    groups: list[str] = Field(examples=[["rack-7"]])
    done: NodeVersion
    wanted: NodeVersion
    documents: list[NodeDifference] | None = Field(
        description="Which documents and fields differ; nothing where that is not known."
    )


class ChangedGroup(BaseModel):
    """What the action does in a group; it counts all of its nodes."""

    name: str = Field(examples=["rack-7"])
    critical: bool = Field(examples=[True])
    depends_on: list[str] = Field(examples=[["control"]])
    nodes: int = Field(examples=[20])
    counts: dict[Deed, int] = Field(examples=[{"withhold": 20}])
    submitted: int = Field(examples=[0])
    phases: dict[str, int] = Field(examples=[{"prepare": 20, "deploy": 20}], description="How many nodes it sends.")
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

    max_parallel_groups: int = Field(examples=[8], description="At most this many groups run at the same time.")
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


class UsedList(BaseModel):
    """The provisioner's list of nodes that the plan uses."""

    read_at: Moment
    age: float | None = Field(examples=[12.5], description="Seconds since it was read, where the plan is an action's.")
    connection: str = Field(examples=["slipway_provisioner"])
    nodes: int = Field(examples=[3])


class PlannedSubmission(BaseModel):
    """What would be submitted: nodes of a group for a phase. Without a phase there is nothing to submit."""

    group: str | None = Field(examples=["control"])
    phase: str | None = Field(examples=["prepare"])
    nodes: list[str] = Field(examples=[["node-3"]])


class ShownPlan(BaseModel):
    """What an action would do now, if every node succeeded."""

    name: str = Field(examples=["update_site"])
    site: str = Field(examples=["default"])
    revision: int | None = Field(examples=[3])
    listed: UsedList | None
    verdict: str = Field(examples=["success"])
    verdict_text: str = Field(examples=["dry run: nothing was submitted"])
    summary: str = Field(
        examples=[
            "erases 5 (2 redeployed, 3 released first, 0 removed), deploys 11, labels 1, leaves 13, withholds 2",
        ],
    )
    counts: dict[Deed, int] = Field(examples=[{"deploy": 11, "leave": 13}])
    erased: list[str] = Field(examples=[["r7-compute-01"]], description="The nodes that lose what is on them.")
    touched: list[str] = Field(examples=[[]], description="Deployed nodes that would be submitted.")
    groups: list[ChangedGroup]
    submissions: list[PlannedSubmission]
    nodes: list[ChangedNode]
    order: list[list[str]] = Field(examples=[[["r7-compute-01"]]])
    edges: list[UsedEdge]
    schedule: ShownSchedule
    next: ShownNextStep | None = Field(
        description="How the site goes on; nothing before its first commit, and for the plan of an action."
    )
    refusal: str | None = Field(
        examples=[None], description="Why the whole action would be refused, and nothing submitted."
    )
    notes: list[Finding]


Fresh = Annotated[bool, Query(description="Ask the provisioner for a new list first; by default the last one is used.")]
All = Annotated[bool, Query(alias="all", description="Name also the nodes that are as wanted.")]


@router.get(
    "/sites/{site}/plan",
    dependencies=[access.may_read],
    summary="What an update would do",
    responses=answers(ShownPlan),
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
    return JSONResponse(shown_plan(plan, with_unchanged=with_unchanged, step=next_step(plan)))


def shown_plan(
    plan: SitePlan, *, with_unchanged: bool, step: NextStep | None = None, now: datetime | None = None
) -> dict[str, Any]:
    """Return a plan, as `ShownPlan` describes it."""
    verdict, text = plan.verdict
    phases: defaultdict[str | None, Counter[str]] = defaultdict(Counter)
    for sent in plan.rehearsal.run.submissions:
        if sent.phase is not None:
            phases[sent.group][sent.phase] += len(sent.nodes)
    return {
        "name": plan.kind,
        "site": plan.site,
        "revision": plan.revision,
        "listed": _used_list(plan, now),
        "verdict": verdict.value,
        "verdict_text": text,
        "summary": plan.summary,
        "counts": _words(plan.counts),
        "erased": plan.names(*ERASING),
        "touched": plan.touched,
        "groups": [
            shown(
                ChangedGroup,
                group,
                nodes=group.total,
                counts=_words(group.counts),
                phases=dict(phases[group.name]),
            )
            for group in plan.groups
        ],
        "submissions": [shown(PlannedSubmission, sent) for sent in plan.rehearsal.run.submissions],
        "nodes": plan.nodes_to_data(with_unchanged=with_unchanged),
        "order": [list(wave) for wave in plan.order],
        "edges": [shown(UsedEdge, edge) for edge in plan.edges],
        "schedule": shown_schedule(plan),
        "next": None if step is None else step.to_data(),
        "refusal": plan.refusal,
        "notes": [*sentences_of(plan), *(plain_message(said, "Info", name=NAME) for said in plan.rehearsal.gates)],
    }


def sentences_of(plan: SitePlan) -> list[dict[str, Any]]:
    """Return what a plan says of nodes as messages in Airship's shape; none where it only deploys empty nodes."""
    return [plain_message(each.text, each.level.value.capitalize(), name=NAME) for each in plan.sentences()]


def _used_list(plan: SitePlan, now: datetime | None) -> dict[str, Any] | None:
    if plan.listed_at is None:
        return None
    age = None if now is None else max(0.0, (now - plan.listed_at).total_seconds())
    connection, number = plan.listed
    return {"read_at": plan.listed_at.isoformat(), "age": age, "connection": connection, "nodes": number}


def shown_schedule(plan: SitePlan) -> dict[str, Any]:
    """Return when the groups of a plan run, as `ShownSchedule` describes it."""
    connection = None
    if plan.max_parallel_groups > 1:
        # Which provisioner it is matters only then, and a plan is shown also where that cannot be looked up.
        with suppress(ConnectionLookupFailed, SettingsError):
            connection = provisioners().find_for_site(plan.site)
    return shown(ShownSchedule, schedule(plan.waves, plan.max_parallel_groups, plan.usual, connection))


def _words(counts: Mapping[Deed, int]) -> dict[str, int]:
    return {deed.value: number for deed, number in counts.items()}
