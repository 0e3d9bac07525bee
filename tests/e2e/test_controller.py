"""The controller under `slipway up`: it closes dead actions without being asked, also after kill -9."""

from __future__ import annotations

from functools import partial

from sqlalchemy import Connection, Update

from site_engine.controller.controller import NAME, USER
from site_store import ActionState, NewAction, SiteStore
from site_store.actions.abort import CLOSE
from site_store.sql.postgresql import database_time
from site_store.tables import lease
from tests.e2e.conftest import SOFTWARE_DAG
from tests.e2e.running import RunningSlipway, wait_until
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


def _end_of_lease(tx: Connection) -> Update:
    """Return what lets the lease of the controller that leads end now."""
    return lease.update().where(lease.c.name == NAME).values(expires_at=database_time(tx))


def test_a_dead_action_is_closed_by_itself_also_after_the_controller_was_killed(slipway: RunningSlipway) -> None:
    with slipway.open_store() as store:
        epochs = []
        for site in ("dead-one", "dead-two"):
            action_id = _over(slipway, store, site)
            wait_until(partial(_is_closed, store, action_id), f"the action of site {site} is closed")
            assert store.locks.owner(site) is None
            assert [(one.command, one.user) for one in store.actions.commands(action_id)][-1] == (CLOSE, USER)
            held = store.leases.get(NAME)
            assert held is not None
            epochs.append(held.epoch)
            if site == "dead-one":
                slipway.kill_component("controller")
                # As if the rest of the minute had gone by.
                store._database.write(lambda tx: tx.execute(_end_of_lease(tx)))
        assert epochs[0] < epochs[1]
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
