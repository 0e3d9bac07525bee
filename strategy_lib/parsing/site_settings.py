"""How Slipway goes about a site: the document `slipway/SiteSettings/v1`. Every setting has a default."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from strategy_lib.errors import Origin, StrategyLibError, problem_at
from strategy_lib.node_states.node_memory import StateSettings
from strategy_lib.node_states.publication import PublishSettings
from strategy_lib.node_states.repair import RepairMode
from strategy_lib.node_states.site_states import SiteStateSettings
from strategy_lib.parsing.schema_check import check_data

_HOST = re.compile(r"\{address(?::(?P<network>[^{}:/\s]+))?\}(?::(?P<port>[0-9]+))?(?P<path>/.*)?")
_PATH = re.compile(r"[A-Za-z0-9/_.~!$&'()*+,;=:@%-]*")
LOOKS_LIKE = "http://{address}:9650/state, or with a network of the nodes, http://{address:oam}:9650/state"


@dataclass(frozen=True, slots=True)
class HealthUrl:
    """A URL that is different for each node by the node's address alone.

    Attributes
    ----------
    network : the network whose address of a node is meant; "": the node's primary network.
    """

    scheme: str
    network: str
    port: int | None
    path: str

    def at(self, address: str) -> str:
        """Return the URL of the node with this address."""
        host = f"[{address}]" if ":" in address else address
        return f"{self.scheme}://{host}{'' if self.port is None else f':{self.port}'}{self.path}"


def parse_health_url(text: str) -> HealthUrl:
    """Read a template such as `http://{address}:9650/state`. Raises `ValueError` with what would be right."""
    scheme, found, rest = text.partition("://")
    if scheme not in ("http", "https") or not found:
        raise ValueError(f"must begin with http:// or https://, as in {LOOKS_LIKE}")
    parts = _HOST.fullmatch(rest)
    if parts is None:
        raise ValueError(f"must have the node's own address as its host, and nothing before it, as in {LOOKS_LIKE}")
    path = parts["path"] or "/state"
    if _PATH.fullmatch(path) is None:
        raise ValueError(f"must have a plain path, without a query, as in {LOOKS_LIKE}")
    port = None if parts["port"] is None else int(parts["port"][:6])
    if port is not None and not 1 <= port <= 65535:
        raise ValueError(f"must have a port from 1 to 65535, not {parts['port'][:6]}")
    return HealthUrl(scheme, parts["network"] or "", port, path)


SITE_SETTINGS_SCHEMA = "slipway/SiteSettings/v1"
_NOT_VALID = "The settings of the site are not valid. Mend those listed below."


@dataclass(frozen=True, slots=True)
class SiteSettings:
    """The settings of a site.

    Attributes
    ----------
    redeploy_percent, redeploy_nodes : an update that would redeploy more than this share of the site's deployed nodes,
        and more nodes than this, is refused without the override `many_redeploys`.
    follow_timeout : seconds for which the provisioner task of an unknown node is followed after nobody waits for it.
    transition_time : seconds for which a node that is not up may be restarting: it is in maintenance meanwhile.
    stable_time : seconds of steady up, or down, after which the crashes of a node are forgotten.
    max_crashes : a node that crashes more often is set down, until a person sets it up.
    init_timeout : seconds without progress after which an initializing node is down; 0: never.
    min_time_between_versions, quiet_time, max_quiet : seconds: when a new version of the view is published.
    min_available_percent : a group with fewer available nodes takes the rest of them down; 0: off.
    min_up_nodes, min_up_percent : a site with fewer nodes up is down as a whole; 0: off.
    max_groups_in_maintenance : how many groups may have nodes with user states at once.
    repair : whether nodes that drifted or failed are repaired, and whether deployed ones may be destroyed for it.
    max_repairs_per_hour : repairs of so many nodes begin in any hour.
    max_parallel_groups : how many groups of an action run side by side (rule 8).
    health_url : where the agent of each node is asked (`HealthUrl`); "": nodes are not asked.
    max_agent_connections : how many nodes are asked at once; of more, the rest take turns.
    """

    redeploy_percent: int = 20
    redeploy_nodes: int = 5
    follow_timeout: int = 86400
    transition_time: int = 30
    stable_time: int = 7200
    max_crashes: int = 4
    init_timeout: int = 0
    min_time_between_versions: int = 5
    quiet_time: int = 1
    max_quiet: int = 10
    min_available_percent: int = 0
    min_up_nodes: int = 0
    min_up_percent: int = 0
    max_groups_in_maintenance: int = 1
    repair: RepairMode = RepairMode.OBSERVE
    max_repairs_per_hour: int = 10
    max_parallel_groups: int = 1
    health_url: str = ""
    max_agent_connections: int = 1000

    def to_data(self) -> dict[str, Any]:
        """Return the `data` of a document that says the same."""
        sections = {section: {name: getattr(self, name) for name in names} for section, names in _SECTIONS.items()}
        plain = {name: getattr(self, name) for name in _PLAIN}
        return {**sections, "repair": str(self.repair), **plain}

    def node_states(self, groups: Iterable[str]) -> SiteStateSettings:
        """Return what is set for the states of the nodes of these groups."""
        return SiteStateSettings(
            StateSettings(self.transition_time, self.stable_time, self.max_crashes, self.init_timeout),
            PublishSettings(self.min_time_between_versions, self.quiet_time, self.max_quiet),
            dict.fromkeys(groups, self.min_available_percent) if self.min_available_percent else {},
            self.min_up_nodes,
            self.min_up_percent,
            self.health_url,
            self.max_agent_connections,
        )


_SECTIONS = {
    "updates": ("redeploy_percent", "redeploy_nodes"),
    "unknown_nodes": ("follow_timeout",),
    "node_states": (
        "transition_time",
        "stable_time",
        "max_crashes",
        "init_timeout",
        "min_time_between_versions",
        "quiet_time",
        "max_quiet",
        "min_available_percent",
        "min_up_nodes",
        "min_up_percent",
        "max_groups_in_maintenance",
        "health_url",
        "max_agent_connections",
    ),
}

_PLAIN = ("max_repairs_per_hour", "max_parallel_groups")

DEFAULT_SETTINGS = SiteSettings()
"""Those of a site without a document of this kind."""


def parse_site_settings(data: object, document: Origin | None = None) -> SiteSettings:
    """Read the `data` of a document. Raises `StrategyLibError` with everything that is wrong."""
    problems = check_data("site_settings", data, document)
    if problems:
        raise StrategyLibError(problems, _NOT_VALID)
    given: Mapping[str, Any] = data if isinstance(data, Mapping) else {}
    found = {name: value for section in _SECTIONS for name, value in given.get(section, {}).items()}
    if found.get("health_url"):
        try:
            parse_health_url(found["health_url"])
        except ValueError as error:
            raise StrategyLibError(
                [problem_at("$.data.node_states.health_url", str(error), document)], _NOT_VALID
            ) from None
    found |= {name: given[name] for name in _PLAIN if name in given}
    mode = given.get("repair", RepairMode.OBSERVE)
    # YAML 1.1 reads on and off without quotes as truth values.
    if isinstance(mode, bool):
        mode = RepairMode.ON if mode else RepairMode.OFF
    # JSON Schema takes 20.0 for a whole number.
    read: dict[str, Any] = {name: value if isinstance(value, str) else int(value) for name, value in found.items()}
    return SiteSettings(**read, repair=RepairMode(mode))
