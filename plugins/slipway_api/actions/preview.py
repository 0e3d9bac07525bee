"""What an action would do to the nodes as they are now: shown on request, and when the action is created."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, Field

from provisioner_client.errors import ProvisionerError
from site_engine.actions.kinds import Override, kind_of
from site_engine.errors import SettingsError
from site_engine.groups.releases import erased_first, releases_of
from site_engine.log_messages import by_reason, count, names
from site_engine.plans.planning import idle_groups, plan_action, simulate_plan, strategy_of
from slipway_api.http.api_errors import Finding, plain_message
from slipway_api.sites.site_statuses import listed_nodes
from strategy_lib.groups.batch_words import announcements
from strategy_lib.node import NodeState
from strategy_lib.outcome import NodeCondition
from strategy_lib.phase import Phase

if TYPE_CHECKING:
    from design_rendering.design import Design
    from provisioner_client.protocol import ListedNode
    from site_engine.actions.parameters import ActionParameters
    from site_engine.plans.differences import NodeDifference
    from site_engine.plans.planning import DryRun
    from site_store import PlannedGroup, SiteStore

log = logging.getLogger(__name__)

NAME = "Preview"
"""The name of the messages that show a preview."""


class WithheldNode(BaseModel):
    """A node that an action would leave alone though it is not as wanted."""

    name: str = Field(examples=["node-2"])
    reason: str = Field(examples=["design changed, needs redeploy (allow_redeploy, or redeploy_server)"])


class ShownPreview(BaseModel):
    """What an action would do to nodes, by their names."""

    submitted: list[str] = Field(examples=[["node-3"]])
    deployed: list[str] = Field(examples=[[]])
    destroyed: list[str] = Field(examples=[[]])
    released: list[str] = Field(examples=[[]])
    refused: list[WithheldNode] = Field(examples=[[]])
    as_wanted: list[str] = Field(examples=[["node-1"]])
    relabelled: list[str] = Field(examples=[[]])
    removed: list[str] = Field(examples=[[]])
    left: list[WithheldNode] = Field(examples=[[]])
    withheld: list[WithheldNode]
    out_of_use: list[WithheldNode] = Field(
        examples=[[{"name": "node-4", "reason": "set to maintenance by ann: new disk"}]],
        description="Nodes that an administrator has taken out of use, and that are not as wanted: left out.",
    )
    failing: list[str] = Field(examples=[[]])


class PreviewedAction(BaseModel):
    """An action that is not created; without a preview where the provisioner does not list its nodes."""

    name: str = Field(examples=["update_site"])
    site: str = Field(examples=["default"])
    revision: int = Field(examples=[2])
    preview: ShownPreview | None
    notes: list[Finding]


@dataclass(frozen=True, slots=True)
class Preview:
    """What an action would do if every node succeeded. All names are sorted.

    Attributes
    ----------
    submitted : nodes that would be submitted.
    deployed : those among them that are deployed now, and that the action would work on or destroy.
    destroyed : those among these that it would destroy.
    released : nodes among the submitted that would be erased and released first, as the provisioner refuses to prepare
        them.
    refused : nodes that cannot be prepared as they are, and so are not submitted, each with the reason.
    as_wanted : deployed nodes that are as wanted, and are not submitted.
    withheld : deployed nodes that are not as wanted and not submitted either, each with the reason.
    out_of_use : nodes that an administrator has taken out of use, and that are not as wanted, each with the reason.
    failing : critical groups that would fail all the same.
    groups : the plan's, in processing order.
    rehearsal : every provisioner task that would be submitted, in order.
    differences : what has to be done to each node that is considered, and to those that left the design.
    redeploy : deployed nodes that it would bring to another design, a batch after the other.
    serving : nodes of the design that are deployed now.
    relabelled : nodes that would get new labels in place.
    removed : nodes that left the design, and would be destroyed after the groups.
    left : nodes that left the design and stay, each with the reason.
    mapped : how many groups would get a task of Airflow.
    """

    submitted: tuple[str, ...] = ()
    deployed: tuple[str, ...] = ()
    destroyed: tuple[str, ...] = ()
    released: tuple[str, ...] = ()
    refused: Mapping[str, str] | None = None
    as_wanted: tuple[str, ...] = ()
    withheld: Mapping[str, str] | None = None
    out_of_use: Mapping[str, str] | None = None
    failing: tuple[str, ...] = ()
    groups: tuple[PlannedGroup, ...] = ()
    rehearsal: DryRun | None = None
    differences: Mapping[str, NodeDifference] = field(default_factory=dict)
    redeploy: frozenset[str] = frozenset()
    serving: frozenset[str] = frozenset()
    relabelled: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    left: Mapping[str, str] | None = None
    mapped: int = 0

    @property
    def is_notable(self) -> bool:
        """Whether it is more than a deployment of empty nodes."""
        of_site = self.deployed or self.released or self.refused or self.as_wanted or self.withheld
        return bool(of_site or self.relabelled or self.removed or self.left or self.out_of_use)

    def to_data(self) -> dict[str, Any]:
        return {
            "submitted": list(self.submitted),
            "deployed": list(self.deployed),
            "destroyed": list(self.destroyed),
            "released": list(self.released),
            "refused": _with_reasons(self.refused),
            "as_wanted": list(self.as_wanted),
            "relabelled": list(self.relabelled),
            "removed": list(self.removed),
            "left": _with_reasons(self.left),
            "withheld": _with_reasons(self.withheld),
            "out_of_use": _with_reasons(self.out_of_use),
            "failing": list(self.failing),
        }


def _with_reasons(found: Mapping[str, str] | None) -> list[dict[str, str]]:
    return [{"name": name, "reason": reason} for name, reason in sorted((found or {}).items())]


def nodes_if_known(store: SiteStore, site: str) -> Mapping[str, ListedNode] | None:
    """Return what `listed_nodes` does, None when the provisioner cannot be asked: for actions that destroy nothing."""
    try:
        return listed_nodes(store, site)
    except (ProvisionerError, SettingsError) as error:
        log.warning("What is deployed on site %s is not known: %s", site, error)
        return None


def preview(
    store: SiteStore,
    kind: str,
    parameters: ActionParameters,
    design: Design,
    site: str,
    listed: Mapping[str, ListedNode],
) -> Preview:
    """Return what an action would do to the nodes as they are now (rules 11, 15, 21 and 25)."""
    conditions = {name: node.condition for name, node in listed.items()}
    targets = None if parameters.target_nodes is None else sorted(frozenset(parameters.target_nodes))
    deployed_now = frozenset(name for name, said in conditions.items() if said is NodeCondition.DEPLOYED)
    records = store.nodes.of_site(site)
    strategy = strategy_of(kind_of(kind), parameters, design, records)
    out_of_use = store.user_states.left_out(site, kind)
    plan = plan_action(kind_of(kind), parameters, design, strategy, records, conditions, out_of_use=out_of_use)
    step = kind_of(kind).node_step
    if step is not None:
        chosen = tuple(targets or ())
        worked_on = tuple(name for name in chosen if name in deployed_now)
        groups = plan.groups if kind_of(kind).has_groups else ()
        return Preview(
            chosen,
            worked_on,
            worked_on if step is Phase.DESTROY else (),
            groups=groups,
            rehearsal=simulate_plan(groups, {}, step, chosen),
            mapped=len(groups),
        )
    used = {name: node for name, node in listed.items() if name not in plan.out_of_use}
    releases = releases_of(store, site, plan.groups, used)
    kept_back = {**releases.refused, **plan.withheld}
    rehearsal = simulate_plan(
        plan.groups,
        dict.fromkeys(plan.done, NodeState.SUCCESS),
        Phase.RELABEL,
        plan.relabel,
        withheld=kept_back,
        below_criteria=parameters.allows(Override.BELOW_CRITERIA),
        remove=plan.remove,
    )
    redeployed = frozenset(name for planned in plan.groups for name in planned.plan.redeploy)
    submitted = {name for one in rehearsal.submissions if one.group is not None for name in one.nodes}
    removed = deployed_now.intersection(plan.remove)
    grouped = frozenset(name for planned in plan.groups for name in planned.nodes)
    stays = redeployed.intersection(rehearsal.kept) - submitted
    return Preview(
        submitted=tuple(sorted(submitted)),
        deployed=tuple(sorted((submitted & deployed_now) | removed)),
        destroyed=tuple(sorted(removed)),
        released=tuple(sorted((redeployed | frozenset(releases.release)) & submitted)),
        refused=releases.refused,
        as_wanted=tuple(sorted(plan.done.difference(plan.relabel))),
        withheld={
            **{name: reason for name, reason in plan.settled.items() if name in grouped},
            **{name: f"stays as it is: {rehearsal.kept[name]}" for name in sorted(stays)},
        },
        out_of_use={name: why for name, why in plan.out_of_use.items() if name in grouped or name in plan.left},
        failing=rehearsal.judgement.critical,
        groups=plan.groups,
        rehearsal=rehearsal,
        differences=plan.differences,
        redeploy=plan.redeploy,
        serving=deployed_now.intersection(design.digests),
        relabelled=plan.relabel,
        removed=plan.remove,
        left={name: why for name, why in plan.left.items() if name not in plan.out_of_use},
        mapped=len(plan.groups) - len(idle_groups(plan.groups, plan.done, plan.settled)),
    )


def messages_of(kind: str, found: Preview | None) -> list[dict[str, Any]]:
    """Return a preview as messages in Airship's shape: none where nothing stands on any node.

    Without a preview (None) they say that it could not be made.
    """
    if found is not None and not found.is_notable:
        return []
    if found is None:
        return [_note("which nodes are deployed is not known: the provisioner does not list them", "Warning")]
    return [_note(text, level) for text, level in _sentences(kind, found)]


def gates_of(found: Preview) -> list[dict[str, Any]]:
    """Return a message for each group that would ask a person, or go in batches: not for one with nothing to submit."""
    asking = found.rehearsal.submitting if found.rehearsal is not None else frozenset()
    sizes = ((planned.group, len(planned.nodes)) for planned in found.groups)
    sent = found.rehearsal.submissions if found.rehearsal is not None else ()
    in_batches = [_note(said, "Info") for said in announcements(sizes, sent)]
    return in_batches + [
        _note(planned.group.approval.announcement(planned.group.name), "Info")
        for planned in found.groups
        if planned.group.approval is not None and planned.group.name in asking
    ]


def _sentences(kind: str, found: Preview) -> Iterable[tuple[str, str]]:
    if found.submitted or not kind_of(kind).has_groups:
        yield f"{count(len(found.submitted), 'node')} would be submitted: {names(found.submitted)}", "Info"
    else:
        yield "no node would be submitted", "Info"
    if found.destroyed:
        what = f"{count(len(found.destroyed), 'deployed node')} would be taken down: {names(found.destroyed)}"
        yield what, "Warning"
    kept = [name for name in found.deployed if name not in found.destroyed]
    if kept and kind_of(kind).has_groups:
        yield f"{count(len(kept), 'deployed node')} would be submitted: {names(kept)}", "Warning"
    if found.released:
        yield erased_first(found.released), "Warning"
    for reason, nodes in by_reason(found.refused or {}).items():
        yield f"{count(len(nodes), 'node')} not to be submitted: {names(nodes)}: {reason}", "Warning"
    if found.as_wanted:
        good = f"{count(len(found.as_wanted), 'deployed node')} as wanted, not to be touched: {names(found.as_wanted)}"
        yield good, "Info"
    if found.relabelled:
        yield f"{count(len(found.relabelled), 'node')} would get new labels: {names(found.relabelled)}", "Info"
    if found.removed:
        what = f"{count(len(found.removed), 'node')} no longer in the design would be destroyed"
        yield f"{what}: {names(found.removed)}", "Warning"
    for reason, nodes in by_reason(found.left or {}).items():
        yield f"{count(len(nodes), 'node')} no longer in the design: {names(nodes)}: {reason}", "Info"
    for reason, nodes in by_reason(found.withheld or {}).items():
        yield f"{count(len(nodes), 'deployed node')} not to be touched: {names(nodes)}: {reason}", "Warning"
    for reason, nodes in by_reason(found.out_of_use or {}).items():
        yield f"{count(len(nodes), 'node')} out of use, left out: {names(nodes)}: {reason}", "Warning"
    if found.failing:
        some = "critical group" if len(found.failing) == 1 else "critical groups"
        yield f"{some} {', '.join(found.failing)} would fail even if every submitted node succeeded", "Warning"


def _note(text: str, level: str) -> dict[str, Any]:
    return plain_message(text, level, name=NAME)
