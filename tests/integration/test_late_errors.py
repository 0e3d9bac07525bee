"""Errors that come late, at a real simulator: they stay with their version, and say nothing about a newer one."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

import pytest
import yaml

from provisioner_client.protocol import Provisioner
from site_engine.controller.follow import LONGEST_FOLLOWED, NOT_FOLLOWED, Followed, follow_site
from site_engine.errors import ConnectionMissing
from site_engine.operations.wait import StillRunning
from site_store import ActionState, SiteStore
from strategy_lib.goals.node_errors import ErrorCode, Standing
from strategy_lib.outcome import Outcome
from strategy_lib.phase import GroupState
from tests.support.driving import Begin, Driving
from tests.support.processes import wait_until
from tests.support.simulators import Simulator
from tests.support.sites import document, group, node, site
from tests.support.stores import errors_of, node_of

SITE = "alpha"


def config(tag: str) -> str:
    return site([node("a", tags=[tag]), node("b", tags=[tag])], [group("all")])


def left_at_work(begin: Begin, simulator: Simulator, text: str = config("one")) -> Driving:
    """Have configuration 1 applied: node a fails at once, and the task that says so hangs at node b."""
    simulator.script("a", "prepare", "fail", attempt=1)
    simulator.script("b", "prepare", "stuck", attempt=1)
    first = begin(text)
    first.patience = 0.0
    assert isinstance(first.group("all"), StillRunning)
    first.store.actions.close(first.action.id, ActionState.CANCELLED, "cancelled")
    return first


def until_over(simulator: Simulator) -> None:
    """Wait until the provisioner has ended its first task."""
    wait_until(lambda: simulator.get("tasks")[0]["status"] == "complete", "the first task has ended")


def standing(store: SiteStore, name: str) -> str:
    found = node_of(store, SITE, name)
    assert found is not None
    return found.standing


class TrackerWithoutVersions:
    """Keeps one error for each node, whichever configuration that is of; it is told what the store is told.

    A configuration that is received begins anew. What succeeds takes no error away: without a version nobody can say
    whether the error is its own.
    """

    def __init__(self, store: SiteStore, patch: pytest.MonkeyPatch) -> None:
        self.errors: dict[str, str] = {}
        self._listen(patch, store.groups, "save_plan", lambda *_: self.errors.clear())
        for method in ("record_outcome", "record_late_outcome"):
            self._listen(patch, store.operations, method, lambda _, outcome, *__: self._end(outcome))

    def says_failed(self, name: str) -> bool:
        return name in self.errors

    def _end(self, outcome: Outcome) -> None:
        self.errors |= {name: outcome.notes.get(name, "failed") for name in outcome.failed}

    def _listen(self, patch: pytest.MonkeyPatch, part: object, method: str, told: Callable[..., None]) -> None:
        write = getattr(part, method)

        def write_and_tell(*args: Any, **more: Any) -> Any:
            answer = write(*args, **more)
            told(*args)
            return answer

        patch.setattr(part, method, write_and_tell)


def says_failed(store: SiteStore, name: str) -> bool:
    """Whether Slipway says that a node failed: where it stands, or in what is reported outside."""
    return standing(store, name) == "error" or name in {report.node for report in store.node_reports.of_site(SITE)}


@pytest.mark.parametrize("learnt", ["at the very end", "while the newer one is at work"])
def test_rule_45_the_error_of_an_older_configuration_comes_late(
    begin: Begin, store: SiteStore, simulator: Simulator, monkeypatch: pytest.MonkeyPatch, learnt: str
) -> None:
    """The story with versions, which is Slipway's, and beside it without: a tracker that hears the same."""
    tracker = TrackerWithoutVersions(store, monkeypatch)
    # 1. Configuration 1 is received, and applied.
    first = left_at_work(begin, simulator)
    (older,) = store.operations.unfinished(SITE)
    # 2. Configuration 2 is received, and applied, while the first is still at work.
    second = begin(config("two"), "run-2")
    second.patience = 0.0
    waiting = second.group("all", ignore_older_tasks=True)
    assert isinstance(waiting, StillRunning)
    assert waiting.op > older.op
    assert (tracker.says_failed("a"), says_failed(store, "a")) == (False, False)
    # 3. Applying configuration 1 has failed.
    simulator.release_stuck()
    until_over(simulator)
    if learnt == "while the newer one is at work":
        assert second.follow() == Followed(1, 1)
        assert [record.standing for record in errors_of(store, SITE, "a")] == [Standing.SUPERSEDED]
        assert store.node_reports.of_site(SITE) == []
        assert standing(store, "a") == "processing"
        assert (tracker.says_failed("a"), says_failed(store, "a")) == (True, False)
    # 4. Configuration 2 is applied without an error.
    second.patience = 60.0
    assert second.finish(ignore_older_tasks=True).state is GroupState.SUCCESS
    assert not says_failed(store, "a")
    if learnt == "while the newer one is at work":
        assert tracker.says_failed("a")
    else:
        # The newer action may have looked itself, when it went on.
        assert second.follow() in (Followed(), Followed(1, 1))
    # 5. Nothing is reported of the stale operation, and its error is kept with it.
    assert (tracker.says_failed("a"), says_failed(store, "a")) == (True, False)
    assert store.node_reports.of_site(SITE) == []
    assert {standing(store, name) for name in ("a", "b")} == {"success"}
    (error,) = errors_of(store, SITE, "a")
    assert (error.error.op, error.error.code, error.standing) == (older.op, ErrorCode.PROVISIONER, Standing.SUPERSEDED)
    assert first.states() == {"a": "failure", "b": "prepared"}
    assert store.operations.unfinished(SITE) == []


def test_rule_14_what_became_of_unknown_nodes_is_learnt_without_a_later_action(
    begin: Begin, simulator: Simulator
) -> None:
    first = left_at_work(begin, simulator)
    store = first.store
    assert first.states() == {"a": "unknown", "b": "unknown"}
    assert [record.error.code for record in errors_of(store, SITE, "a")] == [ErrorCode.LOST]
    assert first.follow() == Followed(1, 0), "it is still at work"
    assert store.orphans.sites(LONGEST_FOLLOWED) == [SITE]
    simulator.release_stuck()
    until_over(simulator)
    assert first.follow() == Followed(1, 1)
    assert first.states() == {"a": "failure", "b": "prepared"}
    (error,) = errors_of(store, SITE, "a")
    assert (error.error.code, error.standing) == (ErrorCode.PROVISIONER, Standing.SHOWN)
    assert [report.node for report in store.node_reports.of_site(SITE)] == ["a"]
    assert store.orphans.sites(LONGEST_FOLLOWED) == []
    assert first.follow() == Followed()


def test_a_connection_that_was_deleted_is_named_once_and_what_it_led_to_is_followed_when_it_is_back(
    begin: Begin, simulator: Simulator
) -> None:
    first = left_at_work(begin, simulator)
    (operation,) = first.store.operations.unfinished(SITE)

    def gone(_action: object) -> Provisioner:
        raise ConnectionMissing("the Airflow connection 'old_drydock' is not there any more")

    for _ in range(3):
        assert follow_site(first.store, SITE, gone, logging.getLogger()) == Followed(), "it is no problem of each look"
    noted = [event for event in first.store.events.of_action(first.action.id) if event.kind == NOT_FOLLOWED]
    assert [(event.data, event.message) for event in noted] == [
        (
            {"op": operation.op},
            f"what became of operation {operation.op} cannot be learnt: the Airflow connection 'old_drydock' is not "
            "there any more",
        )
    ]
    assert first.store.operations.unfinished(SITE, ["a"]), "nobody submits its nodes meanwhile"
    simulator.release_stuck()
    until_over(simulator)
    assert first.follow() == Followed(1, 1)
    assert first.states() == {"a": "failure", "b": "prepared"}


def test_a_site_says_for_how_long_they_are_followed(begin: Begin, simulator: Simulator) -> None:
    settings = document("slipway/SiteSettings/v1", "site-settings", {"unknown_nodes": {"follow_timeout": 0}})
    first = left_at_work(begin, simulator, config("one") + yaml.safe_dump_all([settings], explicit_start=True))
    simulator.release_stuck()
    until_over(simulator)
    assert first.follow() == Followed()
    assert first.states() == {"a": "unknown", "b": "unknown"}
