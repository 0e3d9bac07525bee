"""Errors of nodes as values, each under its own operation, and how far their reports are (rules 45 to 48)."""

from __future__ import annotations

import zlib
from itertools import permutations, product

import pytest

from site_store import ActionState, Claim, NewAction, OperationStatus, SiteStore
from site_store.nodes.node_errors import NodeErrorRecord
from site_store.nodes.tries import jitter_of
from strategy_lib.goals.node_errors import ErrorCode, ReportState, Standing
from strategy_lib.node_states.repair import retry_delay
from strategy_lib.outcome import Outcome
from strategy_lib.phase import Phase
from tests.integration.site_store.scenario import SITE, FakeClock, Scenario, outcome, want
from tests.support.stores import errors_of


def errors(store: SiteStore, name: str = "n1") -> list[NodeErrorRecord]:
    return errors_of(store, SITE, name)


def brief(store: SiteStore, name: str = "n1") -> list[tuple[str, str, str, str]]:
    return [
        (record.error.code.value, record.error.text, record.state.value, record.standing.value)
        for record in errors(store, name)
    ]


def failed(store: SiteStore, node: str, text: str) -> Outcome:
    return outcome(failed=[node], notes={node: text})


def test_rule_45_an_error_has_everything_that_it_is_about(site: Scenario, clock: FakeClock) -> None:
    want(site.store, 1, {"n1": "v1", "n2": "v1"})
    action = site.running({"a": ["n1", "n2"]}, digests={"n1": "v1", "n2": "v1"})
    operation = site.do(site.open(action, "a"), Phase.PREPARE, outcome(["n2"], ["n1"], notes={"n1": "no disk"}))
    (record,) = errors(site.store)
    error = record.error
    assert (error.code, error.text, error.site, error.node) == (ErrorCode.PROVISIONER, "no disk", SITE, "n1")
    assert (error.phase, error.action, error.op) == (Phase.PREPARE, action.id, operation.op)
    assert (error.provisioner_task, error.wanted_version, error.time) == (f"task-{operation.op}", 1, clock.time)
    assert (record.state, record.standing, record.to_report) == (ReportState.FAILED, Standing.SHOWN, True)
    assert errors(site.store, "n2") == []


def test_all_messages_of_a_task_are_one_error_in_their_order(site: Scenario) -> None:
    action = site.running({"a": ["n1"]})
    short = Outcome(
        frozenset(), frozenset({"n1"}), frozenset(), notes={"n1": "no power"}, texts={"n1": "no disk\nno power"}
    )
    operation = site.do(site.open(action, "a"), Phase.PREPARE, short)
    assert brief(site.store) == [("provisioner", "no disk\nno power", "failed", "shown")]
    # Recorded again after a crash, it is the same one.
    site.store.node_errors.acknowledge(SITE, {"n1": operation.op}, "bob")
    site.record(operation, short)
    assert brief(site.store) == [("provisioner", "no disk\nno power", "cleared", "shown")]


@pytest.mark.parametrize(
    ("status", "result", "code"),
    [
        (OperationStatus.TIMED_OUT, "timed_out", "timeout"),
        (OperationStatus.COMPLETE, "gone", "lost"),
        (OperationStatus.ABANDONED, None, "lost"),
    ],
)
def test_rule_45_a_late_end_corrects_what_was_not_known(
    site: Scenario, status: OperationStatus, result: str | None, code: str
) -> None:
    action = site.running({"a": ["n1", "n2"]})
    operation = site.submit(site.begin(site.open(action, "a"), Phase.PREPARE))
    lost = outcome(unknown=["n1", "n2"], notes={"n1": "no result"})
    site.record(operation, lost, status=status, result=result)
    assert brief(site.store) == [(code, "no result", "failed", "shown")]
    assert site.store.node_errors.acknowledge(SITE, {"n1": operation.op, "n2": operation.op}, "bob") == {
        "n1": True,
        "n2": True,
    }
    site.record_late(operation, outcome(["n2"], ["n1"], notes={"n1": "burnt"}))
    # What was acknowledged was that nothing is known: the truth is told anew.
    assert brief(site.store) == [("provisioner", "burnt", "failed", "shown")]
    assert [record.state for record in errors(site.store, "n2")] == [ReportState.CLEARED]


@pytest.mark.parametrize("late", [False, True], ids=["again", "late"])
def test_rule_48_a_result_that_contradicts_what_is_proven_clears_no_error(site: Scenario, late: bool) -> None:
    want(site.store, 1, {"n1": "v1"})
    operation = site.do(site.open(site.running({"a": ["n1"]}), "a"), Phase.PREPARE, failed(site.store, "n1", "no disk"))
    before = brief(site.store)
    if late:
        site.record_late(operation, outcome(["n1"]))
    else:
        site.record(operation, outcome(["n1"]))
    assert brief(site.store) == before == [("provisioner", "no disk", "failed", "shown")]
    (record,) = [record for record in site.store.nodes.of_site(SITE) if record.name == "n1"]
    assert (record.standing, record.error) == ("error", "no disk")
    leaves = site.store.trees.group_nodes(operation.action_id).facts.leaves
    assert [(leaf.status, leaf.message) for leaf in leaves if leaf.op] == [("error", "no disk")]


@pytest.mark.parametrize("words", ["the provisioner forgot the task", None])
def test_rule_45_a_late_end_that_is_still_unknown_is_told_anew_only_with_other_words(
    site: Scenario, words: str | None
) -> None:
    want(site.store, 1, {"n1": "v1"})
    action = site.running({"a": ["n1"]}, digests={"n1": "v1"})
    operation = site.submit(site.begin(site.open(action, "a"), Phase.PREPARE))
    silent = outcome(unknown=["n1"], notes={"n1": "no word yet"})
    site.record(operation, silent, status=OperationStatus.TIMED_OUT, result="timed_out")
    first = site.store.node_reports.of_site(SITE)[0].to_dict()
    site.store.node_errors.acknowledge(SITE, {"n1": operation.op}, "bob")
    before = site.clock.time
    site.clock.move(60)
    late = outcome(unknown=["n1"], notes={"n1": words} if words else {})
    site.record_late(operation, late)
    (record,) = errors(site.store)
    if words is None:
        # That it is over says no more of the node than was acknowledged.
        assert brief(site.store) == [("lost", "no word yet", "cleared", "shown")]
        assert (record.acknowledged_by, record.error.time) == ("bob", before)
        assert site.store.node_reports.of_site(SITE) == []
        return
    assert brief(site.store) == [("lost", words, "failed", "shown")]
    assert (record.acknowledged_by, record.error.time) == (None, site.clock.time)
    (second,) = [report.to_dict() for report in site.store.node_reports.of_site(SITE)]
    assert second["error"] == {
        "code": "lost",
        "message": words,
        "action": action.id,
        "phase": "prepare",
        "provisioner_task": "task-1",
    }
    assert second["id"] != first["id"]
    (node,) = site.store.nodes.of_site(SITE)
    assert node.error == f"lost: {words}"
    # Learnt once more, it is no news.
    site.store.node_errors.acknowledge(SITE, {"n1": operation.op}, "bob")
    site.record_late(operation, late)
    assert site.store.node_reports.of_site(SITE) == []


def test_rule_45_what_is_proven_keeps_its_words_where_a_late_look_knows_nothing(site: Scenario) -> None:
    action = site.running({"a": ["n1", "n2"]})
    operation = site.do(site.open(action, "a"), Phase.PREPARE, outcome(["n2"], ["n1"], notes={"n1": "no disk"}))
    late = outcome(unknown=["n1", "n2"], notes={"n1": "forgotten", "n2": "forgotten"})
    site.record_late(operation, late)
    assert brief(site.store) == [("provisioner", "no disk", "failed", "shown")]
    assert {one.node: one.prepare.error for one in site.store.tasks.of_nodes(action.id)} == {
        "n1": "no disk",
        "n2": None,
    }


def test_what_the_provisioner_refuses_is_an_error_like_any_other(site: Scenario) -> None:
    action = site.running({"a": ["n1"]})
    operation = site.begin(site.open(action, "a"), Phase.PREPARE)
    site.record(operation, failed(site.store, "n1", "unknown site"), status=OperationStatus.COMPLETE, result="refused")
    (record,) = errors(site.store)
    assert (record.error.code, record.error.text, record.error.provisioner_task) == (
        ErrorCode.REFUSED,
        "unknown site",
        None,
    )


def test_what_could_not_be_sent_is_an_error_with_a_number_of_its_own(site: Scenario) -> None:
    want(site.store, 1, {"n1": "v1"})
    action, record = site.opened({"a": ["n1"]})
    site.store.tasks.fail_unsent(action.id, SITE, "a", record.attempt, {"n1": "it is allocated"})
    (first,) = errors(site.store)
    assert (first.error.code, first.error.text, first.standing) == (
        ErrorCode.REFUSED,
        "it is allocated",
        Standing.SHOWN,
    )
    site.store.actions.close(action.id, ActionState.FAILED, "over")
    later = site.running({"a": ["n1"]}, "run-2")
    begun = site.begin(site.open(later, "a"), Phase.PREPARE)
    assert begun.op > first.error.op
    (known,) = errors(site.store)
    assert known.standing is Standing.HISTORY


def test_rule_46_the_plan_of_a_newer_action_makes_errors_history(site: Scenario) -> None:
    action = site.running({"a": ["n1"]})
    site.do(site.open(action, "a"), Phase.PREPARE, failed(site.store, "n1", "no disk"))
    site.store.actions.close(action.id, ActionState.FAILED, "over")
    assert [record.standing for record in errors(site.store)] == [Standing.SHOWN]
    assert len(site.store.node_reports.of_site(SITE)) == 1
    site.running({"a": ["n1"]}, "run-2")
    assert [record.standing for record in errors(site.store)] == [Standing.HISTORY]
    assert site.store.node_reports.of_site(SITE) == []


def test_rule_46_an_error_about_an_older_wanted_version_is_superseded(site: Scenario) -> None:
    want(site.store, 1, {"n1": "v1"})
    record = site.open(site.running({"a": ["n1"]}, digests={"n1": "v1"}), "a")
    operation = site.submit(site.begin(record, Phase.PREPARE))
    want(site.store, 2, {"n1": "v2"})
    # It fails only after a newer version was committed: its error is about the older one.
    site.record(operation, failed(site.store, "n1", "no disk"))
    (error,) = errors(site.store)
    assert (error.error.wanted_version, error.standing) == (1, Standing.SUPERSEDED)
    assert site.store.node_reports.of_site(SITE) == []


def test_rule_48_only_an_acknowledgement_of_that_very_operation_clears(site: Scenario, clock: FakeClock) -> None:
    action = site.running({"a": ["n1"]})
    operation = site.do(site.open(action, "a"), Phase.PREPARE, failed(site.store, "n1", "no disk"))
    for wrong in (operation.op - 1, operation.op + 1, 0):
        assert site.store.node_errors.acknowledge(SITE, {"n1": wrong}, "bob") == {"n1": False}
    assert site.store.node_errors.acknowledge("south", {"n1": operation.op}, "bob") == {"n1": False}
    assert [record.state for record in errors(site.store)] == [ReportState.FAILED]
    clock.move(5)
    assert site.store.node_errors.acknowledge(SITE, {"n1": operation.op}, "bob") == {"n1": True}
    (record,) = errors(site.store)
    assert (record.state, record.acknowledged_by, record.acknowledged_at) == (ReportState.CLEARED, "bob", clock.time)
    # Again: it is cleared already, by whom it was first.
    assert site.store.node_errors.acknowledge(SITE, {"n1": operation.op}, "eve") == {"n1": True}
    assert errors(site.store)[0].acknowledged_by == "bob"


HOW = ("ends", "fails", "is lost")


@pytest.mark.parametrize(
    "drift",
    [
        pytest.param(0.0, id="the clock stands still"),
        pytest.param(-3600.0, id="the clock runs backwards", marks=pytest.mark.endurance),
    ],
)
def test_rule_45_all_orders_of_two_overlapping_actions_end_as_the_newest_says(
    site: Scenario, clock: FakeClock, drift: float
) -> None:
    """Two actions overlap on a node: the first was cancelled while its provisioner task goes on, and ends whenever."""
    cases = list(product(permutations(("first", "second")), HOW, HOW))
    want(site.store, 1, {f"n{number}": "v1" for number in range(len(cases))})
    for number, (order, first, second) in enumerate(cases):
        run = f"{number}-"
        name = f"n{number}"
        older, group = site.opened({"a": [name]}, f"{run}1", digests={name: "v1"})
        site.do(group, Phase.PREPARE)
        old = site.submit(site.begin(group, Phase.DEPLOY))
        site.store.actions.close(older.id, ActionState.CANCELLED, "cancelled")
        clock.move(drift)
        newer, group = site.opened({"a": [name]}, f"{run}2", digests={name: "v1"})
        site.do(group, Phase.PREPARE)
        new = site.submit(site.begin(group, Phase.DEPLOY))
        told = {"first": (old.op, first), "second": (new.op, second)}
        for which in order:
            op, how = told[which]
            clock.move(drift)
            result = {
                "ends": outcome([name]),
                "fails": outcome(failed=[name], notes={name: f"{which} failed"}),
                "is lost": outcome(unknown=[name], notes={name: f"{which} is lost"}),
            }[how]
            if which == "first":
                site.store.operations.record_late_outcome(op, result, over=how != "is lost")
            else:
                site.store.operations.record_outcome(op, result)
        record = next(one for one in site.store.nodes.of_site(SITE) if one.name == name)
        shown = [one for one in errors(site.store, name) if one.standing is Standing.SHOWN]
        assert record.op == new.op
        expected = {"ends": None, "fails": "second failed", "is lost": "lost: second is lost"}[second]
        assert (record.error or None) == expected, order
        assert [(one.error.op, one.state) for one in shown] == (
            [] if second == "ends" else [(new.op, ReportState.FAILED)]
        )
        assert all(one.error.op == old.op for one in errors(site.store, name) if one.standing is Standing.HISTORY)
        site.store.actions.close(newer.id, ActionState.FAILED, "over")


def test_rule_44_failures_are_counted_between_actions(site: Scenario, clock: FakeClock) -> None:
    want(site.store, 1, {"n1": "v1"})

    def tries() -> tuple[int, float | None]:
        record = next(one for one in site.store.nodes.of_site(SITE) if one.name == "n1")
        return record.failures, None if record.next_try is None else (record.next_try - clock.time).total_seconds()

    assert tries() == (0, None)
    expected = 60.0
    for number in (1, 2, 3):
        action, record = site.opened({"a": ["n1"]}, f"run-{number}", digests={"n1": "v1"})
        site.do(record, Phase.PREPARE, failed(site.store, "n1", "no disk"))
        failures, pause = tries()
        assert failures == number
        assert pause is not None
        assert expected * 0.75 <= pause <= expected * 1.25
        # Tried again within the action, it has failed once in it.
        site.fail(record)
        site.do(site.open(action, "a", "cleared"), Phase.PREPARE, failed(site.store, "n1", "no disk"))
        assert tries() == (failures, pause)
        site.store.actions.close(action.id, ActionState.FAILED, "over")
        expected *= 2
    # What is in progress, lost or held is no try.
    action = site.running({"a": ["n1"]}, "lost", digests={"n1": "v1"})
    lost = site.submit(site.begin(site.open(action, "a"), Phase.PREPARE))
    site.record(lost, outcome(unknown=["n1"]), status=OperationStatus.TIMED_OUT)
    assert tries()[0] == 3
    # Until its truth is known.
    site.record_late(lost, failed(site.store, "n1", "no disk"))
    assert tries()[0] == 4
    site.store.actions.close(action.id, ActionState.FAILED, "over")
    # A new version has not been tried.
    want(site.store, 2, {"n1": "v2"})
    assert tries() == (0, None)


def test_rule_44_what_fails_of_an_older_version_delays_the_new_one_by_nothing(site: Scenario) -> None:
    want(site.store, 1, {"n1": "v1"})
    action = site.running({"a": ["n1"]}, digests={"n1": "v1"})
    begun = site.submit(site.begin(site.open(action, "a"), Phase.PREPARE))
    want(site.store, 2, {"n1": "v2"})
    site.record(begun, failed(site.store, "n1", "no disk"))
    (record,) = site.store.nodes.of_site(SITE)
    assert (record.failures, record.next_try) == (0, None)


def test_rule_44_the_jitter_of_a_delay_keeps_its_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    for checksum, jitter in ((0, -1.0), (0xFFFFFFFF, 1.0)):
        monkeypatch.setattr(zlib, "crc32", lambda _text, found=checksum: found)
        assert jitter_of(SITE, "n1", 1) == jitter
        assert retry_delay(1, jitter_of(SITE, "n1", 1)) > 0


@pytest.mark.parametrize("done_before", [True, False])
def test_rule_46_new_labels_mend_no_failed_deploy_and_end_what_failed_as_labels(
    site: Scenario, done_before: bool
) -> None:
    store = site.store
    want(store, 1, {"n1": "v1"})
    if done_before:
        record = site.open(site.running({"a": ["n1"]}, "first", digests={"n1": "v1"}), "a")
        site.deploy(record)
        store.actions.close(record.action_id, ActionState.SUCCESS, "")

    def relabel(run: str, failing: bool = False) -> None:
        action = store.actions.ensure("relabel_nodes", run, NewAction("relabel_nodes", SITE, None, {}, "ann"))
        store.locks.acquire(action.id)
        found = {"n1": "deployed"}
        begun = store.operations.begin(Claim(action.id, SITE, None, 1, Phase.RELABEL, ["n1"], "file:///d", found))
        result = failed(store, "n1", "no label") if failing else outcome(["n1"])
        store.operations.record_outcome(begun.op, result)
        store.actions.close(action.id, ActionState.SUCCESS, "")

    def stands() -> tuple[str | None, str | None, int]:
        (one,) = store.nodes.of_site(SITE)
        return one.standing, one.error, one.failures

    relabel("labels-1", failing=True)
    assert stands() == ("error", "no label", 1)
    relabel("labels-2")
    assert stands() == (("success" if done_before else "pending"), None, 0)
    action, record = site.opened({"a": ["n1"]}, "second", digests={"n1": "v1"})
    site.do(record, Phase.PREPARE, failed(store, "n1", "no disk"))
    store.actions.close(action.id, ActionState.FAILED, "")
    before = stands()
    assert before[0] == "error"
    relabel("labels-3")
    assert stands() == before


def test_rule_44_a_success_begins_anew(site: Scenario) -> None:
    want(site.store, 1, {"n1": "v1"})
    action = site.running({"a": ["n1"]}, digests={"n1": "v1"})
    site.do(site.open(action, "a"), Phase.PREPARE, failed(site.store, "n1", "no disk"))
    site.store.actions.close(action.id, ActionState.FAILED, "over")
    record = site.open(site.running({"a": ["n1"]}, "run-2", digests={"n1": "v1"}), "a")
    site.do(record, Phase.PREPARE)
    before = next(one for one in site.store.nodes.of_site(SITE) if one.name == "n1")
    assert before.failures == 1
    site.do(record, Phase.DEPLOY)
    after = next(one for one in site.store.nodes.of_site(SITE) if one.name == "n1")
    assert (after.failures, after.next_try, after.standing) == (0, None, "success")
    # Each change of the record has a version of its own.
    assert after.version > before.version
