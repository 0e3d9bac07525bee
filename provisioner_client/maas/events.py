"""MAAS's events, which are its ledger: who asked for what, and each change of a status, in the order of their ids."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Final

from provisioner_client.errors import ProvisionerProtocolError
from provisioner_client.http_errors import one_line

COMMISSION: Final = "User starting node commissioning"
ACQUIRE: Final = "User acquiring node"
DEPLOY: Final = "User starting deployment"
RELEASE: Final = ("User releasing node", "User erasing disk")
"""Either: a release that erases is written down as an erasing."""
MARKED_BROKEN: Final = ("User marking node broken", "Marking node broken")
CHANGED: Final = "Node changed status"
_MARKED: Final = "Marking node failed"
_TROUBLE: Final = (_MARKED, "User marking node failed", "User aborting", "Aborting")
_REVERTED: Final = re.compile(r"(?:\([^()]*\) - )?(Aborting [A-Z_]+ and reverting to .*)")
_BY: Final = re.compile(r"\(([^()]*)\)(?: - (.*))?")
# The comments of our own requests are references, which say nothing to a person.
_REFERENCE: Final = re.compile(r"slipway-[\w-]+( set-up \S+)?")
_CHANGING: Final = (CHANGED, "User ", "Node powered")
_CHANGE: Final = re.compile(r"From '([^']*)' to '([^']*)'")


@dataclass(frozen=True, slots=True)
class Event:
    """One event of one machine. `created` is MAAS's own time stamp, as it came."""

    id: int
    system_id: str
    type: str
    description: str
    username: str
    created: str
    level: str

    @property
    def new_status(self) -> str | None:
        """MAAS's word for the status that the machine has had since; None where this is about something else."""
        found = _CHANGE.search(self.description) if self.type == CHANGED else None
        return None if found is None else found.group(2)

    @property
    def is_revert(self) -> bool:
        """Whether MAAS has begun something, could not go on, and has given the machine back the status it had.

        It is a mere warning, as is each failure to ask a BMC for the power.
        """
        return _REVERTED.fullmatch(self.description) is not None

    @property
    def is_trouble(self) -> bool:
        """Whether it says why something failed."""
        return self.type.startswith(_TROUBLE) or self.level in ("ERROR", "CRITICAL") or self.is_revert

    @property
    def may_change_list(self) -> bool:
        """Whether the list may say something else of the machine since: no mere report of how far it is."""
        return self.type.startswith(_CHANGING) or self.is_trouble

    @property
    def said(self) -> str:
        """It as a line for a person."""
        return f"{self.type}: {self.description}" if self.description else self.type

    @property
    def is_request(self) -> bool:
        """Whether a person, or a program, asked MAAS for something."""
        return self.type.startswith("User ")

    @property
    def reason(self) -> str:
        """What it says of why something failed: MAAS's words, without that it was written down as a failure."""
        if self.type == _MARKED and self.description:
            return self.description
        if (reverted := _REVERTED.fullmatch(self.description)) is not None:
            return f"{self.type}: {reverted[1]}"
        asked = _BY.fullmatch(self.description) if self.is_request else None
        if asked is None:
            return self.said
        comment = asked[2] if asked[2] and not _REFERENCE.fullmatch(asked[2]) else ""
        return f"{self.type} by {asked[1]}" + (f": {comment}" if comment else "")

    def is_by(self, account: str) -> bool:
        """Whether this account asked for it. MAAS names him in the description too, for events without a comment."""
        return self.username == account or self.description.startswith(f"({account})")

    def mentions(self, reference: str) -> bool:
        """Whether its comment has this reference, and not only one that begins with it."""
        return re.search(rf"(?<![\w-]){re.escape(reference)}(?![\w-])", self.description) is not None


@dataclass(frozen=True, slots=True)
class EventPage:
    """One answer to `events/op-query`.

    Attributes
    ----------
    events : of the machines that were wanted, by their ids.
    stamps : MAAS's time stamps of all events of the answer, by their ids: also of those of which no more is read.
    """

    events: list[Event]
    stamps: Mapping[int, str]

    @property
    def newest(self) -> int:
        """The highest id; 0 where there is none."""
        return max(self.stamps, default=0)


def read_events(data: object, wanted: Collection[str]) -> EventPage:
    """Read an answer to `events/op-query`; events of other machines than those wanted are dropped unread.

    Raises `ProvisionerProtocolError`: it is no such answer.
    """
    listed = data.get("events") if isinstance(data, dict) else None
    if not isinstance(listed, list):
        raise ProvisionerProtocolError("MAAS's events are not a list")
    found, stamps = [], {}
    for one in listed:
        if not isinstance(one, dict) or not isinstance(one.get("id"), int):
            raise ProvisionerProtocolError("MAAS gives an event without an id")
        stamps[one["id"]] = str(one.get("created") or "")
        if one.get("node") in wanted:
            found.append(
                Event(
                    one["id"],
                    str(one["node"]),
                    one_line(one.get("type") or ""),
                    one_line(one.get("description") or ""),
                    str(one.get("username") or ""),
                    str(one.get("created") or ""),
                    str(one.get("level") or ""),
                )
            )
    return EventPage(sorted(found, key=lambda event: event.id), stamps)
