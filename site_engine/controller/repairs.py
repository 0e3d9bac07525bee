"""The controller's job that repairs nodes: what drifted or failed is deployed anew, as the site allows (rule 57).

It decides from the store alone. Slipway's API starts the action, which has the safeguards of every other.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Final, Protocol

from site_engine.controller.controller import Controller, Job, each_site
from site_engine.errors import AccountRefused, AirflowApiError, AirflowRefused
from site_engine.node_lists import last_conditions, nodes_without_power
from site_engine.node_states.drift_watch import read_stated
from site_store import Lease, SiteStore
from site_store.nodes.ailing import AilingNode
from site_store.nodes.repairs import BegunRepair
from site_store.nodes.tries import jitter_of
from strategy_lib.node_condition import NodeCondition
from strategy_lib.node_states.repair import (
    HOUR,
    POWER_IS_OFF,
    Patient,
    Remedy,
    RepairMode,
    Tries,
    decide_repair,
    repair_run_id,
    repairs_due,
    retry_delay,
)
from strategy_lib.parsing.site_settings import SiteSettings

log = logging.getLogger("slipway.controller")

REPAIR_EVERY: Final = 5.0
"""Seconds between two looks at all sites."""
REPAIR_KIND: Final = "repair_site"
POWER_ON_PATIENCE: Final = timedelta(minutes=10)
"""For so long a node that was powered on may take until its drift has ended."""
_SAID: Final = {
    Remedy.DEPLOY: "it would be deployed anew",
    Remedy.REDEPLOY: "it would be destroyed and deployed anew",
    Remedy.POWER_ON: "it would be powered on",
}


class StartRepair(Protocol):
    """Starts the action that repairs nodes, and returns its id; the same run is started once.

    Raises `EngineError`: none was started, or it is not known.
    """

    def __call__(
        self, site: str, run_id: str, nodes: Sequence[str], *, redeploy: bool, revision: int, held: Lease
    ) -> str:
        """Start it for this revision, for the controller that holds this lease."""


class PowerOn(Protocol):
    """Powers nodes of a site on, and returns why others were not; twice, it comes to the same.

    Raises `EngineError`: nothing was done, or it is not known.
    """

    def __call__(self, site: str, run_id: str, nodes: Sequence[str], *, held: Lease) -> Mapping[str, str]:
        """Do it, for the controller that holds this lease."""


@dataclass(frozen=True, slots=True)
class Remedies:
    """What carries repairs out.

    `power_on`: None where nothing is powered on.
    """

    start: StartRepair
    power_on: PowerOn | None = None


@dataclass
class Monitored:
    """Which nodes of sites are monitored. Designs are read when somebody asks, each revision once."""

    store: SiteStore
    _known: dict[str, tuple[int, frozenset[str]]] = field(default_factory=dict)

    def without(self, site: str) -> frozenset[str]:
        """Return the nodes of a site that are not, and so not repaired: they or their groups say `monitor: false`."""
        return self._of_nodes(site) | self.store.site_groups.unmonitored(site)

    def _of_nodes(self, site: str) -> frozenset[str]:
        revision = self.store.site_views.pulse(site).revision
        number, names = self._known.get(site, (0, frozenset()))
        if number != revision:
            stated = read_stated(self.store, site, revision)
            names = frozenset(name for name, node in stated.items() if not node.monitored)
            self._known[site] = (revision, names)
        return names


def repair_nodes(remedies: Remedies) -> Job:
    """Return the job that repairs the nodes of all sites, each as its settings say."""
    monitored: list[Monitored] = []

    def work(controller: Controller) -> None:
        store = controller.store
        if not monitored:
            monitored.append(Monitored(store))
        sites = sorted(store.repairs.concerned())
        each_site(sites, lambda site: repair_site(store, site, remedies, controller.lease, monitored[0]))

    return Job("repairs", REPAIR_EVERY, work)


def repair_site(
    store: SiteStore, site: str, remedies: Remedies, lease: Callable[[], Lease], monitored: Monitored | None = None
) -> None:
    """Settle the repairs of a site that are over, and begin those that are due: as one action, or by their power.

    Raises `EngineError`: one could not be started; those that are over are settled first.
    """
    trouble: AirflowApiError | None = None
    for begun in store.repairs.under_way(site):
        if begun.powers_on:
            ended = store.repairs.settle_powered_on(lease(), site, begun.run_id, POWER_ON_PATIENCE)
            for name, result in ended.items():
                log.info("Node %s of site %s was powered on: %s.", name, site, result)
        elif begun.action_id is None:
            # This process, or the one before it, ended in between: the same run is not started twice.
            try:
                _start(store, site, begun, remedies.start, lease)
            except AccountRefused:
                raise
            except AirflowApiError as error:
                trouble = trouble or error
        elif store.actions.get(begun.action_id).state.is_end:
            for name, result in store.repairs.settle(lease(), site, begun.action_id).items():
                log.info("The repair of node %s of site %s ended: %s.", name, site, result)
    if trouble is not None:
        raise trouble
    settings = store.revisions.settings(site)
    # Before the nodes are read: what is committed in between is not deployed by a repair.
    newest = store.site_views.pulse(site).revision
    if settings.repair is RepairMode.OFF or store.repair_switches.of_site(site) is not None:
        return
    ailing = store.repairs.ailing(site)
    if ailing:
        _begin(store, site, newest, settings, ailing, remedies, lease, monitored or Monitored(store))


def _begin(
    store: SiteStore,
    site: str,
    newest: int,
    settings: SiteSettings,
    ailing: Sequence[AilingNode],
    carrying_out: Remedies,
    lease: Callable[[], Lease],
    monitored: Monitored,
) -> None:
    conditions, read_at = last_conditions(store, site)
    if read_at is None:
        return
    is_asked = any(one.drifted and conditions.get(one.name) is NodeCondition.DEPLOYED for one in ailing)
    off = nodes_without_power(store, site) if is_asked else {}
    remedies: dict[str, Remedy] = {}
    observed: dict[AilingNode, str] = {}
    for one in ailing:
        if one.under_way:
            continue
        can_power_on = carrying_out.power_on is not None and off.get(one.name, False)
        found = decide_repair(_patient(one, conditions, off), settings.repair, can_power_on=can_power_on)
        if one.is_updates and found.remedy is not Remedy.POWER_ON:
            continue
        if found.only_observed and not one.observed:
            which = f" for revision {one.revision}" if one.revision is not None else ""
            what = _SAID[found.remedy] + (which if found.remedy is not Remedy.POWER_ON else "")
            observed[one] = f"repair only observes: {what}, as it {_as_clause(one.error)}"
        elif found.remedy is not Remedy.NOTHING and not found.only_observed:
            remedies[one.name] = found.remedy
    if not observed and (not remedies or store.locks.owner(site) is not None):
        return
    unwatched = monitored.without(site)
    said = {one: text for one, text in observed.items() if one.name not in unwatched}
    if said:
        store.repairs.observe(lease(), site, said)
    waiting = {one.name: one for one in ailing if one.name in remedies and one.name not in unwatched}
    now = store.now().timestamp()
    begun = [at.timestamp() for at in store.repairs.begun_since(site, timedelta(seconds=HOUR))]
    tries = [(name, _tries(site, one)) for name, one in waiting.items()]
    due = [waiting[name] for name in repairs_due(tries, begun, settings.max_repairs_per_hour, now)]
    dark = [one for one in due if remedies[one.name] is Remedy.POWER_ON]
    if dark and carrying_out.power_on is not None:
        _power_on(store, site, dark, carrying_out.power_on, lease)
    due = [one for one in due if one not in dark]
    if not due:
        return
    if any(not other.powers_on for other in store.repairs.under_way(site)):
        return
    # An action brings about one revision: the others are due when it is over.
    older = due[0].revision
    due = [one for one in due if one.revision == older]
    revision = newest if older is None else older
    run_id = repair_run_id(site, {one.name: (one.cause, one.attempts + 1) for one in due})
    redeploy = any(remedies[one.name] is Remedy.REDEPLOY for one in due)
    if store.repairs.begin(lease(), site, run_id, due, redeploy=redeploy, revision=revision):
        repair = BegunRepair(run_id, tuple(one.name for one in due), redeploy, None, revision)
        _start(store, site, repair, carrying_out.start, lease)


def _power_on(
    store: SiteStore, site: str, nodes: Sequence[AilingNode], power_on: PowerOn, lease: Callable[[], Lease]
) -> None:
    """Power nodes on. What is lost on the way is a failure after a time, and another attempt."""
    run_id = repair_run_id(site, {one.name: (one.cause, one.attempts + 1) for one in nodes}, power_on=True)
    if not store.repairs.begin(lease(), site, run_id, nodes, redeploy=False):
        return
    names = [one.name for one in nodes]
    try:
        refused = power_on(site, run_id, names, held=lease())
    except AirflowRefused as error:
        # An attempt. Where no answer came, it may be done: a look tells.
        store.repairs.refused(lease(), site, run_id, str(error))
        raise
    store.repairs.powered_on(lease(), site, run_id, refused)
    on = [name for name in names if name not in refused]
    log.info("Site %s: %d nodes powered on: %s; %d refused.", site, len(on), ", ".join(on), len(refused))


def _start(store: SiteStore, site: str, begun: BegunRepair, start: StartRepair, lease: Callable[[], Lease]) -> None:
    """Start a repair, or learn that it has started: an answer that was lost, or came late, is looked up by its key.

    Raises `AirflowApiError`: there is none (yet). Unless it was refused, the same one is asked for at the next look.
    """
    run_id, nodes = begun.run_id, begun.nodes
    action_id = _begun(store, run_id)
    if action_id is None:
        try:
            action_id = start(site, run_id, nodes, redeploy=begun.redeploy, revision=begun.revision, held=lease())
        except AccountRefused:
            raise
        except AirflowApiError as error:
            action_id = _begun(store, run_id)
            if action_id is None:
                if isinstance(error, AirflowRefused):
                    store.repairs.refused(lease(), site, run_id, str(error))
                raise
    store.repairs.started(lease(), site, run_id, action_id)
    log.info("Action %s repairs %s of site %s for revision %s.", action_id, ", ".join(nodes), site, begun.revision)


def _begun(store: SiteStore, run_id: str) -> str | None:
    """Return the action of a repair, None where there is none yet."""
    action = store.actions.of_run(REPAIR_KIND, run_id)
    return None if action is None else action.id


def _patient(one: AilingNode, conditions: Mapping[str, NodeCondition], off: Container[str]) -> Patient:
    condition = conditions.get(one.name, NodeCondition.NOT_LISTED)
    return Patient(
        condition,
        drifted=one.drifted,
        failed=not one.drifted,
        as_done=one.as_done,
        powered_off=one.name in off,
        lost_power=one.drift == POWER_IS_OFF,
        in_progress=one.in_progress,
    )


def _tries(site: str, one: AilingNode) -> Tries:
    """Return when a node may be repaired next: after the delays of its failures, and of repairs that came to nothing.

    One that was never tried since it drifted may be at once.
    """
    failures = max(one.failures, one.attempts)
    times = [] if one.next_try is None else [one.next_try.timestamp()]
    if one.last_end is not None:
        times.append(one.last_end.timestamp() + retry_delay(one.attempts, jitter_of(site, one.name, one.attempts)))
    return Tries(failures, max(times, default=None))


def _as_clause(error: str) -> str:
    return error if error.startswith("drifted") else f"failed: {error}"
