"""The controller under `slipway up`: it closes dead actions without being asked, also after kill -9."""

from __future__ import annotations

from functools import partial

from site_engine.controller.controller import NAME, USER
from site_store import ActionState, NewAction, SiteStore
from site_store.actions.abort import CLOSE
from tests.e2e.conftest import SOFTWARE_DAG
from tests.e2e.running import RunningSlipway, wait_until
from tests.integration.site_store.scenario import some
from tests.support.stores import check_results


def _over(slipway: RunningSlipway, store: SiteStore, site: str) -> str:
    """Let an action hold a site whose DAG run ends without a word to the store; return its id."""
    action = store.actions.create(NewAction(SOFTWARE_DAG, site, 1, {}, "ann", context_marker=None), exclusive=True)
    store.locks.acquire(action.id)
    slipway.airflow.wait_for_dag(SOFTWARE_DAG)
    slipway.airflow.trigger(SOFTWARE_DAG, {"site": site, "revision": 1, "action": action.id}, action.run_id)
    return action.id


def _is_closed(store: SiteStore, action_id: str) -> bool:
    return store.actions.get(action_id).state is ActionState.CANCELLED


def _is_well(store: SiteStore, subject: str) -> bool:
    return check_results(store).get(subject, "no check yet") is None


def _closes_one(slipway: RunningSlipway, store: SiteStore, site: str) -> None:
    action_id = _over(slipway, store, site)
    wait_until(partial(_is_closed, store, action_id), f"the action of site {site} is closed")
    assert store.locks.owner(site) is None
    assert [(one.command, one.user) for one in store.actions.commands(action_id)][-1] == (CLOSE, USER)


def test_a_dead_action_is_closed_by_itself_also_after_the_controller_was_killed(slipway: RunningSlipway) -> None:
    with slipway.open_store() as store:
        _closes_one(slipway, store, "dead-one")
        before = some(store.leases.get(NAME))
        slipway.kill_component("controller")
        killed = store.now()
        wait_until(lambda: some(store.leases.get(NAME)).epoch > before.epoch, "another controller leads")
        led_again = some(some(store.leases.get(NAME)).renewed)
        print(f"another controller led {(led_again - killed).total_seconds():.1f} s after the kill -9", flush=True)
        assert led_again >= before.expires_at, "no two at once"
        _closes_one(slipway, store, "dead-two")
        for subject in ("airflow", "metrics"):
            wait_until(partial(_is_well, store, subject), f"the controller finds {subject} well")


def test_the_controller_outlives_postgresql(slipway: RunningSlipway) -> None:
    before = slipway.runtime.components["controller"]
    slipway.kill_component("postgres")
    slipway.wait_healthy()
    with slipway.open_store() as store:
        action_id = _over(slipway, store, "dead-three")
        wait_until(partial(_is_closed, store, action_id), "the action is closed")
    assert slipway.runtime.components["controller"] == before
