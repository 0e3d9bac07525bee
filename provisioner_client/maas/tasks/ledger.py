"""What one client has read of one task: its tag, and the events of its machines, of which each is read once."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

from provisioner_client.maas.api import MaasApi
from provisioner_client.maas.events import Event
from provisioner_client.maas.machine import Machine
from provisioner_client.maas.tasks.progress import Progress, events_of_task, progress_by_status, progress_of
from provisioner_client.maas.tasks.task_tag import Settled, TaskTag
from provisioner_client.piecewise.told import PiecewiseTask
from provisioner_client.protocol import ACTIONS, TaskMessage
from strategy_lib.phase import Phase

OVERLAP: Final = 100
"""How many numbers before the newest event are read again: MAAS gives out numbers before it writes events."""

_NOTHING: Final = Progress()


class Ledger(PiecewiseTask):
    """A task of named machines, as far as it is known.

    Parameters
    ----------
    api : of the site.
    tag : the task.
    now : seconds since any moment.
    """

    def __init__(self, api: MaasApi, tag: TaskTag, now: Callable[[], float]) -> None:
        super().__init__(tag.reference, tag.action)
        self.tag = tag
        self.seen_at = now()
        self.strangers: set[str] = set()
        """The machines with the task's tag that somebody else has by now."""
        self._api = api
        self._now = now
        self._listed_at = self.seen_at
        self._events: dict[str, list[Event]] = {order.system_id: [] for order in tag.orders.values()}
        self._read_to: dict[str, int] = dict.fromkeys(self._events, tag.since)
        self._known: dict[str, Progress] = {name: Progress() for name in tag.orders}

    @property
    def known_for(self) -> float:
        """Seconds since this client has first seen the task."""
        return self._now() - self.seen_at

    def progress(self, name: str) -> Progress:
        """Return how far a machine is, as of the last reading."""
        return self._known.get(name, _NOTHING)

    def events(self, name: str) -> list[Event]:
        """Return a machine's events since the task began, as far as they were read."""
        order = self.tag.orders.get(name)
        return [] if order is None else self._events[order.system_id]

    def noted(self, node: str) -> Sequence[TaskMessage]:
        """Return what a machine's events say of the task: none from after its end."""
        own = events_of_task(self.action, self.reference, self._api.account, self.events(node))
        return [TaskMessage(event.said, event.is_trouble, node, event.created or None) for event in own]

    def verdicts(self) -> dict[str, tuple[bool | None, str]]:
        """Return for each node whether it came to what was asked for (None: it is not over), and why not."""
        found: dict[str, tuple[bool | None, str]] = {}
        for name in dict.fromkeys([*self.tag.orders, *self.tag.settled]):
            known, settled = self.progress(name), self.tag.settled.get(name)
            if known.ended:
                # What MAAS answered says more than its events, where these do not say why.
                is_told = known.unexplained and settled is not None and settled.is_over and not settled.ok
                found[name] = (known.ok, settled.why if settled is not None and is_told else known.why)
            elif settled is not None and (settled.is_over or not known.sent):
                found[name] = (settled.ok, settled.why)
            else:
                unknown = "a status that this version of Slipway does not know, and waits for"
                found[name] = (None, f"{name} is {known.waits_at} in MAAS, {unknown}" if known.waits_at else "")
        return found

    def machines(self, names: Collection[str]) -> dict[str, Machine]:
        """Return the machines of these nodes as they are now, which the site still has. Raises `ProvisionerError`."""
        ids = {self.tag.orders[name].system_id: name for name in names if name in self.tag.orders}
        return {ids[one.system_id]: one for one in self._api.machines_of("id", ids) if one.system_id in ids}

    def unsent(self) -> list[str]:
        """Return the nodes that were neither acted on nor settled, in the order of the task."""
        return [name for name in self._open() if not self._known[name].sent]

    def is_over(self) -> bool:
        """Whether every node was settled, or has come to its end."""
        return next(self._open(), None) is None

    def is_begun(self, node: str | None = None) -> bool:
        """Whether anything was done to this node; None: to any, or settled."""
        if node is not None:
            return self.progress(node).sent
        return bool(self.tag.settled) or any(one.sent or one.acquired for one in self._known.values())

    def read(self) -> None:
        """Read what has happened to the nodes that are not over since the last reading."""
        names = list(self._open())
        groups: dict[int, list[str]] = {}
        for name in names:
            system_id = self.tag.orders[name].system_id
            groups.setdefault(self._read_to[system_id], []).append(system_id)
        # Those that are over are read no more, so that nearly all others stand at one place.
        for after, ids in groups.items():
            events = self._api.events(ids, max(self.tag.since, after - OVERLAP))
            self._take(events)
            newest = events[-1].id if events else after
            self._read_to |= dict.fromkeys(ids, max(newest, after))
        for name in names:
            self._conclude(name)

    def read_all(self) -> None:
        """Read the events of all nodes from the beginning, for people to look at, also of those that were settled."""
        self._take(self._api.events(self._events, self.tag.since))
        for name in self.tag.orders:
            self._conclude(name)

    def compare(self, every: float) -> dict[str, Settled]:
        """Look at the machines themselves now and then: a ledger may have been cut, and then says nothing more.

        Returns
        -------
        dict
            What is known by that, and by no event: others have to be told.
        """
        waiting = [name for name in self._open() if self._known[name].sent]
        if not waiting or self._now() - self._listed_at < every:
            return {}
        self._listed_at = self._now()
        machines = self.machines(waiting)
        # What has ended since the events were read stands there by now.
        self.read()
        listed = {name: machines.get(name) for name in waiting if not self._known[name].ended}
        self.conclude_by_status(listed)
        self._conclude_deleted([name for name, machine in listed.items() if machine is None])
        known = {name: self._known[name] for name in listed}
        return {name: Settled(one.ok, one.why, is_over=True) for name, one in known.items() if one.ended}

    def note_owner(self, machine: Machine) -> bool:
        """Return whether somebody else has a machine that was just looked at; the task's tag is to be taken from it."""
        is_theirs = machine.is_owned_by_other(self._api.account)
        if is_theirs and self.tag.reference in machine.tags:
            self.strangers.add(machine.system_id)
        return is_theirs

    def conclude_by_status(self, machines: Mapping[str, Machine | None]) -> None:
        """Take in what machines say that were looked at after their events; None: it is gone."""
        for name, machine in machines.items():
            known = self._known[name]
            if machine is not None and self.note_owner(machine) and known.sent and not known.ended:
                why = f"the machine is {machine.shown_to(self._api.account)} by now, and is left alone"
                self._known[name] = replace(known, ended=True, why=why)
            elif machine is not None:
                self._known[name] = progress_by_status(self.tag.action, known, machine)
            elif known.sent and not known.ended:
                self._known[name] = replace(
                    known, ended=True, why="the machine is no longer in the site's part of MAAS"
                )

    def _conclude_deleted(self, names: Collection[str]) -> None:
        """Take in that a release has ended with the machine: MAAS deletes those that it has composed by itself.

        With a machine go all its events; one that was only moved to elsewhere keeps them.
        """
        if self.tag.action != ACTIONS[Phase.DESTROY] or not names:
            return
        ids = {name: self.tag.orders[name].system_id for name in names}
        there = {event.system_id for event in self._api.events(ids.values(), self.tag.since)}
        for name, system_id in ids.items():
            if system_id not in there:
                self._known[name] = replace(self._known[name], ok=True, why="")

    def _take(self, events: Iterable[Event]) -> None:
        known = {event.id for listed in self._events.values() for event in listed}
        changed = set()
        for event in events:
            if event.id not in known:
                self._events[event.system_id].append(event)
                changed.add(event.system_id)
        for system_id in changed:
            self._events[system_id].sort(key=lambda event: event.id)

    def _conclude(self, name: str) -> None:
        if not self._known[name].ended:
            self._known[name] = progress_of(self.tag.action, self.tag.reference, self._api.account, self.events(name))

    def _open(self) -> Iterator[str]:
        for name in self.tag.orders:
            known, settled = self._known[name], self.tag.settled.get(name)
            # What was sent counts, whatever another process has settled meanwhile, unless it saw more than events.
            if not known.ended and (settled is None or (known.sent and not settled.is_over)):
                yield name
