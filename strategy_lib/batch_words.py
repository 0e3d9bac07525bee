"""What a plan says of the batches of a group, and of its canaries (rule 59)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol

from strategy_lib.batches import most_at_once, number_of_canaries
from strategy_lib.phase import Phase
from strategy_lib.strategy import Group

_MOST_NAMED = 5


class Sent(Protocol):
    """What a group sends: a phase, and names of nodes."""

    @property
    def group(self) -> str | None: ...
    @property
    def phase(self) -> str | None: ...
    @property
    def nodes(self) -> Sequence[str]: ...


def announcements(groups: Iterable[tuple[Group, int]], submissions: Iterable[Sent]) -> tuple[str, ...]:
    """Say of each group that goes in batches how many there are, and which nodes are its canaries.

    Parameters
    ----------
    groups : each with the number of its nodes.
    submissions : what is sent if every node succeeds, in order.
    """
    in_batches = [(group, total) for group, total in groups if group.has_batches]
    if not in_batches:
        return ()
    sent: dict[str | None, list[Sent]] = {}
    for each in submissions:
        sent.setdefault(each.group, []).append(each)
    said = (_announcement(group, total, sent.get(group.name, ())) for group, total in in_batches)
    return tuple(sentence for sentence in said if sentence)


def _announcement(group: Group, total: int, sent: Iterable[Sent]) -> str:
    """Say in how many batches a group goes, and which nodes are its canaries; "" where it sends nothing."""
    batches, before = 0, None
    order: dict[str, None] = {}
    for each in sent:
        # Nodes of one batch that wait for each other are released one behind the other.
        if each.nodes and order.keys().isdisjoint(each.nodes) and not each.phase == before == Phase.RELEASE:
            batches += 1
        order.update(dict.fromkeys(sorted(each.nodes)))
        before = each.phase
    if not order:
        return ""
    most = min(most_at_once(group, total), len(order))
    said = f"Group {group.name} goes in {_counted(batches, 'batch', 'batches')} of at most {_counted(most, 'node')}"
    canaries = list(order)[: number_of_canaries(group, total)]
    if not canaries:
        return f"{said}."
    named = ", ".join(canaries[:_MOST_NAMED])
    more = f" and {len(canaries) - _MOST_NAMED} more" if len(canaries) > _MOST_NAMED else ""
    return f"{said}, first its canaries: {named}{more}. If one of them fails, no other node is begun."


def _counted(number: int, one: str, many: str = "") -> str:
    return f"{number} {one if number == 1 else many or f'{one}s'}"
