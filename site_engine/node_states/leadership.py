"""All sites that this process leads or waits to lead: their leases, their looks, and the questions to provisioners.

One thread looks at every site, twice a second where there are few; what may take long, the questions and the checks of
nodes, is done by a few others.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Final

from site_engine.node_states.checks import OWN_CHECKS, NodeCheck
from site_engine.node_states.drift_watch import LOOK_EVERY, DriftWatch
from site_engine.node_states.leader import SiteLeader
from site_engine.node_states.node_words import NodeListener
from site_engine.node_states.polls import BUSY_SHARE, MOST_ASKED, POLL_SECONDS, Observe, Polls
from site_store import LeaseLost, SchemaNotCurrent, SiteStore, StoreError, StoreUnavailable
from site_store.nodes.site_views import Pulse
from site_store.status.leases import lease_of

log = logging.getLogger("slipway.controller")

LEASE_SECONDS: Final = 10.0
TICK: Final = 0.5
"""Seconds between two looks at a site, at least."""
LONGEST_TICK: Final = 1.0
"""Seconds between them at most, where so many sites are led that the looks would keep a processor busy."""
SITES_EVERY: Final = 1.0
"""Seconds between two looks for new sites, and for leases that are free, at most."""
ANSWER_TICK: Final = 0.1
"""Seconds between two looks while the first list of a site that was just taken over is awaited."""
RENEWALS: Final = 3
"""So often a lease is renewed in its time."""
MOST_WATCHED: Final = 2
"""At most this many sites have their nodes checked at once."""


@dataclass(slots=True)
class Watch:
    """The watch over one site's nodes: its next look, and the one that is under way."""

    drifts: DriftWatch
    due: float = 0.0
    failures: int = 0
    answer: Future[None] | None = None


@dataclass
class SiteLeaders:
    """The loop of one process over all sites.

    Attributes
    ----------
    owner : names this process, as no other is named.
    lease_seconds : a site whose leader was killed is led by another after so long.
    checks : of nodes that were done, by name.
    listener : asks nodes how they are; None: no node is asked.
    """

    store: SiteStore
    owner: str
    observe: Observe
    lease_seconds: float = LEASE_SECONDS
    monotonic: Callable[[], float] = time.monotonic
    checks: Mapping[str, NodeCheck] = field(default_factory=lambda: OWN_CHECKS)
    listener: NodeListener | None = None
    _led: dict[str, SiteLeader] = field(default_factory=dict)
    _renewed: dict[str, float] = field(default_factory=dict)
    _watches: dict[str, Watch] = field(default_factory=dict)
    _stopped: frozenset[str] = frozenset()
    _sites_due: float = 0.0
    _away: bool = False
    _is_over: bool = False

    def __post_init__(self) -> None:
        """Begin with no question."""
        self._polls = Polls(self.observe, self.monotonic)

    def run(self, pause: Callable[[float], bool]) -> None:
        """Look again and again, until told to stop; then let others lead.

        Parameters
        ----------
        pause : waits for so many seconds; returns True as soon as this process is told to stop.
        """
        pool = ThreadPoolExecutor(MOST_ASKED, thread_name_prefix="observe")
        watchers = ThreadPoolExecutor(MOST_WATCHED, thread_name_prefix="watch")
        try:
            while True:
                began = self.monotonic()
                self.look(pool, watchers)
                took = self.monotonic() - began
                if pause(self._rest(took)):
                    return
        finally:
            for threads in (pool, watchers):
                threads.shutdown(wait=False, cancel_futures=True)
            for leader in list(self._led.values()):
                self._give_up(leader)

    def end(self) -> None:
        """Let others lead at once, asked for by another thread: what is still under way here writes nothing more."""
        self._is_over = True
        for leader in list(self._led.values()):
            self._give_back(leader)

    def look(self, pool: ThreadPoolExecutor, watchers: ThreadPoolExecutor | None = None) -> None:
        """Take leases that are free, and look at each site that this process leads. What fails is tried again.

        Parameters
        ----------
        pool, watchers : threads that ask provisioners, and that check nodes; None: nodes are not checked.

        Raises `SchemaNotCurrent`: the store was upgraded, and another version has to go on (rule 60).
        """
        try:
            if self.monotonic() >= self._sites_due:
                self._take_free()
                self._sites_due = self.monotonic() + min(SITES_EVERY, self.lease_seconds / 5)
            self._renew_due()
            pulses, read = self.store.site_views.pulses(tuple(self._led)), self.monotonic()
            for leader in list(self._led.values()):
                # Where the looks before it took long it reads its own, which is a new one.
                is_fresh = self.monotonic() - read < TICK / 2
                self._look_at(leader, pulses.get(leader.site) if is_fresh else None)
            self._polls.ask(self._led.values(), pulses, pool)
            if watchers is not None:
                for leader in self._led.values():
                    self._watch(leader, watchers, pulses.get(leader.site))
            if self._away:
                log.info("The store answers again.")
                self._away = False
        except SchemaNotCurrent:
            raise
        except StoreError as error:
            if not self._away:
                log.warning("The store does not answer, trying on: %s", error)
                self._away = True

    def _rest(self, took: float) -> float:
        """Return the seconds until the next look; soon where a list is awaited without which nothing is published."""
        awaited = any(not one.is_ready and self._polls.is_asked(one.site) for one in self._led.values())
        # However long a look takes, leases are renewed in time.
        longest = self.lease_seconds / (2 * RENEWALS)
        usual = ANSWER_TICK if awaited else min(TICK, longest)
        return max(usual - took, min(took * (1 / BUSY_SHARE - 1), LONGEST_TICK, longest))

    def led(self) -> tuple[str, ...]:
        """Return the sites that this process leads."""
        return tuple(sorted(self._led))

    def _take_free(self) -> None:
        sites = self.store.site_stops.of_sites()
        stopped = frozenset(site for site, why in sites.items() if why)
        for site in sorted(stopped - self._stopped):
            if site in self._led:
                log.info("This controller leads site %s no more: it is stopped.", site)
                self._give_up(self._led[site])
            # By now nobody who led it writes any more.
            self.store.site_stops.settle(site)
        self._stopped = stopped
        others = self.store.leases.of_others(self.owner)
        for site in sites:
            if self._is_over or site in self._led or site in stopped or lease_of(site) in others:
                continue
            began = self.monotonic()
            held = self.store.leases.take(lease_of(site), self.owner, self.lease_seconds)
            if held is None:
                continue
            log.info("This controller leads site %s (%s, epoch %d).", site, self.owner, held.epoch)
            took = self.store.now().timestamp()
            self._led[site] = SiteLeader(self.store, site, held, took, self._renew, self.listener)
            self._renewed[site] = began
            self._watches[site] = Watch(DriftWatch(self.store, site, self.checks, self.monotonic))

    def _look_at(self, leader: SiteLeader, pulse: Pulse | None) -> None:
        site = leader.site
        try:
            self._renew(leader)
            leader.look(pulse)
        except LeaseLost as error:
            log.warning("This controller leads site %s no more: %s", site, error)
            self._forget(site)
        except (StoreUnavailable, SchemaNotCurrent):
            raise
        except Exception:
            log.exception("A look at site %s has failed, which is a defect of Slipway's.", site)

    def _renew_due(self) -> None:
        """Prolong all leases in one statement, before it is time for one of them in the middle of the looks."""
        began, third = self.monotonic(), self.lease_seconds / RENEWALS
        if not any(began - renewed >= third * 0.75 for renewed in self._renewed.values()):
            return
        # Those that are due soon, too: after that they are all due together.
        soon = [one for one in self._led.values() if began - self._renewed[one.site] >= third / 2]
        kept = self.store.leases.renew_all([one.held for one in soon], self.lease_seconds)
        for leader in soon:
            held = kept.get(leader.held.name)
            # Any other is asked for by itself, when its site is looked at.
            if held is not None:
                leader.held, self._renewed[leader.site] = held, began

    def _renew(self, leader: SiteLeader) -> None:
        """Prolong a lease of which a third is over; also in the middle of a look at a very large site."""
        began = self.monotonic()
        if began - self._renewed[leader.site] >= self.lease_seconds / RENEWALS:
            leader.held = self.store.leases.renew(leader.held, self.lease_seconds)
            self._renewed[leader.site] = began

    def _watch(self, leader: SiteLeader, pool: ThreadPoolExecutor, pulse: Pulse | None) -> None:
        """Have the nodes of a site checked again, once the last look is over."""
        watch, now = self._watches[leader.site], self.monotonic()
        if watch.answer is not None:
            if not watch.answer.done():
                return
            problem, watch.answer = watch.answer.exception(), None
            # The rest of very many nodes is looked at as soon as the others had their turn.
            usual = 0.0 if watch.drifts.is_amid else LOOK_EVERY
            watch.due = now + (POLL_SECONDS if problem is not None else usual)
            watch.failures = watch.failures + 1 if problem is not None else 0
            if watch.failures == 1 and isinstance(problem, StoreError):
                log.warning("The nodes of site %s are not checked: %s", leader.site, problem)
            elif watch.failures == 1:
                log.error("A check of the nodes of site %s has failed.", leader.site, exc_info=problem)
        if leader.is_ready and now >= watch.due and pulse is not None and watch.drifts.is_due(pulse):
            watch.answer = pool.submit(watch.drifts.look, leader.held, pulse, leader.listed(pulse.listed))

    def _give_up(self, leader: SiteLeader) -> None:
        self._forget(leader.site)
        self._give_back(leader)

    def _give_back(self, leader: SiteLeader) -> None:
        try:
            self.store.leases.give_up(leader.held)
        except StoreError as error:
            log.warning("The lease of site %s could not be given up, and runs out: %s", leader.site, error)

    def _forget(self, site: str) -> None:
        self._polls.forget(site)
        if self.listener is not None:
            self.listener.forget(site)
        for known in (self._led, self._renewed, self._watches):
            known.pop(site, None)
