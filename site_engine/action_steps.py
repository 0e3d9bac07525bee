"""The kinds of actions and the steps that each goes through: one table for DAGs, reports and pages."""

from __future__ import annotations

from strategy_lib.phase import NodeStep

REPORT = "report"
RELEASE = "release"
DEPLOY_GROUP = "deploy_group"

_BEGIN = ("acquire", "load_design", "validate_design", "verify_site")
_DEPLOYMENT = (*_BEGIN, "prepare_site", "plan_groups")

# The task ids before the groups, or up to the step on nodes where there are no groups, in order.
STEPS: dict[str, tuple[str, ...]] = {
    "deploy_site": _DEPLOYMENT,
    "update_site": _DEPLOYMENT,
    # What can fail without harm comes before the first node is touched.
    "redeploy_server": (*_BEGIN, "prepare_site", NodeStep.DESTROY.value, "plan_groups"),
    "relabel_nodes": (*_BEGIN, NodeStep.RELABEL.value),
    "destroy_nodes": (*_BEGIN, NodeStep.DESTROY.value),
}

# Kinds that concern named nodes, and are refused without.
TARGETED = frozenset({"redeploy_server", "relabel_nodes", "destroy_nodes"})


def steps_of(kind: str) -> tuple[str, ...]:
    """Return the steps of a kind of action that come before its groups, in order; those of `deploy_site` for others."""
    return STEPS.get(kind, _DEPLOYMENT)


def node_step_of(kind: str) -> NodeStep | None:
    """Return the step on nodes that a kind of action has, None for the kinds without."""
    return next((step for step in NodeStep if step.value in steps_of(kind)), None)


def has_groups(kind: str) -> bool:
    """Return whether a kind of action deploys groups; the others only carry out their step on nodes."""
    return "plan_groups" in steps_of(kind)
