"""Watchers are told of changes of objects that they name, in any order, once at most; their errors touch no status.

The controller has a thread for each, so that one that does not come back holds up nobody else (rules 41 and 42). What
is told stands in the store (`site_store/status/object_changes.py`). It is marked as begun first: a crash repeats none.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from design_rendering.redaction import Redactor
from site_engine.controller.controller import Job
from site_engine.controller.notifications import Send
from site_engine.watchers import DesignWatcher, Told
from site_store import LeaseLost, SiteStore, StoreError, Version, changes_of
from strategy_lib.actors import WEBHOOK, Actor

if TYPE_CHECKING:
    from site_engine.controller.controller import Controller
    from site_store import Lease, OutboxRecord

log = logging.getLogger("slipway.watchers")

TELL_EVERY: Final = 5.0
LONG: Final = 60.0
"""Seconds after which the log says that a watcher has not come back."""
_LONGEST_ERROR: Final = 500


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
