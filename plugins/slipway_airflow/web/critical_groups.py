"""The guard of the critical groups: nodes they need now are not taken out of service unless that is forced."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from slipway_airflow.hook import DrydockHook
from slipway_airflow.steps import node_step_of
from slipway_airflow.web.failure import ApiError, plain_message
from strategy_lib.outcome import NodeCondition
from strategy_lib.phase import NodeStep
from strategy_lib.withdrawal import shortfalls

if TYPE_CHECKING:
    from slipway_airflow.web.action_parameters import ActionParameters
    from strategy_lib.design import Design


def guard_critical_groups(kind: str, parameters: ActionParameters, design: Design, site: str) -> list[dict[str, Any]]:
    """Return, as warnings, which critical groups fall short by an action that is forced.

    Raises
    ------
    ApiError
        409: an action that is not forced would take critical groups below their criteria.
    ProvisionerError, SettingsError
        It could not be learnt which nodes are deployed; that is never taken for "none".
    """
    if node_step_of(kind) is not NodeStep.DESTROY:
        return []
    short = shortfalls(design.strategy, design.nodes, deployed_nodes(site), parameters.target_nodes or ())
    messages = [plain_message(str(shortfall), name="CriticalGroups") for shortfall in short]
    if messages and not parameters.force:
        text = f"{kind} would take critical groups below their criteria: name fewer nodes, or force it"
        raise ApiError(409, text, "Critical Groups", messages)
    return [{**message, "error": False, "level": "Warning"} for message in messages]


def deployed_nodes(site: str) -> frozenset[str]:
    """Return the names of the nodes that the site's provisioner lists as deployed.

    Raises
    ------
    ProvisionerError, SettingsError
        It cannot be asked.
    """
    provisioner = DrydockHook.for_site(site).get_conn()
    try:
        listed = provisioner.nodes()
    finally:
        provisioner.close()
    return frozenset(name for name, node in listed.items() if node.condition is NodeCondition.DEPLOYED)
