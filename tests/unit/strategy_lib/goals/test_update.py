"""Rules 21 and 37: dirty or clean, node by node; and `plan_update` against a reading as plain and slow as can be.

How a plan is said: nodes of which the same is to be said share a row.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strategy_lib import StrategyError, plan_update
from strategy_lib.goals.update import (
    TO_DO,
    Change,
    Deed,
    Done,
    Wanted,
    difference,
    document_lines,
    fold_nodes,
    summary,
    value_text,
    waits,
)
from strategy_lib.phase import Verdict
from strategy_lib.reports.report import Report, ReportedAction, ReportedChanges, from_dict, to_dict
from strategy_lib.reports.report_text import render

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


NODE, PROFILE = "drydock/BaremetalNode/v1", "drydock/HostProfile/v1"


def document(schema: str, name: str, *fields: dict[str, Any], change: str = "modified") -> dict[str, Any]:
    return {"schema": schema, "name": name, "change": change, "fields": list(fields)}


def field(path: str, **sides: Any) -> dict[str, Any]:
    return {"path": path, "change": "modified", **{side.removesuffix("_"): value for side, value in sides.items()}}


def changed(name: str, change: str = "change", deed: Deed = Deed.DEPLOY, **facts: Any) -> dict[str, Any]:
    known = {"reason": "the design differs", "withheld": None, "allowed_by": None, "groups": ["all"], "documents": None}
    return {"name": name, "change": change, "deed": deed.value, **known, **facts}


def test_the_line_that_a_plan_opens_with_has_each_node_in_one_count() -> None:
    deeds = {Deed.REDEPLOY: 2, Deed.RELEASE: 3, Deed.DEPLOY: 11, Deed.LABEL: 1, Deed.LEAVE: 13, Deed.WITHHOLD: 2}
    assert summary(deeds) == (
        "erases 5 (2 redeployed, 3 released first, 0 removed), deploys 11, labels 1, leaves 13, withholds 2"
    )


def test_nodes_with_the_same_changes_share_a_row() -> None:
    profile = document(PROFILE, "compute", field("$.data.x", from_=1, to=[2]))
    own = [document(NODE, name, field("$.data.rack", from_="r1", to="r2")) for name in ("n1", "n3")]
    rows = fold_nodes(
        [
            changed("n1", documents=[own[0], profile]),
            changed("n2", documents=[profile]),
            changed("n3", documents=[own[1], profile]),
            changed("n4", documents=[profile], deed=Deed.RELEASE),
        ]
    )
    assert [row.nodes for row in rows] == [("n1", "n3"), ("n2",), ("n4",)]
    assert list(document_lines(rows[0].documents or (), 60)) == [
        "BaremetalNode (its own) $.data.rack: modified r1 -> r2",
        "HostProfile compute $.data.x: modified 1 -> [2]",
    ]


def test_a_row_says_why_with_the_names_of_its_nodes_left_out() -> None:
    failed = [changed(name, "redo", reason=f"failed: Node {name} failed", documents=[]) for name in ("n1", "n2")]
    (row,) = fold_nodes(failed)
    assert (row.why, row.nodes) == ("failed: Node … failed", ("n1", "n2"))
    (alone,) = fold_nodes(failed[:1])
    assert alone.why == "failed: Node n1 failed"


def test_what_is_withheld_says_why_and_what_lets_it_be_done_and_what_is_as_wanted_is_no_row() -> None:
    rows = fold_nodes(
        [
            changed("n1", "none", Deed.LEAVE),
            changed("n2", deed=Deed.WITHHOLD, withheld="needs redeploy", allowed_by="--allow-redeploy"),
            changed("n3", "add", Deed.WITHHOLD, reason="never done", groups=[]),
            changed("n4", "remove", Deed.WITHHOLD, reason="no longer in the design", withheld="it stays", groups=[]),
        ]
    )
    assert [(row.change, row.why, row.allowed_by) for row in rows] == [
        ("change", "needs redeploy", "--allow-redeploy"),
        ("add", "never done; it is in no group, so it is not submitted", None),
        ("remove", "no longer in the design: it stays", None),
    ]


def test_values_are_short_texts_and_one_that_is_missing_is_left_out() -> None:
    fields = [field("$.a", to="x" * 500), field("$.b", from_={"k": "ä"})]
    assert list(document_lines([document(NODE, "n1", *fields)], 40)) == [
        f"BaremetalNode n1 $.a: modified {'x' * 39}…",
        'BaremetalNode n1 $.b: modified {"k": "ä"}',
    ]
    assert value_text(["jammy"], 4) == '["j…'


def test_who_waits_for_whom() -> None:
    edges = [
        {"kind": "group", "later": "b", "earlier": "a"},
        {"kind": "node", "later": "b", "earlier": "x"},
        {"kind": "group", "later": "b", "earlier": "c"},
    ]
    assert waits(edges) == [("group", "b", ["a", "c"]), ("node", "b", ["x"])]


def test_a_report_keeps_the_rows_and_says_them_as_text() -> None:
    image = [document(PROFILE, "rack", field("$.data.image", from_=["jammy"], to=["noble"]))]
    nodes = [changed(f"n{number:04}", documents=image) for number in range(3000)]
    nodes += [changed("kept", "change", Deed.WITHHOLD, withheld="needs redeploy", documents=image)]
    changes = ReportedChanges(summary({Deed.DEPLOY: 3000, Deed.WITHHOLD: 1}), tuple(fold_nodes(nodes)))
    assert [(len(row.nodes), row.deed) for row in changes.rows] == [(3000, "deploy"), (1, "withhold")]
    report = Report(ReportedAction("01J", "alpha", "update_site"), Verdict.SUCCESS, "dry run", changes=changes)
    assert to_dict(from_dict(to_dict(report))) == to_dict(report)
    text = render(report)
    assert "The plan erases 0 (0 redeployed, 0 released first, 0 removed), deploys 3000," in text
    assert "n0019 and 2980 more: the design differs" in text
    assert '    HostProfile rack $.data.image: modified ["jammy"] -> ["noble"]' in text
    assert "  withhold kept: needs redeploy" in text
