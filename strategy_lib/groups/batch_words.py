"""What is said of the batches of a group, and of its canaries: by a plan, and while it is at work (rule 59)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

from strategy_lib.phase import GroupState, Phase
from strategy_lib.strategy import Group, Share

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
    batches, order = count_batches((each.phase, each.nodes) for each in sent)
    found = batches_so_far(group.max_in_flight, group.canary, total)
    if not order or found is None:
        return ""
    most = min(found.most or total, len(order))
    said = f"Group {group.name} goes in {_counted(batches, 'batch', 'batches')} of at most {_counted(most, 'node')}"
    canaries = order[: found.canaries]
    if not canaries:
        return f"{said}."
    named = ", ".join(canaries[:_MOST_NAMED])
    more = f" and {len(canaries) - _MOST_NAMED} more" if len(canaries) > _MOST_NAMED else ""
    return f"{said}, first its canaries: {named}{more}. If one of them fails, no other node is begun."


def count_batches(sent: Iterable[tuple[str | None, Sequence[str]]]) -> tuple[int, list[str]]:
    """Return in how many batches a group has sent nodes, and these nodes in the order in which they began.

    Parameters
    ----------
    sent : what it has sent in its attempt, in order: phases and nodes.
    """
    batches, before = 0, None
    order: dict[str, None] = {}
    for phase, nodes in sent:
        # Nodes of one batch that wait for each other are released one behind the other.
        if nodes and order.keys().isdisjoint(nodes) and not phase == before == Phase.RELEASE:
            batches += 1
        order.update(dict.fromkeys(sorted(nodes)))
        before = phase
    return batches, list(order)


@dataclass(frozen=True, slots=True)
class BatchesSoFar:
    """How far a group in batches is.

    Attributes
    ----------
    most, canaries : how many of its nodes are under way at once at most (None: all of them), and are canaries.
    state : of the group; None where nobody asks how it stands.
    batches, begun : how many batches, and nodes of them, it has begun in its attempt.
    left : how many of its nodes are still to begin; of a group that is over, those that never will.
    """

    most: int | None
    canaries: int
    state: str | None = None
    batches: int = 0
    begun: int = 0
    left: int = 0

    @property
    def of(self) -> int | None:
        """About how many batches it will be in all; None where it is not at work."""
        if self.state != GroupState.RUNNING:
            return None
        canaries = min(max(self.canaries - self.begun, 0), self.left)
        parts = (canaries, self.left - canaries)
        return self.batches + sum(-(-part // (self.most or part)) for part in parts if part)

    @property
    def short(self) -> str:
        """Which batch it is at, `batch 3 of about 11`; "" where it is at none."""
        if self.state != GroupState.RUNNING or not self.batches:
            return ""
        whose = ", its canaries" if self.begun <= self.canaries else ""
        return f"batch {self.batches} of {'about ' if self.left else ''}{self.of}{whose}"

    @property
    def text(self) -> str:
        """How it goes in batches, and how far it is, in a sentence without its end."""
        first = f"{_counted(self.canaries, 'canary', 'canaries')} first" if self.canaries else ""
        size = f"of at most {_counted(self.most, 'node')}" if self.most is not None else ""
        if self.state == GroupState.SUCCESS and self.batches:
            went = f"went in {_counted(self.batches, 'batch', 'batches')}"
            return ", ".join(part for part in (f"{went} {size}".rstrip(), first) if part)
        goes = f"in batches {size}, {first}".removesuffix(", ") if size else f"{first}, then all others"
        if not self.batches:
            return f"goes {goes}" if size else goes
        if self.state == GroupState.FAILURE:
            left = f", and {_counted(self.left, 'node')} never began" if self.left else ""
            return f"ended with batch {self.batches}{left}; {goes}"
        return f"{self.short}; {goes}" if self.short else goes


def batches_so_far(
    most: Share | None,
    canary: Share | None,
    total: int,
    state: str | None = None,
    batches: int = 0,
    begun: int = 0,
    left: int = 0,
) -> BatchesSoFar | None:
    """Return how far a group is, by its settings `max_in_flight` and `canary`; None where it has no batches.

    Parameters
    ----------
    total : how many nodes it has. The other parameters are those of `BatchesSoFar`.
    """
    if most is None and canary is None:
        return None
    at_once = None if most is None else most.of(total)
    canaries = 0 if canary is None else min(canary.of(total), total)
    return BatchesSoFar(at_once, canaries, state, batches, begun, left)


def _counted(number: int, one: str, many: str = "") -> str:
    return f"{number} {one if number == 1 else many or f'{one}s'}"
