"""Steps, watchers and policies: who may read and write what, and that none of them can go round for ever.

What is wanted (the design) and what was done (feedback) are written by different actors, so that no work changes its
own goal (rules 41 to 43).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from strategy_lib.errors import Problem, StrategyError
from strategy_lib.ordering import find_cycles

MOST_ROUNDS = 10
WEBHOOK = "webhook"
"""Slipway's own watcher: it sends to the webhooks of sites, and touches nothing."""


class Actor(StrEnum):
    """Who acts: a step of an action, a watcher that is told of changes, a policy inside a commit."""

    STEP = "step"
    WATCHER = "watcher"
    POLICY = "policy"


class Access(StrEnum):
    """What is done to an object. `TOUCH`: to ask for it again although its design is the same."""

    READ_DESIGN = "read_design"
    WRITE_DESIGN = "write_design"
    READ_FEEDBACK = "read_feedback"
    WRITE_FEEDBACK = "write_feedback"
    TOUCH = "touch"


_MAY = {
    Actor.STEP: frozenset({Access.READ_DESIGN, Access.READ_FEEDBACK, Access.WRITE_FEEDBACK}),
    Actor.WATCHER: frozenset({Access.READ_DESIGN, Access.READ_FEEDBACK, Access.TOUCH}),
    Actor.POLICY: frozenset({Access.READ_DESIGN, Access.WRITE_DESIGN}),
}


def may(actor: Actor, access: Access) -> bool:
    """Tell whether an actor may do this to an object (rule 41)."""
    return access in _MAY[actor]


@dataclass(frozen=True, slots=True)
class Registration:
    """Something that is registered under a name: a policy, a watcher, a check of nodes or of the controller."""

    what: str
    name: str
    provider: str


def check_registrations(registrations: Iterable[Registration]) -> None:
    """Refuse two registrations of one thing (rule 42).

    Raises `StrategyError`: with each thing that is registered twice, and both providers.
    """
    first: dict[tuple[str, str], str] = {}
    problems = []
    for found in registrations:
        other = first.setdefault((found.what, found.name), found.provider)
        if other != found.provider:
            message = f"{found.what} {found.name!r} is registered by {other} and by {found.provider}: remove one"
            problems.append(Problem("$", message))
    if problems:
        raise StrategyError(problems)


@dataclass(frozen=True, slots=True)
class Watcher:
    """The objects that a watcher is told of, and those that it may touch: a kind (`node`), or one (`node/gw01`)."""

    name: str
    watches: frozenset[str]
    touches: frozenset[str] = frozenset()


def concerns(names: Collection[str], kind: str, name: str) -> bool:
    """Tell whether an object is among those that are named."""
    return kind in names or f"{kind}/{name}" in names


def overlap(some: Collection[str], others: Collection[str]) -> bool:
    """Tell whether an object may be among both: the same name, or one of a kind that the other names."""
    return any(a == b or a.startswith(f"{b}/") or b.startswith(f"{a}/") for a in some for b in others)


def check_watchers(watchers: Collection[Watcher]) -> None:
    """Refuse watchers that could call each other for ever: one touches what another watches, in a circle (rule 42).

    Raises `StrategyError`: with the path of each circle, also of a watcher that touches what it watches itself.
    """
    calls = {
        one.name: [other.name for other in watchers if overlap(one.touches, other.watches) and other is not one]
        for one in watchers
    }
    paths: list[tuple[str, ...]] = [(one.name, one.name) for one in watchers if overlap(one.touches, one.watches)]
    paths += find_cycles(calls).paths
    if paths:
        raise StrategyError(Problem("$", f"watchers touch what they watch: {' -> '.join(path)}") for path in paths)


Objects = Mapping[str, object]
Policy = Callable[[Objects], Mapping[str, object]]
"""Looks at objects, and returns those that it changes or adds, by name, as they shall be."""


@dataclass(frozen=True, slots=True)
class ScopedPolicy:
    """A policy that looks at some objects only, so that it need not run where none of them has changed.

    Attributes
    ----------
    judge : is given no other objects, and may return no others.
    sees : tells of an object's name whether it looks at it.
    each : it judges each object by itself: it is given one at a time, and may return that one alone.
    """

    judge: Policy
    sees: Callable[[str], bool] = lambda _name: True
    each: bool = False


@dataclass(frozen=True, slots=True)
class Policed:
    """The design after the policies: its objects, and for each object that changed the policies that changed it."""

    objects: Objects
    by_policy: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class NoEnd:
    """The policies do not come to an end: those that still changed something in the last round, and what."""

    policies: tuple[str, ...]
    objects: tuple[str, ...]

    def __str__(self) -> str:
        return (
            f"policies {', '.join(self.policies)} still change {', '.join(self.objects)} after {MOST_ROUNDS} rounds: "
            f"they contradict each other"
        )


def apply_policies(
    objects: Objects, policies: Mapping[str, Policy | ScopedPolicy], changed: Collection[str] | None = None
) -> Policed | NoEnd:
    """Run policies in rounds, in the order of their names, until a round changes nothing (rules 42 and 43).

    A policy runs where something that it looks at has changed since it ran last. All that it would answer otherwise is
    what there is already, so that the end is the same as if all ran in every round.

    Parameters
    ----------
    objects : the design's objects by name, with values that can be compared.
    policies : by name; a plain function looks at all objects.
    changed : the names of objects that differ from a design that these very policies left as it was: changed ones, new
        ones, and those that are gone. None: nothing is known, and all is judged.

    Returns
    -------
    Policed or NoEnd
        `NoEnd` where the last of `MOST_ROUNDS` rounds still changed something: the commit is refused.

    Raises
    ------
    ValueError : a policy returned an object that it does not look at.
    """
    scoped = {name: one if isinstance(one, ScopedPolicy) else ScopedPolicy(one) for name, one in policies.items()}
    present = dict(objects)
    by_policy: dict[str, list[str]] = {}
    since_last = {name: dict.fromkeys(objects if changed is None else changed) for name in scoped}
    unjudged = {name for name, one in scoped.items() if changed is None and not one.each}
    moved: dict[str, list[str]] = {}
    for _ in range(MOST_ROUNDS):
        moved = {}
        for policy in sorted(scoped):
            one = scoped[policy]
            news = [name for name in since_last[policy] if one.sees(name)]
            since_last[policy] = {}
            if not news and policy not in unjudged:
                continue
            unjudged.discard(policy)
            for name, value in _answers(policy, one, present, news).items():
                if name not in present or present[name] != value:
                    present[name] = value
                    moved.setdefault(policy, []).append(name)
                    by_policy.setdefault(name, [])
                    by_policy[name] += [policy] if policy not in by_policy[name] else []
                    for others in since_last.values():
                        others[name] = None
        if not moved:
            return Policed(present, {name: tuple(found) for name, found in by_policy.items()})
    return NoEnd(tuple(moved), tuple(sorted({name for names in moved.values() for name in names})))


def _answers(policy: str, one: ScopedPolicy, present: Objects, news: Collection[str]) -> dict[str, object]:
    """Return what a policy makes of what it looks at; of each of `news` by itself where it judges each."""
    if one.each:
        given = [{name: present[name]} for name in news if name in present]
    else:
        given = [{name: value for name, value in present.items() if one.sees(name)}]
    found: dict[str, object] = {}
    for some in given:
        for name, value in one.judge(some).items():
            if not one.sees(name) or (one.each and name not in some):
                raise ValueError(f"policy {policy} returned {name}, which it does not look at")
            found[name] = value
    return found
