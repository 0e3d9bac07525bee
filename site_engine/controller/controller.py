"""The controller: one process, of all that run, which looks after what no action's own run looks after.

It holds a lease, and does its jobs one after the other, each again and again. A job that fails is tried again after
growing pauses, and the others go on meanwhile. Before each step the lease is asked for: who has lost it stops there.
While a step takes long, a thread beside it renews the lease.
Each write of a job requires the lease in its own transaction, so that one who was frozen in between writes nothing
(rule 55). What Slipway's API does for it, and what takes effect outside, is the same when it is done twice.
The jobs are made by `close_dead_actions` below, and in `owner_jobs.py`, `upkeep.py` and
`notifications.py`.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from site_engine.actions.dead_actions import AirflowRuns, reconcile_all
from site_engine.errors import AccountRefused, EngineError
from site_engine.process import repeated
from site_store import Lease, LeaseLost, SchemaNotCurrent, SiteStore, StoreError
from site_store.status.leases import CONTROLLER
from strategy_lib.actors import Registration, check_registrations

log = logging.getLogger("slipway.controller")

NAME = CONTROLLER
"""The name of its lease."""
USER = "slipway"
"""Who is named in the audits as having done what the controller does."""
AIRFLOW = "airflow"
"""The subject of the check whether Airflow answers."""

LEASE_SECONDS = 10.0
"""So long after its last renewal the lease of a controller that was killed is free."""
RENEWALS = 3
"""So often a lease is renewed in its time."""
LONGEST_STEP = 60.0
"""Seconds that one step may take, longer than any one request: the lease of who stands still for longer runs out."""
TICK = 5.0
"""Seconds between two looks of the leader."""
WAITING_SHARE = 0.2
"""Of the lease: seconds between two looks of those who wait to lead."""
DEAD_ACTIONS_EVERY = 5.0
LONGEST_PAUSE = 60.0
"""Seconds between two attempts at what keeps failing, at most."""
MOST_REFUSALS = 3
"""So often in a row a leader's account is refused before it lets another lead."""
FIRST_STAND_BACK, LONGEST_STAND_BACK = 60.0, 900.0
"""Seconds that it leaves to others then, at first and at most."""
_NOTED_EVERY = 60.0
"""Seconds after which a check that finds the same as before is noted again."""


def pause_after(failures: int) -> float:
    """Return the seconds to wait after the n-th failure in a row: 1, 2, 4, … up to `LONGEST_PAUSE`."""
    return min(LONGEST_PAUSE, 2.0 ** min(failures - 1, 10))


@dataclass(slots=True)
class Job:
    """Something that the leader does again and again.

    Attributes
    ----------
    subject : what is looked at; the check is kept under this name.
    interval : seconds between two looks; more while it fails.
    refusals : how often in a row Airflow has refused this process's account.
    work : does it, or a part of it: False where the next look goes on with the rest, and until then it is not judged.
        A `EngineError` is a failure, and its message the problem.
    """

    subject: str
    interval: float
    work: Callable[[Controller], bool | None]
    due: float = 0.0
    failures: int = 0
    refusals: int = 0


@dataclass
class Controller:
    """The loop of one process.

    Attributes
    ----------
    owner : names this process, as no other is named.
    monotonic : seconds on a clock that only goes forward.
    lease_seconds : another leads so long after the last renewal of one that was killed, and a fifth of it more.
    """

    store: SiteStore
    owner: str
    jobs: Sequence[Job]
    monotonic: Callable[[], float] = time.monotonic
    lease_seconds: float = LEASE_SECONDS
    _held: Lease | None = None
    _renewed: float = 0.0
    _asked: float = 0.0
    _leader: str | None = None
    _stands_back_until: float = 0.0
    _over: threading.Event = field(default_factory=threading.Event)
    _noted: dict[str, tuple[str | None, float]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Refuse two jobs with one check (rule 42)."""
        check_registrations(
            Registration("check", job.subject, f"{job.work.__module__}.{job.work.__qualname__} ({place})")
            for place, job in enumerate(self.jobs)
        )

    def run(self, pause: Callable[[float], bool]) -> None:
        """Look, pause, and look again, until told to stop; then give the lease up.

        Parameters
        ----------
        pause : waits for so many seconds; returns True as soon as this process is told to stop.

        Raises `SchemaNotCurrent`: the store was upgraded, and another version has to go on (rule 60).
        """
        # Twice as often as it is due: it is never older than half of its time.
        with repeated(self.prolong, self.lease_seconds / RENEWALS / 2, "controller-lease"):
            try:
                self._look_on(pause)
            finally:
                self.end()

    def _look_on(self, pause: Callable[[float], bool]) -> None:
        failures = 0
        while True:
            try:
                self.look()
                failures = 0
            except LeaseLost as error:
                self._lost(error)
            except SchemaNotCurrent:
                # Nothing that this version does will be taken any more.
                raise
            except StoreError as error:
                failures += 1
                if failures == 1:
                    log.warning("The store does not answer, trying on: %s", error)
            usual = TICK if self._held is not None else min(TICK, self.lease_seconds * WAITING_SHARE)
            if pause(pause_after(failures) if failures else usual):
                return

    def look(self) -> None:
        """Do what is due, if this process leads or can.

        Raises `LeaseLost`: another process may lead by now; `StoreError`: the store does not answer.
        """
        if not self._leads():
            return
        for job in self.jobs:
            if self._held is not None and self.monotonic() >= job.due:
                self.lease()
                self._do(job)

    def lease(self) -> Lease:
        """Return the lease of this process, renewed when it is time; jobs ask before each of their steps.

        Raises `LeaseLost`: another process may lead by now: stop here.
        """
        held = self._held
        if held is None:
            raise LeaseLost("this controller does not lead")
        self._asked = self.monotonic()
        self._renew(held)
        return held

    def prolong(self) -> None:
        """Renew the lease when it is time, while a step takes long; asked by a thread beside that which works.

        One whose step has taken `LONGEST_STEP` may never come back: its lease runs out.

        Raises `LeaseLost`: another process may lead by now, which the working thread learns at its next step.
        """
        held = self._held
        if held is not None and self.monotonic() - self._asked < LONGEST_STEP:
            self._renew(held)
            if self._held is not held:
                # It was given up while it was renewed.
                self.store.leases.give_up(held)

    def note(self, subject: str, problem: str | None) -> None:
        """Keep what was found, and log it when it is news."""
        known, at = self._noted.get(subject, (None, None))
        if problem != known:
            if problem is None:
                log.info("%s: all is well again.", subject)
            else:
                log.warning("%s: %s", subject, problem)
        if problem != known or at is None or self.monotonic() - at >= _NOTED_EVERY:
            self.store.checks.record(self.lease(), subject, problem)
            self._noted[subject] = (problem, self.monotonic())

    def end(self) -> None:
        """Let another lead at once, and lead no more; another thread may ask for it while a look is under way."""
        self._over.set()
        self.give_up()

    def give_up(self) -> None:
        """Let another lead, if this process does; it may lead again."""
        held, self._held = self._held, None
        if held is not None:
            try:
                self.store.leases.give_up(held)
            except StoreError as error:
                log.warning("The lease could not be given up, and runs out by itself: %s", error)

    def _renew(self, held: Lease) -> None:
        began = self.monotonic()
        if began - self._renewed >= self.lease_seconds / RENEWALS:
            self.store.leases.renew(held, self.lease_seconds)
            self._renewed = began

    def _leads(self) -> bool:
        if self._held is not None:
            self.lease()
            return True
        if self._over.is_set() or self.monotonic() < self._stands_back_until:
            return False
        began, taken = self.monotonic(), None
        # Who asks for it stands in the way of its owner, who is just renewing it.
        if NAME not in self.store.leases.of_others(self.owner):
            taken = self.store.leases.take(NAME, self.owner, self.lease_seconds)
        self._renewed = self._asked = began
        self._held = taken
        if self._over.is_set():
            # It was asked to end meanwhile, and may have had nothing to give back then.
            self.give_up()
            return False
        if taken is not None:
            log.info("This controller leads (%s, epoch %d).", self.owner, taken.epoch)
            self._leader = self.owner
            self._noted.clear()
            return True
        other = self.store.leases.get(NAME)
        if other is not None and other.owner != self._leader:
            log.info("Another controller leads (%s): waiting until it does not.", other.owner)
            self._leader = other.owner
        return False

    def _lost(self, error: LeaseLost) -> None:
        log.warning("This controller leads no more: %s", error)
        self._held, self._leader = None, None

    def _do(self, job: Job) -> None:
        problem: str | None = None
        try:
            if job.work(self) is False:
                job.due = 0.0
                return
            job.failures = job.refusals = 0
        except StoreError:
            raise
        except AccountRefused as error:
            problem = str(error)
            job.refusals += 1
        except EngineError as error:
            problem = str(error)
        except Exception as error:
            log.exception("%s: a look has failed, which is a defect of Slipway's", job.subject)
            problem = f"{type(error).__name__} in the controller; its log has more"
        if problem is not None:
            job.failures += 1
        self.note(job.subject, problem)
        job.due = self.monotonic() + (max(job.interval, pause_after(job.failures)) if job.failures else job.interval)
        if problem is not None and job.refusals >= MOST_REFUSALS:
            self._stand_back(job)

    def _stand_back(self, job: Job) -> None:
        """Let another lead, whose account may be a good one; then try again."""
        seconds = min(LONGEST_STAND_BACK, FIRST_STAND_BACK * 2.0 ** min(job.refusals - MOST_REFUSALS, 10))
        log.warning("This controller's account is refused: it lets another lead, and tries again in %d s.", seconds)
        self.give_up()
        self._leader = None
        self._stands_back_until = self.monotonic() + seconds
        job.due = 0.0


def each_site(sites: Iterable[str], work: Callable[[str], str | None]) -> None:
    """Do something for each site. One that fails, or of which a problem is returned, keeps no other from its turn.

    Raises `AccountRefused` at once, and `EngineError` at the end: it names the first problem.
    """
    problems = []
    for site in sites:
        try:
            problem = work(site)
        except AccountRefused:
            raise
        except EngineError as error:
            problem = str(error)
        if problem is not None:
            problems.append(f"site {site}: {problem}")
    if problems:
        more = f", and {len(problems) - 1} more sites" if len(problems) > 1 else ""
        raise EngineError(f"{problems[0]}{more}")


def close_dead_actions(airflow: AirflowRuns) -> Job:
    """Return the job that closes actions whose DAG run is over or gone, and so frees their sites (rule 24).

    A run that is gone is believed to be so at a look `GONE_TIME` after the first at the earliest.
    """
    hidden: set[str] = set()
    gone: dict[str, float] = {}

    def work(controller: Controller) -> None:
        found = reconcile_all(controller.store, airflow, USER, controller.monotonic(), gone, lease=controller.lease)
        for action in found.closed:
            log.info("Action %s of site %s is closed: %s.", action.id, action.site, action.verdict)
        for action in found.hidden:
            if action.id not in hidden:
                log.warning("Airflow shows the run of action %s (%s) not to this account.", action.id, action.dag_id)
        hidden.clear()
        hidden.update(action.id for action in found.hidden)
        gone.clear()
        gone.update(found.gone)

    return Job(AIRFLOW, DEAD_ACTIONS_EVERY, work)
