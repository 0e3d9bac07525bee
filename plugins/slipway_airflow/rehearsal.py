"""What a dry run shows: the submissions there would be if every node succeeded."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from slipway_airflow.story import count, names
from strategy_lib.deployment import Deployment, Finished

if TYPE_CHECKING:
    from site_store import GroupRecord
    from strategy_lib.node import NodeState
    from strategy_lib.phase import NodeStep


def rehearse(
    groups: Sequence[GroupRecord],
    states: Mapping[str, NodeState],
    step: NodeStep | None = None,
    targets: Sequence[str] = (),
) -> Iterator[str]:
    """Yield one line for every provisioner task that would be submitted, in order, and one for groups without any.

    ``step`` is done to the ``targets`` before any group.
    """
    deployment = Deployment(
        [group.definition for group in groups], {group.name: group.nodes for group in groups}, states
    )
    submitted = set()
    yield "Dry run. If every node succeeds, this is submitted, in this order:"
    if step is not None:
        yield f"  {step}: {count(len(targets), 'node')}: {names(targets)}"
    while not isinstance(due := deployment.next(), Finished):
        submitted.add(due.group)
        yield f"  {due.group}: {due.phase.value} {count(len(due.nodes), 'node')}: {names(due.nodes)}"
        deployment.record(due, due.nodes, ())
    for view in deployment.groups:
        if view.name not in submitted:
            yield f"  {view.name}: nothing to submit ({view.state.value})"
