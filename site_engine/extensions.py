"""What other packages add to Slipway by entry points: policies over designs, and watchers of their changes.

All of them are looked up once in a process, and checked before any is used (rule 42).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from design_rendering.policies import DesignPolicy, every_node_has_a_group
from site_engine.errors import EngineError
from strategy_lib.errors import StrategyError
from strategy_lib.goals.actors import Registration, check_registrations

POLICIES = "slipway.policies"
OWN_POLICIES: Mapping[str, DesignPolicy] = {"default-group": every_node_has_a_group}
"""Those that Slipway comes with; a package that registers another under the same name is refused."""


OWN_VERSION = 1
"""Grows when one of them decides otherwise."""


class ExtensionError(EngineError):
    """Something that was registered cannot be used: remove or mend the package that is named."""


@dataclass(frozen=True, slots=True)
class PolicySet:
    """The policies of this installation by name, and a digest of them with the versions of their packages."""

    policies: Mapping[str, DesignPolicy]
    digest: str


@cache
def installed_policies() -> PolicySet:
    """Return the policies that are installed.

    Raises `ExtensionError`: two have one name, or one cannot be loaded.
    """
    return policy_set(entry_points(group=POLICIES))


def policy_set(found: Iterable[EntryPoint]) -> PolicySet:
    """Return Slipway's own policies and those that these entry points stand for.

    Raises `ExtensionError`: two have one name, or one cannot be loaded.
    """
    points = [*{(point.name, point.value): point for point in found}.values()]
    points.sort(key=lambda point: point.name)
    loaded = load(points, "policy", own=OWN_POLICIES)
    versions = [[point.name, point.value, point.dist.version if point.dist else ""] for point in points]
    versions += [[name, "slipway", str(OWN_VERSION)] for name in sorted(OWN_POLICIES)]
    return PolicySet({**OWN_POLICIES, **loaded}, hashlib.sha256(json.dumps(versions).encode()).hexdigest()[:16])


def load(points: Iterable[EntryPoint], what: str, own: Iterable[str] = ()) -> dict[str, Callable[..., Any]]:
    """Return what entry points stand for, by name; `own` names are Slipway's.

    Raises `ExtensionError`: two of different packages have one name; one cannot be loaded, or is nothing to call.
    """
    # One package may be found twice, as where it is installed and stands in the current directory.
    different = dict.fromkeys((point.name, point.value, point.dist.name if point.dist else "") for point in points)
    registered = [Registration(what, name, "slipway") for name in own]
    registered += [
        Registration(what, name, f"{value} of {package or 'no package'}") for name, value, package in different
    ]
    try:
        check_registrations(registered)
    except StrategyError as error:
        raise ExtensionError("; ".join(problem.message for problem in error.problems)) from error
    loaded = {}
    for point in points:
        try:
            made = point.load()
        except Exception as error:
            raise ExtensionError(f"{what} {point.name!r} ({point.value}) cannot be loaded: {error}") from error
        if not callable(made):
            raise ExtensionError(f"{what} {point.name!r} ({point.value}) is nothing that can be called")
        loaded[point.name] = made
    return loaded
