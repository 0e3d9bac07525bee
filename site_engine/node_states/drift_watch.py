"""The watch over nodes of one site that were done: checks look, two looks in a row make a drift (rules 51 and 56).

It runs in a thread beside the leader's, with the leader's lease: its own checks and those of other packages may take
their time, and no version waits for them.
"""

from __future__ import annotations

import json
import logging
import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from design_rendering.stated_nodes import StatedNode, stated_nodes
from provisioner_client.protocol import NO_ADDRESSES
from site_engine.designs import read_revision
from site_engine.errors import EngineError
from site_engine.node_states.checks import OWN_CHECKS, CheckedNode, NodeCheck
from site_store.drifts import FoundDrift
from strategy_lib.errors import StrategyLibError
from strategy_lib.node_states.drift import LOOKS, Drift, drift_status
from strategy_lib.outcome import NodeCondition

if TYPE_CHECKING:
    from datetime import datetime

    from site_store import Lease, SiteStore
    from site_store.drifts import JudgedNode
    from site_store.pulses import Pulse

log = logging.getLogger("slipway.controller")

LOOK_EVERY: Final = 1.0
"""Seconds between two looks whether there is anything to check."""
TOLD_EVERY: Final = 60.0
"""Seconds after which it is looked at what is to be told, though nothing was written."""
_CONDITIONS: Final = {condition.value: condition for condition in NodeCondition}
Listed = Mapping[str, Mapping[str, Any]]
"""What the provisioner says of each node."""
_NO_DRIFT: Final = Drift()
_NO_LOOKS: Final[Mapping[str, Drift]] = {}


@dataclass
class DriftWatch:
    """The checks of one site, from look to look. What it has seen once only is forgotten with its process.

    Attributes
    ----------
    checks : by name.
    monotonic : seconds on a clock that only goes forward.
    """

    store: SiteStore
    site: str
    checks: Mapping[str, NodeCheck] = field(default_factory=lambda: OWN_CHECKS)
    monotonic: Callable[[], float] = time.monotonic
    _due: dict[str, float] = field(default_factory=dict)
    _listed_at: datetime | None = None
    _looks: dict[str, tuple[int | None, Mapping[str, Drift]]] = field(default_factory=dict)
    _revision: int = 0
    _stated: Mapping[str, StatedNode] = field(default_factory=dict)
    _found: tuple[object, ...] | None = None
    _until: float = -math.inf
    _before: tuple[Listed, int] = field(default_factory=lambda: ({}, 0))
    _plain: set[str] = field(default_factory=set)
    _changes: int = -1
    _told: float = -math.inf
    _broken: set[str] = field(default_factory=set)

    def is_due(self, pulse: Pulse) -> bool:
        """Whether there is anything to do; asks nobody."""
        return bool(self._due_now(pulse.listed_at)) or self._may_tell(pulse)

    def look(self, held: Lease, pulse: Pulse | None = None, listed: Listed | None = None) -> None:
        """Tell of nodes in trouble, and do the checks that are due.

        Parameters
        ----------
        pulse : of the site, where it was read just now.
        listed : what the provisioner says of each node, where the caller has read the list that the pulse tells of.

        Raises `LeaseLost`: another process may lead by now; `StoreError`: the store does not answer.
        """
        pulse = pulse or self.store.site_views.pulse(self.site)
        due = self._due_now(pulse.listed_at)
        if due:
            key = (pulse.listed, pulse.changes, pulse.revision, pulse.users)
            is_own = self.checks.keys() == OWN_CHECKS.keys()
            # The same nodes, and the same is said of them: all would be found as it was, unless a first look is to be
            # followed by a second one.
            if not is_own or key != self._found or pulse.now.timestamp() >= self._until:
                self.store.drifts.close_others(held, self.site)
                self._read_design(pulse.revision)
                self._check(held, due, pulse.now, self._list() if listed is None else listed)
                self._until = self._next_end(pulse.now)
                is_open = any(0 < one.looks < LOOKS for _, looks in self._looks.values() for one in looks.values())
                self._found = None if is_open or pulse.listed is None else key
            self._listed_at = pulse.listed_at
            self._due.update((name, self.monotonic() + self.checks[name].interval) for name in due)
            # What was just found is told at once.
            pulse = self.store.site_views.pulse(self.site)
        if self._may_tell(pulse):
            self.store.node_troubles.tell(held, self.site)
            self._changes, self._told = pulse.changes, self.monotonic()

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

    def _read_design(self, revision: int) -> None:
        if revision == self._revision:
            return
        self._revision, self._stated = revision, {}
        try:
            self._stated = stated_nodes(read_revision(self.store, self.site, revision)[1])
        except (EngineError, StrategyLibError) as error:
            log.warning("What the design of site %s states is not known: %s", self.site, error)

    def _list(self) -> Listed:
        kept = self.store.provisioner_lists.get(self.site)
        return {} if kept is None else json.loads(kept.nodes)

    def _next_end(self, now: datetime) -> float:
        """Return when the next user state ends by itself: then its node is judged again."""
        states = self.store.user_states.of_site(self.site).values()
        return min((one.until.timestamp() for one in states if one.until and one.until > now), default=math.inf)

    def _nodes(self, due: list[str], listed: Listed) -> tuple[list[JudgedNode], bool]:
        """Return the nodes to look at, and whether the list says anything of the site's nodes.

        Where the own check is alone, those are left out of which it can only find that all is well.
        """
        if self.checks.keys() != OWN_CHECKS.keys() or set(due) != OWN_CHECKS.keys():
            nodes = self.store.drifts.judged(self.site)
            return nodes, any(node.name in listed for node in nodes)
        before, revision = self._before
        plain = {
            name
            for name, said in listed.items()
            if (revision == self._revision and before.get(name) is said and name in self._plain)
            or _is_plain(said, self._stated.get(name))
        }
        self._before, self._plain = (listed, self._revision), plain
        names = self.store.drifts.names(self.site)
        nodes = self.store.drifts.judged(self.site, (names - plain).union(self._looks))
        return nodes, not names.isdisjoint(listed) or any(node.name in listed for node in nodes)

    def _check(self, held: Lease, due: list[str], now: datetime, listed: Listed) -> None:
        found_nodes, is_listed = self._nodes(due, listed)
        if not is_listed:
            # An empty list says nothing of any node: its own error is elsewhere.
            return
        nodes = [node for node in found_nodes if self._is_monitored(node.name)]
        unwatched = self._unwatched()
        found = []
        for node in nodes:
            if node.name in unwatched:
                continue
            drift = self._judge(node, _seen(self.site, node, listed.get(node.name), self._stated), due, now)
            if drift is not None:
                found.append(drift)
        judged = {node.name for node in nodes}
        for name in [name for name in self._looks if name not in judged]:
            del self._looks[name]
        written = self.store.drifts.record(held, self.site, found) if found else frozenset()
        for one in found:
            if one.node.name in written:
                log.warning("Node %s of site %s: %s.", one.node.name, self.site, one.said or "as it was left again")

    def _judge(self, node: JudgedNode, seen: CheckedNode, due: list[str], now: datetime) -> FoundDrift | None:
        """Return what is to be written of a node; None: nothing new."""
        op, looks = self._looks.get(node.name, (node.op, _NO_LOOKS))
        if op != node.op:
            looks = _NO_LOOKS
        for name in due:
            reason = self._ask(name, seen)
            if reason is not None:
                before = looks.get(name, _NO_DRIFT)
                looks = {**looks, name: before.looked(reason, now.timestamp())}
        if any(look.looks for look in looks.values()) or node.drifted_since is not None:
            self._looks[node.name] = (node.op, looks)
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

    def _unwatched(self) -> frozenset[str]:
        """Return the nodes of groups that say `monitor: false`."""
        of_site = self.store.site_groups.of_site(self.site)
        groups = [group.name for group in of_site if not group.definition.get("monitor", True)]
        if not groups:
            return frozenset()
        members = self.store.site_groups.nodes(self.site)
        return frozenset(name for group in groups for name in members.get(group, ()))


def _is_plain(said: Mapping[str, Any], stated: StatedNode | None) -> bool:
    """Whether `check_as_left` finds nothing in this: deployed, not off, and at no other address than a stated one."""
    if said["condition"] != NodeCondition.DEPLOYED or said["power"] == "off":
        return False
    addresses = said.get("addresses")
    if stated is None or not addresses:
        return True
    return all(stated.address_instead_of(seen) is None for seen in addresses.values())


def _seen(site: str, node: JudgedNode, said: Mapping[str, Any] | None, stated: Mapping[str, StatedNode]) -> CheckedNode:
    done = (node.done_version, node.done_revision, node.done_at)
    known = stated.get(node.name) if node.as_wanted else None
    if said is None:
        return CheckedNode(site, node.name, NodeCondition.NOT_LISTED, None, None, NO_ADDRESSES, known, *done)
    condition = _CONDITIONS.get(said["condition"], NodeCondition.OTHER)
    addresses = said.get("addresses", NO_ADDRESSES)
    return CheckedNode(site, node.name, condition, said["status"], said["power"], addresses, known, *done)
