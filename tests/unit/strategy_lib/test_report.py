"""Rules 19 and 20: the verdict of an action, and a report that a tired person can read."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from strategy_lib.node import NodeState
from strategy_lib.phase import GroupState, Phase, Reason, Verdict
from strategy_lib.reports.report import (
    FailedStep,
    Report,
    ReportedAction,
    ReportedGroup,
    ReportedNode,
    Submission,
    build_report,
    from_dict,
    to_dict,
)
from strategy_lib.reports.report_text import render
from strategy_lib.strategy import SuccessCriteria
from strategy_lib.verdict import GroupCounts, evaluate

STARTED = datetime(2026, 11, 21, 8, 0, tzinfo=UTC)
ACTION = ReportedAction(
    "01J", "seaworthy", "deploy_site", 3, "deploy_site", "manual__1", "admin", STARTED, STARTED + timedelta(seconds=725)
)


def group(
    name: str,
    critical: bool = True,
    state: GroupState = GroupState.SUCCESS,
    reason: Reason | None = None,
    total: int = 2,
    **more: object,
) -> ReportedGroup:
    counts = GroupCounts(total=total, prepared=total, succeeded=total, failed=0, unknown=0, not_started=0)
    made = ReportedGroup(name, critical, state, reason, counts=counts)
    return replace(made, **more)  # type: ignore[arg-type]


def failed(name: str, critical: bool = True, reason: Reason = Reason.DEPLOY_CRITERIA, **more: object) -> ReportedGroup:
    return group(name, critical, GroupState.FAILURE, reason, **more)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("groups", "steps", "verdict", "words"),
    [
        ([group("a"), group("b")], [], Verdict.SUCCESS, "every group succeeded"),
        ([group("a"), failed("b")], [], Verdict.FAILURE, "critical group b failed"),
        (
            [failed("a"), *(failed(name, reason=Reason.DEPENDENCY, depends_on=("a",)) for name in ("b", "c"))],
            [],
            Verdict.FAILURE,
            "critical group a failed; b and c were blocked by it",
        ),
        (
            [failed("a", critical=False), failed("b", reason=Reason.DEPENDENCY, depends_on=("a",))],
            [],
            Verdict.FAILURE,
            "non-critical group a failed; critical group b was blocked by it",
        ),
        (
            [failed("a"), failed("x"), failed("b", False, Reason.DEPENDENCY, depends_on=("x",))],
            [],
            Verdict.FAILURE,
            "critical groups a, x failed; b was blocked by x",
        ),
        ([failed("a"), failed("b", critical=False)], [], Verdict.FAILURE, "non-critical group b failed too"),
        ([group("a"), failed("b", critical=False)], [], Verdict.SUCCESS, "non-critical group b failed"),
        ([group("a"), group("b", state=GroupState.RUNNING)], [], Verdict.FAILURE, "critical group b failed"),
        ([], [FailedStep("verify_site", "no")], Verdict.FAILURE, "failed before the groups: verify_site"),
        ([group("a")], [FailedStep("verify_site", "no")], Verdict.FAILURE, "failed before the groups: verify_site"),
        (
            [group("a")],
            [FailedStep("after_success", "no", behind=True)],
            Verdict.FAILURE,
            "every group succeeded, and what follows failed: after_success",
        ),
        ([], [], Verdict.FAILURE, "nothing was deployed"),
        ([group("a", total=0)], [], Verdict.FAILURE, "nothing was deployed"),
        ([group("a", total=0), group("b")], [], Verdict.SUCCESS, "every group succeeded"),
        (
            [
                group("a", critical=False, state=GroupState.PENDING),
                group("b", critical=False, state=GroupState.RUNNING),
            ],
            [],
            Verdict.FAILURE,
            "no group was processed to its end",
        ),
    ],
)
def test_rule_19_verdict(groups: list[ReportedGroup], steps: list[FailedStep], verdict: Verdict, words: str) -> None:
    report = build_report(ACTION, groups, failed_steps=steps)
    assert report.verdict is verdict
    assert words in report.verdict_text


def test_rule_20_a_success_that_left_nodes_of_critical_groups_alone_says_so_and_counts_them() -> None:
    why = "design changed, needs redeploy"
    nodes = [
        ReportedNode("n1", NodeState.NOT_STARTED, ("control",), why, withheld=True),
        ReportedNode("n2", NodeState.NOT_STARTED, ("compute", "control"), why, withheld=True),
        ReportedNode("n3", NodeState.UNKNOWN, ("compute",), "no result in time"),
        ReportedNode("n4", NodeState.NOT_STARTED, ("extra",), why, withheld=True),
        ReportedNode("n5", NodeState.SUCCESS, ("control",)),
    ]
    groups = [group("control"), group("compute"), group("extra", critical=False)]
    report = build_report(ACTION, groups, nodes)
    assert (report.verdict, report.left_alone) == (Verdict.SUCCESS, 3)
    assert report.verdict_text == (
        f"success by its criteria; 2 nodes of control and compute were left alone: {why}; "
        "1 node of compute is unknown: no result in time; 1 node was not submitted: the report says why"
    )
    assert from_dict(json.loads(json.dumps(to_dict(report)))).left_alone == 3
    other = build_report(ACTION, [group("control", critical=False)], nodes[:1])
    assert (other.left_alone, other.verdict_text[:21]) == (0, "every group succeeded")


def test_rule_19_a_group_without_a_verdict_was_interrupted() -> None:
    report = build_report(ACTION, [group("a"), group("b", state=GroupState.PENDING)])
    assert [(each.name, each.reason) for each in report.failed_groups] == [("b", Reason.INTERRUPTED)]
    assert [group.name for group in report.failed_groups if group.critical] == ["b"]


def full_report() -> Report:
    criteria = (
        *evaluate(SuccessCriteria(90, 3, None), Phase.PREPARE, 3, 3),
        *evaluate(SuccessCriteria(90, 3, None), Phase.DEPLOY, 3, 2),
    )
    counts = GroupCounts(total=3, prepared=2, succeeded=2, failed=1, unknown=0, not_started=0)
    return build_report(
        ACTION,
        [
            group("ntp", started=STARTED, ended=STARTED + timedelta(seconds=4.24)),
            failed(
                "ctl",
                criteria=criteria,
                counts=counts,
                attempt=2,
                depends_on=("ntp",),
                started=STARTED,
                ended=STARTED + timedelta(seconds=185),
            ),
            failed("compute", critical=False, reason=Reason.DEPENDENCY, depends_on=("ntp", "ctl")),
        ],
        [
            ReportedNode("c1", NodeState.SUCCESS, ("ctl",)),
            ReportedNode("c2", NodeState.FAILURE, ("ctl", "compute"), "no PXE"),
            ReportedNode("m1", NodeState.UNKNOWN, ("compute",), "no result in time"),
            ReportedNode("x1", NodeState.NOT_STARTED),
        ],
        notes=["m1: a late result"],
    )


def test_rule_21_what_was_as_wanted_is_told_apart() -> None:
    counts = GroupCounts(total=2, prepared=2, succeeded=2, failed=0, unknown=0, not_started=0)
    found = ReportedNode("n1", NodeState.SUCCESS, ("ctl",), as_wanted=True)
    groups = [group("ctl", counts=counts)]
    some = build_report(ACTION, groups, [found, ReportedNode("n2", NodeState.SUCCESS, ("ctl",))])
    assert some.verdict_text == "every group succeeded"
    lines = [" ".join(line.split()) for line in render(some).splitlines()]
    assert "group critical state reason nodes prepared deployed as wanted failed unknown took" in lines
    assert "ctl yes success - 2 2 2 1 0 0 -" in lines
    assert lines[-1] == "All 2 nodes, which are in the stored report: 2 success (1 as wanted already, not submitted)"
    one = build_report(ACTION, groups, [found])
    assert render(one).splitlines()[-1].startswith("The one node, which is in the stored report: 1 success")
    every = build_report(ACTION, groups, [found, replace(found, name="n2")])
    assert every.verdict_text == "every group succeeded; nothing was submitted, as every node was as wanted already"
    assert from_dict(json.loads(json.dumps(to_dict(every)))) == every


def test_a_dry_run_is_told_in_the_order_of_what_would_be_submitted() -> None:
    rehearsal = (
        Submission(None, "destroy_nodes", ("n1",)),
        Submission("ctl", "prepare", ("n1", "n2")),
        Submission("compute", None),
    )
    report = Report(ACTION, Verdict.SUCCESS, "dry run: nothing was submitted", rehearsal=rehearsal)
    assert render(report).splitlines()[2:] == [
        "If every node succeeds, this is submitted, in this order:",
        "  destroy_nodes: 1 node: n1",
        "  ctl: prepare 2 nodes: n1, n2",
        "  compute: nothing to submit",
    ]
    assert from_dict(json.loads(json.dumps(to_dict(report)))) == report


def test_the_report_of_an_older_version_is_read() -> None:
    old = to_dict(full_report())
    del old["rehearsal"]
    for entry in old["nodes"]:
        del entry["as_wanted"]
    assert from_dict(old) == full_report()


def test_rule_9_a_group_behind_others_names_the_one_at_the_root() -> None:
    groups = (
        ReportedGroup("root", True, GroupState.FAILURE, Reason.DEPLOY_CRITERIA),
        ReportedGroup("middle", True, GroupState.FAILURE, Reason.DEPENDENCY, depends_on=("root",)),
        ReportedGroup("end", True, GroupState.FAILURE, Reason.DEPENDENCY, depends_on=("middle",)),
    )
    text = render(replace(full_report(), groups=groups))
    assert "  end: it depends on middle, which failed because of root, so it was not started" in text
    assert "  middle: it depends on root, which failed, so it was not started" in text
    assert text.count("blocked by root") == 2


def test_rule_20_the_log_says_everything_most_important_first() -> None:
    assert render(full_report()).splitlines() == [
        "deploy_site of site seaworthy, revision 3: FAILURE: critical group ctl failed; compute was blocked by it",
        "Action 01J, run manual__1 of deploy_site, asked for by admin, started 2026-11-21 08:00:00+00:00, "
        "ended 2026-11-21 08:12:05+00:00, took 12 min 05 s",
        "Critical groups that failed:",
        "  ctl: the deploy criteria were not met",
        "    prepare: percent_successful_nodes needed 90, actual 3/3: met",
        "    prepare: minimum_successful_nodes needed 3, actual 3: met",
        "    deploy: percent_successful_nodes needed 90, actual 2/3: NOT MET",
        "    deploy: minimum_successful_nodes needed 3, actual 2: NOT MET",
        "Other groups that failed:",
        "  compute: it depends on ctl, which failed, so it was not started",
        "Nodes that failed (1):",
        "  c2 (in ctl, compute): no PXE",
        "Nodes whose outcome could not be learnt in time (1):",
        "  m1 (in compute): no result in time",
        "Nodes that were not started (1):",
        "  in no group: x1",
        "Notes:",
        "  m1: a late result",
        "All groups, in the order they were processed:",
        "  group            critical  state    reason           nodes  prepared  deployed  failed  unknown  took",
        "  ntp              yes       success  -                2      2         2         0       0        4.2 s",
        "  ctl (attempt 2)  yes       failure  deploy_criteria  3      2         2         1       0        3 min 05 s",
        "  compute          no        failure  blocked by ctl   2      2         2         0       0        -",
        "Criteria:",
        "  ctl: prepare: percent_successful_nodes needed 90, actual 3/3: met",
        "  ctl: prepare: minimum_successful_nodes needed 3, actual 3: met",
        "  ctl: deploy: percent_successful_nodes needed 90, actual 2/3: NOT MET",
        "  ctl: deploy: minimum_successful_nodes needed 3, actual 2: NOT MET",
        "All 4 nodes, which are in the stored report: 1 unknown, 1 failure, 1 success, 1 not_started",
    ]


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [
        (0, "0.0 s"),
        (9.94, "9.9 s"),
        (9.96, "10 s"),
        (59.4, "59 s"),
        (59.6, "1 min 00 s"),
        (60, "1 min 00 s"),
        (119.6, "2 min 00 s"),
        (3599.4, "59 min 59 s"),
        (3599.6, "1 h 00 min"),
        (3600, "1 h 00 min"),
        (7199, "2 h 00 min"),
        (360_000, "100 h 00 min"),
    ],
)
def test_rule_20_a_duration_is_rounded_to_what_people_say(seconds: float, shown: str) -> None:
    took = group("a", started=STARTED, ended=STARTED + timedelta(seconds=seconds))
    (row,) = (line for line in render(build_report(ACTION, [took])).splitlines() if line.startswith("  a  "))
    assert row.endswith(f"  {shown}")


def test_rule_20_a_step_that_failed_before_the_groups_comes_first() -> None:
    report = build_report(ACTION, failed_steps=[FailedStep("validate_design", "design not found")])
    lines = render(report).splitlines()
    assert lines[0].endswith("FAILURE: failed before the groups: validate_design")
    assert lines[2:] == ["Failed before the groups:", "  validate_design: design not found"]


def test_rule_20_a_huge_site_does_not_flood_the_log() -> None:
    nodes = [ReportedNode(f"n{i}", NodeState.FAILURE, ("a",)) for i in range(100_000)]
    text = render(build_report(ACTION, [failed("a")], nodes))
    assert len(text.splitlines()) < 600
    assert "  and 99500 more" in text


def test_rule_20_successes_are_counted_and_not_listed() -> None:
    good = [ReportedNode(f"good{i}", NodeState.SUCCESS, ("a",)) for i in range(2_000)]
    late = [ReportedNode(f"late{i}", NodeState.NOT_STARTED, ("b",)) for i in range(100)]
    bad = ReportedNode("bad", NodeState.FAILURE, ("a",), "no PXE")
    lines = render(build_report(ACTION, [failed("a")], [*good, bad, *late])).splitlines()
    assert not any("good" in line for line in lines)
    assert lines[-1] == "All 2101 nodes, which are in the stored report: 1 failure, 2000 success, 100 not_started"
    (named,) = (line for line in lines if line.startswith("  in b: "))
    assert named.endswith("late19 and 80 more")
    assert lines.index("  bad (in a): no PXE") < lines.index(named) < len(lines) - 1


def test_rule_20_the_report_survives_being_stored() -> None:
    report = full_report()
    stored = json.loads(json.dumps(to_dict(report)))
    assert from_dict(stored) == report
    assert stored["groups"][1]["seconds"] == 185
    assert stored["nodes"][1]["message"] == "no PXE"
    empty = build_report(ReportedAction("id", "site", "update_site"))
    assert from_dict(to_dict(empty)) == empty
    assert "started not known" in render(empty)


@pytest.mark.parametrize(("kind", "word"), [("destroy_nodes", "destroyed"), ("relabel_nodes", "relabelled")])
def test_rule_25_a_node_step_is_reported_in_its_own_words(kind: str, word: str) -> None:
    counts = GroupCounts(total=3, prepared=2, succeeded=2, failed=1, unknown=0, not_started=0)
    criteria = evaluate(SuccessCriteria(percent_successful_nodes=100), Phase(kind), 3, 2)
    target = failed("target-group", reason=Reason.NODE_STEP, criteria=criteria, counts=counts)
    report = build_report(ReportedAction("01J", "seaworthy", kind), [target])
    assert from_dict(json.loads(json.dumps(to_dict(report)))) == report
    lines = render(report).splitlines()
    assert "  target-group: not every node is proven done" in lines
    assert f"    {kind}: percent_successful_nodes needed 100, actual 2/3: NOT MET" in lines
    (header,) = (line for line in lines if "critical" in line and "unknown" in line)
    assert header.split()[4:7] == ["nodes", word, "failed"]


@pytest.mark.parametrize("reason", Reason)
def test_every_reason_has_words(reason: Reason) -> None:
    became = "was blocked by a failed group" if reason is Reason.DEPENDENCY else "failed"
    assert f"critical group a {became}" in render(build_report(ACTION, [failed("a", reason=reason)]))


def test_rule_59_nodes_that_a_canary_keeps_back_are_said_together() -> None:
    why = "the canaries failed: c01 (no answer to PXE)"
    counts = GroupCounts(total=26, prepared=1, succeeded=0, failed=1, unknown=0, not_started=25)
    kept = [
        ReportedNode(f"c{number:02}", NodeState.NOT_STARTED, ("ctl",), why, withheld=True) for number in range(2, 27)
    ]
    first = ReportedNode("c01", NodeState.FAILURE, ("ctl",), "no answer to PXE")
    said = render(build_report(ACTION, [failed("ctl", reason=Reason.CANARY, counts=counts)], [first, *kept]))
    lines = said.splitlines()
    assert "  ctl: not every canary succeeded, so it began no other node: 25 were not started" in lines
    at = lines.index("Nodes that were not submitted (25):")
    names = [node.name for node in kept]
    assert lines[at + 1 : at + 3] == [
        f"  {', '.join(names[:20])} (in ctl): {why}",
        f"  {', '.join(names[20:])} (in ctl): {why}",
    ]
