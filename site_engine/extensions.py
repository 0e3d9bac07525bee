"""What other packages add to Slipway by entry points: policies over designs, watchers of changes, checks of nodes.

All of them are looked up once in a process, and checked before any is used (rule 42): one that is wrong is refused with
its package, its name and what would be right, and then nothing is registered.
"""

from __future__ import annotations

import hashlib
import inspect
import json
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any, Final

from design_rendering.kinds.objects import OBJECT_KINDS
from design_rendering.policies import DesignPolicy, every_node_has_a_group
from site_engine.errors import EngineError
from site_engine.node_states.checks import OWN_CHECKS, NodeCheck
from site_engine.watchers import DesignWatcher
from strategy_lib.actors import WEBHOOK, Registration, Watcher, check_registrations, check_watchers
from strategy_lib.did_you_mean import suggestion
from strategy_lib.errors import StrategyError

CHECKS: Final = "slipway.checks"
POLICIES: Final = "slipway.policies"
WATCHERS: Final = "slipway.watchers"
OWN_POLICIES: Mapping[str, DesignPolicy] = {"default-group": every_node_has_a_group}
"""Those that Slipway comes with; a package that registers another under the same name is refused."""
OWN_VERSION = 1
"""Grows when one of them decides otherwise."""

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")
_SCHEMA = re.compile(r"[^/]+/[^/]+/v[^/]+(/.+)?")


class ExtensionError(EngineError):
    """Something that was registered cannot be used: remove or mend the package that is named."""


@dataclass(frozen=True, slots=True)
class PolicySet:
    """The policies of this installation by name, and a digest of them with the versions of their packages."""

    policies: Mapping[str, DesignPolicy]
    digest: str


@cache
def installed_policies() -> PolicySet:
    """Return the policies that are installed. Raises `ExtensionError`: one of them cannot be used."""
    return policy_set(entry_points(group=POLICIES))


@cache
def installed_watchers() -> Mapping[str, DesignWatcher]:
    """Return the watchers that are installed, by name. Raises `ExtensionError`: one of them cannot be used."""
    return watcher_set(entry_points(group=WATCHERS))


@cache
def installed_checks() -> Mapping[str, NodeCheck]:
    """Return the checks of nodes that are installed, by name. Raises `ExtensionError`: one of them cannot be used."""
    return check_set(entry_points(group=CHECKS))


def check_installed() -> None:
    """Look all that is installed up, as a server does at its start. Raises `ExtensionError` with all that is wrong."""
    wrong = []
    for look_up in (installed_policies, installed_watchers, installed_checks):
        try:
            look_up()
        except ExtensionError as error:
            wrong.append(str(error))
    if wrong:
        raise ExtensionError("; ".join(wrong))


def policy_set(found: Iterable[EntryPoint]) -> PolicySet:
    """Return Slipway's own policies and those that these entry points stand for.

    Raises `ExtensionError`: two have one name; one cannot be loaded, or cannot be called with the objects of a design.
    """
    points = _once(found)
    loaded = _load(points, "policy", _problem_of_policy, own=OWN_POLICIES)
    versions = [[point.name, point.value, point.dist.version if point.dist else ""] for point in points]
    versions += [[name, "slipway", str(OWN_VERSION)] for name in sorted(OWN_POLICIES)]
    return PolicySet({**OWN_POLICIES, **loaded}, hashlib.sha256(json.dumps(versions).encode()).hexdigest()[:16])


def watcher_set(found: Iterable[EntryPoint]) -> Mapping[str, DesignWatcher]:
    """Return the watchers that these entry points stand for.

    Raises `ExtensionError`: two have one name; one cannot be loaded or is no watcher; or they touch what they watch, in
    a circle, which is named.
    """
    loaded: dict[str, DesignWatcher] = _load(_once(found), "watcher", _problem_of_watcher, own=(WEBHOOK,))
    made = {
        name: replace(one, watches=frozenset(one.watches), touches=frozenset(one.touches))
        for name, one in loaded.items()
    }
    try:
        check_watchers([Watcher(name, frozenset(one.watches), frozenset(one.touches)) for name, one in made.items()])
    except StrategyError as error:
        raise ExtensionError("; ".join(problem.message for problem in error.problems)) from error
    return made


def check_set(found: Iterable[EntryPoint]) -> Mapping[str, NodeCheck]:
    """Return Slipway's own checks and those that these entry points stand for.

    Raises `ExtensionError`: two have one name; one cannot be loaded, or is no check.
    """
    return {**OWN_CHECKS, **_load(_once(found), "check", _problem_of_check, own=OWN_CHECKS)}


def _once(found: Iterable[EntryPoint]) -> list[EntryPoint]:
    """Return each once: a package may be found twice, as where it is installed and stands in the current directory."""
    different = {(point.name, point.value, _package(point).partition(" ")[0]): point for point in found}
    return sorted(different.values(), key=lambda point: point.name)


def _package(point: EntryPoint) -> str:
    return f"{point.dist.name} {point.dist.version}" if point.dist else "no package"


def _load(
    points: Sequence[EntryPoint], what: str, problem: Callable[[Any], str | None], own: Iterable[str] = ()
) -> dict[str, Any]:
    """Return what entry points stand for, by name; `own` names are Slipway's.

    Raises `ExtensionError` with all that is wrong: two of different packages have one name; one has a name that is
    none, cannot be loaded, or has a problem.
    """
    registered = [Registration(what, name, "slipway") for name in own]
    registered += [Registration(what, point.name, f"{point.value} of {_package(point)}") for point in points]
    wrong: list[str] = []
    try:
        check_registrations(registered)
    except StrategyError as error:
        wrong += [found.message for found in error.problems]
    loaded: dict[str, Any] = {}
    for point in points:
        said = f"{what} {point.name!r} ({point.value} of {_package(point)})"
        if not _NAME.fullmatch(point.name):
            wrong.append(f"{said} has no usable name: take letters, digits, and _ . - between them, at most 64")
        try:
            loaded[point.name] = point.load()
        except Exception as error:  # noqa: BLE001 - all that is wrong is said at once
            wrong.append(f"{said} cannot be loaded: {type(error).__name__}: {error}")
            continue
        if (found := problem(loaded[point.name])) is not None:
            wrong.append(f"{said} {found}")
    if wrong:
        raise ExtensionError("; ".join(wrong))
    return loaded


def _problem_of_policy(found: Any) -> str | None:
    right = "it must be a function of one argument, the objects of a design by name"
    if not callable(found):
        return f"is nothing that can be called: {right}"
    return None if _takes_one(found) else f"cannot be called with one argument: {right}"


def _problem_of_watcher(found: Any) -> str | None:
    right = "it must be a site_engine.watchers.DesignWatcher(tell, watches, touches)"
    if not isinstance(found, DesignWatcher):
        return f"is a {type(found).__name__}: {right}"
    if not callable(found.tell) or not _takes_one(found.tell):
        return "has a `tell` that cannot be called with one argument, what has changed"
    for name, names in (("watches", found.watches), ("touches", found.touches)):
        if isinstance(names, str) or not all(isinstance(one, str) for one in names):
            return f"has `{name}` that is no list of texts: write ['node'] or ['node/gw01']"
    if not found.watches:
        return "watches nothing: name kinds in `watches`, such as ['node']"
    kinds = dict.fromkeys(OBJECT_KINDS.values())
    for name in found.watches:
        kind = name.partition("/")[0]
        if kind not in kinds and not _SCHEMA.fullmatch(name):
            hint = suggestion(kind, kinds) or f" There are {', '.join(kinds)}."
            return f"watches {name!r}, and there is no such kind of objects.{hint}"
    others = [name for name in found.touches if name != "node" and not name.startswith("node/")]
    if others:
        return f"touches {', '.join(map(repr, others))}: only nodes can be asked for again, 'node' or 'node/gw01'"
    return None


def _problem_of_check(found: Any) -> str | None:
    right = "it must be a site_engine.node_states.checks.NodeCheck(check, interval)"
    if not isinstance(found, NodeCheck):
        return f"is a {type(found).__name__}: {right}"
    if not callable(found.check) or not _takes_one(found.check):
        return "has a `check` that cannot be called with one argument, a node that was done"
    if not isinstance(found.interval, int | float) or not 0 <= found.interval < math.inf:
        return "has an `interval` that is no number of seconds from 0"
    return None


def _takes_one(found: Callable[..., Any]) -> bool:
    try:
        signature = inspect.signature(found)
    except (TypeError, ValueError):
        # Of some that are written in C nothing is known.
        return True
    try:
        signature.bind(None)
    except TypeError:
        return False
    return True
