"""Rule 9: a failure reaches every group below it once, with work that grows as the graph does. Counted, never timed."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

import pytest

from strategy_lib.deployment import Deployment
from strategy_lib.phase import Finished, GroupState, Phase, Reason, Step
from strategy_lib.strategy import Group, SuccessCriteria

SMALL, LARGE = 500, 10_000
_WIDTH = 10
# Twenty times the graph may be a little more than twenty times the work. Quadratic would be four hundred times.
_MOST_GROWTH = LARGE / SMALL * 1.1


class Work:
    """Counts lines of Python that are run, and names that are hashed or compared.

    The second is for loops that run in C, such as `name in a_list`, of which a trace sees one line only.
    """

    def __init__(self) -> None:
        self.amount = 0
        self.counting = False

    @contextmanager
    def counted(self) -> Iterator[None]:
        before = sys.gettrace()
        self.counting = True
        sys.settrace(self._trace)
        try:
            yield
        finally:
            sys.settrace(before)
            self.counting = False

    def add(self) -> None:
        if self.counting:
            self.amount += 1

    def _trace(self, frame: FrameType, event: str, argument: Any) -> Callable[..., Any] | None:
        if frame.f_globals.get("__name__") == __name__:
            return None
        self.amount += event == "line"
        return self._trace


class CountedName(str):
    """A name of a group that says when it is hashed or compared."""

    __slots__ = ("work",)
    work: Work

    def __new__(cls, text: str, work: Work) -> CountedName:
        name = super().__new__(cls, text)
        name.work = work
        return name

    def __hash__(self) -> int:
        self.work.add()
        return super().__hash__()

    def __eq__(self, other: object) -> bool:
        self.work.add()
        return super().__eq__(other)

    def __ne__(self, other: object) -> bool:
        return not self == other


def chain(number: int) -> list[int]:
    return [number - 1] if number else []


def star(number: int) -> list[int]:
    return [0] if number else []


def layers(number: int) -> list[int]:
    """Each group needs three of the layer above; the topmost layer is the root alone."""
    layer, place = divmod(number - 1, _WIDTH)
    if layer <= 0:
        return [0] if number else []
    return [(layer - 1) * _WIDTH + 1 + (place + step) % _WIDTH for step in range(3)]


def fail_the_root(size: int, depends_on: Callable[[int], list[int]]) -> tuple[Deployment, int]:
    """Deploy `size` groups of which the first fails; return the end and the work that it took."""
    work = Work()
    names = [CountedName(f"g{number}", work) for number in range(size)]
    all_of_them = SuccessCriteria(percent_successful_nodes=100)
    groups = [
        Group(
            name, critical=False, depends_on=tuple(names[other] for other in depends_on(number)), criteria=all_of_them
        )
        for number, name in enumerate(names)
    ]
    members: dict[str, list[str]] = {name: [f"n-{name}"] for name in names}
    with work.counted():
        deployment = Deployment(groups, members)
        step = deployment.next()
        assert step == Step("g0", Phase.PREPARE, ("n-g0",))
        deployment.record(step, [], step.nodes)
        assert deployment.next() == Finished()
    return deployment, work.amount


@pytest.mark.parametrize("depends_on", [layers, chain, star])
def test_rule_09_each_group_below_fails_once_in_work_linear_in_the_graph(
    depends_on: Callable[[int], list[int]],
) -> None:
    _, little = fail_the_root(SMALL, depends_on)
    deployment, much = fail_the_root(LARGE, depends_on)
    first, *below = deployment.groups
    assert (first.name, first.state, first.reason) == ("g0", GroupState.FAILURE, Reason.PREPARE_CRITERIA)
    assert [view.name for view in below] == [f"g{number}" for number in range(1, LARGE)]
    assert {(view.state, view.reason) for view in below} == {(GroupState.FAILURE, Reason.DEPENDENCY)}
    assert little > SMALL, "nothing was counted"
    assert much <= little * _MOST_GROWTH


def test_rule_09_the_count_sees_loops_that_run_in_c() -> None:
    def amount(size: int) -> int:
        work = Work()
        names = [CountedName(str(number), work) for number in range(size)]
        same = [CountedName(str(number), work) for number in range(size)]
        with work.counted():
            assert all(name in same for name in names)
        return work.amount

    assert amount(200) > 3.5 * amount(100)
