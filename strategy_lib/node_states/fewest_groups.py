"""How many groups have all of some nodes: the fewest that contain them, in bounded work.

Each node stands in some groups, and one of them has to be chosen: a minimum hitting set. That is hard in general, and
easy where nodes are woven as in real sites. What cannot matter is taken away first, parts that share no group are
counted one by one, and only what is left then is tried out, branch by branch.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from typing import Final

MOST_STEPS: Final = 200_000
"""Memberships that are looked at while it is tried out, at most: some tenths of a second."""
_DEEPEST: Final = 100
"""So many groups are chosen or left out, one after the other; there is a limit to what Python can nest."""
_NO_GROUP: Final = -1
_Place = frozenset[int]
"""The groups of a node, by number; nodes with the same groups count once."""


@dataclass
class _Steps:
    """What is left of the work that may be done."""

    left: int


def fewest_groups(
    members: Mapping[str, Collection[str]], nodes: Collection[str], most: int, steps: int = MOST_STEPS
) -> int | None:
    """Return how many groups are needed at least to contain all these nodes; None where it is more than `most`.

    Nodes in no group count together as one group. Where more than so many steps were needed to know, the fewest that
    were found by then count: the answer may be too great in a very great tangle, and is never too small.

    Parameters
    ----------
    members : group to its nodes.
    steps : so many memberships are looked at, while it is tried out.
    """
    groups_of: defaultdict[str, list[int]] = defaultdict(list)
    wanted = frozenset(nodes)
    for number, group in enumerate(sorted(members)):
        for name in wanted.intersection(members[group]):
            groups_of[name].append(number)
    places = {frozenset(groups_of.get(name, (_NO_GROUP,))) for name in wanted}
    if _disjoint(places) > most:
        return None
    found = _fewest(sorted(places, key=sorted), most + 1, _Steps(steps), 0)
    return found if found <= most else None


def _fewest(places: Collection[_Place], bound: int, steps: _Steps, depth: int) -> int:
    """Return how many groups contain one of each place; `bound` where it is not fewer, as far as is known."""
    found, rest = _simplified(places, steps)
    for part in _parts(rest):
        if found >= bound:
            return bound
        found += _fewest_of_part(part, bound - found, steps, depth)
    return min(found, bound)


def _fewest_of_part(places: Collection[_Place], bound: int, steps: _Steps, depth: int) -> int:
    """Return the same of places that hang together, and cannot be simplified: the commonest group is in it, or not."""
    steps.left -= sum(map(len, places))
    group, enough = _greedily(places)
    best = min(bound, enough)
    least = _disjoint(places)
    if least < best and steps.left > 0 and depth < _DEEPEST:
        with_it = [place for place in places if group not in place]
        best = min(best, 1 + _fewest(with_it, best - 1, steps, depth + 1))
    if least < best and steps.left > 0 and depth < _DEEPEST:
        best = _fewest([place - {group} for place in places], best, steps, depth + 1)
    return best


def _simplified(places: Collection[_Place], steps: _Steps) -> tuple[int, list[_Place]]:
    """Return how many groups have to be chosen in any case, and the places that are left then.

    A place of one group leaves no choice. A place with all groups of another one is contained whatever is chosen for
    that. A group is needless where some other group stands in all of its places.
    """
    found, left = 0, {number: set(place) for number, place in enumerate(places)}
    standing: defaultdict[int, set[int]] = defaultdict(set)
    for number, place in left.items():
        for group in place:
            standing[group].add(number)
    largest = max(map(len, left.values()), default=0)
    shrunk = [number for number, place in left.items() if len(place) < max(largest, 2)]
    doubtful = set(standing)

    def remove(number: int) -> None:
        for group in left.pop(number):
            standing[group].discard(number)
            doubtful.add(group)

    while shrunk or doubtful:
        if shrunk:
            number = shrunk.pop()
            if number not in left:
                continue
            place = left[number]
            rarest = min(place, key=lambda group: (len(standing[group]), group))
            steps.left -= len(standing[rarest])
            found += len(place) == 1
            for other in sorted(standing[rarest]):
                if place <= left[other] and (other != number or len(place) == 1):
                    remove(other)
        else:
            group = doubtful.pop()
            beside = [left[number] for number in sorted(standing[group])]
            steps.left -= len(beside)
            if beside and len(set.intersection(*beside)) > 1:
                for number in standing.pop(group):
                    left[number].discard(group)
                    shrunk.append(number)
    return found, list(map(frozenset, left.values()))


def _parts(places: Collection[_Place]) -> list[list[_Place]]:
    """Return the places in parts, of which no two share a group; the smallest part first."""
    standing: defaultdict[int, list[_Place]] = defaultdict(list)
    for place in places:
        for group in place:
            standing[group].append(place)
    seen, parts = set[_Place](), []
    for first in places:
        if first in seen:
            continue
        seen.add(first)
        part = [first]
        # It grows meanwhile.
        for place in part:
            others = [other for group in place for other in standing.pop(group, ()) if other not in seen]
            part += dict.fromkeys(others)
            seen.update(others)
        parts.append(part)
    return sorted(parts, key=len)


def _disjoint(places: Collection[_Place]) -> int:
    """Return a number of places of which no two share a group: each of them needs a group of its own."""
    found, taken = 0, set[int]()
    for place in sorted(places, key=lambda place: (len(place), sorted(place))):
        if taken.isdisjoint(place):
            taken |= place
            found += 1
    return found


def _greedily(places: Collection[_Place]) -> tuple[int, int]:
    """Return the group that contains most, and how many it takes if each next one contains most of what is left."""
    standing: defaultdict[int, list[_Place]] = defaultdict(list)
    for place in places:
        for group in place:
            standing[group].append(place)
    counts = {group: len(its) for group, its in standing.items()}
    queue = [(-count, group) for group, count in counts.items()]
    heapify(queue)
    commonest, contained, found = queue[0][1], set[_Place](), 0
    while len(contained) < len(places):
        count, group = heappop(queue)
        if -count > counts[group]:
            heappush(queue, (-counts[group], group))
            continue
        found += 1
        for place in standing[group]:
            if place not in contained:
                contained.add(place)
                for other in place:
                    counts[other] -= 1
    return commonest, found
