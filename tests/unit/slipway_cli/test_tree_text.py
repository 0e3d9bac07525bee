"""The status tree on a terminal: every status and message is there, and what matters stays in view."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from slipway_cli.terminal.tree_text import Sheet, tree_changes, tree_lines
from strategy_lib.status.roll_up import roll_up
from strategy_lib.status.words import Status

REF = "action/01ARZ3NDEKTSV4RRFFQ69G5FAV"


def node(name: str, status: str | None = "success", *messages: str, **more: Any) -> dict[str, Any]:
    return {
        "type": "task",
        "kind": "node",
        "name": name,
        "status": status,
        "last_status": status,
        "last_status_age": 5.0,
        "leaves": 1,
        "messages": list(messages),
    } | more


def parent(kind: str, name: str, *children: dict[str, Any], **more: Any) -> dict[str, Any]:
    counts: Counter[str] = Counter()
    for child in children:
        counts.update(child.get("counts") or {child["status"]: 1})
    worst = roll_up(child["status"] for child in children)
    return (
        node(name, worst)
        | {
            "type": "supertask" if kind in ("group", "phase") else "supergoal",
            "kind": kind,
            "leaves": sum(child["leaves"] for child in children),
            "counts": dict(counts),
            "messages": [message for child in children if child["status"] == worst for message in child["messages"]][
                :10
            ],
            "children": list(children),
        }
        | more
    )


def phases(*nodes: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    return parent("phase", "prepare", *(node(str(each["name"])) for each in nodes)), parent("phase", "deploy", *nodes)


FAILED = parent(
    "group",
    "control",
    *phases(node("c1"), node("c2", "error", "no PXE answer")),
    blame={"role": "culprit", "group": "control", "message": "deploy: minimum_successful_nodes needed 2, actual 1"},
    group={
        "state": "failure",
        "reason": "deploy_criteria",
        "critical": True,
        "attempt": 2,
        "criteria": [
            {"phase": "prepare", "criterion": "minimum_successful_nodes", "needed": 2, "actual": 2, "met": True},
            {"phase": "deploy", "criterion": "minimum_successful_nodes", "needed": 2, "actual": 1, "met": False},
        ],
    },
)
BLOCKED = node("compute", "error", "blocked by control: the deploy criteria were not met") | {
    "type": "supertask",
    "kind": "group",
    "leaves": 3,
    "counts": {"error": 3},
    "blame": {
        "role": "victim",
        "group": "control",
        "message": "blocked by control: the deploy criteria were not met",
    },
}
TREE = parent(
    "action",
    "deploy_site",
    node("acquire", kind="step"),
    parent("stage", "deploy_group", FAILED, BLOCKED),
)


def lines(root: dict[str, Any], width: int = 100, height: int | None = None, **more: Any) -> list[str]:
    found = tree_lines(root, Sheet(width, **more), height)
    assert all(line.cell_len <= width for line in found)
    return [line.plain for line in found]


def test_the_whole_tree() -> None:
    assert lines(TREE) == [
        "✗ deploy_site  error  ✗ 4 ✓ 4",
        "├─ ✓ acquire  success",
        "└─ ✗ deploy_group  error  ✗ 4 ✓ 3",
        "   ├─ ✗ control *  error  attempt 2, ✗ 1 ✓ 3",
        "   │  │  deploy: minimum_successful_nodes needed 2, actual 1",
        "   │  ├─ ✓ prepare  success  ✓ 2",
        "   │  │  ├─ ✓ c1  success",
        "   │  │  └─ ✓ c2  success",
        "   │  └─ ✗ deploy  error  ✗ 1 ✓ 1",
        "   │     ├─ ✓ c1  success",
        "   │     └─ ✗ c2  error",
        "   │           no PXE answer",
        "   └─ ✗ compute  error  not run, ✗ 3",
        "         blocked by control: the deploy criteria were not met",
    ]


def test_why_a_group_is_blocked_is_said_once() -> None:
    said = "blocked by control: the deploy criteria were not met"
    victim = parent("group", "compute", *phases(node("n1", "error", said)), blame=BLOCKED["blame"])
    assert lines(victim) == [
        "✗ compute  error  not run, ✗ 1 ✓ 1",
        f"│  {said}",
        "├─ ✓ prepare  success  ✓ 1",
        "│  └─ ✓ n1  success",
        "└─ ✗ deploy  error  ✗ 1",
        "   └─ ✗ n1  error",
        f"         {said}",
    ]
    folded = victim | {"children": [child | {"children": []} for child in victim["children"]]}
    assert "".join(lines(folded)).count(said) == 1


def test_nodes_that_never_began_are_told_from_those_that_failed() -> None:
    nodes = phases(node("c1", "error", "no PXE answer"))
    group = parent("group", "compute", *nodes, counts={"error": 3}, not_started=2)
    assert tree_lines(group, Sheet(80))[0].plain == "✗ compute  error  ✗ 3 (2 not started)"


def test_a_terminal_that_shows_nothing_but_ascii() -> None:
    assert "".join(lines(TREE, ascii_only=True)).isascii()
    assert lines(TREE, ascii_only=True)[1] == "|- + acquire  success"


@pytest.mark.parametrize("status", Status)
def test_every_status_has_its_symbol_and_its_word(status: Status) -> None:
    assert lines(node("n1", status.value))[0] == f"{status.symbol} n1  {status}"


def test_rule_27_a_pending_node_that_serves_an_older_revision_does_not_look_as_if_it_were_never_deployed() -> None:
    shown = node("n1", "pending", serves="older")
    assert lines(shown)[0] == "↑ n1  pending (serving an older revision)"
    assert tree_lines(shown, Sheet(80))[0].spans[0].style == "cyan"
    assert lines(shown, ascii_only=True)[0] == "^ n1  pending (serving an older revision)"
    assert lines(node("n1", "pending", serves="nothing"))[0] == "· n1  pending"


def test_rule_27_so_are_groups_and_counts() -> None:
    group = parent("group", "a", node("n1", "pending"), node("n2", "pending"), counts={"pending": 4, "success": 1})
    shown = group | {"serves": "older", "serves_counts": {"older": 3}, "pending_serves": {"older": 3}}
    assert lines(shown)[0] == "↑ a  pending (serving an older revision)  ↑ 3 · 1 ✓ 1"
    # One that is pending for a node that was never done, beside others that are as wanted.
    assert lines(group | {"serves": "wanted", "pending_serves": {}})[0] == "· a  pending  · 4 ✓ 1"


def test_a_value_that_nobody_knows_is_undefined() -> None:
    assert lines(node("n1", "bananas"))[0] == "‽ n1  undefined"


def test_a_node_below_which_a_reporter_has_leaves_tells_its_own_words_too() -> None:
    leaf = node("memory", "error", "memory: 48 of 64 GiB")
    shown = node("n1", "error", "no PXE answer", "memory: 48 of 64 GiB", children=[leaf], leaves=2)
    assert [line.strip(" │") for line in lines(shown)] == [
        "✗ n1  error",
        "no PXE answer",
        "└─ ✗ memory  error",
        "memory: 48 of 64 GiB",
    ]


def test_what_nothing_is_kept_about_says_why() -> None:
    shown = node("deploy_site", None, reason="it is from before Slipway kept this")
    assert lines(shown) == ["  deploy_site  not known", "   it is from before Slipway kept this"]


def test_an_owner_that_is_gone() -> None:
    silence = "provisioner:drydock has not checked in since 2026-03-01 12:00:00 UTC"
    shown = node("n1", "unresponsive", silence, last_status="processing", last_status_age=185.0)
    assert lines(shown) == ["? n1  unresponsive  was processing 3 min 05 s ago", f"   {silence}"]


def test_a_group_that_waits_for_a_person_names_the_command_once() -> None:
    said = f"waits for approval: slipway approve {REF} --group racks: Is the rack cabled?"
    gate = {"text": "Is the rack cabled?", "approvers": ["ann"], "answered": None, "answer": None}
    phases = [
        parent("phase", name, *[node(f"n{i}", "pending", said) for i in range(2)]) for name in ("prepare", "deploy")
    ]
    for phase in phases:
        phase["messages"] = [said]
    shown = parent("group", "racks", *phases, messages=[said], group={"state": "pending", "approval": gate})
    found = [line.strip(" │") for line in lines(shown, ref=REF)]
    command = f"slipway approve {REF} --group racks"
    assert found[1:3] == ["waits for approval by ann: Is the rack cabled?", command]
    assert sum("slipway approve" in line for line in found) == 1
    alone = [line.strip(" │") for line in lines(shown | {"children": []}, ref=REF)]
    assert sum("slipway approve" in line for line in alone) == 1
    shown["group"]["approval"] = gate | {
        "answered": "2026-03-01T12:00:00+00:00",
        "answer": "refused",
        "answered_by": "ann",
        "comment": "no",
    }
    assert "│  refused by ann: no" in lines(shown)


def test_nodes_that_the_answer_leaves_out_are_counted() -> None:
    shown = parent("phase", "deploy", node("n1", "error", "no PXE"), node("n2"), leaves=500, left_out=498)
    assert lines(shown)[-1] == "└─ … 498 more, which were not asked for"


@pytest.mark.parametrize(("told", "last"), [(10, "and 7 more messages"), (4, "and 1 more message")])
def test_without_its_children_an_entry_tells_the_first_messages(told: int, last: str) -> None:
    shown = node("deploy", "error", *(f"message {i}" for i in range(told))) | {"type": "supertask", "leaves": 12}
    assert [line.strip() for line in lines(shown)[1:]] == ["message 0", "message 1", "message 2", last]


def test_what_people_and_provisioners_say_cannot_control_the_terminal() -> None:
    shown = "".join(lines(node("n\x1b[31m1", "error", "red\x1b[0m\nalert\x07")))
    assert shown.isprintable()


@pytest.mark.parametrize("width", [24, 40, 60])
def test_a_narrow_terminal_folds_and_loses_nothing(width: int) -> None:
    text = "".join("".join(line.strip(" │├└─") for line in lines(TREE, width)).split())
    for word in ("control", "compute", "error", "success", "noPXEanswer", "minimum_successful_nodes"):
        assert word in text


def many(number: int, at_work: int) -> dict[str, Any]:
    """Build a site of many groups: those before the one at work are done except one, the others wait."""

    def group(i: int) -> dict[str, Any]:
        status = "success" if i < at_work else "processing" if i == at_work else "pending"
        bad = node("n2", "error", "no PXE answer") if i == 3 < at_work else node("n2", status)
        return parent("group", f"rack-{i:03}", *phases(node("n1", status), bad))

    return parent("action", "deploy_site", parent("stage", "deploy_group", *(group(i) for i in range(number))))


@pytest.mark.parametrize("height", [3, 8, 20, 50])
@pytest.mark.parametrize("at_work", [0, 50, 99])
def test_the_group_at_work_is_in_view(height: int, at_work: int) -> None:
    shown = lines(many(100, at_work), 80, height)
    assert len(shown) <= height
    assert any(f"▶ rack-{at_work:03}" in line for line in shown) or height == 3
    if height >= 20 and at_work > 3:
        assert any("no PXE answer" in line for line in shown), "what has failed as well"
        assert any(line.strip().startswith("├─ … 3 more: ✓ 3") for line in shown), "the others are counted"


def test_all_is_shown_where_it_fits() -> None:
    root = many(3, 1)
    assert lines(root, 80, 200) == lines(root, 80)


def test_without_a_terminal_changes_are_told_once() -> None:
    before: dict[tuple[str, ...], str] = {}
    assert next(iter(tree_changes(many(2, 5), before))) == "deploy_group / rack-000: success"
    first = list(tree_changes(TREE, before))
    assert "deploy_group / control / deploy / c2: error: no PXE answer" in first
    assert list(tree_changes(TREE, before)) == []


def test_without_a_terminal_who_is_to_blame_is_told_once_it_is_known() -> None:
    before: dict[tuple[str, ...], str] = {}
    assert list(tree_changes(FAILED | {"blame": None}, before))[0:1] == ["control: error"]
    told = list(tree_changes(FAILED, before))
    assert told == ["control: error: deploy: minimum_successful_nodes needed 2, actual 1; no PXE answer"]


def test_without_a_terminal_a_phase_says_how_its_nodes_ended() -> None:
    before: dict[tuple[str, ...], str] = {}
    others = ("processing", "pending", "success")
    phase = [parent("phase", "deploy", node("n1", "error"), node("n2", other)) for other in others]
    told = [[line for line in tree_changes(each, before) if line.startswith("deploy")] for each in phase]
    assert told == [["deploy: error: 1 error, 1 processing"], [], ["deploy: error: 1 error, 1 success"]]


@pytest.mark.parametrize("counts", [{"success": 1, "error": 1}, {"error": 1, "success": 1}])
def test_without_a_terminal_the_worst_nodes_of_a_phase_are_counted_first(counts: dict[str, int]) -> None:
    phase = parent("phase", "deploy", node("n1", "error"))
    before: dict[tuple[str, ...], str] = {}
    told = [line for each in (phase, phase | {"counts": counts}) for line in tree_changes(each, before)]
    assert [line for line in told if line.startswith("deploy:")] == [
        "deploy: error: 1 error",
        "deploy: error: 1 error, 1 success",
    ]


def test_without_a_terminal_what_waits_is_not_told_and_a_forgiven_failure_is() -> None:
    before: dict[tuple[str, ...], str] = {}
    told = [
        list(tree_changes(node("n1", status), before)) for status in ("pending", "processing", "pending", "processing")
    ]
    assert told == [[], ["n1: processing"], [], []]
    forgiven = parent("group", "racks", node("n1", "error", "no PXE"), group={"state": "success"})
    assert next(iter(tree_changes(forgiven, {}))) == "racks: error, the group succeeded"


def test_rule_59_a_group_in_batches_says_at_which_it_is() -> None:
    said = "batch 3 of about 11; in batches of at most 4 nodes, 2 canaries first"
    batches = {"most": 4, "canaries": 2, "at": 3, "of": 11, "text": said}
    group = parent("group", "compute", *phases(node("n1", "processing")), group={"critical": False, "batches": batches})
    assert lines(group)[1] == f"│  {said}"
