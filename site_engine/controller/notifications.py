"""What is told of events (`outbox`): notifications, each sent at least once, and changes of objects to watchers.

Watchers are told of changes of objects that they name, in any order, once at most; their errors touch no status. The
controller has a thread for each, so that one that does not come back holds up nobody else (rules 41 and 42). What is
told stands in the store (`site_store/status/object_changes.py`). It is marked as begun first: a crash repeats none.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import Any, Final

from design_rendering.redaction import Redactor
from site_engine.controller.controller import Controller, Job
from site_engine.errors import AccountRefused, EngineError, NotDelivered
from site_engine.watchers import DesignWatcher, Told
from site_store import Lease, LeaseLost, OutboxRecord, SiteStore, StoreError, Version, changes_of
from site_store.nodes.node_troubles import TROUBLED
from strategy_lib.actors import WEBHOOK, Actor
from strategy_lib.parsing.notifications import NotificationKind, Target

log = logging.getLogger("slipway.watchers")

SEND_EVERY: Final = 5.0
FIRST_PAUSE: Final = 10.0
LONGEST_PAUSE: Final = 3600.0
UNKNOWN_PAUSE: Final = timedelta(seconds=60)
"""The longest pause while Airflow or Slipway's API is away."""
GIVEN_UP_AFTER: Final = timedelta(days=3)
MOST_NAMED: Final = 10
"""The headline of a report names at most this many nodes; its data has all."""
LONGEST_LOOK: Final = 10.0
"""Seconds that one look sends for at most: other jobs wait meanwhile."""
TELL_EVERY: Final = 5.0
LONG: Final = 60.0
"""Seconds after which the log says that a watcher has not come back."""
_LONGEST_ERROR: Final = 500

Send = Callable[["OutboxRecord", "Target", "Lease"], None]
"""Sends a notification once. Raises `NotDelivered`: the receiver did not take it. Any other `EngineError`: Airflow or
Slipway's API is away, and nothing is known of the receiver."""


def headline(event: OutboxRecord, objects: Collection[str] = ()) -> str:
    """Return what happened in one sentence, on one line; `objects` as for `message_of`."""
    data, action = event.data, event.action_id or ""
    match event.kind:
        case NotificationKind.VERDICT:
            said = f"{data.get('kind', 'action')} is {data.get('state')}: {data.get('verdict')}"
        case NotificationKind.CRITICAL_GROUP_FAILED:
            said = f"critical group {event.group} failed ({data.get('reason') or 'no reason is known'})"
        case NotificationKind.GATE_WAITING:
            said = f"group {event.group} waits for approval: {data.get('text') or 'no text is given'}"
        case NotificationKind.OWNER_UNRESPONSIVE:
            said = f"{data.get('owner')} is unresponsive"
        case NotificationKind.OWNER_BACK:
            said = f"{data.get('owner')} is back"
        case NotificationKind.SITE_UNWATCHED | NotificationKind.SITE_WATCHED:
            said = f"watching is {data.get('status')}: {data.get('message')}"
        case NotificationKind.NODE_REPORT:
            failed = [str(report["node"]) for report in data.get("reports", ())]
            said = f"{len(failed)} nodes have failed: {_first(failed)}"
        case NotificationKind.NODE_TROUBLE:
            said = _edges_text(data.get("edges", ()))
        case NotificationKind.OBJECTS_CHANGED:
            said = _changes_text(event, objects)
        case _:
            said = event.kind
    about = f" [action {action}]" if action else ""
    return " ".join(f"Site {event.site}: {said}{about}".split())


def _edges_text(edges: Collection[Mapping[str, Any]]) -> str:
    """Say which nodes came into error or undefined, with the first reason of each status, and which are out of it."""
    by_status: dict[str, list[Mapping[str, Any]]] = {}
    for edge in edges:
        by_status.setdefault(edge["after"] if edge["after"] in TROUBLED else "", []).append(edge)
    parts = []
    for status, these in sorted(by_status.items(), reverse=True):
        named = _first([edge["node"] for edge in these])
        nodes = f"{len(these)} {'node is' if len(these) == 1 else 'nodes are'}"
        why = f" ({these[0]['message']})" if status and these[0].get("message") else ""
        parts.append(f"{nodes} now {status}: {named}{why}" if status else f"{nodes} out of it: {named}")
    return "; ".join(parts)


def _changes_text(event: OutboxRecord, objects: Collection[str]) -> str:
    changes, revision = changes_of(event, objects), event.data.get("revision")
    named = _first([f"{one.key} ({one.change})" for one in changes])
    where = f" in revision {revision}" if revision is not None else ""
    return f"{len(changes)} {'object' if len(changes) == 1 else 'objects'} changed{where}: {named}"


def _first(names: Sequence[str]) -> str:
    """Return the first of these names, and how many more there are."""
    more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    return f"{', '.join(names[:MOST_NAMED])}{more}"


def _data_of(event: OutboxRecord, objects: Collection[str]) -> dict[str, Any]:
    data = dict(event.data)
    if event.kind == NotificationKind.OBJECTS_CHANGED:
        data["changes"] = [
            {"kind": one.key.kind, "name": one.key.name, "change": one.change, "version": one.version}
            for one in changes_of(event, objects)
        ]
    return data


def message_of(event: OutboxRecord, objects: Collection[str] = ()) -> dict[str, Any]:
    """Return a notification as JSON values: what a webhook gets.

    Parameters
    ----------
    objects : of which objects the receiver is told changes; none: of all.
    """
    return {
        "id": event.event_id,
        "event": event.kind,
        "site": event.site,
        "action": event.action_id,
        "group": event.group,
        "at": event.created.isoformat(),
        "text": headline(event, objects),
        "data": _data_of(event, objects),
    }


def text_of(message: Mapping[str, Any]) -> str:
    """Return a message as lines for a mail or a chat; plain text, in which nothing is markup."""
    facts = {"time": message["at"], "event": message["id"], **message["data"]}
    lines = [str(message["text"]), "", *(f"{name}: {_plain(value)}" for name, value in facts.items() if value)]
    return "\n".join(lines)


def _plain(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {part}" for name, part in value.items())
    if isinstance(value, list):
        return "; ".join(_plain(part) for part in value)
    return " ".join(str(value).split())


def pause_before(attempt: int) -> timedelta:
    """Return how long is waited after the n-th attempt in a row that failed."""
    return timedelta(seconds=min(LONGEST_PAUSE, FIRST_PAUSE * 2.0 ** min(attempt - 1, 20)))


def send_notifications(send: Send) -> Job:
    """Return the job that decides who is told of what is new, and sends what is due.

    A receiver that does not take it is tried again after growing pauses, for `GIVEN_UP_AFTER`.
    """

    def work(controller: Controller) -> bool:
        outbox, began = controller.store.outbox, controller.monotonic()
        while outbox.route(controller.lease()):
            pass
        due = outbox.due()
        for event, delivery in due:
            held = controller.lease()
            target = outbox.targets(event.site).get(delivery.target)
            if target is None:
                outbox.record_attempt(held, delivery, "the site's notifications have no such target any more")
                continue
            try:
                send(event, target, held)
            except AccountRefused:
                raise
            except NotDelivered as error:
                too_old = controller.store.now() - event.created > GIVEN_UP_AFTER
                pause = None if too_old else pause_before(delivery.attempts + 1)
                outbox.record_attempt(controller.lease(), delivery, str(error), pause)
            except EngineError as error:
                # Of the receiver nothing is known, and the next one may be heard: this one goes behind the others.
                pause = min(pause_before(delivery.attempts + 1), UNKNOWN_PAUSE)
                outbox.record_attempt(controller.lease(), delivery, str(error), pause)
                raise
            else:
                outbox.record_attempt(controller.lease(), delivery, None)
            if controller.monotonic() - began > LONGEST_LOOK:
                return False
        return not due

    return Job("notifications", SEND_EVERY, work)


REPORT_EVERY: Final = 5.0


def report_nodes() -> Job:
    """Return the job that has told what nobody was told of yet, with all that nobody has acknowledged."""

    def work(controller: Controller) -> None:
        controller.store.node_reports.notify(controller.lease())

    return Job("node reports", REPORT_EVERY, work)


def in_thread(work: Callable[[], None]) -> Callable[[], bool]:
    """Begin something in a thread that holds no process up at its end; return what tells whether it is at work."""
    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    return thread.is_alive


def tell_watchers(
    watchers: Mapping[str, DesignWatcher],
    send: Send,
    open_store: Callable[..., SiteStore] = SiteStore.open,
    begin: Callable[[Callable[[], None]], Callable[[], bool]] = in_thread,
) -> Job:
    """Return the job that decides who is told of what has changed, and has each watcher told that is not at work.

    Parameters
    ----------
    watchers : those that are installed.
    send : sends to a webhook of a site; no other thread uses it.
    open_store : opens a store for an actor; each watcher has its own.
    begin : begins a watcher's work, and returns what tells whether it is still at it.
    """
    at_work: dict[str, tuple[Callable[[], bool], float]] = {}
    named: set[str] = set()

    def work(controller: Controller) -> None:
        changes = controller.store.object_changes
        while changes.route(controller.lease(), {name: one.watches for name, one in watchers.items()}):
            pass
        for name in sorted(changes.waiting()):
            busy, since = at_work.get(name, (lambda: False, 0.0))
            if busy():
                if controller.monotonic() - since > LONG and name not in named:
                    named.add(name)
                    log.warning("Watcher %s has not come back for %d s: what is new waits for it.", name, LONG)
                continue
            named.discard(name)
            teller = _Teller(name, watchers.get(name), send, open_store)
            at_work[name] = (begin(partial(teller.run, controller.store, controller.lease())), controller.monotonic())

    return Job("watchers", TELL_EVERY, work)


@dataclass(frozen=True, slots=True)
class _Teller:
    """Tells one watcher all that waits for it, one after the other."""

    name: str
    watcher: DesignWatcher | None
    send: Send
    open_store: Callable[..., SiteStore]

    def run(self, store: SiteStore, held: Lease) -> None:
        """Go on until nothing waits, or another process leads."""
        try:
            while (found := store.object_changes.take(held, self.name)) is not None:
                event, told = found
                error = self._failure(store, event, partial(self._tell, store, event, told.target, held))
                store.object_changes.record(held, told, error)
        except LeaseLost:
            log.info("Watcher %s: another controller goes on.", self.name)
        except StoreError as error:
            log.warning("Watcher %s: the store does not answer: %s", self.name, error)

    def _failure(self, store: SiteStore, event: OutboxRecord, tell: Callable[[], None]) -> str | None:
        """Tell it, and return why that failed, without secrets of the site; None where it did not."""
        try:
            tell()
        except (Exception, SystemExit) as error:  # noqa: BLE001 - it is anybody's code
            said = f"{type(error).__name__}: {error}"
            number = store.sites.version_number(event.site, Version.COMMITTED)
            known = None if number is None else store.revisions.secrets(event.site, number)
            said = Redactor(known.texts if known is not None else ()).redact(said)[:_LONGEST_ERROR]
            log.warning("Watcher %s failed at event %s of site %s: %s", self.name, event.event_id, event.site, said)
            return said
        return None

    def _tell(self, store: SiteStore, event: OutboxRecord, target: str, held: Lease) -> None:
        if self.name == WEBHOOK:
            hook = store.outbox.targets(event.site).get(target)
            if hook is not None:
                self.send(event, hook, held)
            return
        if self.watcher is None:
            raise LookupError("it is not installed any more")
        with self.open_store(actor=Actor.WATCHER, touches=tuple(self.watcher.touches)) as own:
            data: Mapping[str, Any] = event.data
            changes = changes_of(event, self.watcher.watches)
            self.watcher.tell(Told(event.event_id, event.site, data["user"], data["revision"], changes, own))
