"""The order in which documents are rendered: each after those it is made from. Cycles are found and named in full."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

_MOST_NAMED = 2000


@dataclass(frozen=True, slots=True)
class DependencyOrder:
    """All documents, each after those it depends on, and the cycles that were found, as positions.

    The first document of a cycle depends on the second, and the last on the first.
    """

    order: tuple[int, ...]
    cycles: tuple[tuple[int, ...], ...]


def dependency_order(count: int, needs: Mapping[int, Sequence[int]]) -> DependencyOrder:
    """Return the order for documents 0 to `count` - 1; `needs` has what each depends on.

    It is the order they are given in, but for what has to come first. Where there is a cycle, the order holds for the
    documents that do not depend on it.
    """
    order: list[int] = []
    cycles: list[tuple[int, ...]] = []
    named = 0
    begun: dict[int, int] = {}
    finished: set[int] = set()
    for start in range(count):
        if start in begun:
            continue
        begun[start] = 0
        path = [start]
        waiting: list[Iterator[int]] = [iter(needs.get(start, ()))]
        while path:
            needed = next(waiting[-1], None)
            if needed is None:
                waiting.pop()
                number = path.pop()
                finished.add(number)
                order.append(number)
            elif needed not in begun:
                begun[needed] = len(path)
                path.append(needed)
                waiting.append(iter(needs.get(needed, ())))
            elif needed not in finished and named < _MOST_NAMED:
                cycle = tuple(path[begun[needed] :])
                named += len(cycle)
                cycles.append(cycle)
    return DependencyOrder(tuple(order), tuple(cycles))
