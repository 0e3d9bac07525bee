"""How many groups have all of some nodes: as trying all would find it, in bounded work, and never too few."""

from __future__ import annotations

import random
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strategy_lib.node_states import fewest_groups as fewest_groups_file
from strategy_lib.node_states.fewest_groups import _Steps, fewest_groups

NODES = "abcdefgh"
memberships = st.lists(st.frozensets(st.sampled_from(NODES), max_size=5), max_size=6)


def by_trying_all(members: list[frozenset[str]], nodes: frozenset[str]) -> int:
    places = [*members, nodes.difference(*members)]
    return min(
        size
        for size in range(len(places) + 1)
        for chosen in combinations(places, size)
        if nodes <= frozenset().union(*chosen)
    )


def groups(members: list[frozenset[str]]) -> dict[str, frozenset[str]]:
    return {f"g{number}": names for number, names in enumerate(members)}


@given(memberships, st.frozensets(st.sampled_from(NODES)), st.integers(0, 4))
def test_it_agrees_with_trying_all(members: list[frozenset[str]], nodes: frozenset[str], most: int) -> None:
    fewest = by_trying_all(members, nodes)
    assert fewest_groups(groups(members), nodes, most) == (fewest if fewest <= most else None)


@given(memberships, st.frozensets(st.sampled_from(NODES)), st.integers(0, 3))
def test_it_is_never_too_few_where_the_work_is_not_enough(
    members: list[frozenset[str]], nodes: frozenset[str], steps: int
) -> None:
    found = fewest_groups(groups(members), nodes, 100, steps)
    assert found is not None
    assert found >= by_trying_all(members, nodes)


def ring(length: int, each: int) -> dict[str, frozenset[str]]:
    """Return groups in a ring: each node is in so many neighbours."""
    return {
        f"g{number:04}": frozenset(f"n{(number + more) % length:04}" for more in range(each))
        for number in range(length)
    }


@pytest.mark.parametrize(
    ("length", "each", "fewest"),
    [
        pytest.param(21, 2, 11, id="short"),
        pytest.param(1001, 2, 501, id="long"),
        pytest.param(1000, 3, 334, id="each node in three groups"),
    ],
)
def test_rings_are_no_work(length: int, each: int, fewest: int, monkeypatch: pytest.MonkeyPatch) -> None:
    # A group or two decide a whole ring, so that nothing is left to be tried out.
    monkeypatch.setattr(fewest_groups_file, "_DEEPEST", 3)
    members = ring(length, each)
    nodes = frozenset().union(*members.values())
    assert fewest_groups(members, nodes, length) == fewest
    assert fewest_groups(members, nodes, fewest - 1) is None
    two = {f"{copy}{name}": {f"{copy}{node}" for node in names} for copy in "ab" for name, names in members.items()}
    both = frozenset().union(*two.values())
    assert fewest_groups(two, both, 2 * length) == 2 * fewest, "what shares no group is counted by itself"


def test_racks_and_roles_of_a_large_site_are_no_work() -> None:
    racks = {f"rack {i}": frozenset(f"n{i}-{j}" for j in range(40)) for i in range(40)}
    roles = {f"role {j}": frozenset(f"n{i}-{j}" for i in range(40)) for j in range(40)}
    nodes = frozenset(f"n{i}-{j}" for i in range(40) for j in range(40) if i != j)
    assert fewest_groups(racks | roles, nodes, 1000) == 40
    assert fewest_groups(racks | roles, nodes, 39) is None


def test_a_tangle_that_cannot_be_known_costs_no_more_work_than_is_allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = random.Random(12)
    # 300 groups, and each of 900 nodes in three of them: nobody knows the fewest in any reasonable time.
    members: dict[str, set[str]] = {f"g{number}": set() for number in range(300)}
    for number in range(900):
        for group in drawn.sample(sorted(members), 3):
            members[group].add(f"n{number}")
    nodes = {f"n{number}" for number in range(900)}
    made = []

    def begin(steps: int) -> _Steps:
        made.append(_Steps(steps))
        return made[-1]

    monkeypatch.setattr(fewest_groups_file, "_Steps", begin)
    found = fewest_groups(members, nodes, 300, 20_000)
    assert found is not None
    assert 90 <= found < 150
    assert -20_000 < made[0].left <= 0, "as much as is allowed, and what was begun by then"
    assert fewest_groups(members, nodes, 300, 20_000) == found, "the same number each time"
