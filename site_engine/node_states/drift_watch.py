"""The watch over nodes of one site that were done: checks look, two looks in a row make a drift (rules 51 and 56).

It runs in a thread beside the leader's, with the leader's lease: its own checks and those of other packages may take
their time, and no version waits for them.
"""

from __future__ import annotations

import json
import logging
import math
import time
from collections.abc import Callable, Mapping, Set
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

from design_rendering.kinds.nodes import StatedNode, stated_nodes
from provisioner_client.protocol import NO_ADDRESSES
from site_engine.designs import read_revision
from site_engine.errors import EngineError
from site_engine.node_states.checks import OWN_CHECKS, CheckedNode, Listed, NodeCheck, Suspects
from site_store import KeyMissing, Lease, SiteStore
from site_store.nodes.drifts import FoundDrift, JudgedNode
from site_store.nodes.site_views import Pulse
from site_store.status.leases import DESIGN
from strategy_lib.errors import StrategyLibError
from strategy_lib.node_condition import NodeCondition
from strategy_lib.node_states.repair import LOOKS, Drift, drift_status

log = logging.getLogger("slipway.controller")

MOST_READ: Final = 20_000
"""At most this many nodes of a list are read in one look; the others follow."""
MOST_JUDGED: Final = 5_000
"""At most this many nodes are judged in one look."""
LOOK_EVERY: Final = 1.0
"""Seconds between two looks whether there is anything to check."""
TOLD_EVERY: Final = 60.0
"""Seconds after which it is looked at what is to be told, though nothing was written."""
_CONDITIONS: Final = {condition.value: condition for condition in NodeCondition}
_NO_DRIFT: Final = Drift()
_NO_LOOKS: Final[Mapping[str, Drift]] = {}


@dataclass(slots=True)
class _Round:
    """One look of checks at all nodes, which may take several steps.

    Attributes
    ----------
    due : the checks.
    key : of all that is looked at, as it was at the beginning.
    listed_at : when the list was asked for that there was then.
    left : the nodes that are to be judged yet; None: it is not known which.
    """

    due: list[str]
    key: tuple[object, ...]
    listed_at: datetime | None
    left: list[str] | None = None


@dataclass(frozen=True, slots=True)
class _Looks:
    """What the checks have found of a node that is not well: since its operation `op`, and in which list last."""

    op: int | None
    listed_at: datetime | None
    found: Mapping[str, Drift]


@dataclass
class DriftWatch:
    """The checks of one site, from look to look. What it has seen once only is forgotten with its process.

    Attributes
    ----------
    checks : by name.
    monotonic : seconds on a clock that only goes forward.
    most_read, most_judged : nodes of a list that are read, and nodes that are judged, in one look at most.
    """

    store: SiteStore
    site: str
    checks: Mapping[str, NodeCheck] = field(default_factory=lambda: OWN_CHECKS)
    monotonic: Callable[[], float] = time.monotonic
    most_read: int = MOST_READ
    most_judged: int = MOST_JUDGED
    _due: dict[str, float] = field(default_factory=dict)
    _listed_at: datetime | None = None
    _looks: dict[str, _Looks] = field(default_factory=dict)
    _round: _Round | None = None
    _revision: int = 0
    _stated: Mapping[str, StatedNode] = field(default_factory=dict)
    _found: tuple[object, ...] | None = None
    _until: float = -math.inf
    _unwatched: frozenset[str] = frozenset()
    _suspects: Suspects = field(default_factory=Suspects)
    _changes: int = -1
    _told: float = -math.inf
    _broken: set[str] = field(default_factory=set)
    _noted: str | None = ""

    @property
    def is_amid(self) -> bool:
        """Whether there are nodes left of a look that was begun."""
        return self._round is not None

    def is_due(self, pulse: Pulse) -> bool:
        """Whether there is anything to do; asks nobody."""
        return self.is_amid or bool(self._due_now(pulse.listed_at)) or self._may_tell(pulse)

    def look(self, held: Lease, pulse: Pulse | None = None, listed: Listed | None = None) -> None:
        """Tell of nodes in trouble, and do the checks that are due; where there are very many nodes, for some of them.

        Parameters
        ----------
        pulse : of the site, where it was read just now.
        listed : what the provisioner says of each node, where the caller has read the list that the pulse tells of.

        Raises `LeaseLost`: another process may lead by now; `StoreError`: the store does not answer.
        """
        pulse = pulse or self.store.site_views.pulse(self.site)
        due = [] if self.is_amid else self._due_now(pulse.listed_at)
        if due:
            key = (pulse.listed, pulse.changes, pulse.revision, pulse.users)
            self._round = _Round(due, key, pulse.listed_at)
            # The same nodes, and the same is said of them: all would be found as it was, unless a first look is to be
            # followed by a second one.
            if not self._is_own or key != self._found or pulse.now.timestamp() >= self._until:
                self.store.drifts.close_others(held, self.site)
                self._until = self._next_end(pulse.now)
            else:
                self._round.left = []
        if self._round is not None:
            if self._go_on(self._round, held, pulse, listed):
                self._end(self._round)
            # What was just found is told at once.
            pulse = self.store.site_views.pulse(self.site)
        if self._may_tell(pulse):
            self.store.node_troubles.tell(held, self.site)
            self._changes, self._told = pulse.changes, self.monotonic()

    @property
    def _is_own(self) -> bool:
        """Whether Slipway's own check is alone: there are nodes of which it can only find that all is well."""
        return self.checks.keys() == OWN_CHECKS.keys()

    def _go_on(self, this: _Round, held: Lease, pulse: Pulse, listed: Listed | None) -> bool:
        """Judge the next nodes; return whether those were the last."""
        if this.left == []:
            return True
        said = self._list() if listed is None else listed
        self._read_design(held, pulse.revision)
        if self._is_own:
            self._suspects.follow(said, self._stated)
            if not self._suspects.read(self.most_read):
                return False
        if this.left is None:
            this.left = sorted(self._nodes(said))
        some = this.left[: self.most_judged]
        self._check(held, this.due, pulse, said, some)
        del this.left[: self.most_judged]
        return not this.left

    def _end(self, this: _Round) -> None:
        is_open = any(0 < one.looks < LOOKS for looks in self._looks.values() for one in looks.found.values())
        self._found = None if is_open or this.key[0] is None else this.key
        self._listed_at, self._round = this.listed_at, None
        self._due.update((name, self.monotonic() + self.checks[name].interval) for name in this.due)

    def _may_tell(self, pulse: Pulse) -> bool:
        return pulse.changes != self._changes or self.monotonic() - self._told > TOLD_EVERY

    def _due_now(self, listed_at: datetime | None) -> list[str]:
        """Return the checks whose time has come: one without an interval with each new list; none before the first."""
        if listed_at is None:
            return []
        now = self.monotonic()
        return [
            name
            for name, check in self.checks.items()
            if (listed_at != self._listed_at if not check.interval else now >= self._due.get(name, 0.0))
        ]

    def _read_design(self, held: Lease, revision: int) -> None:
        """Read what the design states; without it nothing is judged: which nodes nobody is to watch stands there."""
        if revision == self._revision:
            return
        self._unwatched = self.store.site_groups.unmonitored(self.site)
        try:
            stated = read_stated(self.store, self.site, revision)
        except KeyMissing as error:
            why = f"the controller cannot read the design, and so finds no drift and asks no node agents: {error}"
            self._note(held, why)
            raise
        self._note(held, None)
        self._revision, self._stated = revision, stated

    def _note(self, held: Lease, problem: str | None) -> None:
        """Say with the site's status whether its design can be read, each time that this changes."""
        if problem != self._noted:
            self.store.checks.record(held, DESIGN + self.site, problem)
            self._noted = problem

    def _list(self) -> Listed:
        kept = self.store.provisioner_lists.get(self.site)
        return {} if kept is None else json.loads(kept.nodes)

    def _next_end(self, now: datetime) -> float:
        """Return when the next user state ends by itself: then its node is judged again."""
        states = self.store.user_states.of_site(self.site).values()
        return min((one.until.timestamp() for one in states if one.until and one.until > now), default=math.inf)

    def _nodes(self, listed: Listed) -> Set[str]:
        """Return the nodes to judge: none where the list says nothing of the site's, as an empty one does.

        Where the own check is alone, those are left out of which it can only find that all is well.
        """
        drifts = self.store.drifts
        others = {*self._looks, *drifts.open(self.site)}
        if not self._is_own:
            successes = drifts.names(self.site)
            return frozenset() if listed.keys().isdisjoint(successes | others) else successes | others
        known = drifts.a_listed(self.site)
        # One that the newest list has, and this one does not: the newest one comes at the next look.
        is_listed = known in listed if known is not None else not others.isdisjoint(listed)
        return self._suspects.names | drifts.not_listed(self.site) | others if is_listed else frozenset()

    def _check(self, held: Lease, due: list[str], pulse: Pulse, listed: Listed, names: list[str]) -> None:
        judged = self.store.drifts.judged(self.site, names) if names else []
        nodes = {node.name: node for node in judged if self._is_monitored(node.name)}
        found = []
        for node in nodes.values():
            if node.name in self._unwatched:
                continue
            drift = self._judge(node, _seen(self.site, node, listed.get(node.name), self._stated), due, pulse)
            if drift is not None:
                found.append(drift)
        for name in names:
            if name not in nodes:
                self._looks.pop(name, None)
        written = self.store.drifts.record(held, self.site, found) if found else frozenset()
        for one in found:
            if one.node.name in written:
                log.warning("Node %s of site %s: %s.", one.node.name, self.site, one.said or "as it was left again")

    def _judge(self, node: JudgedNode, seen: CheckedNode, due: list[str], pulse: Pulse) -> FoundDrift | None:
        """Return what is to be written of a node; None: nothing new."""
        now, before = pulse.now, self._looks.get(node.name)
        if before is not None and before.op != node.op:
            before = None
        looks = _NO_LOOKS if before is None else before.found
        for name in due:
            if before is not None and before.listed_at == pulse.listed_at and not self.checks[name].interval:
                # The same list twice is one look.
                continue
            reason = self._ask(name, seen)
            if reason is not None:
                looks = {**looks, name: looks.get(name, _NO_DRIFT).looked(reason, now.timestamp())}
        if any(look.looks for look in looks.values()) or node.drifted_since is not None:
            self._looks[node.name] = _Looks(node.op, pulse.listed_at, looks)
        else:
            self._looks.pop(node.name, None)
        drifted = [look for look in looks.values() if look.confirmed]
        if drifted:
            reason = "; ".join(look.reason for look in drifted)
            if reason == node.drifted:
                return None
            first = min(look.since or 0.0 for look in drifted)
            since = node.drifted_since or type(now).fromtimestamp(first, now.tzinfo)
            worst = Drift(reason, max(look.looks for look in drifted), first)
            return FoundDrift(node, reason, since, drift_status(worst, f"{since:%Y-%m-%d %H:%M:%S} UTC")[1])
        # A new leader's word counts when each check has looked.
        looked = all(name in looks or name in self._broken for name in self.checks)
        well = looked and not any(look.looks for look in looks.values())
        if node.drifted_since is not None and well:
            return FoundDrift(node, "", node.drifted_since)
        return None

    def _ask(self, name: str, node: CheckedNode) -> str | None:
        """Return what a check finds; None where it fails: that says nothing of the node."""
        try:
            reason = self.checks[name].check(node).reason
        except Exception:
            if name not in self._broken:
                log.exception("The check %s has failed at node %s of site %s.", name, node.name, self.site)
                self._broken.add(name)
            return None
        self._broken.discard(name)
        return reason

    def _is_monitored(self, name: str) -> bool:
        stated = self._stated.get(name)
        return stated is None or stated.monitored


def read_stated(store: SiteStore, site: str, revision: int) -> Mapping[str, StatedNode]:
    """Return what the design of a revision states of its nodes; nothing where it cannot be read, which is logged."""
    try:
        return stated_nodes(read_revision(store, site, revision)[1])
    except (EngineError, StrategyLibError) as error:
        log.warning("What the design of site %s states is not known: %s", site, error)
        return {}


def _seen(site: str, node: JudgedNode, said: Mapping[str, Any] | None, stated: Mapping[str, StatedNode]) -> CheckedNode:
    done = (node.done_version, node.done_revision, node.done_at)
    known = stated.get(node.name) if node.as_wanted else None
    if said is None:
        return CheckedNode(site, node.name, NodeCondition.NOT_LISTED, None, None, NO_ADDRESSES, known, *done)
    condition = _CONDITIONS.get(said["condition"], NodeCondition.OTHER)
    addresses = said.get("addresses", NO_ADDRESSES)
    return CheckedNode(site, node.name, condition, said["status"], said["power"], addresses, known, *done)
