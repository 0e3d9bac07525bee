"""All nodes of a site from look to look: the same as judging each node anew at each moment."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from strategy_lib.node_states.generated import NodeAvailability
from strategy_lib.node_states.node_memory import NodeHistory, NodeMemory, SetState, StateSettings, view_of
from strategy_lib.node_states.publication import PublishedState, PublishSettings, changed_states, take_groups_down
from strategy_lib.node_states.reported import Reported
from strategy_lib.node_states.site_states import SiteStates, SiteStateSettings
from strategy_lib.node_states.user_state import UserState

UP, DOWN, MAINTENANCE = NodeAvailability.UP, NodeAvailability.DOWN, NodeAvailability.MAINTENANCE
ON, OFF = ("Deployed", "on"), ("Deployed", "off")
NAMES = ("n1", "n2", "n3")
PROMPT = PublishSettings(min_time_between_versions=0, quiet_time=0, max_quiet=0)


def made(
    *names: str, groups: dict[str, tuple[str, ...]] | None = None, publish: PublishSettings = PROMPT, percent: int = 0
) -> SiteStates:
    nodes = StateSettings(transition_time=30, stable_time=1000, max_crashes=4)
    wanted = SiteStateSettings(nodes, publish, {"g": percent} if percent else {})
    return SiteStates(wanted, dict.fromkeys(names, NodeMemory()), groups or {})


def state_of(site: SiteStates, name: str) -> str:
    return site.states[name].state.value


def test_a_node_that_is_not_listed_is_down_and_others_are_not_the_site_s() -> None:
    site = made("n1")
    site.look({"stranger": ON}, 0)
    site.step(0)
    assert dict(site.states) == {"n1": PublishedState(DOWN, "not up since it is watched: not listed")}


def test_what_is_published_is_what_differs_and_nothing_is_published_twice() -> None:
    site = made("n1", "n2")
    site.look({"n1": ON, "n2": OFF}, 0)
    site.step(0)
    assert site.due(0) == {name: site.states[name] for name in ("n1", "n2")}
    site.publish(0)
    assert site.due(1) is None
    site.look({"n1": OFF, "n2": OFF}, 10)
    site.step(10)
    assert site.due(10) == {"n1": site.states["n1"]}
    site.look({"n1": ON, "n2": OFF}, 11)
    site.step(11)
    assert site.due(11) is None, "it changed and changed back"


def test_crashing_too_often_sets_the_user_state_until_a_person_sets_it_up() -> None:
    site = made("n1")
    taken: list[int] = []
    for tick in range(11):
        site.look({"n1": ON if tick % 2 == 0 else OFF}, tick)
        if (down := site.step(tick).taken_down.get("n1")) is not None:
            taken.append(tick)
            site.set_users({"n1": SetState(down, tick + 0.5)})
    assert taken == [9], "at the fifth stop, once"
    assert site.states["n1"] == PublishedState(DOWN, "crashed 5 times, at most 4 are accepted")
    site.set_users({"n1": SetState(UserState(), 20)})
    site.step(20)
    assert state_of(site, "n1") == "up"
    assert site.memory["n1"].history.crashes == 0


def test_what_a_node_says_lowers_its_state_and_an_ordered_stop_is_no_crash() -> None:
    site = made("n1")
    site.look({"n1": ON}, 0)
    site.began(["n1"])
    # The answer that it was up all the while is no end of the operation.
    site.hear("n1", Reported(NodeAvailability.UP), 9)
    site.hear("n1", Reported(NodeAvailability.STOPPING, "it shuts down"), 10)
    site.step(10)
    assert (
        site.states["n1"].reason == "stopping: it may be restarting, as it may for 30 s; the node says: it shuts down"
    )
    assert state_of(site, "n1") == "maintenance"
    assert site.memory["n1"].history.crashes == 0
    site.hear("n1", Reported(NodeAvailability.UP), 20)
    site.step(20)
    assert state_of(site, "n1") == "up"
    site.hear("n1", Reported(NodeAvailability.STOPPING, "again"), 30)
    assert site.memory["n1"].history.crashes == 1, "nobody ordered that"
    site.hear("stranger", Reported(DOWN), 30)
    site.silent("stranger", 30)


def test_what_a_node_says_never_raises_its_state() -> None:
    site = made("n1")
    site.look({"n1": ("Ready", "off")}, 0)
    site.hear("n1", Reported(NodeAvailability.UP), 10)
    site.step(10)
    assert state_of(site, "n1") == "down"


@pytest.mark.parametrize(
    ("word", "silent_at", "seen"),
    [
        ("stopping", 20, {20: "stopping", 49: "stopping", 50: "up", 60: "up"}),
        ("up", 20, {20: "up", 49: "up", 60: "up"}),
        (None, 20, {20: "up", 60: "up"}),
        ("down", 20, {49: "down", 50: "up"}),
        ("initializing", None, {50: "initializing", 5000: "initializing"}),
    ],
    ids=["a stop holds for the transition time", "no proof of anything", "never heard", "as a stop", "it answers"],
)
def test_a_node_that_stops_answering_is_as_if_it_said_nothing(
    word: str | None, silent_at: float | None, seen: dict[float, str]
) -> None:
    site = made("n1")
    site.look({"n1": ON}, 0)
    if word is not None:
        site.hear("n1", Reported(NodeAvailability(word), "so it says"), 10)
    for now in (silent_at, None if silent_at is None else silent_at + 5):
        if now is not None:
            site.silent("n1", now)
    for now, state in seen.items():
        site.step(now)
        assert site.memory["n1"].history.state == state, now


def test_the_word_of_a_node_outlives_its_leader() -> None:
    first = made("n1", "n2")
    first.look({"n1": ON, "n2": ON}, 0)
    for name in ("n1", "n2"):
        first.hear(name, Reported(NodeAvailability.INITIALIZING, "loads"), 10)
    first.step(10)
    second = SiteStates(SiteStateSettings(), first.memory, {})
    second.look({"n1": ON, "n2": ("Deployed", None)}, 20)
    assert second.memory["n1"].history.state == "initializing", "not asked yet"
    assert second.memory["n1"].history.crashes == 1
    second.silent("n1", 30)
    second.step(61)
    assert second.memory["n1"].history.state == "up"
    second.hear("n2", Reported(NodeAvailability.UP), 62)
    assert second.memory["n2"].history.state == "down", "the power is not known, and nothing else shows it up"
    second.look({"n1": ON, "n2": ON}, 63)
    second.hear("n2", Reported(NodeAvailability.DOWN, "its disk"), 64)
    second.hear_nothing(65)
    assert second.memory["n2"].history.state == "up"
    assert second.memory["n2"].said == ""


def test_a_new_leader_goes_on_where_the_last_one_stopped() -> None:
    first = made("n1", "n2")
    for tick in range(6):
        first.look({"n1": ON if tick % 2 == 0 else OFF, "n2": ON}, tick)
        first.step(tick)
    first.publish(6)
    second = SiteStates(first._settings, first.memory, {}, first.states, first.pending, published_site=first.site())
    second.look({"n1": OFF, "n2": ON}, 7)
    second.step(7)
    assert second.due(7) is None
    assert second.memory["n1"].history.crashes == 3
    second.step(35)
    assert state_of(second, "n1") == "down", "its transition began under the first"


def test_a_group_with_too_few_takes_its_nodes_down_and_nodes_that_leave_the_design_are_gone() -> None:
    site = made(*NAMES, groups={"g": NAMES}, percent=60)
    site.look({"n1": ON, "n2": ON, "n3": ON}, 0)
    site.step(0)
    site.publish(0)
    site.set_users({name: SetState(UserState(DOWN, "broken"), 1) for name in ("n1", "n2")})
    site.step(1)
    assert site.states["n3"] == PublishedState(DOWN, "group g has 1 of 3 nodes available, 60 % are needed")
    assert site.change_nodes({"n3", "n4"}, {"g": ("n3", "n4")}) == {"n1", "n2"}
    site.step(2)
    changed = site.due(2)
    assert changed is not None
    assert (changed["n1"], changed["n2"]) == (None, None)
    assert "n4" in changed


def test_an_unknown_word_is_told_once() -> None:
    site = made("n1")
    site.look({"n1": ("Levitating", "on")}, 0)
    assert site.step(0).undefined == {"n1": "Levitating"}
    site.look({"n1": ("Levitating", "off")}, 1)
    assert site.step(1).undefined == {}
    assert state_of(site, "n1") == "down"


def test_other_settings_hold_at_the_next_step() -> None:
    site = made("n1")
    site.look({"n1": ON}, 0)
    site.look({"n1": OFF}, 10)
    site.step(10)
    assert state_of(site, "n1") == "maintenance"
    site.change_settings(SiteStateSettings(StateSettings(transition_time=0)))
    site.step(11)
    assert state_of(site, "n1") == "down"


WORDS = st.sampled_from(
    [ON, OFF, ("Deployed", None), ("Deploying", "on"), ("Releasing", "on"), ("Ready", "off"), ("Odd", "on")]
)
USERS = st.sampled_from(
    [
        UserState(),
        UserState(DOWN, "d"),
        UserState(MAINTENANCE, "m"),
        UserState(NodeAvailability.RETIRED, "r"),
        UserState(MAINTENANCE, "m", until=40.0),
    ]
)
MOVES = st.one_of(
    st.tuples(st.just("look"), st.dictionaries(st.sampled_from(NAMES), WORDS)),
    st.tuples(st.just("user"), st.dictionaries(st.sampled_from(NAMES), USERS)),
    st.tuples(st.just("began"), st.sets(st.sampled_from(NAMES))),
    st.tuples(st.just("publish"), st.none()),
    st.tuples(st.just("nothing"), st.none()),
)


@given(moves=st.lists(st.tuples(MOVES, st.integers(0, 40)), max_size=25), percent=st.sampled_from([0, 50, 100]))
@settings(max_examples=150)
def test_the_states_are_those_of_judging_every_node_anew(
    moves: list[tuple[tuple[str, object], int]], percent: int
) -> None:
    site = made(*NAMES, groups={"g": NAMES[:2]}, percent=percent)
    users: dict[str, SetState] = {}
    published: dict[str, PublishedState] = {}
    now = 0.0
    for (kind, what), passed in moves:
        now += passed
        if kind == "look" and isinstance(what, dict):
            site.look(what, now)
        elif kind == "user" and isinstance(what, dict):
            users |= {name: SetState(user, now) for name, user in what.items()}
            site.set_users(users)
        elif kind == "began" and isinstance(what, set):
            site.began(what)
        elif kind == "publish":
            site.publish(now)
            published = dict(site.states)
        users |= {name: SetState(down, now) for name, down in site.step(now).taken_down.items()}
        nodes = site._settings.nodes
        views = {
            name: view_of(known.history, users[name].user if name in users else UserState(), now, nodes)
            for name, known in site.memory.items()
        }
        expected = take_groups_down(views, {"g": NAMES[:2]}, {"g": percent} if percent else {})
        assert {name: found.state for name, found in site.states.items()} == {
            name: found.state for name, found in expected.items()
        }
        assert site._differing == set(changed_states(published, dict(site.states)))
        differs = site.due(now + 1000)
        assert (differs or {}) == ({name: site.states[name] for name in sorted(site._differing)} if differs else {})


def test_a_memory_that_nothing_is_known_of_is_not_written() -> None:
    site = made("n1")
    assert site.step(0).remembered == frozenset()
    site.look({"n1": ON}, 1)
    assert site.step(1).remembered == {"n1"}
    assert site.memory["n1"].history == NodeHistory(UP, 1, been_up=True, up_since=1)


def test_nodes_that_are_alike_are_judged_as_each_of_them_by_itself() -> None:
    chance = random.Random(50)
    nodes = [f"n{number}" for number in range(12)]
    wanted = SiteStateSettings(nodes=StateSettings(max_crashes=1, init_timeout=90.0))
    together = SiteStates(wanted, dict.fromkeys(nodes, NodeMemory()), {})
    alone = {name: SiteStates(wanted, {name: NodeMemory()}, {}) for name in nodes}
    words = [("Deployed", "on"), ("Deployed", "off"), ("Deployed", None), ("Deploying", "on"), ("Odd", None)]
    now, listed = 0.0, dict.fromkeys(nodes, words[0])
    for _ in range(200):
        now += chance.choice((1.0, 20.0, 60.0))
        # Many of them together, as where a rack fails.
        listed = {**listed, **dict.fromkeys(chance.sample(nodes, chance.randrange(12)), chance.choice(words))}
        user = {
            chance.choice(nodes): SetState(UserState(chance.choice((UP, DOWN, NodeAvailability.RETIRED)), "why"), now)
        }
        for states, mine in ((together, listed), *((alone[name], {name: listed[name]}) for name in nodes)):
            states.set_users({name: one for name, one in user.items() if name in mine})
            states.look(mine, now)
        found = together.step(now)
        each = {name: alone[name].step(now) for name in nodes}
        assert dict(together.memory) == {name: alone[name].memory[name] for name in nodes}
        assert found.remembered == frozenset().union(*(one.remembered for one in each.values()))
        assert found.taken_down == {name: down for one in each.values() for name, down in one.taken_down.items()}
        assert found.undefined == {name: word for one in each.values() for name, word in one.undefined.items()}
