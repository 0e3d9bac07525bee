"""Which parts of a document's data came from a secret, while it is being rendered."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from design_rendering.reading.budget import Budget
from design_rendering.reading.nested_data import CopyOnWrite
from strategy_lib.errors import Step

# A tree of steps; True stands for a part that is secret as a whole.
_Tree = Any


class SecretPaths:
    """The paths of what is secret. Made from those of a parent, it shares with them what does not change."""

    __slots__ = ("_paths",)

    def __init__(self, tree: _Tree = None) -> None:
        self._paths = CopyOnWrite({} if tree is None else tree)

    def copy(self) -> SecretPaths:
        """Return the same paths, to be changed independently."""
        return SecretPaths(self._paths.data)

    def below(self, steps: Sequence[Step]) -> _Tree:
        """Return what is secret at and below a path: True (all of it), a tree of the paths below, or None."""
        node = self._paths.data
        for step in steps:
            if node is True:
                return True
            node = node.get(step)
            if node is None:
                return None
        return node

    def put(self, steps: Sequence[Step], tree: _Tree) -> None:
        """Note that what is at a path was replaced by something of which `tree` is secret (None: nothing)."""
        if not steps:
            self._paths.data = tree or {}
            return
        if self._paths.data is True or (not tree and not self._paths.data):
            return
        node = self._paths.container(())
        for step in steps[:-1]:
            below = node.get(step)
            if below is True or (below is None and not tree):
                return
            node[step] = node = self._paths.own({} if below is None else below)
        if node.get(steps[-1]) is True and tree:
            return
        if tree:
            node[steps[-1]] = tree
        else:
            node.pop(steps[-1], None)

    def add(self, steps: Sequence[Step], tree: _Tree, budget: Budget) -> None:
        """Note that more of what is at a path is secret; what was secret there still is."""
        found = self.below(steps)
        if found is True or not tree:
            return
        if not found or tree is True:
            self.put(steps, tree)
            return
        waiting = [(self._paths.container(steps), tree)]
        while waiting:
            node, more = waiting.pop()
            budget.work(1 + len(more))
            for step, below in more.items():
                known = node.get(step)
                if known is True:
                    continue
                if known is None or below is True:
                    node[step] = below
                else:
                    node[step] = self._paths.own(known)
                    waiting.append((node[step], below))

    def merge(self, steps: Sequence[Step], child: Any, overall: Any) -> None:
        """Note that a mapping without secrets is merged over the one at a path: what it overwrites is no secret."""
        found = self.below(steps)
        if not found or found is True:
            return
        waiting = [(self._paths.container(steps), child, overall)]
        while waiting:
            node, own, inherited = waiting.pop()
            for step in [step for step in node if step in own]:
                if not isinstance(own[step], dict) or not isinstance(inherited.get(step), dict):
                    del node[step]
                elif node[step] is not True:
                    node[step] = self._paths.own(node[step])
                    waiting.append((node[step], own[step], inherited[step]))

    def remove(self, steps: Sequence[Step]) -> None:
        """Note that what is at a path was removed. In a list the others move up, so that all of it counts as secret."""
        if steps and isinstance(steps[-1], int):
            if self.below(steps[:-1]):
                self.put(steps[:-1], True)
        else:
            self.put(steps, None)

    def paths(self) -> Iterator[tuple[Step, ...]]:
        """Yield the path of every part that is secret as a whole."""
        waiting: list[tuple[tuple[Step, ...], _Tree]] = [((), self._paths.data)]
        while waiting:
            steps, node = waiting.pop()
            if node is True:
                yield steps
            else:
                waiting.extend(((*steps, step), node[step]) for step in reversed(node))
