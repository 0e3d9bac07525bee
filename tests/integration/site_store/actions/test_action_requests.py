"""Actions as their users handle them: asked for, listed, paused, and what was commanded."""

from __future__ import annotations

import pytest

from site_store import ActionRecord, ActionState, LockOwner, NewAction, NotFound, SiteBusy
from strategy_lib.phase import GroupState, Phase
from tests.integration.site_store.scenario import SITE, Scenario
from tests.support.stores import counted_statements


def create(
    site: Scenario, name: str = SITE, exclusive: bool = True, dry_run: bool = False, **parameters: object
) -> ActionRecord:
    site.clock.move(1)
    return site.store.actions.create(
        NewAction("deploy_site", name, 3, parameters, "ann", context_marker="marker", dry_run=dry_run),
        exclusive=exclusive,
    )


def test_an_action_is_there_before_its_run_which_then_finds_it(site: Scenario) -> None:
    made = create(site, force=True)
    assert (made.dag_id, made.run_id, len(made.id)) == ("deploy_site", f"{SITE}__{made.id}", 26)
    assert (made.state, made.revision, made.user, made.context_marker) == (ActionState.PENDING, 3, "ann", "marker")
    assert (made.parameters, made.created, made.started) == ({"force": True}, site.clock.time, None)
    assert site.store.actions.get(made.id) == made
    # The run begins: whatever it was told, the row is the one that was made for it.
    found = site.store.actions.ensure(made.dag_id, str(made.run_id), NewAction("other", "south", None, {}, "airflow"))
    assert found == made
    site.store.locks.acquire(made.id)
    assert site.store.actions.get(made.id).state is ActionState.RUNNING


def test_the_address_at_which_a_design_was_found_is_known_to_later_actions_of_its_revision(site: Scenario) -> None:
    assert site.store.actions.design_fetch(SITE, 3) == 0
    for number in (17, 5):
        made = create(site)
        assert made.design_fetch == 0
        site.store.actions.mark_design_fetch(made.id, number)
        assert site.store.actions.get(made.id).design_fetch == number
        site.store.actions.close(made.id, ActionState.FAILED, "over")
    create(site)
    assert site.store.actions.design_fetch(SITE, 3) == 5, "the newest; an action that has none yet says nothing"
    assert (site.store.actions.design_fetch(SITE, 4), site.store.actions.design_fetch("south", 3)) == (0, 0)


def test_an_exclusive_action_names_the_one_that_waits(site: Scenario) -> None:
    first = create(site)
    with pytest.raises(SiteBusy, match=r"is to start on it since 2026-11-21 12:00:01 UTC") as caught:
        create(site)
    assert caught.value.owner == LockOwner(first.id, "deploy_site", first.run_id, first.created, waiting=True)
    assert first.id in str(caught.value)
    assert [listing.action.id for listing in site.store.actions.newest()] == [first.id]
    create(site, "south")
    site.store.actions.close(first.id, ActionState.FAILED, "not started")
    create(site)


def test_an_exclusive_action_names_the_one_that_runs(site: Scenario) -> None:
    elsewhere = site.action("by-hand")
    with pytest.raises(SiteBusy, match="by-hand"):
        create(site)
    site.store.locks.acquire(elsewhere.id)
    with pytest.raises(SiteBusy, match=f"{elsewhere.id} .* works on it since"):
        create(site)
    # A closed one that has taken the site again, as clearing its task does.
    site.store.actions.close(elsewhere.id, ActionState.SUCCESS, "")
    site.store.locks.acquire(elsewhere.id)
    with pytest.raises(SiteBusy):
        create(site)


def test_a_dry_run_holds_nobody_up(site: Scenario) -> None:
    dry = create(site, dry_run=True)
    assert dry.dry_run
    real = create(site, dry_run=False)
    assert not real.dry_run


def test_the_list_has_groups_with_their_states_in_one_statement(site: Scenario) -> None:
    create(site, "south")
    action = site.running({"z": ["n1"], "a": ["n2"], "m": []})
    site.open(action, "z")
    site.fail(site.open(action, "a"))
    site.store.reports.save(action.id, {"verdict": "failure"})
    with counted_statements(site.store) as asked:
        found = site.store.actions.newest()
    assert len(asked) == 1
    assert [(one.action.site, one.groups) for one in found] == [
        (SITE, (("z", GroupState.RUNNING), ("a", GroupState.FAILURE), ("m", GroupState.PENDING))),
        ("south", ()),
    ]
    assert found[0].action == site.store.actions.get(action.id)
    assert found[0].action.has_report


def test_the_list_is_read_in_pages_and_by_site(site: Scenario) -> None:
    made = [create(site, name, exclusive=False).id for name in (SITE, "south", SITE, "south", SITE)]

    def listed(name: str | None, limit: int, before: str | None = None) -> list[int]:
        return [made.index(one.action.id) for one in site.store.actions.newest(name, limit, before)]

    assert listed(None, 10) == [4, 3, 2, 1, 0]
    assert listed(None, 2) == [4, 3]
    assert listed(None, 2, made[3]) == [2, 1]
    assert listed(SITE, 2, made[4]) == [2, 0]
    assert listed("south", 10, made[1]) == []
    assert listed("nowhere", 10) == []


def test_pause_stays_until_it_is_lifted_or_the_action_ends(site: Scenario) -> None:
    action = site.running({"a": ["n1"]})
    store = site.store
    assert store.actions.get(action.id).paused is None
    assert store.actions.set_paused(action.id, True)
    since = site.clock.time
    site.clock.move(60)
    assert store.actions.set_paused(action.id, True)
    assert store.actions.get(action.id).paused == since
    assert store.actions.set_paused(action.id, False)
    assert store.actions.set_paused(action.id, False)
    assert store.actions.get(action.id).paused is None
    store.actions.set_paused(action.id, True)
    store.actions.close(action.id, ActionState.CANCELLED, "stopped")
    assert store.actions.get(action.id).paused is None
    assert not store.actions.set_paused(action.id, True)
    assert not store.actions.set_paused(action.id, False)
    assert store.actions.get(action.id).paused is None


def test_the_step_that_was_begun_last(site: Scenario) -> None:
    action = site.action()
    assert action.step is None
    for step in ("acquire", "load_design", "load_design"):
        site.store.actions.mark_step(action.id, step)
        assert site.store.actions.get(action.id).step == step
    site.store.actions.mark_step("X", "nobody asks")


def test_commands_are_kept_with_who_gave_them(site: Scenario) -> None:
    action, other = site.action("run-1"), site.action("run-2")
    first = site.store.actions.record_command(action.id, "invoke", "ann")
    site.clock.move(1)
    second = site.store.actions.record_command(action.id, "stop", "bob")
    site.store.actions.record_command(other.id, "pause", "carl")
    assert site.store.actions.commands(action.id) == [first, second]
    assert (second.command, second.user, second.at, len(second.id)) == ("stop", "bob", site.clock.time, 26)
    assert site.store.actions.commands("X") == []


def test_events_of_an_action_with_and_without_those_of_its_nodes(site: Scenario) -> None:
    action = site.running({"a": ["n1"]})
    site.do(site.open(action, "a"), Phase.PREPARE)
    before = site.store.events.of_action(action.id)
    site.store.events.add(SITE, "note", "of a node", action_id=action.id, node="n1")
    assert site.store.events.of_action(action.id, of_nodes=False) == before
    assert len(site.store.events.of_action(action.id)) == len(before) + 1
    last = site.store.events.of_action(action.id, 1)[0]
    assert (last.node, site.store.events.get(last.id)) == ("n1", last)
    with pytest.raises(NotFound, match="999"):
        site.store.events.get(999_999)
