"""When the provisioners of sites are asked how the nodes are: all sites of one together, since one moment.

So one list serves them all, where the provisioner gives all its nodes at once. It is then left alone for nine times as
long as that took, and a minute at most. What is new to this process, or a person has changed, is asked for at once.
"""

from __future__ import annotations

import logging
import math
from collections import defaultdict
from collections.abc import Callable, Collection, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final

from site_engine.errors import EngineError
from site_engine.node_states.leader import SiteLeader
from site_store import Lease
from site_store.nodes.site_views import Pulse

log = logging.getLogger("slipway.controller")

POLL_SECONDS: Final = 5.0
"""Seconds between two questions to a provisioner, at least."""
BUSY_SHARE: Final = 0.1
"""A provisioner is busy with our questions for this share of its time at most; looks keep a processor as busy."""
LONGEST_REST: Final = 60.0
"""Seconds for which a provisioner is left alone at most, however long it took to answer."""
BACK_OFF: Final = (0.1, 0.25, 1.0, 5.0)
"""Seconds to wait after so many failed questions in a row."""
MOST_ASKED: Final = 8

Observe = Callable[[str, "Lease", str | None, datetime], str | None]
"""Has the provisioner of a site asked for what has changed since its last answer, or for its whole list; the list is
kept in the store. Is given, and gives, what the last answer was; a list that anybody has asked for after the moment, by
the database's clock, serves. Raises `EngineError`: it has no list."""


def pause_after(failures: int) -> float:
    """Return the seconds to wait after the n-th failed question in a row."""
    return BACK_OFF[min(failures, len(BACK_OFF)) - 1]


@dataclass(slots=True)
class Poll:
    """The questions about one site.

    Attributes
    ----------
    provisioner : the one that was asked last, as far as it is known.
    since : the database's time since when a list is needed, None while none is.
    cursor : what the last answer was; None: the next question is about all nodes, as for each new leader.
    asked, answered : when the last question began, and when it was over, on the loop's clock.
    failures : how many failed in a row.
    users : what administrators had set when it was asked last.
    answer : of the present question, None while there is none.
    """

    provisioner: str = ""
    since: datetime | None = None
    cursor: str | None = None
    asked: float = -math.inf
    answered: float = 0.0
    failures: int = 0
    users: tuple[object, ...] | None = None
    answer: Future[None] | None = None

    @property
    def is_new(self) -> bool:
        """Whether nothing was ever asked about the site: this process leads it since a moment ago."""
        return self.asked == -math.inf


@dataclass(slots=True)
class Round:
    """The questions to one provisioner about all its sites.

    Attributes
    ----------
    due : when they are asked next, on the loop's clock.
    began : when the present ones were asked; None: there are none.
    failures : how many rounds in a row had no answer.
    answers : how many questions of the present round were answered.
    """

    due: float = 0.0
    began: float | None = None
    failures: int = 0
    answers: int = 0

    def end(self, answered: float, sites: int) -> None:
        """Settle when the next round is: so that the provisioner is not kept busy, and soon after a failure.

        Parameters
        ----------
        answered : when the last answer was there.
        sites : how many the provisioner has. While it fails one of them is asked about, and the others once it is back.
        """
        took, self.began = answered - (self.began or 0.0), None
        if not self.answers:
            self.failures += 1
            self.due = answered + pause_after(self.failures)
            return
        rest = min(took * (1 / BUSY_SHARE - 1), LONGEST_REST)
        self.due = answered if self.failures and sites > 1 else answered + max(POLL_SECONDS - took, rest)
        self.failures = self.answers = 0


@dataclass
class Polls:
    """The questions of one process about all sites that it leads.

    Attributes
    ----------
    monotonic : seconds on a clock that only goes forward.
    """

    observe: Observe
    monotonic: Callable[[], float]
    _polls: defaultdict[str, Poll] = field(default_factory=lambda: defaultdict(Poll))
    _rounds: dict[str, Round] = field(default_factory=dict)

    def is_asked(self, site: str) -> bool:
        """Whether an answer about a site is awaited."""
        return self._polls[site].answer is not None

    def forget(self, site: str) -> None:
        """Ask about a site no more: another process leads it. An answer that is awaited is dropped."""
        self._polls.pop(site, None)

    def ask(self, leaders: Collection[SiteLeader], pulses: Mapping[str, Pulse], pool: ThreadPoolExecutor) -> None:
        """Take in what was answered, and ask what is due.

        Parameters
        ----------
        leaders : of the sites.
        pulses : of these sites, read a moment ago.
        pool : threads that ask.
        """
        sites: defaultdict[str, list[SiteLeader]] = defaultdict(list)
        for leader in leaders:
            sites[self._provisioner(leader)].append(leader)
        for gone in self._rounds.keys() - sites.keys():
            del self._rounds[gone]
        # Those that have waited longest come first: there are more sites than threads.
        for name in sorted(sites, key=lambda one: self._rounds[one].due):
            self._go_on(name, sites[name], pulses, pool)

    def _provisioner(self, leader: SiteLeader) -> str:
        """Return which provisioner a site has: until it has listed its nodes nobody knows."""
        poll = self._polls[leader.site]
        known = leader.provisioner or f"of site {leader.site}"
        if poll.answer is not None:
            return poll.provisioner
        if known not in self._rounds:
            before = self._rounds.get(poll.provisioner)
            self._rounds[known] = Round() if before is None else Round(before.due)
        return known

    def _go_on(
        self, provisioner: str, leaders: list[SiteLeader], pulses: Mapping[str, Pulse], pool: ThreadPoolExecutor
    ) -> None:
        this, now = self._rounds[provisioner], self.monotonic()
        polls = [self._polls[leader.site] for leader in leaders]
        for leader, poll in zip(leaders, polls, strict=True):
            if poll.answer is not None and poll.answer.done():
                this.answers += _settle(leader.site, poll, poll.answer.exception())
        is_open = any(poll.answer is not None for poll in polls)
        if this.began is not None and not is_open:
            # Not from now on, which is a tick later: that would be a slower pace than is told.
            began, answers = this.began, this.answers
            this.end(max(poll.answered for poll in polls), len(polls))
            if answers and not this.failures:
                for leader in leaders:
                    leader.note_pace(this.due - began)
        if this.failures:
            due = min(leaders, key=lambda one: self._polls[one.site].asked)
            wanted = [] if is_open or now < this.due else [due]
        elif is_open:
            wanted = [one for one in leaders if self._polls[one.site].is_new]
        elif now >= this.due or any(self._is_wanted(one, pulses, now) for one in leaders):
            wanted = leaders
        else:
            wanted = []
        for leader in wanted:
            poll = self._polls[leader.site]
            if poll.failures and self._failing() >= MOST_ASKED // 2:
                # Those that do not answer may take long for that: the others are not kept waiting.
                continue
            pulse = pulses.get(leader.site)
            taken = datetime.fromtimestamp(leader.took, UTC)
            poll.since = poll.since or (taken if poll.is_new or pulse is None else pulse.now)
            poll.users = None if pulse is None else pulse.users
            poll.provisioner, poll.asked = provisioner, now
            this.began = now if this.began is None else this.began
            poll.answer = pool.submit(self._observe, poll, leader, poll.since)

    def _is_wanted(self, leader: SiteLeader, pulses: Mapping[str, Pulse], now: float) -> bool:
        """Whether a site is looked at at once: this process has just got it, or a person has set states of nodes."""
        poll, pulse = self._polls[leader.site], pulses.get(leader.site)
        is_other = pulse is not None and poll.users is not None and pulse.users != poll.users
        return poll.is_new or (is_other and now - poll.asked >= POLL_SECONDS)

    def _failing(self) -> int:
        return sum(1 for poll in self._polls.values() if poll.failures and poll.answer is not None)

    def _observe(self, poll: Poll, leader: SiteLeader, since: datetime) -> None:
        try:
            poll.cursor = self.observe(leader.site, leader.held, poll.cursor, since)
        finally:
            poll.answered = self.monotonic()


def _settle(site: str, poll: Poll, problem: Any) -> bool:
    """Take in how a question has ended; return whether it was answered."""
    if isinstance(problem, EngineError):
        if poll.failures == 0:
            log.warning("The nodes of site %s keep their states: %s", site, problem)
    elif problem is not None:
        log.error("A question to the provisioner of site %s has failed.", site, exc_info=problem)
    elif poll.failures:
        log.info("The provisioner of site %s lists its nodes again.", site)
    poll.answer = None
    if problem is None:
        poll.failures, poll.since = 0, None
        return True
    # A list that was asked for meanwhile serves as soon as it is there.
    poll.failures += 1
    return False
