"""A pattern in every text below a path (`dest.recurse`), by Deckhand's rules. Its input is never changed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from design_rendering.budget import Budget
from design_rendering.nested import CONTAINERS, items_of
from design_rendering.patterns import Pattern

# What a list or mapping costs besides what is in it.
_PER_CONTAINER = 10


@dataclass(frozen=True, slots=True)
class Replaced:
    """What became of a list or mapping.

    Attributes
    ----------
    value
        The very same where nothing fits; what was shared is still shared.
    places
        A tree of the steps to the texts that were changed, True for each; empty without any.
    """

    value: Any
    places: dict[Any, Any]


def replaced_below(root: Any, depth: int, pattern: Pattern, value: str, budget: Budget) -> Replaced:
    """Replace a pattern in the texts of a list or mapping, and of those in it.

    Only texts that hold the pattern as it is written are looked at, as in Deckhand; keys never are.

    Parameters
    ----------
    depth
        How many levels of lists and mappings are looked at, the root being the first; -1: all.

    Raises
    ------
    TooMuchError
        When it would be too much work, or too large.
    """
    # By identity and the levels left, so that what aliases repeat is looked at once; with the value itself, so that its
    # identity is not used again.
    done: dict[tuple[int, int], tuple[Any, Replaced]] = {}
    waiting = [(root, depth)]
    size = 0
    while waiting:
        container, left = waiting[-1]
        if (id(container), left) in done:
            waiting.pop()
            continue
        below = left if left < 0 else left - 1
        if left:
            inner = [one for _, one in items_of(container) if isinstance(one, CONTAINERS)]
            ahead = [(one, below) for one in inner if (id(one), below) not in done]
            if ahead:
                waiting.extend(ahead)
                continue
        waiting.pop()
        budget.work(_PER_CONTAINER + len(container))
        changed: dict[Any, Any] = {}
        places: dict[Any, Any] = {}
        for step, one in items_of(container) if left else ():
            if isinstance(one, str):
                if pattern.text in one:
                    changed[step], matches = pattern.replaced(one, value, budget)
                    size += len(changed[step])
                    budget.fits(size)
                    places.update({step: True} if matches else {})
            elif isinstance(one, CONTAINERS):
                found = done[id(one), below][1]
                if found.places:
                    changed[step], places[step] = found.value, found.places
        copy = container
        if places:
            copy = dict(container) if isinstance(container, dict) else list(container)
            for step, one in changed.items():
                copy[step] = one
        done[id(container), left] = (container, Replaced(copy, places))
    return done[id(root), depth][1]
