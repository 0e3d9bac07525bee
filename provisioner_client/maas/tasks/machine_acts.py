"""What is asked of one machine for its next step, one request after the other; and, of no task, the power of machines.

Of all processes that deploy for one account of MAAS, one at a time counts what is deployed, and sends more: to count
and to send are two requests, and two that count at once would both find the same places free. Of the power nothing is
kept in MAAS: what runs on a machine that is powered on stays.
"""

from __future__ import annotations

import base64
import logging
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Final, TypeAlias

from provisioner_client.errors import (
    ProvisionerError,
    ProvisionerProtocolError,
    ProvisionerRefused,
    ProvisionerUnavailable,
)
from provisioner_client.maas.api import MaasApi
from provisioner_client.maas.machine import Machine, SetUp
from provisioner_client.maas.tasks.next_step import Act, NextStep, doubt_about, refusal_of
from provisioner_client.maas.tasks.progress import Progress
from provisioner_client.maas.tasks.task_tag import Order, Settled
from provisioner_client.shared_lists import SharedLock
from provisioner_client.site_documents import by_name

_MARGIN: Final = 10.0
"""Seconds between the prolonging of a lock and the sending."""


class TurnLost(Exception):
    """The turn has run out, and another process may have its own: nothing more is sent now."""


class DeployTurn:
    """The turn of one client.

    Parameters
    ----------
    lock : returns the lock of the account; it is asked for with the first turn. None: nobody keeps processes apart.
    settle : seconds for which a request may still take effect after it was sent, or after its answer was lost.
    """

    def __init__(self, lock: Callable[[], SharedLock] | None, settle: float) -> None:
        self._open = lock
        self._lock: SharedLock | None = None
        # Its answer is waited for, and is lost only then.
        self._seconds = 2 * settle + _MARGIN
        self._has = False
        self._in_flight = False

    def take(self) -> bool:
        """Begin a turn, or go on with it; False: another process has its own.

        Raises `ProvisionerError`: MAAS does not say whose the key is.
        """
        if self._open is None:
            return True
        self._lock = self._lock or self._open()
        self._has = (self._has and self._lock.prolong(self._seconds)) or self._lock.take(self._seconds)
        return self._has

    def guarded(self, guard: Callable[[], None]) -> Callable[[], None]:
        """Return a guard that also makes sure that this still is our turn, so long that what is sent next has settled.

        Raises `TurnLost` when called.
        """

        def check() -> None:
            guard()
            if self._lock is not None and not self._lock.prolong(self._seconds):
                self._has = False
                raise TurnLost

        return check

    def carry(self, send: Callable[[], None]) -> None:
        """Send a request. One whose end this process does not see keeps the turn: it may still take effect."""
        self._in_flight = True
        try:
            send()
        except ProvisionerError:
            self._in_flight = False
            raise
        self._in_flight = False

    def end(self) -> None:
        """Let others have their turn."""
        if self._lock is not None and self._has and not self._in_flight:
            self._has = False
            self._lock.give_up()


log = logging.getLogger(__name__)

Fields: TypeAlias = list[tuple[str, str]]

ERASE: Final[Mapping[str, tuple[tuple[str, str], ...]]] = {
    "none": (),
    "quick": (("erase", "true"), ("quick_erase", "true")),
    "secure": (("erase", "true"), ("secure_erase", "true")),
    "full": (("erase", "true"),),
}
"""How a release erases disks, by our word for it."""
_SET_EARLIER = "MAAS sets up its disks and interfaces only while it is Ready: release it first"


class MachineActs:
    """Sends the requests of one step.

    Parameters
    ----------
    api, turn : of the site, and to deploy.
    """

    def __init__(self, api: MaasApi, turn: DeployTurn) -> None:
        self._api, self._turn = api, turn
        self.sent: Act | None = None
        """What was asked for last, in this step; None: MAAS was only looked at."""
        self.has_set = False
        """Whether, in this step, disks or interfaces were set up."""

    def carry_out(
        self,
        step: NextStep,
        name: str,
        order: Order,
        reference: str,
        known: Progress,
        user_data: str | None,
        guard: Callable[[], None],
    ) -> Settled | None:
        """Do it; return what it came to where that is known by now.

        A machine's disks and interfaces are set up while it is Ready, which MAAS asks for, and before it is allocated:
        by then somebody else may have changed them. So they are read again once it is ours.

        Parameters
        ----------
        known : what the ledger has of the machine and this task, such as how it was set up.
        guard : called right before each request that changes anything.

        Raises
        ------
        ProvisionerError : MAAS refuses, or does not answer; `sent` says what was asked for.
        """
        self.sent, self.has_set = step.act, False
        made, is_for_us = known.made, known.acquired
        if step.act is Act.ALLOCATE:
            self._set_up(order, guard)
            try:
                made = self._made(order)
            except ProvisionerProtocolError as nonsense:
                return Settled(False, _unread(name, nonsense))
            self.sent, is_for_us = Act.ALLOCATE, True
            self.send(guard, lambda: self._api.allocate(order.system_id, reference, made))
        if step.act in (Act.ALLOCATE, Act.DEPLOY):
            if (order.storage or order.network) and (differs := self._difference(name, order, made, is_for_us)):
                if not is_for_us:
                    return Settled(False, differs)
                return Settled(False, f"{differs}; {self.let_go(name, order, reference, guard)}")
            self.sent = Act.DEPLOY
        for operation, fields in operations_of(step, order, reference, user_data):
            self.send(guard, lambda op=operation, given=fields: self._api.act(order.system_id, op, given))  # type: ignore[misc]
        return None

    def let_go(self, name: str, order: Order, reference: str, guard: Callable[[], None]) -> str:
        """Release a machine that was allocated for nothing; return what became of that, for a person."""
        try:
            self.send(guard, lambda: self._api.act(order.system_id, "release", [("comment", reference)]))
        except ProvisionerError as trouble:
            log.warning("%s: %s is not released: %s", reference, name, trouble)
            why = doubt_about(Act.RELEASE, name, order.system_id, trouble).rstrip(".")
            return f"{why}; {name} may be allocated for nothing: release it"
        return f"{name} was released again, and nothing was deployed"

    def send(self, guard: Callable[[], None], send: Callable[[], None]) -> None:
        """Send a request; once more only after what certainly had no effect."""
        http = self._api.http
        attempt = 1
        while True:
            guard()
            try:
                return self._turn.carry(send)
            except ProvisionerUnavailable as trouble:
                # A conflict of MAAS's transactions, or no connection at all: nothing was done.
                if attempt == http.retry.attempts or not (trouble.status == 409 or not trouble.reached):
                    raise
                http.pause(attempt, trouble)
            attempt += 1

    def _set_up(self, order: Order, guard: Callable[[], None]) -> None:
        """Set up disks and interfaces, where the design says how."""
        for operation, fields in set_up_operations(order):
            self.sent = Act.SET_UP
            self.send(guard, lambda op=operation, given=fields: self._api.act(order.system_id, op, given))  # type: ignore[misc]
            self.has_set = True

    def _made(self, order: Order) -> SetUp | None:
        """Return how disks and interfaces are now, where the design says how they should be."""
        if not order.network and not order.storage:
            return None
        self.sent = None
        return self._api.set_up(order.system_id)

    def _difference(self, name: str, order: Order, made: SetUp | None, is_for_us: bool) -> str:
        """Say what of a machine that is ours by now is not as this task has set it; "": nothing."""
        if not is_for_us:
            return f"{name} is Allocated in MAAS, and not for this task. {_SET_EARLIER}"
        if made is None:
            return f"how {name} was set up does not stand in the comment of its allocation"
        self.sent = None
        try:
            now = self._api.set_up(order.system_id)
        except ProvisionerProtocolError as nonsense:
            return _unread(name, nonsense)
        changed = [what for what in was_set(order) if getattr(now, what) != getattr(made, what)]
        if not changed:
            return ""
        wanted = " and ".join(f"{what} ({was_set(order)[what]})" for what in changed)
        return f"somebody else has changed in MAAS what Slipway had set up of {name}: {wanted}"


def _unread(name: str, nonsense: ProvisionerProtocolError) -> str:
    return f"how {name} is set up cannot be read: {str(nonsense).rstrip('.')}"


def operations_of(step: NextStep, order: Order, reference: str, user_data: str | None) -> list[tuple[str, Fields]]:
    """Return what is asked of a machine for a step, in this order.

    Parameters
    ----------
    step : to allocate is no operation on a machine: what is asked of it then is its deploy.
    order, reference : the machine's, and the task's, which stands in the comments.
    user_data : what it gets at its first boot; None: nothing.
    """
    if step.act is Act.COMMISSION:
        return [("commission", [("skip_networking", "1"), ("skip_storage", "1")] if step.keeps else [])]
    comment = ("comment", reference)
    if step.act is Act.RELEASE:
        return [("release", [comment, *ERASE.get(order.erase, ())])]
    fields = [comment]
    fields += [(key, text) for key, text in (("distro_series", order.image), ("hwe_kernel", order.kernel)) if text]
    if order.ephemeral:
        fields.append(("ephemeral_deploy", "true"))
    if user_data is not None:
        fields.append(("user_data", base64.b64encode(user_data.encode()).decode()))
    return [("deploy", fields)]


def set_up_operations(order: Order) -> list[tuple[str, Fields]]:
    """Return what is asked of a machine to set up its network and its storage."""
    found: list[tuple[str, Fields]] = []
    if order.network:
        found.append(("restore_networking_configuration", []))
    if order.storage:
        found.append(("set_storage_layout", [("storage_layout", order.storage)]))
    return found


def was_set(order: Order) -> dict[str, str]:
    """Return what of a machine is set up, and how the design calls it."""
    return {what: text for what in ("network", "storage") if (text := getattr(order, what))}


def power_on(api: MaasApi, names: Collection[str]) -> dict[str, str]:
    """Ask for the power of machines of the site, each once; return why it was not, of those that stay as they are.

    Raises `ProvisionerError`: MAAS cannot be asked at all.
    """
    refused = {}
    for name in sorted(set(names)):
        # Each right before: a BMC takes seconds, and somebody else may have the next machine by then.
        same = by_name(api.machines_of("hostname", [name])).get(name, [])
        why = _why_not(api, same)
        if not why:
            try:
                api.act(same[0].system_id, "power_on", ())
            except ProvisionerError as trouble:
                if trouble.is_of_all:
                    raise
                is_refused = isinstance(trouble, ProvisionerRefused)
                why = refusal_of(Act.POWER_ON, name, same[0].system_id, trouble) if is_refused else trouble.detail
        if why:
            refused[name] = why
    return refused


def _why_not(api: MaasApi, same: Sequence[Machine]) -> str:
    if len(same) != 1:
        return f"MAAS has {len(same)} machines of this name in {api.limits}"
    (machine,) = same
    if machine.is_owned_by_other(api.account):
        return f"it is {machine.owner}'s in MAAS"
    if machine.can_power_on and machine.locked:
        return "it is locked in MAAS: unlock it there"
    return "" if machine.can_power_on else f"it is {machine.shown}, power {machine.power_state or 'not known'}"
