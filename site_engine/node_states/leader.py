"""The leader of one site: it takes in what the provisioner lists, judges the nodes, and publishes versions of its view.

It holds the site's lease, and every write of it requires that lease (rule 55). It goes on with what the last leader
knew, and publishes its first version as soon as it has seen the nodes itself.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, Final

from site_engine.node_states.node_words import NodeListener, take_words
from site_store import Lease, SiteStore
from site_store.nodes.site_views import Pulse, SiteViewRecord
from site_store.status.events import EventKind, NewEvent
from strategy_lib.node_states.generated import NodeAvailability
from strategy_lib.node_states.node_memory import SetState
from strategy_lib.node_states.publication import Pending, PublishedState, ViewText, capacity_of, gone_keys, other_values
from strategy_lib.node_states.site_states import SiteStates, SiteStateSettings
from strategy_lib.node_states.user_state import UserState
from strategy_lib.status.site import SHORTEST_SILENCE, SILENT_ROUNDS

log = logging.getLogger("slipway.controller")

LONGEST_UNSEEN: Final = 30.0
"""Seconds after which a new leader publishes though the provisioner has not answered: states stay as they were."""
PRUNE_EVERY: Final = 3600.0
"""Seconds between two looks for versions that are older than a month in the log."""
Listed = Mapping[str, Mapping[str, Any]]
"""What the provisioner says of each node."""
_AT_ONCE: Final = 10_000
_KEPT: Final = timedelta(days=30)
NODES_EVERY: Final = 60.0
"""Seconds after which the site's nodes are read again, if anything was written of them: one may have been removed."""


@dataclass
class SiteLeader:
    """One site, led by this process.

    Attributes
    ----------
    held : the site's lease, which the caller renews.
    took : the database's time at which it was taken, in seconds.
    renew : prolongs the lease when it is time; asked between the steps of a look.
    listener : asks nodes how they are; None: only the provisioner's list counts.
    """

    store: SiteStore
    site: str
    held: Lease
    took: float
    renew: Callable[[SiteLeader], None] = lambda _leader: None
    listener: NodeListener | None = None
    _states: SiteStates | None = None
    _pulse: Pulse | None = None
    _settings: SiteStateSettings = field(default_factory=SiteStateSettings)
    _listed: Listed = field(default_factory=dict)
    _is_new: bool = True
    _published: SiteViewRecord | None = None
    _text: ViewText = field(default_factory=ViewText)
    _listed_digest: str | None = None
    _nodes_read: float = 0.0
    _changes_read: int = -1
    _pruned: float = 0.0
    _pace: float | None = None

    @property
    def is_ready(self) -> bool:
        """Whether it has published a version of its own: until then safe changes are refused."""
        return self._published is not None and self._published.version.epoch == self.held.epoch

    @property
    def provisioner(self) -> str | None:
        """The provisioner that listed the nodes last; several sites may share one."""
        return None if self._pulse is None else self._pulse.provisioner

    def note_pace(self, seconds: float) -> None:
        """Note how many seconds lie between two questions, where that has become another number that matters.

        Rule 30 gives an answer `SHORTEST_SILENCE`, and three times this.
        """
        pace = max(seconds, SHORTEST_SILENCE / SILENT_ROUNDS)
        if self._pace is None or abs(pace - self._pace) > self._pace / 4:
            self.store.provisioner_lists.note_pace(self.held, self.site, pace)
            self._pace = pace

    def listed(self, digest: str | None) -> Listed | None:
        """Return what the provisioner says of each node, None where the leader has not read the list of this digest."""
        return self._listed if digest is not None and digest == self._listed_digest else None

    def look(self, pulse: Pulse | None = None) -> SiteViewRecord | None:
        """Take in what is new, judge, and publish what is due; return the version that was published, if one was.

        Parameters
        ----------
        pulse : of the site, where it was read just now.

        Raises `LeaseLost`: another process may lead by now; `StoreError`: the store does not answer. What was not kept
        is not known any more then: the next look begins with what the store has, as another leader would.
        """
        try:
            return self._look(pulse or self.store.site_views.pulse(self.site))
        except Exception:
            self._states = self._pulse = None
            raise

    def _look(self, pulse: Pulse) -> SiteViewRecord | None:
        now = pulse.now.timestamp()
        before = self._pulse
        gone: frozenset[str] = frozenset()
        if before is None or before.revision != pulse.revision:
            self._settings = settings_of(self.store, self.site)
        states = self._states or self._begin()
        states.change_settings(self._settings)
        is_other = before is None or before.revision != pulse.revision
        if is_other or (pulse.changes != self._changes_read and now - self._nodes_read > NODES_EVERY):
            known = len(states.memory)
            gone = states.change_nodes(self.store.site_views.nodes(self.site), self.store.site_groups.nodes(self.site))
            if len(states.memory) + len(gone) != known:
                self._is_new = True
            self._nodes_read, self._changes_read = now, pulse.changes
        if before is None or before.users != pulse.users:
            states.set_users(_users(self.store, self.site))
        if before is None or before.op != pulse.op:
            states.began(self.store.site_views.began_since(self.site, 0 if before is None else before.op)[1])
        if pulse.listed_at is not None and (before is None or before.listed_at != pulse.listed_at):
            self._take_list(states, pulse, now)
        self.renew(self)
        if self.listener is not None:
            take_words(self.listener, self.store, self.site, pulse.revision, self._settings, states, now)
        self._keep(states, pulse, gone)
        self.renew(self)
        if now - self._pruned > PRUNE_EVERY:
            self.store.site_views.prune(self.held, self.site, pulse.now - _KEPT)
            self._pruned = now
        self._pulse = pulse
        return self._publish(states, pulse, now)

    def _begin(self) -> SiteStates:
        views = self.store.site_views
        memory = views.memory(self.site)
        newest = views.body(self.site)
        body = {"nodes": {}} if newest is None else json.loads(newest[1])
        self._published = views.published(self.site)
        at = None if self._published is None else self._published.published_at.timestamp()
        self._is_new = True
        self._states = SiteStates(
            self._settings,
            memory,
            self.store.site_groups.nodes(self.site),
            _states_of(body),
            Pending(at),
            {name: capacity_of(said) for name, said in body["nodes"].items()},
            None if self._published is None else self._published.state,
        )
        return self._states

    def _take_list(self, states: SiteStates, pulse: Pulse, now: float) -> None:
        is_same = pulse.listed is not None and pulse.listed == self._listed_digest
        if is_same and not self._is_new:
            return
        before, said = self._listed, self._listed
        if not is_same:
            kept = self.store.provisioner_lists.get(self.site)
            if kept is None:
                return
            said = json.loads(kept.nodes)
            self._listed, self._listed_digest = said, kept.digest
        if self._is_new:
            self._is_new = False
            states.look({name: _words(data) for name, data in said.items()}, now)
            states.take_capacities({name: capacity_of(said.get(name, {})) for name in states.memory})
            return
        # Of a hundred thousand nodes few have changed.
        other = {name: said[name] for name in other_values(before, said)}
        unlisted = gone_keys(before, said, other)
        # Of the others what is kept stays the same object: by that it is known to be unchanged.
        listed = {**before, **other}
        for name in unlisted:
            del listed[name]
        self._listed = listed
        states.look_at({name: _words(data) for name, data in other.items()}, unlisted, now)
        states.take_capacities({name: capacity_of(listed.get(name, {})) for name in (*other, *unlisted)})

    def _keep(self, states: SiteStates, pulse: Pulse, gone: frozenset[str]) -> None:
        found = states.step(pulse.now.timestamp())
        events = [
            NewEvent(EventKind.NODE_STATE, f"the provisioner says {word!r}, which is no word that is known", node=name)
            for name, word in sorted(found.undefined.items())
        ]
        # In the order of names, which is that of the table.
        known = {name: states.memory[name] for name in sorted(found.remembered) if name in states.memory}
        seen = pulse.users[1]
        names = list(known)
        # So many that the lease could run out meanwhile are kept in several steps, each whole by itself.
        while len(names) > _AT_ONCE:
            some, names = names[:_AT_ONCE], names[_AT_ONCE:]
            self.store.site_views.remember(self.held, self.site, {name: known.pop(name) for name in some})
            self.renew(self)
        self.store.site_views.remember(self.held, self.site, known, gone, found.taken_down, events, seen)
        for name, down in sorted(found.taken_down.items()):
            log.warning("Node %s of site %s is set down: %s.", name, self.site, down.reason)

    def _publish(self, states: SiteStates, pulse: Pulse, now: float) -> SiteViewRecord | None:
        if not self.is_ready:
            seen = pulse.listed_at is not None and pulse.listed_at.timestamp() >= self.took
            if not seen and now < self.took + LONGEST_UNSEEN:
                return None
            due = states.differing()
        else:
            found = states.due(now)
            if found is None:
                return None
            due = found
        published = states.published
        changes = {
            name: (
                None if name not in published else str(published[name].state),
                None if after is None else str(after.state),
                "" if after is None else after.reason,
            )
            for name, after in due.items()
        }
        site = states.site()
        body = self._text.text(self.site, site, states.states, self._listed)
        self._published = self.store.site_views.publish(self.held, self.site, body, site, changes)
        states.publish(now)
        version = self._published.version
        log.info("Site %s: version %d.%d, %d nodes differ.", self.site, version.epoch, version.number, len(changes))
        return self._published


def settings_of(store: SiteStore, site: str) -> SiteStateSettings:
    """Return what the newest revision of a site sets for the states of its nodes."""
    return store.revisions.settings(site).node_states(store.site_groups.nodes(site))


def _states_of(body: Mapping[str, Any]) -> dict[str, PublishedState]:
    # One object for all nodes of which the same is said.
    alike: dict[tuple[str, str], PublishedState] = {}
    found = {}
    for name, data in body["nodes"].items():
        said = (data["state"], data.get("reason", ""))
        state = alike.get(said)
        if state is None:
            state = alike[said] = PublishedState(NodeAvailability(said[0]), said[1])
        found[name] = state
    return found


def _words(data: Mapping[str, Any]) -> tuple[str, str | None]:
    return data["status"], data["power"]


def _users(store: SiteStore, site: str) -> dict[str, SetState]:
    found = {}
    for name, record in store.user_states.of_site(site).items():
        until = None if record.until is None else record.until.timestamp()
        found[name] = SetState(UserState(record.state, record.reason, until), record.set_at.timestamp())
    return found
