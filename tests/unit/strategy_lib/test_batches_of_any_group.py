"""Batches and canaries (rule 59) hold in any group, whatever becomes of its nodes; and how they are said."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from strategy_lib.deployment import Deployment
from strategy_lib.groups.batch_words import BatchesSoFar, batches_so_far, count_batches
from strategy_lib.groups.group_plan import GroupPlan
from strategy_lib.groups.group_run import Known, Round
from strategy_lib.node import NodeState
from strategy_lib.phase import Finished, GroupState, Phase, Reason
from strategy_lib.strategy import Group, Ready, Retries, Share, SuccessCriteria
from strategy_lib.verdict import evaluate
from tests.unit.strategy_lib.test_batches import Bad, play, tell


@st.composite
def cases(draw: st.DrawFn) -> tuple[Group, tuple[str, ...], GroupPlan, Bad, Bad, Mapping[str, NodeState]]:
    names = tuple(f"n{number}" for number in range(draw(st.integers(0, 8))))
    some: st.SearchStrategy[set[str]] = st.sets(st.sampled_from(names), max_size=3) if names else st.builds(set[str])
    percent = st.none() | st.integers(0, 100)
    number = st.none() | st.integers(0, 9)
    criteria = st.none() | st.builds(SuccessCriteria, percent, number, number)
    before_each = {name: tuple(sorted(draw(some) & set(names[:place]))) for place, name in enumerate(names)}
    waiting = draw(some)
    waits = {name: others for name, others in before_each.items() if others and name in waiting}
    redeploy = frozenset(draw(some)) if draw(st.booleans()) else frozenset[str]()
    before = {
        name: draw(st.sampled_from((NodeState.SUCCESS, NodeState.FAILURE, NodeState.PREPARED))) for name in draw(some)
    }
    group = Group(
        "g",
        critical=True,
        criteria=draw(criteria),
        retries=Retries(draw(st.integers(0, 1)), draw(st.integers(0, 1))),
        ready=draw(st.none() | st.just(Ready(5))),
        max_in_flight=draw(st.none() | st.builds(Share, st.integers(1, 9)) | st.just(Share(30, is_percent=True))),
        canary=draw(st.none() | st.builds(Share, st.integers(1, 4)) | st.just(Share(25, is_percent=True))),
        max_unavailable=draw(st.none() | st.builds(Share, st.integers(1, 3))),
    )
    bad = {
        phase: draw(some) for phase in (Phase.RELEASE, Phase.PREPARE, Phase.DEPLOY, Phase.READY) if draw(st.booleans())
    }
    unknown = {phase: draw(some) for phase in (Phase.PREPARE, Phase.DEPLOY) if draw(st.integers(0, 3)) == 0}
    plan = GroupPlan(waits, redeploy=redeploy - before.keys(), serving=redeploy)
    return group, names, plan, bad, unknown, before


def under_way(sent: Sequence[tuple[Phase, frozenset[str]]], final: Mapping[str, NodeState]) -> int:
    """Return how many nodes were under way at once: from when they are first sent to the last time."""
    last = {name: place for place, (_, nodes) in enumerate(sent) for name in nodes}
    first = {name: place for place, (_, nodes) in reversed([*enumerate(sent)]) for name in nodes}
    return max((sum(first[name] <= place <= last[name] for name in last) for place in range(len(sent))), default=0)


@settings(max_examples=60, deadline=None)
@given(cases())
def test_rule_59_holds_in_any_group(
    case: tuple[Group, tuple[str, ...], GroupPlan, Bad, Bad, Mapping[str, NodeState]],
) -> None:
    group, names, plan, bad, unknown, before = case
    whole = Deployment([group], {"g": names}, before, plans={"g": plan})
    sent: list[tuple[Phase, frozenset[str]]] = []
    rounds: list[Round] = []
    states: dict[str, NodeState] = dict.fromkeys(names, NodeState.NOT_STARTED) | dict(before)
    while not isinstance(step := whole.next(), Finished):
        # A crash before any step changes nothing.
        again = Deployment(
            [group],
            {"g": names},
            states,
            plans={"g": plan},
            rounds=rounds,
            known=Known(awaited=_awaited(group, rounds, states), not_ready=_not_ready(rounds, states)),
        )
        assert again.next() == step
        tell(whole, step, bad, unknown)
        rounds.append(Round(step.phase, step.nodes))
        states = {name: whole.state_of(name) for name in names}
        sent.append((step.phase, frozenset(step.nodes)))
    submitted = [each for each in sent if each[0] is not Phase.READY]
    view = whole.group("g")
    most = len(names) if group.max_in_flight is None else group.max_in_flight.of(len(names))
    assert under_way(submitted, states) <= most
    # The verdict is that of the criteria on the final states, and of the canaries.
    ended = sum(states[name] is NodeState.SUCCESS for name in names)
    met = all(result.met for result in evaluate(group.criteria, Phase.DEPLOY, len(names), ended))
    if view.reason is Reason.CANARY:
        assert group.canary is not None
    else:
        assert (view.state is GroupState.SUCCESS) == met
    # Nothing is left that could go, unless the group failed.
    if view.state is GroupState.SUCCESS:
        left = {name for name in names if states[name] in (NodeState.NOT_STARTED, NodeState.PREPARED)}
        assert left <= view.held.keys() | view.kept.keys()
    # What the canaries are for: nothing else was begun before they were done.
    number = 0 if group.canary is None else group.canary.of(len(names))
    order = list(dict.fromkeys(name for _, nodes in submitted for name in sorted(nodes)))
    canaries = order[:number]
    if len(order) > number and not plan.redeploy and not plan.waits_for and not before:
        assert all(states[name] is NodeState.SUCCESS for name in canaries)


def _awaited(group: Group, rounds: Sequence[Round], states: Mapping[str, NodeState]) -> set[str]:
    asked = {name for each in rounds if each.phase is Phase.READY for name in each.nodes}
    deployed = {name for each in rounds if each.phase is Phase.DEPLOY for name in each.nodes}
    good = {name for name, state in states.items() if state is NodeState.SUCCESS}
    return (deployed & good) - asked if group.ready is not None else set()


def _not_ready(rounds: Sequence[Round], states: Mapping[str, NodeState]) -> set[str]:
    asked = {name for each in rounds if each.phase is Phase.READY for name in each.nodes}
    return {name for name in asked if states[name] in (NodeState.FAILURE, NodeState.UNKNOWN)}


@settings(max_examples=40, deadline=None)
@given(cases())
def test_without_failures_a_limit_changes_nothing_but_the_order(
    case: tuple[Group, tuple[str, ...], GroupPlan, Bad, Bad, Mapping[str, NodeState]],
) -> None:
    group, names, plan, _, _, before = case
    before = {name: state for name, state in before.items() if state is not NodeState.FAILURE}
    limited = Deployment([group], {"g": names}, before, plans={"g": plan})
    without = replace(group, max_in_flight=None, canary=None)
    unlimited = Deployment([without], {"g": names}, before, plans={"g": plan})
    sent = play(limited)
    play(unlimited)
    views = limited.group("g"), unlimited.group("g")
    assert views[0].state is views[1].state
    for phase in ("prepare", "deploy", "ready"):
        once = [name for each, nodes in sent if each == phase for name in nodes.split()]
        assert len(once) == len(set(once)), "each node is in one batch"
    if views[1].state is GroupState.SUCCESS:
        assert [limited.state_of(name) for name in names] == [unlimited.state_of(name) for name in names]


RUNNING, SUCCESS, FAILURE = GroupState.RUNNING, GroupState.SUCCESS, GroupState.FAILURE
TENTH, FAILED = BatchesSoFar(4, 2, RUNNING), BatchesSoFar(4, 2, FAILURE)
THREE = "in batches of at most 2 nodes, 3 canaries first"
GOES = "in batches of at most 4 nodes, 2 canaries first"


@pytest.mark.parametrize(
    ("found", "said"),
    [
        # In the view of a site, or before it begins.
        (replace(TENTH, state=None), f"goes {GOES}"),
        (replace(TENTH, state=GroupState.PENDING, left=40), f"goes {GOES}"),
        (BatchesSoFar(1, 0), "goes in batches of at most 1 node"),
        (BatchesSoFar(None, 1), "1 canary first, then all others"),
        # At work: 40 nodes are 2 canaries, and 9 batches and a half.
        (replace(TENTH, batches=1, begun=2, left=38), f"batch 1 of about 11, its canaries; {GOES}"),
        (replace(TENTH, batches=3, begun=10, left=30), f"batch 3 of about 11; {GOES}"),
        (replace(TENTH, batches=11, begun=40), f"batch 11 of 11; {GOES}"),
        # More canaries than may be under way at once.
        (BatchesSoFar(2, 3, RUNNING, 1, 2, 3), f"batch 1 of about 3, its canaries; {THREE}"),
        (BatchesSoFar(None, 2, RUNNING, 2, 5), "batch 2 of 2; 2 canaries first, then all others"),
        # Over.
        (replace(TENTH, state=SUCCESS, batches=11, begun=40), f"went {GOES.replace('batches', '11 batches')}"),
        (BatchesSoFar(None, 1, SUCCESS, 1, 1), "went in 1 batch, 1 canary first"),
        (replace(TENTH, state=SUCCESS), f"goes {GOES}"),
        (replace(FAILED, batches=1, begun=2, left=38), f"ended with batch 1, and 38 nodes never began; {GOES}"),
        (replace(FAILED, batches=11, begun=40), f"ended with batch 11; {GOES}"),
        (replace(FAILED, left=40), f"goes {GOES}"),
    ],
)  # fmt: skip
def test_rule_59_how_a_group_goes_in_batches_is_said_in_words(found: BatchesSoFar, said: str) -> None:
    assert found.text == said


def test_percentages_are_numbers_of_nodes_and_no_group_has_more_canaries_than_nodes() -> None:
    assert batches_so_far(None, None, 40) is None
    assert batches_so_far(Share.parse("10%"), Share.parse("5%"), 40) == BatchesSoFar(4, 2)
    assert batches_so_far(None, Share(9), 3) == BatchesSoFar(None, 3)


def test_a_batch_begins_with_nodes_that_were_never_sent() -> None:
    sent = [
        (Phase.RELEASE, ["b"]),
        (Phase.PREPARE, ["a", "b"]),
        # One is tried again; then one that was prepared for another group is deployed with it.
        (Phase.PREPARE, ["b"]),
        (Phase.DEPLOY, ["a", "b", "c"]),
        (Phase.READY, ["a", "b", "c"]),
        # Nodes of one batch that wait for each other are released one behind the other.
        (Phase.RELEASE, ["e"]),
        (Phase.RELEASE, ["d"]),
        (Phase.PREPARE, ["d", "e"]),
        (Phase.DEPLOY, ["f"]),
    ]
    assert count_batches(sent) == (3, ["b", "a", "c", "e", "d", "f"])
    assert count_batches([]) == (0, [])
