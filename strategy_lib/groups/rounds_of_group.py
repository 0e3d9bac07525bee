"""The rounds of a group's attempt: each is one operation, in order. What was tried how often follows from them.

A group sends its nodes for prepare, and then for deploy, each in one round; and asks them whether they are ready, if it
is to (rule 58). There are more where failed nodes are tried again, where nodes wait for each other, and where a group
is redeployed in batches.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from strategy_lib.phase import Phase
from strategy_lib.strategy import Retries


@dataclass(frozen=True, slots=True)
class Round:
    """One operation of a group's attempt.

    Attributes
    ----------
    phase : prepare, deploy, ready, or release.
    nodes : those that were sent.
    ended : whether what came of them is known, as far as it ever will be to this attempt.
    left_out : those that were due and could not be sent, such as those that an older provisioner task held: they are
        not sent for this phase in this attempt.
    """

    phase: Phase
    nodes: tuple[str, ...]
    ended: bool = True
    left_out: tuple[str, ...] = ()


class Rounds:
    """All rounds of an attempt so far."""

    def __init__(self, rounds: Iterable[Round] = ()) -> None:
        self.numbers: Counter[Phase] = Counter()
        self.under_way: Round | None = None
        self.submitted: set[str] = set()
        self.released: set[str] = set()
        self.deployed: set[str] = set()
        self._last: dict[str, Phase] = {}
        self._deploys: Counter[str] = Counter()
        # Since the node was last deployed.
        self._prepares: Counter[str] = Counter()
        self._prepared_late: set[str] = set()
        self._left_out: set[tuple[Phase, str]] = set()
        for each in rounds:
            self.add(each)

    def add(self, this: Round) -> None:
        """Take a round, the newest."""
        self.under_way = None if this.ended else this
        self.numbers[this.phase] += 1
        if this.phase is not Phase.READY:
            self.submitted.update(this.nodes)
        self._last.update(dict.fromkeys(this.nodes, this.phase))
        if this.phase is Phase.DEPLOY:
            self._deploys.update(this.nodes)
            self.deployed.update(this.nodes)
            if self._prepares:
                for name in this.nodes:
                    self._prepares.pop(name, None)
        elif this.phase is Phase.PREPARE:
            self._prepares.update(this.nodes)
            if self.numbers[Phase.PREPARE] > 1 or self.numbers[Phase.DEPLOY]:
                self._prepared_late.update(this.nodes)
        elif this.phase is Phase.RELEASE:
            self.released.update(this.nodes)
        self._left_out.update((this.phase, name) for name in this.left_out)

    def next_number(self, phase: Phase) -> int:
        """Return the number of the round of a phase that is under way, or comes next; the first is 0."""
        under_way = self.under_way is not None and self.under_way.phase is phase
        return self.numbers[phase] - under_way

    @property
    def is_whole(self) -> bool:
        """Whether all nodes that were due could be sent, in each round."""
        return not self._left_out

    def is_left_out(self, phase: Phase, name: str) -> bool:
        """Whether the node was due for the phase and could not be sent."""
        return (phase, name) in self._left_out

    def is_only_released(self, name: str) -> bool:
        """Whether the node was released, and neither prepared nor deployed: it is still to be begun."""
        return self.was_released(name) and not self._prepares[name] and name not in self.deployed

    def was_prepared_late(self, name: str) -> bool:
        """Whether the node was sent in another round of prepare than the first, or after a round of deploy."""
        return name in self._prepared_late

    def was_released(self, name: str) -> bool:
        """Whether the newest that was done to the node is its release."""
        return self._last.get(name) is Phase.RELEASE

    def may_try_again(self, name: str, retries: Retries) -> bool:
        """Whether a node that failed in the last round it was in is tried again.

        A failed release is not, nor is a node that was deployed and not ready in time.
        """
        last = self._last.get(name)
        if last is Phase.DEPLOY:
            return self._deploys[name] <= retries.deploy
        return last is Phase.PREPARE and self._prepares[name] <= retries.prepare
