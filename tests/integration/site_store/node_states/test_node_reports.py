"""Reports of nodes through the outbox: at least once, with fixed ids, until somebody acknowledges them (rule 48)."""

from __future__ import annotations

import hashlib
from collections.abc import Callable

import pytest
from sqlalchemy import event

from site_store import ActionState, Lease, LeaseLost, SiteStore
from site_store.nodes import node_reports
from site_store.status.outbox import write_notification
from strategy_lib.goals.node_errors import ReportState
from strategy_lib.phase import Phase
from tests.integration.site_store.designs.desk import Desk, yaml
from tests.integration.site_store.scenario import SITE, FakeClock, Scenario, outcome, want
from tests.support.stores import errors_of

TOLD = {"targets": [{"name": "desk", "events": ["node_report"], "webhook": {"connection": "desk_hook"}}]}
# So many digits of a text stand in the id of its report.
NO_DISK = hashlib.sha256(b"no disk").hexdigest()[:8]
OTHERS = {"targets": [{"name": "chat", "webhook": {"connection": "chat_hook"}}]}


def fail(site: Scenario, run: str, *nodes: str) -> int:
    """Have nodes fail in an action of their own; return the operation."""
    action = site.running({"a": nodes}, run)
    operation = site.do(
        site.open(action, "a"), Phase.PREPARE, outcome(failed=nodes, notes=dict.fromkeys(nodes, "no disk"))
    )
    site.store.actions.close(action.id, ActionState.FAILED, "over")
    return operation.op


def reports(store: SiteStore) -> list[dict[str, str]]:
    """What was told, oldest first: the id of each report by node."""
    told = [event for event in reversed(store.outbox.newest(SITE)) if event.kind == "node_report"]
    return [{report["node"]: report["id"] for report in event.data["reports"]} for event in told]


def state(store: SiteStore, name: str) -> ReportState:
    return errors_of(store, SITE, name)[0].state


@pytest.mark.parametrize("notifications", [None, OTHERS])
def test_a_site_that_names_nobody_for_it_is_told_nothing(
    store: SiteStore, site: Scenario, held: Lease, notifications: dict[str, object] | None
) -> None:
    desk = Desk(store)
    desk.put("a", yaml("a"))
    desk.commit(notifications=notifications)
    fail(site, "run-1", "n1")
    assert store.node_reports.notify(held) == 0
    assert reports(store) == []
    # A reader of the API finds it all the same.
    assert (state(store, "n1"), len(store.node_reports.of_site(SITE))) == (ReportState.FAILED, 1)


def test_rule_48_what_is_not_acknowledged_is_told_again_with_the_next(
    store: SiteStore, site: Scenario, held: Lease
) -> None:
    desk = Desk(store)
    desk.put("a", yaml("a"))
    desk.commit(notifications=TOLD)
    want(store, 1, {"n1": "v1", "n2": "v1", "n3": "v1"})
    assert store.node_reports.notify(held) == 0
    first = fail(site, "run-1", "n1", "n2")
    assert store.node_reports.notify(held) == 2
    assert (state(store, "n1"), state(store, "n2")) == (ReportState.REPORTED, ReportState.REPORTED)
    # Nothing is new: nothing is told.
    assert store.node_reports.notify(held) == 0
    assert store.node_errors.acknowledge(SITE, {"n2": first}, "desk") == {"n2": True}
    second = fail(site, "run-2", "n3")
    assert store.node_reports.notify(held) == 2
    assert reports(store) == [
        {"n1": f"{SITE}/n1/{first}/provisioner-{NO_DISK}", "n2": f"{SITE}/n2/{first}/provisioner-{NO_DISK}"},
        # The same id as before: the receiver knows it.
        {"n1": f"{SITE}/n1/{first}/provisioner-{NO_DISK}", "n3": f"{SITE}/n3/{second}/provisioner-{NO_DISK}"},
    ]
    assert store.node_errors.acknowledge(SITE, {"n1": first, "n3": second}, "desk") == {"n1": True, "n3": True}
    assert store.node_reports.of_site(SITE) == []


def test_rule_48_a_crash_between_any_two_loses_nothing(
    store: SiteStore, site: Scenario, held: Lease, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk = Desk(store)
    desk.put("a", yaml("a"))
    desk.commit(notifications=TOLD)
    op = fail(site, "run-1", "n1")
    writes = write_notification

    def killed(*arguments: object, **more: object) -> None:
        writes(*arguments, **more)  # type: ignore[arg-type]
        raise KeyboardInterrupt

    monkeypatch.setattr("site_store.nodes.node_reports.write_notification", killed)
    with pytest.raises(KeyboardInterrupt):
        store.node_reports.notify(held)
    assert (reports(store), state(store, "n1")) == ([], ReportState.FAILED)
    monkeypatch.setattr("site_store.nodes.node_reports.write_notification", writes)
    assert store.node_reports.notify(held) == 1
    # Written, and not sent yet: the outbox keeps it until it is.
    assert store.outbox.route(held) > 0
    due = [event for event, _ in store.outbox.due() if event.kind == "node_report"]
    assert [report["id"] for event in due for report in event.data["reports"]] == [
        f"{SITE}/n1/{op}/provisioner-{NO_DISK}/removed"
    ]
    assert [event.event_id for event, _ in store.outbox.due()] == [event.event_id for event in due]
    clock.move(72_000)
    with pytest.raises(LeaseLost):
        store.node_reports.notify(held)


def test_rule_48_what_nobody_was_told_of_goes_first_however_many_are_not_acknowledged(
    store: SiteStore, site: Scenario, held: Lease, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(node_reports, "MOST_REPORTS", 2)
    desk = Desk(store)
    desk.put("a", yaml("a"))
    desk.commit(notifications=TOLD)
    want(store, 1, dict.fromkeys(("n1", "n2", "n3"), "v1"))
    fail(site, "run-1", "n1", "n2")
    assert store.node_reports.notify(held) == 2
    fail(site, "run-2", "n3")
    assert store.node_reports.notify(held) == 2
    assert [sorted(told) for told in reports(store)] == [["n1", "n2"], ["n1", "n3"]]
    assert state(store, "n3") is ReportState.REPORTED
    assert store.node_reports.notify(held) == 0


def test_pages_of_reports_leave_nobody_out_whatever_the_language_of_the_database(
    store: SiteStore, site: Scenario
) -> None:
    """A language may sort a-2 between a1 and ab, and capitals among small letters: the store sorts by code point."""
    names = ["B1", "Z9", "a-2", "a1", "ab"]
    fail(site, "run", *names)
    engine, said = store._database.engine, list[str]()
    event.listen(
        engine, "before_cursor_execute", lambda _1, _2, words, *_: said.append(" ".join(words.replace(")", "").split()))
    )
    readers: list[Callable[[str], list[str]]] = [
        lambda after: [report.node for report in store.node_reports.of_site(SITE, after=after, limit=2)],
    ]
    for read in readers:
        found: list[str] = []
        while page := read(found[-1] if found else ""):
            found += page
        assert found == names
    # The PostgreSQL of the tests knows no language; what is compared is told by its statements.
    ordered = [words for words in said if "ORDER BY node_error.node" in words]
    assert ordered
    assert all('ORDER BY node_error.node COLLATE "C"' in words for words in ordered)
    assert any('node_error.node COLLATE "C" >' in words for words in ordered)
    assert not [words for words in said if "node.name > " in words or "node_error.node > " in words]
    assert any('node.name COLLATE "C" >' in words for words in said)
