"""The guard of the critical groups: nodes they need stay in service, unless `below_criteria` is given."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from site_engine.actions.kinds import Override, kind_of
from slipway_api.http.api_errors import ApiError, plain_message
from strategy_lib.disruption import shortfalls
from strategy_lib.outcome import NodeCondition

if TYPE_CHECKING:
    from site_engine.actions.parameters import ActionParameters
    from strategy_lib.design import Design


def guard_critical_groups(
    kind: str, parameters: ActionParameters, design: Design, conditions: Mapping[str, NodeCondition]
) -> list[dict[str, Any]]:
    """Return, as warnings, which critical groups fall short by an action that is forced.

    Parameters
    ----------
    conditions
        What the provisioner says of its nodes now.

    Raises
    ------
    ApiError
        409: an action that is not forced would take critical groups below their criteria.
    """
    if not kind_of(kind).is_destructive:
        return []
    deployed = frozenset(name for name, said in conditions.items() if said is NodeCondition.DEPLOYED)
    short = shortfalls(design.strategy, design.nodes, deployed, parameters.target_nodes or ())
    messages = [plain_message(str(shortfall), name="CriticalGroups") for shortfall in short]
    if messages and not parameters.allows(Override.BELOW_CRITERIA):
        text = f"{kind} would take critical groups below their criteria: name fewer nodes, or force it"
        raise ApiError(409, text, "Critical Groups", messages)
    return [{**message, "error": False, "level": "Warning"} for message in messages]
