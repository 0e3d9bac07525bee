"""Rules 41 to 43: every cell of who may do what, registrations, circles of watchers, policies to their fixed point."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product

import pytest

from strategy_lib import StrategyError
from strategy_lib.actors import (
    Access,
    Actor,
    NoEnd,
    Objects,
    Policed,
    Registration,
    Watcher,
    apply_policies,
    check_registrations,
    check_watchers,
    concerns,
    may,
)

ALLOWED = {
    ("step", "read_design"),
    ("step", "read_feedback"),
    ("step", "write_feedback"),
    ("watcher", "read_design"),
    ("watcher", "read_feedback"),
    ("watcher", "touch"),
    ("policy", "read_design"),
    ("policy", "write_design"),
}


@pytest.mark.parametrize(("actor", "access"), list(product(Actor, Access)))
def test_rule_41_every_cell(actor: Actor, access: Access) -> None:
    assert may(actor, access) is ((actor.value, access.value) in ALLOWED)


def test_rule_42_two_registrations_of_one_thing_are_refused_naming_both() -> None:
    good = [Registration("policy", "a", "one"), Registration("watcher", "a", "two"), Registration("policy", "b", "two")]
    check_registrations([*good, good[0]])
    with pytest.raises(StrategyError, match="policy 'a' is registered by one and by three"):
        check_registrations([*good, Registration("policy", "a", "three")])


def watcher(name: str, watches: str, touches: str = "") -> Watcher:
    return Watcher(name, frozenset(watches.split()), frozenset(touches.split()))


def test_rule_42_a_circle_of_watchers_is_refused_with_its_path() -> None:
    check_watchers([watcher("a", "node", "network"), watcher("b", "network link"), watcher("c", "node")])
    with pytest.raises(StrategyError, match="a -> b -> c -> a"):
        check_watchers([watcher("a", "x", "y"), watcher("b", "y", "z"), watcher("c", "z", "x")])
    with pytest.raises(StrategyError, match="own -> own"):
        check_watchers([watcher("own", "x", "x y")])


def default_group(objects: Objects) -> Mapping[str, object]:
    """Give every node a group."""
    return {name: "default" for name, group in objects.items() if group is None}


def test_rule_42_policies_run_to_a_fixed_point() -> None:
    assert apply_policies({"n1": None, "n2": "compute"}, {"groups": default_group}) == Policed(
        {"n1": "default", "n2": "compute"}, {"n1": ("groups",)}
    )
    assert apply_policies({"n1": "compute"}, {}) == Policed({"n1": "compute"})


def test_rule_42_a_policy_sees_what_another_changed() -> None:
    def network_for_group(objects: Objects) -> Mapping[str, object]:
        return {f"net-{group}": True for group in objects.values() if isinstance(group, str)}

    found = apply_policies({"n1": None}, {"a": network_for_group, "b": default_group})
    assert found == Policed({"n1": "default", "net-default": True}, {"n1": ("b",), "net-default": ("a",)})


@pytest.mark.parametrize(("changes", "ends"), [(9, True), (10, False), (1000, False)])
def test_rule_42_policies_that_change_something_in_the_tenth_round_are_refused(changes: int, ends: bool) -> None:
    def count(objects: Objects) -> Mapping[str, object]:
        present = objects["count"]
        assert isinstance(present, int)
        return {"count": min(present + 1, changes)}

    found = apply_policies({"count": 0, "n1": "x"}, {"counting": count, "idle": lambda objects: {}})
    if ends:
        assert found == Policed({"count": changes, "n1": "x"}, {"count": ("counting",)})
    else:
        assert found == NoEnd(("counting",), ("count",))
        assert "policies counting still change count after 10 rounds" in str(found)


def test_rule_42_a_kind_and_one_of_its_objects_make_a_circle_too() -> None:
    check_watchers([watcher("a", "node/x", "node/y"), watcher("b", "node/y", "network/y")])
    with pytest.raises(StrategyError, match="a -> b -> a"):
        check_watchers([watcher("a", "node/x", "node/y"), watcher("b", "node/y", "node/x")])
    with pytest.raises(StrategyError, match="own -> own"):
        check_watchers([watcher("own", "node", "node/y")])


@pytest.mark.parametrize(
    ("names", "told"), [({"node"}, True), ({"node/x"}, True), ({"node/y", "network"}, False), ({"nod"}, False)]
)
def test_a_watcher_is_concerned_by_a_kind_or_by_one_object(names: set[str], told: bool) -> None:
    assert concerns(names, "node", "x") is told
