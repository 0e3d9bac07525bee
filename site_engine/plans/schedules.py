"""In which rounds the groups of a plan run, and for how long, as far as earlier operations tell (rule 8)."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from heapq import heappop, heappush

from site_engine.provisioners import ProvisionerConnection
from site_store.trees.plan_facts import TIMED
from strategy_lib.phase import Phase


@dataclass(frozen=True, slots=True)
class WaitingGroup:
    """A group of a plan, and what decides when it runs.

    Attributes
    ----------
    depends_on : groups that have to succeed before it.
    after : groups that are judged before it, however.
    submits : whether it has anything to submit: the others are judged at once when it is their turn.
    fails : whether it would fail even if every submitted node succeeded.
    """

    name: str
    depends_on: Collection[str] = ()
    after: Collection[str] = ()
    submits: bool = True
    fails: bool = False


@dataclass(frozen=True, slots=True)
class Schedule:
    """When the groups of a plan run.

    Attributes
    ----------
    max_parallel_groups : how many run side by side.
    waves : the rounds; groups without anything to submit, and those behind a failed one, are in none.
    seconds : about so long that takes; None: nothing of the kind was done on the site yet.
    note : a sentence about it; None where there is nothing to say.
    """

    max_parallel_groups: int
    waves: tuple[tuple[str, ...], ...]
    seconds: float | None = None
    note: str | None = None


def rounds_of(groups: Iterable[WaitingGroup], at_once: int) -> tuple[tuple[str, ...], ...]:
    """Return the rounds of groups if every submitted node succeeds.

    Parameters
    ----------
    groups : in processing order.
    at_once : how many run side by side, at least 1.
    """
    order = list(groups)
    by_name = {one.name: one for one in order}
    first = {one.name: by_name.keys() & {*one.depends_on, *one.after} for one in order}
    missing = {name: len(others) for name, others in first.items()}
    followers: defaultdict[str, list[str]] = defaultdict(list)
    for name, others in first.items():
        for other in others:
            followers[other].append(name)
    place = {one.name: number for number, one in enumerate(order)}
    ready: list[int] = []
    good: set[str] = set()
    found: list[tuple[str, ...]] = []
    begun = deque(name for name, number in missing.items() if not number)
    while begun or ready:
        while begun:
            one = by_name[begun.popleft()]
            stands = all(other in good or other not in by_name for other in one.depends_on)
            if stands and one.submits:
                heappush(ready, place[one.name])
                continue
            if stands and not one.fails:
                good.add(one.name)
            begun += _judge(one.name, followers, missing)
        if ready:
            now = [order[heappop(ready)] for _ in range(min(at_once, len(ready)))]
            found.append(tuple(one.name for one in now))
            good.update(one.name for one in now if not one.fails)
            for one in now:
                begun += _judge(one.name, followers, missing)
    return tuple(found)


def _judge(name: str, followers: Mapping[str, Collection[str]], missing: dict[str, int]) -> list[str]:
    """Return the groups that have waited for this one alone."""
    free = []
    for follower in followers.get(name, ()):
        missing[follower] -= 1
        if not missing[follower]:
            free.append(follower)
    return free


def schedule(
    waves: tuple[tuple[str, ...], ...],
    at_once: int,
    usual: Mapping[Phase, float],
    connection: ProvisionerConnection | None,
) -> Schedule:
    """Say how long rounds of groups take, by what the newest operations on the site took.

    Parameters
    ----------
    usual : how many seconds these took, for each of the phases `TIMED` (`PlanFacts.usual`).
    connection : to the site's provisioner; None where it is not known.
    """
    is_serial = connection is not None and connection.one_task_at_a_time
    times = sum(map(len, waves)) if is_serial else len(waves)
    seconds = None
    if waves and all(phase in usual for phase in TIMED):
        seconds = times * sum(usual[phase] for phase in TIMED)
    note = None
    if is_serial and at_once > 1:
        assert connection is not None
        note = (
            f"groups side by side gain nothing: {connection.backend} does one task at a time, and the others wait in "
            "its queue"
        )
    return Schedule(at_once, waves, seconds, note)
