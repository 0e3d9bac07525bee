"""The controller's jobs about owners: it sees who is there, asks who is idle, and tells of one that is gone or back."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Final, Protocol

from site_engine.controller.controller import Controller, Job
from site_engine.errors import AccountRefused, AirflowApiError
from site_engine.kinds import KINDS
from site_engine.monitoring.owners import AIRFLOW_INTERVAL, PROVISIONER, airflow_owner
from site_store import OwnerCheckIn

log = logging.getLogger("slipway.controller")

OWNERS_EVERY: Final = 15.0
PROVISIONERS_EVERY: Final = 30.0
"""Seconds between two questions to a provisioner that nobody else asks."""
CHANGES_EVERY: Final = 5.0
LONGEST_LOOK: Final = 5.0
"""Seconds that one look asks provisioners for at most: other jobs wait meanwhile."""
NEVER_SEEN: Final = 60.0
"""Seconds after which an owner that work is expected of, and that was never seen, counts as missing."""
_CARRY_OUT = ("scheduler", "triggerer")


class ComponentHealth(Protocol):
    """How one of Airflow's components is, by what Airflow says."""

    @property
    def problem(self) -> str | None:
        """What is wrong with it, in a sentence; None where it is well."""

    @property
    def silent_for(self) -> float:
        """Seconds since its last sign of life, 0 where Airflow does not say."""


AirflowHealth = Callable[[], Mapping[str, ComponentHealth]]
"""Asks Airflow how its components are; by their names."""
CheckProvisioner = Callable[[str], str | None]
"""Asks the provisioner of a site; returns what is wrong in a sentence, None where it answers."""


def check_owners(health: AirflowHealth) -> Job:
    """Return the job that looks at the owners of what is under way: Airflow's components, which run the actions.

    While those that carry actions out are well, the tasks of every kind of action are there (rule 30). They were last
    seen when the most silent of these gave its sign of life: Airflow calls a dead one healthy for a while.
    """

    def work(controller: Controller) -> None:
        found = health()
        for component, its_health in found.items():
            controller.note(f"airflow: {component}", its_health.problem)
        needed = [found[component] for component in _CARRY_OUT if component in found]
        if "scheduler" in found and all(each.problem is None for each in needed):
            silent_for = max(each.silent_for for each in needed)
            for kind in KINDS:
                held = controller.lease()
                controller.store.owners.check_in(airflow_owner(kind), AIRFLOW_INTERVAL, ago=silent_for, held=held)

    return Job("airflow: api-server", OWNERS_EVERY, work)


def check_provisioners(check: CheckProvisioner) -> Job:
    """Return the job that asks provisioners whether they answer.

    Each site's is asked at its interval, unless it has answered anybody lately: an idle site is not unresponsive
    (rule 30). One look asks for `LONGEST_LOOK` at most, those first that were asked longest ago, and of those that did
    not answer in time the last.
    """
    asked: dict[str, float] = {}
    slow: set[str] = set()
    failed: dict[str, AirflowApiError] = {}

    def work(controller: Controller) -> bool:
        began = controller.monotonic()
        due = _due(controller, asked)
        for site in sorted(due, key=lambda site: (site in slow, asked.get(site, 0.0))):
            asked[site] = controller.monotonic()
            slow.discard(site)
            failed.pop(site, None)
            controller.lease()
            try:
                problem = check(site)
            except AccountRefused:
                asked.clear()
                raise
            except AirflowApiError as error:
                # Of this provisioner nothing is known; the others may be heard.
                failed[site] = error
            else:
                controller.note(f"provisioner of site {site}", problem)
            if controller.monotonic() - asked[site] > LONGEST_LOOK:
                slow.add(site)
            if controller.monotonic() - began > LONGEST_LOOK:
                break
        job.failures = job.refusals = 0
        controller.note(job.subject, _not_checked(failed))
        # Not judged by this: each site has its own pause.
        return False

    job = Job("provisioners", CHANGES_EVERY, work)
    return job


def _due(controller: Controller, asked: Mapping[str, float]) -> list[str]:
    """Return the sites whose provisioner is to be asked now; of the others it is noted that they have answered."""
    now, owners, works = controller.store.owners.all()
    known = {owner.name: owner for owner in owners}
    expected: dict[str, set[str]] = {}
    for work in works:
        if work.owner.startswith(PROVISIONER):
            expected.setdefault(work.site, set()).add(work.owner)
    due = []
    for site, stopped in controller.store.site_stops.of_sites().items():
        if stopped:
            continue
        of_site = [known.get(name) for name in expected.get(site, ())]
        # A site that is moving from one provisioner to another waits for both.
        if of_site and all(owner is not None and _is_fresh(owner, now) for owner in of_site):
            controller.note(f"provisioner of site {site}", None)
            continue
        halves = [owner.interval_seconds / 2 for owner in of_site if owner is not None and owner.interval_seconds > 0]
        if site not in asked or controller.monotonic() - asked[site] >= min(PROVISIONERS_EVERY, *halves, 1e9):
            due.append(site)
    return due


def _is_fresh(owner: OwnerCheckIn, now: datetime) -> bool:
    return (now - owner.last_seen).total_seconds() < owner.interval_seconds / 2


def _not_checked(failed: Mapping[str, AirflowApiError]) -> str | None:
    if not failed:
        return None
    site, first = next(iter(failed.items()))
    more = f", nor are {len(failed) - 1} more" if len(failed) > 1 else ""
    return f"the provisioner of site {site} is not checked{more}: {first}"


def watch_owners() -> Job:
    """Return the job that notes who is not there any more, and who is again, and has it told (`outbox`)."""
    led_since: dict[int, datetime] = {}
    missed: dict[str, float] = {}

    def work(controller: Controller) -> None:
        held, store = controller.lease(), controller.store
        if held.epoch not in led_since:
            # Nobody has looked while nobody led.
            led_since.clear()
            missed.clear()
            led_since[held.epoch] = store.now()
        _, seen, works = store.owners.all()
        unknown = {work.owner for work in works}.difference(owner.name for owner in seen)
        for gone in set(missed) - unknown:
            del missed[gone]
        for name in unknown:
            missed.setdefault(name, controller.monotonic())
        overdue = [name for name, since in missed.items() if controller.monotonic() - since > NEVER_SEEN]
        changes = store.owners.note_changes(held, led_since[held.epoch], overdue)
        for site, shown in store.watches.note(held, led_since[held.epoch]).items():
            log.warning("Watching of site %s is %s: %s.", site, shown.status, shown.message)
        for name in changes.unresponsive:
            log.warning("%s is unresponsive.", name)
        for name in changes.back:
            log.info("%s is back.", name)

    return Job("owners", CHANGES_EVERY, work)
