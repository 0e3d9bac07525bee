"""The states of all nodes of a site, from look to look: only what has changed, or what the clock ends, is judged."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from heapq import heappop, heappush
from typing import Final

from strategy_lib.node_states.generated import NodeAvailability
from strategy_lib.node_states.node_memory import (
    DEFAULTS,
    NOT_KNOWN,
    JudgedState,
    NodeMemory,
    Observation,
    SetState,
    StateSettings,
    judge,
    observe,
    operation_started,
    set_up,
)
from strategy_lib.node_states.publication import (
    Capacity,
    Pending,
    PublishedState,
    PublishSettings,
    changed_states,
    site_state,
    take_groups_down,
    to_publish,
)
from strategy_lib.node_states.reported import Hearing, Reported, is_undefined, lower_of, reported_state, said_by
from strategy_lib.node_states.user_state import UserState

_A = NodeAvailability
_NOT_USED = frozenset({_A.MAINTENANCE, _A.DOWN})
_AS_SHIPPED = PublishSettings()
_NOTHING_PENDING = Pending()
_NOT_SET = UserState()
NO_CAPACITY: Final[Capacity] = (None, None, None)
NOT_LISTED = "not listed"
"""The word for a node that the provisioner's list does not have."""


@dataclass(frozen=True, slots=True)
class SiteStateSettings:
    """What a site sets for the states of its nodes, their versions and agents; 0, "", no such group: off (rule 53)."""

    nodes: StateSettings = DEFAULTS
    publish: PublishSettings = _AS_SHIPPED
    min_available_percent: Mapping[str, int] = field(default_factory=dict)
    min_up_nodes: int = 0
    min_up_percent: int = 0
    health_url: str = ""
    max_agent_connections: int = 1000


@dataclass(frozen=True, slots=True)
class Advance:
    """What one step has changed.

    Attributes
    ----------
    remembered : nodes of which something else is known now; the new leader must find it.
    taken_down : nodes whose user state the controller sets, as they crash too often.
    undefined : node to a word of the provisioner's that nobody knows, at its first sight.
    """

    remembered: frozenset[str]
    taken_down: Mapping[str, UserState]
    undefined: Mapping[str, str]


class SiteStates:
    """The nodes of one site. All times are in seconds of one clock, which the caller reads."""

    def __init__(
        self,
        settings: SiteStateSettings,
        memory: Mapping[str, NodeMemory],
        groups: Mapping[str, Collection[str]],
        published: Mapping[str, PublishedState] | None = None,
        pending: Pending = _NOTHING_PENDING,
        capacities: Mapping[str, Capacity] | None = None,
        published_site: PublishedState | None = None,
    ) -> None:
        """Go on from what the last leader knew; nothing known is a new site.

        Parameters
        ----------
        memory : all nodes of the site; a new one has an empty `NodeMemory`.
        groups : group to its nodes, in document order.
        published, pending : the states of the newest version, and when that was.
        capacities, published_site : the rest of the newest version: of its nodes, and of the site as a whole.
        """
        self._settings = settings
        self._groups = groups
        self._memory = dict(memory)
        self._users: dict[str, SetState] = {}
        self._heard: dict[str, Hearing] = {}
        self._listed: dict[str, NodeAvailability] = {}
        self.hears = True
        """Whether a word of a node may count: its own, or one that the last leader heard."""
        self._published = dict(published or {})
        self._pending = pending
        self._capacities = dict(capacities or {})
        self._published_capacities = dict(self._capacities)
        self._site = self._published_site = published_site
        self._resized: set[str] = set()
        self._clock: list[tuple[float, str]] = []
        self._touched = set(self._memory)
        self._remembered: set[str] = set()
        self._undefined: dict[str, str] = {}
        self._alike: dict[tuple[int, str, str | None, float], tuple[NodeMemory, NodeMemory]] = {}
        self._states = {name: known.view for name, known in self._memory.items()}
        self._differing = set(changed_states(self._published, self._states))
        self._regroup = True

    @property
    def states(self) -> Mapping[str, PublishedState]:
        """The generated states of the last step, after the groups were judged."""
        return self._states

    @property
    def memory(self) -> Mapping[str, NodeMemory]:
        """What is known of each node."""
        return self._memory

    @property
    def published(self) -> Mapping[str, PublishedState]:
        """The states of the newest version."""
        return self._published

    @property
    def pending(self) -> Pending:
        """What has changed since the newest version, and when that was published."""
        return self._pending

    def site(self) -> PublishedState:
        """Return the state of the site as a whole (rule 53)."""
        return site_state(self._states, self._settings.min_up_nodes, self._settings.min_up_percent)

    def change_settings(self, settings: SiteStateSettings) -> None:
        """Go on with other settings: every node is judged again at the next step."""
        if settings != self._settings:
            self._settings = settings
            self._touched.update(self._memory)
            self._regroup = True

    def change_nodes(self, nodes: Collection[str], groups: Mapping[str, Collection[str]]) -> frozenset[str]:
        """Take over which nodes and groups the site has now; return the nodes that are gone."""
        gone = frozenset(self._memory).difference(nodes)
        for name in gone:
            del self._memory[name]
            self._users.pop(name, None)
            self._heard.pop(name, None)
            self._listed.pop(name, None)
            self._capacities.pop(name, None)
            self._touched.discard(name)
            self._remembered.discard(name)
        new = [name for name in nodes if name not in self._memory]
        self._memory.update(dict.fromkeys(new, NOT_KNOWN))
        self._touched.update(new)
        if gone or new or groups != self._groups:
            self._groups = groups
            self._regroup = True
        return gone

    def look(self, listed: Mapping[str, tuple[str, str | None]], now: float) -> None:
        """Take in the provisioner's whole list: node to its status and power. Nodes of other sites are ignored."""
        nothing = (NOT_LISTED, None)
        changed = [
            name for name, known in self._memory.items() if (known.word, known.power) != listed.get(name, nothing)
        ]
        for name in changed:
            word, power = listed.get(name, nothing)
            self._say(name, word, power, now)

    def look_at(self, changed: Mapping[str, tuple[str, str | None]], unlisted: Iterable[str], now: float) -> None:
        """Take in what differs from the provisioner's last list: nodes with other words, and those it has no more."""
        for name, (word, power) in (*changed.items(), *((name, (NOT_LISTED, None)) for name in unlisted)):
            known = self._memory.get(name)
            if known is not None and (known.word, known.power) != (word, power):
                self._say(name, word, power, now)

    def take_capacities(self, listed: Mapping[str, Capacity]) -> None:
        """Take in what the list says of nodes beside their states. Nodes of other sites are ignored."""
        for name, capacity in listed.items():
            if name in self._memory and self._capacities.get(name, NO_CAPACITY) != capacity:
                self._capacities[name] = capacity
                self._resized.add(name)

    def hear(self, name: str, word: Reported, now: float) -> None:
        """Take in what a node says of itself. A stop that it announces during an operation is no crash (rule 50)."""
        if name in self._memory:
            self._heard[name] = Hearing(word)
            self.hears = True
            self._say_again(name, now)

    def silent(self, name: str, now: float) -> None:
        """Note that a node did not answer: its last word holds for the transition time, and then the list alone."""
        known = self._memory.get(name)
        if known is None or known.history.state is None:
            return
        heard = self._heard.get(name)
        if heard is None:
            if not known.said:
                return
            # The last leader heard it.
            heard = Hearing(Reported(known.history.state, known.said))
        if heard.silent_since is None:
            self._heard[name] = heard.silent(now)
            heappush(self._clock, (now + self._settings.nodes.transition_time, name))

    def hear_nothing(self, now: float) -> None:
        """Go on without what nodes say: they are not asked."""
        for name in [name for name, known in self._memory.items() if known.said or name in self._heard]:
            self._heard.pop(name, None)
            self._say_again(name, now)
        self.hears = False

    def began(self, nodes: Iterable[str]) -> None:
        """Note that an operation of ours has begun on these nodes: until they are up again, nothing is a crash."""
        for name in nodes:
            known = self._memory.get(name)
            if known is not None and not known.history.operated:
                self._remember(name, replace(known, history=operation_started(known.history)))

    def set_users(self, users: Mapping[str, SetState]) -> None:
        """Take over the user states of all nodes that were ever set. A node that a person sets up is forgiven."""
        for name in [*self._users.keys() - users.keys(), *users]:
            known = self._memory.get(name)
            new = users.get(name)
            if known is None or new == self._users.get(name):
                continue
            if new is None:
                del self._users[name]
            else:
                self._users[name] = new
                if new.at > known.user_since:
                    history = set_up(known.history) if new.user.state is _A.UP else known.history
                    self._remember(name, replace(known, history=history, user_since=new.at))
            self._touched.add(name)

    def step(self, now: float) -> Advance:
        """Judge all nodes of which something changed, and those whose time has come."""
        while self._clock and self._clock[0][0] <= now:
            self._touched.add(heappop(self._clock)[1])
        taken_down: dict[str, UserState] = {}
        changed = set()
        alike: dict[int, tuple[NodeMemory, JudgedState]] = {}
        for name in self._touched & self._memory.keys():
            self._end_word(name, now)
            known = self._memory[name]
            if name in self._users:
                judged = judge(known, self._users[name].user, now, self._settings.nodes)
            else:
                # Of very many nodes most are alike: all of them are judged once.
                found = alike.get(id(known))
                if found is None:
                    found = alike[id(known)] = known, judge(known, _NOT_SET, now, self._settings.nodes)
                judged = found[1]
            if judged.taken_down is not None:
                taken_down[name] = judged.taken_down
                # What a person sets at the same time is newer than what is known, and counts when it is read.
                self._users[name] = SetState(judged.taken_down, known.user_since)
            if judged.known is not known:
                self._remember(name, judged.known)
                changed.add(name)
            if judged.next_change is not None:
                heappush(self._clock, (judged.next_change, name))
        self._touched.clear()
        self._alike.clear()
        self._follow(changed, now)
        remembered, undefined = frozenset(self._remembered), self._undefined
        self._remembered, self._undefined = set(), {}
        return Advance(remembered, taken_down, undefined)

    def due(self, now: float) -> dict[str, PublishedState | None] | None:
        """Return what a version would change that is to be published now; None: none is.

        A node that is gone has None.
        """
        if not to_publish(self._pending, self._settings.publish, now, differs=self._differs):
            return None
        return self.differing()

    def differing(self) -> dict[str, PublishedState | None]:
        """Return the nodes of which the newest version says something else, None for one that is gone.

        There may be none where the site as a whole differs.
        """
        return {name: self._states.get(name) for name in sorted(self._differing)}

    def publish(self, now: float) -> None:
        """Note that the present states were published, all of them."""
        self._published = dict(self._states)
        self._published_capacities = dict(self._capacities)
        self._published_site = self.site()
        self._differing.clear()
        self._pending = self._pending.done(now)

    def _say(self, name: str, word: str, power: str | None, now: float) -> None:
        known = self._memory[name]
        if name in self._users or name in self._heard or name in self._listed:
            self._remember(name, self._observe(name, known, word, power, now))
        else:
            # Of very many nodes most are alike: what is said of all of them is observed once.
            key = (id(known), word, power, now)
            found = self._alike.get(key)
            if found is None:
                # With what it was made of, which therefore stays where it is.
                found = self._alike[key] = (known, self._observe(name, known, word, power, now))
            self._remember(name, found[1])
        if word not in (known.word, NOT_LISTED) and is_undefined(word):
            self._undefined[name] = word
        self._touched.add(name)

    def _observe(self, name: str, known: NodeMemory, word: str, power: str | None, now: float) -> NodeMemory:
        said, reported = self._reported(name, word, power)
        seen = Observation(
            reported.state,
            operating=said.operating,
            ordered=name in self._users and self._users[name].user.at(now).state in _NOT_USED,
            progress=word if reported.state is _A.INITIALIZING else None,
        )
        if reported.state is said.state:
            self._listed.pop(name, None)
        else:
            self._listed[name] = said.state
        history = observe(known.history, seen, now, self._settings.nodes.stable_time)
        return replace(known, word=word, power=power, history=history, said=said_by(reported, said))

    def _say_again(self, name: str, now: float) -> None:
        """Observe a node anew, if what is known now makes its reported state another one."""
        known = self._memory[name]
        if known.word is None:
            return
        said, reported = self._reported(name, known.word, known.power)
        if reported.state is not known.history.state or said_by(reported, said) != known.said:
            self._say(name, known.word, known.power, now)

    def _reported(self, name: str, word: str, power: str | None) -> tuple[Reported, Reported]:
        """Return what the list says of a node, and the lower of that and its own word."""
        known = self._memory[name]
        last = self._listed.get(name, None if known.said else known.history.state)
        said = reported_state(word, power, last)
        heard = self._heard.get(name)
        return said, lower_of(said, None if heard is None else heard.word)

    def _end_word(self, name: str, now: float) -> None:
        """Forget the last word of a node that has not answered for the transition time."""
        heard = self._heard.get(name)
        if heard is not None and not heard.holds(now, self._settings.nodes.transition_time):
            del self._heard[name]
            self._say_again(name, now)

    def _remember(self, name: str, known: NodeMemory) -> None:
        before = self._memory.get(name)
        if before is not known and before != known:
            self._memory[name] = known
            self._remembered.add(name)

    def _follow(self, changed: Collection[str], now: float) -> None:
        """Bring the states up to date with the views, and note what differs from the newest version."""
        if not changed and not self._regroup and not self._resized:
            return
        if self._regroup or any(self._settings.min_available_percent.values()):
            views = {name: known.view for name, known in self._memory.items()}
            states = take_groups_down(views, self._groups, self._settings.min_available_percent)
            moved = set(changed_states(self._states, states))
            self._states = states
            self._regroup = False
        else:
            moved = {name for name in changed if self._states[name] != self._memory[name].view}
            self._states.update((name, self._memory[name].view) for name in changed)
        moved |= self._resized
        self._resized.clear()
        for name in moved:
            if self._is_published(name):
                self._differing.discard(name)
            else:
                self._differing.add(name)
        before, self._site = self._site, self.site()
        if moved or before != self._site or (self._differs and self._pending.first_change is None):
            self._pending = self._pending.changed(now)

    @property
    def _differs(self) -> bool:
        return bool(self._differing) or self._site != self._published_site

    def _is_published(self, name: str) -> bool:
        """Whether the newest version says of a node what is to be said, or nothing of one that is gone."""
        state = self._states.get(name)
        if state is None or state != self._published.get(name):
            return state is None and name not in self._published
        now, before = (of.get(name, NO_CAPACITY) for of in (self._capacities, self._published_capacities))
        return now == before
