"""What MAAS's ledger says of one machine of a task: was it acted on, is that over, and what came of it. Pure.

Only events after the task's beginning are given. The first end after our own request counts: what later tasks have
done to the machine does not change what this one did.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from provisioner_client.maas.events import ACQUIRE, COMMISSION, DEPLOY, MARKED_BROKEN, RELEASE, Event
from provisioner_client.maas.machine import FAILED, STATUS_NAMES, Machine, SetUp, Status, find_set_up

_REQUESTS: Final[Mapping[str, tuple[str, ...]]] = {
    "prepare_nodes": (COMMISSION,),
    "deploy_nodes": (DEPLOY,),
    "destroy_nodes": RELEASE,
}
_BEGINS: Final = (COMMISSION, ACQUIRE, DEPLOY, *RELEASE)
_UNDER_WAY: Final[Mapping[str, frozenset[Status]]] = {
    "prepare_nodes": frozenset({Status.COMMISSIONING, Status.TESTING}),
    "deploy_nodes": frozenset({Status.DEPLOYING}),
    "destroy_nodes": frozenset({Status.RELEASING, Status.DISK_ERASING}),
}
ABORTED: Final = "its commissioning was aborted, and it is Ready as it was before"
_GOOD: Final[Mapping[str, frozenset[Status]]] = {
    "prepare_nodes": frozenset({Status.READY}),
    "deploy_nodes": frozenset({Status.DEPLOYED}),
    "destroy_nodes": frozenset({Status.READY, Status.NEW}),
}


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a machine is.

    Attributes
    ----------
    sent : our request has taken effect.
    acquired : it was allocated for this task; it may not be deploying yet.
    made : how it was set up before that; None: the design does not say how.
    ended : MAAS is done with it, well or not.
    ok : it came to what was asked for.
    why : in MAAS's words, where it did not.
    unexplained : what it came to instead, where that is all that MAAS's events say of why it did not.
    waits_at : a status that this version does not know: nothing is concluded from it.
    """

    sent: bool = False
    acquired: bool = False
    made: SetUp | None = None
    ended: bool = False
    ok: bool = False
    why: str = ""
    unexplained: str = ""
    waits_at: str = ""


def progress_of(action: str, reference: str, account: str, events: Sequence[Event]) -> Progress:
    """Read a machine's progress out of its events, which are in the order of their ids.

    Parameters
    ----------
    action : a value of `protocol.ACTIONS`.
    reference : the task's; our requests carry it as their comment, commissioning alone has no place for one.
    account : the name under which we ask.
    """
    allocations = [event for event in events if event.type == ACQUIRE and event.mentions(reference)]
    acquired = bool(allocations)
    for place, event in enumerate(events):
        if _is_request(event, action, reference, account):
            return _walk(action, events[place:], acquired)
    return Progress(acquired=acquired, made=find_set_up(allocations[-1].description) if allocations else None)


def events_of_task(action: str, reference: str, account: str, events: Sequence[Event]) -> Sequence[Event]:
    """Return the events up to the end of the task, and what was said of that: not what became of the machine later.

    Parameters
    ----------
    action, reference, account, events : as for `progress_of`. All events where it was not acted on.
    """
    begun = ended = False
    for place, event in enumerate(events):
        if ended and (event.new_status is not None or event.type in _BEGINS):
            return events[:place]
        begun = begun or _is_request(event, action, reference, account)
        if begun and event.new_status is not None:
            status = STATUS_NAMES.get(event.new_status.lower())
            ended = status is not None and status not in _UNDER_WAY[action]
    return events


def _is_request(event: Event, action: str, reference: str, account: str) -> bool:
    ours = event.is_by(account) if event.type == COMMISSION else event.mentions(reference)
    return event.type in _REQUESTS.get(action, ()) and ours


def _walk(action: str, events: Sequence[Event], acquired: bool) -> Progress:
    waits_at = ""
    for place, event in enumerate(events):
        if event.is_revert:
            return Progress(True, acquired=acquired, ended=True, why=event.reason)
        word = event.new_status
        if word is None:
            continue
        status = STATUS_NAMES.get(word.lower())
        waits_at = word if status is None else ""
        if status is not None and status not in _UNDER_WAY[action]:
            # A status that it was only given back is no success; MAAS may say so after it.
            ok = status in _GOOD[action] and not any(one.is_revert for one in _after(events, place))
            ended = Progress(True, acquired=acquired, ended=True, ok=ok)
            return ended if ok else _failed(ended, status, word, _reason(events[1:], place - 1))
    return Progress(sent=True, acquired=acquired, waits_at=waits_at)


def _failed(ended: Progress, status: Status | None, word: str, reason: str) -> Progress:
    """Say what it came to instead, and why, as far as MAAS has written that down."""
    became = word if status in FAILED else f"it became {word}"
    if reason:
        return replace(ended, why=f"{became}: {reason}")
    return replace(ended, why=f"the machine is {word}", unexplained=became)


def _reason(events: Sequence[Event], place: int) -> str:
    """Return what was written down about the change at this place: trouble rather than what somebody asked for.

    What stands before it comes first, then what stands right after it, up to the next change of the status.
    """
    before, after = list(reversed(events[:place])), _after(events, place)
    for event in [*before, *after]:
        if event.is_revert:
            return event.reason
    for listed in (before, after):
        for event in [*(one for one in listed if one.is_trouble), *(one for one in listed if one.is_request)]:
            return event.reason
    return ""


def _after(events: Sequence[Event], place: int) -> list[Event]:
    """Return what was written down after the change at this place, up to the next change or request."""
    found = []
    for event in events[place + 1 :]:
        if event.new_status is not None or event.type in _BEGINS:
            break
        found.append(event)
    return found


def reason_of_status(events: Sequence[Event]) -> str:
    """Return why a machine is in the status that it has, as far as its newest events say; "": they do not.

    Parameters
    ----------
    events : in the order of their ids, from before any task of ours.
    """
    changes = [place for place, event in enumerate(events) if event.new_status is not None]
    if not changes:
        return ""
    if STATUS_NAMES.get((events[changes[-1]].new_status or "").lower()) is Status.BROKEN:
        # MAAS releases a machine between the two, which are changes of its status, too.
        marked = (event.reason for event in reversed(events) if event.type.startswith(MARKED_BROKEN))
        return next(marked, "")
    start = changes[-2] + 1 if len(changes) > 1 else 0
    return _reason(events[start:], changes[-1] - start)


def progress_by_status(action: str, known: Progress, machine: Machine) -> Progress:
    """Conclude from a machine's status what the ledger does not say, of a machine that was acted on.

    A ledger may have been cut; a machine that is in none of the statuses on the way has come to an end.
    """
    if known.ended or not known.sent:
        return known
    status = machine.status
    if status is None:
        return Progress(True, acquired=known.acquired, waits_at=machine.status_name)
    if status in _UNDER_WAY[action]:
        return known
    reverted = action == "prepare_nodes" and machine.is_commissioning_aborted
    ok = status in _GOOD[action] and not machine.is_half_released and not reverted
    ended = Progress(True, acquired=known.acquired, ended=True, ok=ok)
    if ok or reverted:
        return ended if ok else replace(ended, why=ABORTED)
    return _failed(ended, status, machine.shown, "")
