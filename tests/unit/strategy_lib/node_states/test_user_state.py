"""Rules 51, 52 and 54: what may be set safely, what force overrides, and which actions leave a node out."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strategy_lib.node_states.generated import NodeAvailability
from strategy_lib.node_states.user_state import (
    Change,
    GuardedGroup,
    SiteView,
    UserState,
    groups_around,
    left_out,
    set_user_state,
)
from strategy_lib.strategy import SuccessCriteria

UP, RETIRED = NodeAvailability.UP, NodeAvailability.RETIRED
MAINTENANCE, DOWN = NodeAvailability.MAINTENANCE, NodeAvailability.DOWN
CONTROL = GuardedGroup("control", frozenset({"c1", "c2", "c3"}), True, SuccessCriteria(minimum_successful_nodes=2))
COMPUTE = GuardedGroup("compute", frozenset({"w1", "w2", "c3"}))
SITE = SiteView(
    groups=[CONTROL, COMPUTE],
    reported=dict.fromkeys(["c1", "c2", "c3", "w1", "w2"], UP),
    serving=frozenset({"c1", "c2", "c3", "w1", "w2"}),
)
DISK = UserState(MAINTENANCE, "new disk")


def site(**facts: Any) -> SiteView:
    return replace(SITE, **facts)


@pytest.mark.parametrize(
    ("view", "nodes", "wanted", "objections"),
    [
        pytest.param(SITE, ["w1"], DISK, (), id="maintenance: nothing speaks against it"),
        pytest.param(SITE, ["w1", "w2"], DISK, (), id="maintenance: a whole group at once"),
        pytest.param(site(user={"w1": DISK}), ["w1"], DISK, (), id="maintenance: the same again"),
        pytest.param(
            site(user={"w1": UserState(MAINTENANCE, "fan")}),
            ["w1"],
            DISK,
            ("w1: it is set to maintenance already: fan",),
            id="maintenance: another reason conflicts",
        ),
        pytest.param(
            site(user={"w1": UserState(RETIRED)}),
            ["w1"],
            DISK,
            ("w1: it is set to retired already: no reason given",),
            id="maintenance: another state conflicts",
        ),
        pytest.param(
            site(user={"c1": DISK}),
            ["w1"],
            DISK,
            (
                "more than 1 group would have nodes that are set to another state than up: "
                "node_states.max_groups_in_maintenance is 1, and c1 is already",
            ),
            id="maintenance: a second group",
        ),
        pytest.param(
            SITE,
            ["w1", "c1"],
            DISK,
            (
                "more than 1 group would have nodes that are set to another state than up: "
                "node_states.max_groups_in_maintenance is 1",
            ),
            id="maintenance: of two groups at once",
        ),
        pytest.param(
            site(user={"c1": DISK}, max_groups_in_maintenance=2), ["w1"], DISK, (), id="maintenance: two groups allowed"
        ),
        pytest.param(
            site(user={"w1": DISK}), ["c3"], DISK, (), id="maintenance: a node of two groups, covered by one of them"
        ),
        pytest.param(
            site(user={"c1": DISK}, serving=frozenset({"c2", "c3"})),
            ["c2"],
            DISK,
            ("critical group control: minimum_successful_nodes needs 2, 1 would be",),
            id="maintenance: a critical group would miss its criteria",
        ),
        pytest.param(
            site(user={"c1": DISK}, serving=frozenset({"c1", "c2", "c3"})),
            ["c2"],
            DISK,
            ("critical group control: minimum_successful_nodes needs 2, 1 would be",),
            id="maintenance: one after the other, though the first is deployed and up",
        ),
        pytest.param(
            site(user={"c1": UserState(RETIRED)}, serving=frozenset({"c1", "c2", "c3"})),
            ["c2"],
            DISK,
            (),
            id="maintenance: a retired node still serves",
        ),
        pytest.param(
            site(serving=frozenset({"c2"})),
            ["c1"],
            DISK,
            (),
            id="maintenance: a node that does not serve takes nothing away",
        ),
        pytest.param(
            site(busy={"w1": "deploy-7"}),
            ["w1"],
            DISK,
            ("w1: action deploy-7 works on it",),
            id="maintenance: an action",
        ),
        pytest.param(
            site(unseen=frozenset({"w1"})),
            ["w1"],
            DISK,
            ("w1: it was not seen since the present version",),
            id="maintenance: not seen at the present version",
        ),
        pytest.param(SITE, ["c1"], UserState(RETIRED), (), id="retired: always"),
        pytest.param(
            site(busy={"c1": "deploy-7"}, unseen=frozenset({"c1"}), user={"w1": DISK}),
            ["c1"],
            UserState(RETIRED),
            (),
            id="retired: whatever speaks against it",
        ),
        pytest.param(
            SITE,
            ["c1"],
            UserState(DOWN),
            ("c1: it is up, and only a retired node is set down", "c1: something is deployed on it"),
            id="down: not retired, not empty",
        ),
        pytest.param(
            site(user={"c1": UserState(RETIRED)}),
            ["c1"],
            UserState(DOWN),
            ("c1: something is deployed on it",),
            id="down: retired, not empty",
        ),
        pytest.param(
            site(user={"c1": UserState(RETIRED)}, empty=frozenset({"c1"})),
            ["c1"],
            UserState(DOWN),
            (),
            id="down: retired and empty",
        ),
        pytest.param(site(user={"c1": DISK}), ["c1"], UserState(UP), (), id="up: it reports up"),
        pytest.param(
            site(reported={"c1": DOWN}, empty=frozenset({"c1"})),
            ["c1"],
            UserState(UP),
            (),
            id="up: nothing is deployed",
        ),
        pytest.param(
            site(reported={"c1": DOWN}),
            ["c1"],
            UserState(UP),
            ("c1: it reports down, and something may be deployed on it",),
            id="up: deployed, and not up",
        ),
    ],
)
def test_rule_52_what_is_safe(view: SiteView, nodes: list[str], wanted: UserState, objections: tuple[str, ...]) -> None:
    assert set_user_state(view, nodes, wanted) == Change(not objections, objections)
    assert set_user_state(view, nodes, wanted, force=True) == Change(True, objections)


def test_without_a_leader_only_force_changes() -> None:
    assert set_user_state(SITE, ["w1"], DISK, leading=False) == Change(False, ("no controller has seen all nodes yet",))


def test_other_words_are_refused() -> None:
    with pytest.raises(ValueError, match="cannot be wanted"):
        set_user_state(SITE, ["w1"], UserState(NodeAvailability.STOPPING))


@pytest.mark.parametrize(
    ("kind", "user", "reason"),
    [
        pytest.param("deploy_site", None, None, id="nobody set it"),
        pytest.param("deploy_site", UserState(), None, id="up"),
        pytest.param("deploy_site", DISK, "set to maintenance by the user: new disk", id="maintenance"),
        pytest.param("update_site", UserState(RETIRED), "set to retired by the user", id="retired"),
        pytest.param("redeploy_server", UserState(DOWN, "scrap"), "set to down by the user: scrap", id="down"),
        pytest.param("destroy_nodes", UserState(RETIRED), None, id="a retired node is emptied"),
        pytest.param("destroy_nodes", UserState(DOWN), None, id="a node that is down as well"),
        pytest.param("destroy_nodes", DISK, "set to maintenance by the user: new disk", id="not one in maintenance"),
    ],
)
def test_rule_51_which_actions_leave_a_node_out(kind: str, user: UserState | None, reason: str | None) -> None:
    assert left_out(kind, user) == reason
    if reason is not None:
        assert left_out(kind, user, "ann") == reason.replace("by the user", "by ann")


def test_until_ends_by_itself() -> None:
    state = UserState(MAINTENANCE, "new disk", until=100.0)
    assert state.at(99.9) is state
    assert state.at(100.0) == UserState()
    assert DISK.at(1e12) is DISK


_NAMES = "abcdefgh"


@given(st.lists(st.frozensets(st.sampled_from(_NAMES), max_size=5), max_size=6), st.frozensets(st.sampled_from(_NAMES)))
def test_groups_around_nodes_are_never_too_few_and_exact_for_one(
    groups: list[frozenset[str]], nodes: frozenset[str]
) -> None:
    places = [*groups, nodes.difference(*groups)]
    needed = min(
        size
        for size in range(len(places) + 1)
        for chosen in combinations(places, size)
        if nodes <= frozenset().union(*chosen)
    )
    found = groups_around({f"g{number}": names for number, names in enumerate(groups)}, nodes, 100)
    assert needed <= found <= len(places)
    assert (found == 1) == (needed == 1)


def test_groups_around_nodes_are_counted_until_they_are_too_many() -> None:
    members = {f"g{number:05}": {f"n{number}"} for number in range(10_000)}
    assert groups_around(members, [f"n{number}" for number in range(10_000)], 2) == 3
