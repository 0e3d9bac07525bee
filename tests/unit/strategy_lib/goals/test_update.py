"""Rules 21 and 37: dirty or clean, node by node; and `plan_update` against a reading as plain and slow as can be."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strategy_lib import StrategyError, plan_update
from strategy_lib.goals.update import TO_DO, Change, Done, Wanted, difference

W = Wanted(3, "new")


@pytest.mark.parametrize(
    ("wanted", "done", "condition", "change", "reason"),
    [
        pytest.param(W, None, "deployed", "add", "never done", id="never done, whatever the provisioner shows"),
        pytest.param(W, Done(None, None), "deployed", "add", "never done", id="a row without a done digest"),
        pytest.param(W, Done(None, None, failed=True), None, "add", "never done", id="failed before it was ever done"),
        pytest.param(
            W,
            Done(1, "old"),
            "deployed",
            "change",
            "the design differs: done for version 1, wanted is version 3",
            id="another digest",
        ),
        pytest.param(
            W,
            Done(1, "old", failed=True),
            None,
            "change",
            "the design differs: done for version 1, wanted is version 3",
            id="another digest goes before failed and drifted",
        ),
        pytest.param(W, Done(1, "new"), "deployed", "none", "as wanted since version 1", id="the same digest: clean"),
        pytest.param(
            W, Done(3, "new", failed=True), "deployed", "redo", "failed at version 3", id="the same digest, but failed"
        ),
        pytest.param(W, Done(3, "new"), None, "redo", "not as it was left: not listed", id="not listed any more"),
        pytest.param(W, Done(3, "new"), "ready", "redo", "not as it was left: ready", id="wiped behind our back"),
        pytest.param(
            Wanted(4, "new", 4), Done(3, "new"), "deployed", "redo", "asked for again at version 4", id="touched since"
        ),
        pytest.param(
            Wanted(4, "new", 3),
            Done(3, "new"),
            "deployed",
            "none",
            "as wanted since version 3",
            id="touched before it was done",
        ),
        pytest.param(
            Wanted(4, "new", 1),
            Done(None, "new"),
            "deployed",
            "redo",
            "asked for again at version 1",
            id="touched, version lost",
        ),
        pytest.param(
            W, Done(3, "new", doubt="why"), "deployed", "redo", "in doubt: why", id="the same digest, but in doubt"
        ),
        pytest.param(
            W,
            Done(1, "old", labels_alone=True),
            "deployed",
            "relabel",
            "only labels differ: done for version 1, wanted is version 3",
            id="only labels differ: in place",
        ),
        pytest.param(
            W,
            Done(1, "old", labels_alone=True),
            "ready",
            "change",
            "the design differs: done for version 1, wanted is version 3",
            id="only labels differ, and nothing is deployed",
        ),
        pytest.param(
            W,
            Done(1, "old", doubt="why", labels_alone=True),
            "deployed",
            "change",
            "the design differs: done for version 1, wanted is version 3",
            id="only labels differ, in doubt",
        ),
        pytest.param(
            Wanted(3, "new", 2),
            Done(1, "old", labels_alone=True),
            "deployed",
            "change",
            "the design differs: done for version 1, wanted is version 3",
            id="touched since, then only labels changed: new labels alone would lose the wish",
        ),
        pytest.param(
            Wanted(3, "new", 2),
            Done(None, "old", labels_alone=True),
            "deployed",
            "change",
            "the design differs: done for version None, wanted is version 3",
            id="touched, only labels differ, version lost",
        ),
        pytest.param(
            Wanted(3, "new", 1),
            Done(1, "old", labels_alone=True),
            "deployed",
            "relabel",
            "only labels differ: done for version 1, wanted is version 3",
            id="touched before it was done, only labels differ",
        ),
        pytest.param(
            W,
            Done(1, "old", failed=True, labels_alone=True),
            "deployed",
            "relabel",
            "only labels differ: done for version 1, wanted is version 3",
            id="only labels differ, and giving them failed: in place again; another failure stays with the node",
        ),
        pytest.param(None, Done(3, "new"), "deployed", "remove", "no longer in the design", id="left the design"),
        pytest.param(None, None, "deployed", "none", "not wanted", id="neither wanted nor done"),
    ],
)
def test_rule_37_dirty_or_clean(
    wanted: Wanted | None, done: Done | None, condition: str | None, change: str, reason: str
) -> None:
    found = difference(wanted, done, condition)
    assert (found.change, found.reason) == (change, reason)


def test_rule_37_all_cells() -> None:
    """Dirty exactly where one of the five reasons of the rule holds."""
    digests: list[str | None] = ["new", "old", None]
    cells = product(digests, [1, 3, None], [False, True], ["deployed", "ready", None], [None, 1, 2, 3])
    for digest, version, failed, condition, touched in cells:
        wanted, done = Wanted(3, "new", touched), Done(version, digest, failed)
        dirty = (
            digest is None
            or digest != wanted.digest
            or failed
            or condition != "deployed"
            or (touched is not None and (version is None or touched > version))
        )
        assert (difference(wanted, done, condition).change in TO_DO) is dirty, (wanted, done, condition)


def test_rule_37_all_cells_where_only_labels_differ() -> None:
    """In place exactly where it is deployed, not in doubt, and nobody has asked for it again since."""
    cells = product([1, 3, None], [False, True], [None, "why"], ["deployed", "ready", None], [None, 1, 2, 3])
    for version, failed, doubt, condition, touched in cells:
        wanted, done = Wanted(3, "new", touched), Done(version, "old", failed, doubt, labels_alone=True)
        asked = touched is not None and (version is None or touched > version)
        in_place = condition == "deployed" and doubt is None and not asked
        found = difference(wanted, done, condition).change
        assert found is (Change.RELABEL if in_place else Change.CHANGE), (wanted, done, condition)


def wanted(**digests: str) -> dict[str, dict[str, Any]]:
    return {name: {"version": 1, "digest": digest} for name, digest in digests.items()}


@pytest.mark.parametrize(
    ("depends_on", "path"),
    [
        pytest.param(
            {"a": ["b"], "b": ["c"], "c": ["a"]}, "a -> b -> c -> a", id="three nodes, one with nothing to do"
        ),
        pytest.param({"b": ["b"]}, "b -> b", id="a node that depends on itself"),
        pytest.param({"c": ["d"], "d": ["c"]}, "c -> d -> c", id="one that is to be removed"),
    ],
)
def test_rule_39_a_cycle_is_refused_with_its_path(depends_on: dict[str, list[str]], path: str) -> None:
    with pytest.raises(StrategyError, match=path):
        plan_update(wanted(a="x", b="x", c="x"), wanted(b="x", d="x"), {"b": "deployed"}, depends_on)


NAMES = [f"n{i}" for i in range(6)]
wanted_entries = st.fixed_dictionaries(
    {"version": st.integers(1, 3), "digest": st.sampled_from("ab")}, optional={"touched": st.integers(1, 3)}
)
done_entries = st.fixed_dictionaries(
    {"version": st.integers(1, 3), "digest": st.sampled_from("ab")}, optional={"failed": st.booleans()}
)
edges = st.dictionaries(st.sampled_from([*NAMES, "s"]), st.lists(st.sampled_from([*NAMES, "s"]), max_size=2))


def read_plainly(
    wanted: dict[str, Any], done: dict[str, Any], conditions: dict[str, str], depends_on: dict[str, list[str]]
) -> dict[str, Any] | None:
    """Return actions and order as the rules have them; None where there is a cycle."""
    actions = {}
    for name in {*wanted, *done}:
        if name not in wanted:
            actions[name] = "remove"
        elif name not in done:
            actions[name] = "add"
        elif wanted[name]["digest"] != done[name]["digest"]:
            actions[name] = "change"
        elif (
            done[name].get("failed")
            or conditions.get(name) != "deployed"
            or wanted[name].get("touched", 0) > done[name]["version"]
        ):
            actions[name] = "redo"
        else:
            actions[name] = "none"

    def paths(name: str, path: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
        """Every way down the dependencies."""
        if name in path:
            raise RecursionError
        yield (*path, name)
        for other in depends_on.get(name, []):
            if other in actions:
                yield from paths(other, (*path, name))

    busy = {name for name, action in actions.items() if action in ("add", "change", "redo")}
    try:
        depth = {name: max(len(busy.intersection(path)) for path in paths(name, ())) for name in actions}
    except RecursionError:
        return None
    order = [sorted(name for name in busy if depth[name] == wave) for wave in range(1, len(actions) + 1)]
    return {"actions": actions, "order": [wave for wave in order if wave]}


@given(
    st.dictionaries(st.sampled_from(NAMES), wanted_entries),
    st.dictionaries(st.sampled_from(NAMES), done_entries),
    st.dictionaries(st.sampled_from(NAMES), st.sampled_from(["deployed", "ready"])),
    edges,
)
def test_plan_update_agrees_with_a_plain_reading(
    wanted: dict[str, Any], done: dict[str, Any], conditions: dict[str, str], depends_on: dict[str, list[str]]
) -> None:
    expected = read_plainly(wanted, done, conditions, depends_on)
    if expected is None:
        with pytest.raises(StrategyError, match=" -> "):
            plan_update(wanted, done, conditions, depends_on)
        return
    plan = plan_update(wanted, done, conditions, depends_on)
    assert {"actions": plan["actions"], "order": plan["order"]} == expected
    assert plan["reasons"].keys() == expected["actions"].keys()
    assert all(plan["reasons"].values())
