"""What has changed in a site's list of machines since it was last asked for: by events of MAAS, rarely by whole lists.

A machine in a list costs MAAS 55 ms, a question for events 13 ms. So events say which machines are read again. What
makes no event is looked for: power once a minute, all else with the whole list every hour.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Mapping
from typing import Final

import msgspec
from msgspec.structs import replace

from provisioner_client.maas.api import MaasApi
from provisioner_client.maas.events import EventPage
from provisioner_client.maas.machine import Machine
from provisioner_client.maas.tasks.ledger import OVERLAP
from provisioner_client.protocol import ListedNode, NodeChanges
from provisioner_client.site_documents import by_name
from strategy_lib.node_condition import NodeCondition

log = logging.getLogger(__name__)

WHOLE_EVERY: Final = 3600.0
"""Seconds between two whole lists: by then it is seen that a machine came, went or has another name."""
POWER_EVERY: Final = 60.0
"""Seconds between two looks for machines that lost their power, or have it again: that need not be an event."""
WATCHED_FOR: Final = 300.0
"""For so many seconds a machine that lost its power is read at each look: one look proves no drift, and it may be back
in a moment."""
MOST_PAGES: Final = 10
"""A cursor that is so many thousand events behind costs more than a whole list."""
MARKS: Final = 10
"""How many of the newest events are recognised by their time stamps. One is missing where its machine was deleted; all
are missing where the ledger was cut or is another one."""
_SKEW: Final = 60.0


class Cursor(msgspec.Struct, frozen=True, array_like=True):
    """How far the events were read.

    Attributes
    ----------
    place : of which MAAS, and which part of it.
    whole_at, power_at : when the whole list, and the power, were looked at; seconds since the epoch.
    newest : the highest number of an event that was seen.
    taken : the numbers of the site's events that were taken in, of the last ones that may not all have been visible.
    marks : time stamps of some of the newest events, by their numbers.
    off : when machines were seen first that are Deployed and have no power, by their ids.
    """

    place: str
    whole_at: float
    power_at: float
    newest: int
    taken: frozenset[int]
    marks: Mapping[int, str]
    off: Mapping[str, float]

    def text(self) -> str:
        """Return it as a text."""
        return msgspec.json.encode(self).decode()

    @classmethod
    def read(cls, text: str | None) -> Cursor | None:
        """Read a text; None where it is none of these."""
        try:
            return msgspec.json.decode(text or "", type=cls)
        except (UnicodeError, msgspec.DecodeError):
            return None

    def is_of_now(self, now: float) -> bool:
        """Whether the whole list is young enough, and no clock was put back."""
        return -_SKEW <= now - self.whole_at < WHOLE_EVERY and now - self.power_at >= -_SKEW

    def fits(self, page: EventPage) -> bool:
        """Whether the events after it are those of the ledger that it was made of."""
        there = {number: page.stamps[number] for number in self.marks if number in page.stamps}
        return (not self.marks or bool(there)) and all(self.marks[number] == stamp for number, stamp in there.items())

    def moved(self, page: EventPage, nodes: Collection[ListedNode], now: float) -> Cursor:
        """Return it after these events, and with the list as it is now."""
        newest = max(self.newest, page.newest)
        taken = self.taken | {event.id for event in page.events}
        stamps = {**self.marks, **page.stamps}
        return replace(
            self,
            newest=newest,
            taken=frozenset(number for number in taken if number > newest - OVERLAP),
            marks={number: stamps[number] for number in sorted(stamps)[-MARKS:]},
            off={node.key: self.off.get(node.key, now) for node in nodes if _is_off(node)},
        )


class SiteChanges:
    """Asks for the changes of one site.

    Parameters
    ----------
    api : of the site.
    url : of MAAS.
    whole : reads the list of all machines.
    now : seconds since the epoch.
    """

    def __init__(
        self, api: MaasApi, url: str, whole: Callable[[], dict[str, ListedNode]], now: Callable[[], float]
    ) -> None:
        self._api, self._read_all, self._now = api, whole, now
        self._place = f"{url} {api.limits}"

    def since(self, text: str | None, known: Mapping[str, ListedNode]) -> NodeChanges:
        """Return what has changed; everything where that cannot be told. Raises `ProvisionerError`."""
        now, cursor = self._now(), Cursor.read(text)
        names = {node.key: name for name, node in known.items()}
        if cursor is None or cursor.place != self._place or not cursor.is_of_now(now):
            return self._whole(now, names)
        if not known or "" in names or len(names) != len(known):
            return self._whole(now, names)
        page = self._api.events_of_all(names, max(0, cursor.newest - OVERLAP), MOST_PAGES)
        if page is None or not cursor.fits(page):
            log.info("MAAS's events are not those that were read before, or too many: the whole list is read")
            return self._whole(now, names)
        changed = {one.system_id for one in page.events if one.id not in cursor.taken and one.may_change_list}
        changed |= {key for key, since in cursor.off.items() if now - since < WATCHED_FOR and key in names}
        read: dict[str, Machine] = {}
        if now - cursor.power_at >= POWER_EVERY:
            cursor = replace(cursor, power_at=now)
            read = {one.system_id: one for one in self._api.off_though_deployed() if one.system_id in names}
            # What is not off any more has power again, or is not Deployed any more.
            changed |= {node.key for node in known.values() if _is_off(node)}
        changed -= read.keys()
        read |= {one.system_id: one for one in self._api.machines_of("id", changed)}
        if changed - read.keys() or any(names.get(one.system_id) != one.name for one in read.values()):
            # One is gone, or has another name, which another one may have, too.
            return self._whole(now, names)
        listed = listed_nodes(self._api, read.values())
        differing = {name: node for name, node in listed.items() if node != known[name]}
        following = cursor.moved(page, [*{**known, **differing}.values()], now)
        return NodeChanges(differing, is_whole=False, cursor=following.text())

    def _whole(self, now: float, names: Collection[str]) -> NodeChanges:
        # First the events: what happens meanwhile is read again.
        begin = self._api.newest_of_all(names, OVERLAP)
        nodes = self._read_all()
        cursor = Cursor(self._place, now, now, 0, frozenset(), {}, {}).moved(begin, nodes.values(), now)
        return NodeChanges(nodes, is_whole=True, cursor=cursor.text())


def listed_nodes(api: MaasApi, machines: Collection[Machine]) -> dict[str, ListedNode]:
    """Return machines as the list of nodes; one name of two proves nothing, and is left out."""
    found = by_name(machines)
    for name, same in found.items():
        if len(same) > 1:
            log.warning("MAAS has %d machines %s in %s: left out", len(same), name, api.limits)
    account = api.account if found else ""
    return {name: same[0].listed(account) for name, same in found.items() if name and len(same) == 1}


def _is_off(node: ListedNode) -> bool:
    return node.power_state == "off" and node.condition in (NodeCondition.DEPLOYED, NodeCondition.FAILED_RELEASE)
