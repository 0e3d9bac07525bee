"""What a dry run shows: the submissions there would be if every node succeeded."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from slipway_airflow.story import count, names
from strategy_lib.deployment import Deployment, Finished

if TYPE_CHECKING:
    from site_store import GroupRecord
    from strategy_lib.node import NodeState


def rehearse(groups: Sequence[GroupRecord], states: Mapping[str, NodeState]) -> Iterator[str]:
    """Yield one line for every provisioner task that would be submitted, in order, and one for groups without any."""
    deployment = Deployment(
        [group.definition for group in groups], {group.name: group.nodes for group in groups}, states
    )
    submitted = set()
    yield "Dry run. If every node succeeds, this is submitted, in this order:"
    while not isinstance(step := deployment.next(), Finished):
        submitted.add(step.group)
        yield f"  {step.group}: {step.phase.value} {count(len(step.nodes), 'node')}: {names(step.nodes)}"
        deployment.record(step, step.nodes, ())
    for view in deployment.groups:
        if view.name not in submitted:
            yield f"  {view.name}: nothing to submit ({view.state.value})"
