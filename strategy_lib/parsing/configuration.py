"""The deployment configuration: which strategy is used and how long steps may take (rule 22)."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TypeGuard

from strategy_lib.errors import Origin, StrategyLibError, problem_at
from strategy_lib.parsing.schema_check import check_data

_NOT_VALID = "The deployment configuration is not valid. Mend the settings listed below."

CONFIGURATION_SCHEMA = "shipyard/DeploymentConfiguration/v1"
DEFAULT_STRATEGY_NAME = "deployment-strategy"

_SECTION = "physical_provisioner"
_AFTER_SUCCESS = "after_success"
# An interval and the timeout that it must fit into.
_PAIRS = (
    ("verify_interval", "verify_timeout"),
    ("prepare_site_interval", "prepare_site_timeout"),
    ("prepare_node_interval", "prepare_node_timeout"),
    ("deploy_interval", "deploy_timeout"),
    ("destroy_interval", "destroy_timeout"),
    ("relabel_nodes_interval", "relabel_nodes_timeout"),
)


@dataclass(frozen=True, slots=True)
class DeploymentConfiguration:
    """Settings of a deployment; all times in seconds.

    Attributes
    ----------
    deployment_strategy : name of the strategy; None where none is named: see `strategy_name`.
    after_success : the DAG that is triggered after a successful action; None: none is.
    """

    deployment_strategy: str | None = None
    after_success: str | None = None
    verify_interval: int = 10
    verify_timeout: int = 60
    prepare_site_interval: int = 10
    prepare_site_timeout: int = 300
    prepare_node_interval: int = 30
    prepare_node_timeout: int = 1800
    deploy_interval: int = 30
    deploy_timeout: int = 3600
    destroy_interval: int = 30
    destroy_timeout: int = 900
    relabel_nodes_interval: int = 30
    relabel_nodes_timeout: int = 900
    join_wait: int = 0

    @property
    def strategy_name(self) -> str:
        """The strategy that is used if there is one of this name (rule 22)."""
        return self.deployment_strategy or DEFAULT_STRATEGY_NAME


def parse_configuration(data: object, document: Origin | None = None) -> DeploymentConfiguration:
    """Read the settings from the `data` of a `shipyard/DeploymentConfiguration/v1` document.

    Only the section `physical_provisioner` and `after_success` are read. An interval that is not given is made to fit a
    shorter timeout.

    Raises `StrategyLibError` with every setting that is unknown, has a wrong type, is too small, or is an interval
    above its timeout.
    """
    problems = check_data("deployment_configuration", data, document)
    section = data.get(_SECTION) if isinstance(data, dict) else None
    given: dict[str, object] = section if isinstance(section, dict) else {}
    settings: dict[str, object] = {field.name: field.default for field in fields(DeploymentConfiguration)}
    settings.update((name, value) for name, value in given.items() if name in settings)
    for interval, timeout in _PAIRS:
        pause, limit = settings[interval], settings[timeout]
        if not _is_number(pause) or not _is_number(limit) or pause <= limit or limit < 1:
            continue
        if interval not in given:
            settings[interval] = limit
            continue
        path = f"$.data.{_SECTION}.{interval}"
        message = f"must not be above {timeout}, which is {limit}, but is {pause}"
        problems.append(problem_at(path, message, document))
    if problems:
        raise StrategyLibError(problems, _NOT_VALID)
    return DeploymentConfiguration(
        deployment_strategy=named_strategy(data),
        after_success=data.get(_AFTER_SUCCESS) if isinstance(data, dict) else None,
        **{key: int(value) for key, value in settings.items() if _is_number(value)},
    )


def named_strategy(data: object) -> str | None:
    """Return the name of the strategy that this `data` of a configuration gives, whatever else is wrong with it.

    None where it gives none, or something that cannot be a name.
    """
    section = data.get(_SECTION) if isinstance(data, dict) else None
    name = section.get("deployment_strategy") if isinstance(section, dict) else None
    return name if isinstance(name, str) and name else None


def _is_number(value: object) -> TypeGuard[int | float]:
    return isinstance(value, int | float) and not isinstance(value, bool)
