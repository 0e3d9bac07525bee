"""MAAS as a provisioner: a task is a tag in MAAS, and what became of it stands in MAAS's events.

How a task is kept and carried on is written in docs/provisioner.md.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from provisioner_client.designs import DesignMessage
from provisioner_client.errors import ProvisionerError, TaskNotFound
from provisioner_client.http_session import HttpSession
from provisioner_client.http_settings import AS_SHIPPED, HttpSettings, checked_url, identity_of
from provisioner_client.maas.api import PATH, MaasApi, is_maas
from provisioner_client.maas.api_key import ApiKey, PlaintextAuth
from provisioner_client.maas.changes import SiteChanges, listed_nodes
from provisioner_client.maas.design import lacks
from provisioner_client.maas.inventory import inventory, known_machine
from provisioner_client.maas.machine import Machine
from provisioner_client.maas.tasks.driver import Driver, TaskSettings
from provisioner_client.maas.tasks.evidence import evidence_of, reasons
from provisioner_client.maas.tasks.ledger import Ledger
from provisioner_client.maas.tasks.machine_acts import DeployTurn, power_on
from provisioner_client.maas.tasks.next_step import Act, next_step
from provisioner_client.maas.tasks.submission import Submission
from provisioner_client.maas.tasks.task_tag import TaskTag, is_tag_name
from provisioner_client.piecewise.provisioner import PiecewiseProvisioner, Request
from provisioner_client.protocol import ListedNode, NodeChanges, ProvisionerTask, TaskRef, TaskTree, unguarded
from provisioner_client.references import newest_reference
from provisioner_client.shared_lists import NOT_SHARED, Locks, Shared, SharedLock, shared_nodes
from provisioner_client.site_documents import Design, Inventory, KnownMachine, by_name
from strategy_lib.outcome import Evidence
from strategy_lib.phase import Phase

log = logging.getLogger(__name__)

COMPARE_EVERY: Final = 60.0
"""Seconds between two looks at the machines of a task themselves; its events are read at every look."""
_AS_SHIPPED: Final = TaskSettings()


class MaasProvisioner(PiecewiseProvisioner[list[Machine]]):
    """The `Provisioner` protocol for MAAS's API 2.0. One object serves one thread.

    Parameters
    ----------
    url : where MAAS listens, such as ``http://maas.example:5240/MAAS``.
    key : of an account that is an administrator.
    pool, tag : what limits the site's part of MAAS; at least one of them.
    settings : how machines are acted on.
    http : how requests are sent. MAAS answers some of them only after a machine's power has changed.
    shared : locks that keep processes apart that deploy, and how they share the list of all machines.
    wall_clock : seconds since the epoch. Given by tests.

    Raises
    ------
    ValueError : when the URL or what limits the site cannot be used.
    """

    def __init__(
        self,
        url: str,
        key: ApiKey,
        *,
        pool: str = "",
        tag: str = "",
        settings: TaskSettings = _AS_SHIPPED,
        http: HttpSettings = AS_SHIPPED,
        shared: Shared = NOT_SHARED,
        wall_clock: Callable[[], float] = time.time,
    ) -> None:
        self.url = checked_url(url).removesuffix(PATH).removesuffix("/api")
        session = HttpSession(self.url, http, secrets=lambda: key.secrets, auth=PlaintextAuth(key), is_own=is_maas)
        self._api = api = MaasApi(session, pool, tag)
        super().__init__("MAAS", session, api.limits, settings.settle)
        self._tag = tag
        self._settings = settings
        locks = shared.locks
        turn = DeployTurn(None if locks is None else lambda: self._lock(locks), settings.settle)
        self._driver = Driver(api, settings, http.clock, turn)
        self._submission = Submission(api, self._driver, self._designs, http.sleep, http.clock)
        # Also those that hurry wait for the list as long as the others.
        longest = max(settings.settle, http.timeouts.read)

        def machines() -> dict[str, ListedNode]:
            # Only MAAS knows whose key it is. Events are read before the list: it has to be newer than they are.
            name = f"list of machines of MAAS at {identity_of(api.http.base_url)}, {api.limits}, for {api.account}"
            lists, slow = shared.lists.from_now(), session.slow_answers
            return shared_nodes(lists, name, longest, http.redact, slow, lambda: listed_nodes(api, api.machines()))

        self._machines = machines
        self._changes = SiteChanges(api, self.url, self._machines, wall_clock)
        self._clock = http.clock
        self._ledgers: dict[str, Ledger] = {}

    def check(self) -> str:
        """Say whether MAAS answers and accepts the key, whether its account may do what is needed, and has the limits.

        Raises `AuthenticationFailed`: also for an account that is no administrator, and where the clocks differ by so
        much that MAAS refuses every key.
        """
        return self._api.check_access(self.url)

    def _lacks(self, design: Design) -> Iterable[DesignMessage]:
        machines = [one for same in self._found(design).values() for one in same]
        return lacks(design.nodes, machines, self._api.images(), self.limits, self._settings.image)

    def _known(self, design: Design) -> Mapping[str, KnownMachine]:
        return {name: known_machine(same[0], self._settings.words) for name, same in self._found(design).items()}

    def _find(self, names: Collection[str]) -> Mapping[str, list[Machine]]:
        found = by_name(self._api.machines_of("hostname", names))
        return {name: found[name] for name in names if name in found}

    def _submit_nodes(self, request: Request, names: Sequence[str]) -> None:
        self._ledgers[request.reference] = self._submission.of_nodes(request, names)

    def _submit_site(self, request: Request) -> None:
        self._submission.of_site(request, lambda: self._hindrance(request.design))

    def find(self, reference: str) -> ProvisionerTask | None:
        """Look for the tag; that MAAS itself says that there is none is certain."""
        tag = self._api.task(reference) if is_tag_name(reference) else None
        return None if tag is None else self._ledger(tag).task()

    def newest_reference(self, store: str) -> str | None:
        """Look through all tags: a task's has its reference as its name."""
        return newest_reference((tag.reference for tag in self._api.tasks()), store)

    def is_dead(self, task_id: str, *, age: float = 0.0) -> bool:
        """Return False: each look at a task goes on with it, so that no task depends on a process."""
        return False

    def task(
        self, ref: TaskRef, *, left: float | None = None, guard: Callable[[], None] | None = None
    ) -> ProvisionerTask:
        """Give a task as it is now, after doing what is due of it by now.

        Deploys are sent as places become free. What else was not sent, as its process was killed, is sent once this
        client has known the task for as long as a lost request may still take effect.
        """
        guard = guard or unguarded
        ledger = self._existing(ref)
        known = ref.phase or ledger.phase
        if left is not None:
            if ledger.unsent() and left >= self.settle:
                self._driver.give_up(ledger, known, guard)
        elif ledger.unsent() and (known is Phase.DEPLOY or ledger.known_for >= self.settle):
            design = ref.design
            nodes = None if design is None else (lambda: self._designs.read(design).nodes)
            self._driver.advance(ledger, known, nodes, guard)
            ledger.read()
            self._driver.rest(ledger)
        self._driver.keep(ledger, ledger.compare(COMPARE_EVERY), guard)
        return ledger.task()

    def task_tree(self, ref: TaskRef, node: str | None = None) -> TaskTree:
        """Give a task with what MAAS's events say of each of its machines."""
        ledger = self._existing(ref)
        ledger.read_all()
        unsent = [name for name in ledger.unsent() if node in (None, name)]
        return ledger.tree(node, self._waits(ledger, ledger.machines(unsent)))

    def evidence(self, ref: TaskRef, sent: Collection[str]) -> Evidence:
        """Collect what the events say of the nodes of a task, and how MAAS lists these machines now (rules 13, 14)."""
        try:
            ledger = self._existing(ref)
        except TaskNotFound:
            log.warning("task %s is gone: only the machines can tell what it did", ref.id)
            listed = by_name(self._api.machines_of("hostname", sent))
            machines = {name: same[0] for name, same in listed.items() if len(same) == 1}
            return evidence_of(None, machines, sent, {}, account=self._api.account)
        try:
            found = ledger.machines(sent)
        except ProvisionerError as failure:
            log.warning("the machines of task %s cannot be listed: %s", ref.id, failure)
            return replace(evidence_of(ledger, None, sent, {}, account=""), listed=False)
        waits = self._waits(ledger, found)
        if not ledger.is_begun() and not ledger.is_over():
            # How machines are before anything was done to them proves nothing.
            return Evidence(over=False, listed=True, messages=waits)
        why = reasons(self._api, ledger, sent, found)
        return evidence_of(ledger, found, sent, why, waits, account=self._api.account)

    def nodes(self, names: Collection[str] | None = None) -> dict[str, ListedNode]:
        """Give the machines of the site, all or those of these names; one name of two proves nothing.

        Each machine costs MAAS 55 ms.
        """
        if names is None:
            return self._machines()
        return listed_nodes(self._api, self._api.machines_of("hostname", names))

    def observe(self, cursor: str | None, known: Mapping[str, ListedNode]) -> NodeChanges:
        """Give what its events tell of; the whole list at the start, hourly, and where the cursor does not fit."""
        return self._changes.since(cursor, known)

    def power_on(self, nodes: Collection[str]) -> dict[str, str]:
        """Power machines on that are deployed and off, each by one request."""
        return power_on(self._api, nodes)

    def inventory(self) -> Inventory:
        """Give all machines of the site as documents can say them, and those that they cannot.

        Raises `ProvisionerError`: MAAS could not be asked.
        """
        return inventory(self._api.machines(), self._settings.words, self._api.account, self._tag)

    def _lock(self, locks: Locks) -> SharedLock:
        """Return the lock of those who deploy for this account, whatever their site's part of MAAS."""
        return locks(f"maas:{self.url}:{self._api.account}")

    def _waits(self, ledger: Ledger, machines: Mapping[str, Machine]) -> dict[str, str]:
        """Return what those machines wait for that were not acted on yet."""
        phase = ledger.phase
        steps = {
            name: next_step(phase, machines[name], ledger.progress(name), self._api.account)
            for name in ledger.unsent()
            if name in machines
        }
        waits = {name: step.why for name, step in steps.items() if step.act is Act.WAIT}
        if phase is Phase.DEPLOY:
            limit = f"at most {self._settings.parallel} machines are deployed at once"
            turns = (name for name, step in steps.items() if step.act in (Act.ALLOCATE, Act.DEPLOY))
            waits |= {name: f"{name} waits for its turn: {limit}" for name in turns}
        return waits

    def _existing(self, ref: TaskRef) -> Ledger:
        tag = self._api.task(ref.id) if is_tag_name(ref.id) else None
        if tag is None:
            self._ledgers.pop(ref.id, None)
            if is_tag_name(ref.id):
                self._api.confirm_gone(ref.id)
            raise TaskNotFound(f"tag {ref.id}", status=404)
        ledger = self._ledger(tag)
        ledger.require(ref)
        return ledger

    def _ledger(self, tag: TaskTag) -> Ledger:
        """Return what is known of a task, just read."""
        ledger = self._ledgers.get(tag.reference)
        if ledger is None:
            ledger = self._ledgers[tag.reference] = Ledger(self._api, tag, self._clock)
        ledger.tag = tag
        ledger.read()
        return ledger
