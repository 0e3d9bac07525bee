"""What the controller's account may not do is tried, noted in the store, and shown with each site."""

from __future__ import annotations

from collections.abc import Collection

from site_engine.controller.controller import TICK, Controller
from site_engine.controller.rights import ALL_EVERY, RIGHTS_EVERY, needed_rights, try_rights
from site_engine.errors import AirflowApiError
from site_engine.trees.status_trees import site_tree, tree_to_dict
from site_store import SiteStore
from site_store.status.leases import RIGHTS
from tests.support.fake_clock import FakeClock
from tests.support.revisions import commit_design
from tests.support.stores import check_results

SITE = "alpha"


class Account:
    """What an account may not do, and whether each try was of everything."""

    def __init__(self) -> None:
        self.missing: list[str] = []
        self.tries: list[bool] = []
        self.away = False
        self.triggers: Collection[str] = ()

    def refused(self, changes: Collection[str], triggers: Collection[str], *, again: bool) -> list[str]:
        if self.away:
            raise AirflowApiError("Airflow does not answer")
        self.tries.append(again)
        self.triggers = triggers
        return self.missing


def look(controller: Controller, clock: FakeClock, seconds: float) -> None:
    """Let it look until so much time has passed."""
    for _ in range(int(seconds / TICK)):
        clock.sleep(TICK)
        controller.look()


def test_what_is_refused_is_shown_with_each_site_until_it_is_granted(store: SiteStore, clock: FakeClock) -> None:
    commit_design(store, SITE, "a: 1\n", [])
    store.provisioner_lists.save(SITE, "drydock", {})
    account = Account()
    account.missing = ["see the list of runs", "trigger notify"]
    controller = Controller(store, "one", [try_rights(account.refused)], lambda: clock.now().timestamp())
    controller.look()
    said = check_results(store)[RIGHTS] or ""
    assert said == (
        "Airflow does not let the controller's account see the list of runs, nor trigger notify; "
        "`slipway controller-role` prints how to give it its rights"
    )
    tree = tree_to_dict(site_tree(store, SITE, depth=None))
    (watching,) = [one for one in tree["root"]["children"] if one["kind"] == "watching"]
    assert (watching["status"], watching["messages"]) == ("error", [said])
    assert [one["alive"] for one in watching["owners"]] == [True, True], "both are there"
    assert tree["header"]["health"] == f"not healthy: watching: {said}"
    shown = store.trees.site_token(SITE)

    account.missing = []
    look(controller, clock, RIGHTS_EVERY)
    assert check_results(store)[RIGHTS] is None
    tree = tree_to_dict(site_tree(store, SITE, depth=None))
    assert tree["header"]["healthy"] is True
    assert store.trees.site_token(SITE) != shown, "a page that waits for something new is given it"


def test_of_an_airflow_that_is_away_nothing_new_is_known(store: SiteStore, clock: FakeClock) -> None:
    account = Account()
    controller = Controller(store, "one", [try_rights(account.refused)], lambda: clock.now().timestamp())
    controller.look()
    account.away = True
    look(controller, clock, RIGHTS_EVERY)
    assert check_results(store) == {RIGHTS: None, "trying rights": "Airflow does not answer"}


def test_what_no_controller_that_runs_has_found_is_not_shown(store: SiteStore, clock: FakeClock) -> None:
    commit_design(store, SITE, "a: 1\n", [])
    account = Account()
    account.missing = ["trigger notify"]
    controller = Controller(store, "one", [try_rights(account.refused)], lambda: clock.now().timestamp())
    controller.look()
    assert store.watches.all()[SITE].mark(clock.now()) != ""
    controller.end()
    assert store.watches.all()[SITE].mark(clock.now()) == ""


def test_all_rights_are_tried_at_first_and_once_a_day_and_what_was_refused_each_minute(
    store: SiteStore, clock: FakeClock
) -> None:
    account = Account()
    account.missing = ["trigger notify"]
    controller = Controller(store, "one", [try_rights(account.refused)], lambda: clock.now().timestamp())
    look(controller, clock, 3 * RIGHTS_EVERY)
    assert account.tries == [True, False, False]
    assert account.triggers == ("notify",), "no site is repaired"
    controller.end()
    later = Controller(store, "two", [try_rights(account.refused)], lambda: clock.now().timestamp())
    account.tries.clear()
    later.look()
    clock.sleep(ALL_EVERY)
    later._held = None
    later.look()
    assert account.tries == [True, True]


def test_repair_needs_one_right_more() -> None:
    assert set(needed_rights(repairs=True).triggers) - set(needed_rights(repairs=False).triggers) == {"repair_site"}
    assert needed_rights(repairs=True).changes == needed_rights(repairs=False).changes
