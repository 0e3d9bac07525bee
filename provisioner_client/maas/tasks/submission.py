"""Starting a task once, whatever is lost on the way (rule 12): its tag first, then each machine's turn.

Tags of tasks that are over are deleted then: their results were taken in long ago. What cannot be deleted now is
deleted by a later task.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Sequence

from msgspec.structs import replace

from design_rendering.kinds.slipway_nodes import SlipwayNode
from provisioner_client.errors import (
    AuthenticationFailed,
    ProvisionerError,
    ProvisionerProtocolError,
    ProvisionerRefused,
    SubmissionRefused,
    SubmissionUncertain,
)
from provisioner_client.http_settings import growing_delays
from provisioner_client.maas.api import MaasApi
from provisioner_client.maas.design import full_image
from provisioner_client.maas.machine import Machine
from provisioner_client.maas.tasks.driver import Driver
from provisioner_client.maas.tasks.ledger import Ledger
from provisioner_client.maas.tasks.task_tag import Order, Settled, TaskTag, is_of_other_store, is_tag_name
from provisioner_client.piecewise.provisioner import Request
from provisioner_client.protocol import ACTIONS
from provisioner_client.references import REFERENCE
from provisioner_client.site_documents import NODE, DesignReader, by_name
from strategy_lib.phase import Phase

log = logging.getLogger(__name__)

_REPEATED = (Phase.PREPARE, Phase.DESTROY, Phase.RELEASE)
"""What MAAS does a second time if it is asked again; it deploys an allocated machine once."""
_TURNS = (0.5, 1.0, 2.0, 4.0, 8.0)
"""Seconds between looks at whether it is our turn to deploy: to send eight deploys takes MAAS about ten."""


class Submission:
    """Makes tasks, and gives their machines their turns.

    Parameters
    ----------
    api, driver, designs : of the site.
    sleep, now : wait for so many seconds; seconds since any moment.
    """

    def __init__(
        self,
        api: MaasApi,
        driver: Driver,
        designs: DesignReader,
        sleep: Callable[[float], None],
        now: Callable[[], float],
    ) -> None:
        self._api, self._driver, self._designs = api, driver, designs
        self._sleep, self._now = sleep, now
        self._older_tags: set[str] = set()

    def of_site(self, request: Request, look: Callable[[], str]) -> TaskTag:
        """Make a task of the whole site, which is over as soon as it is there: `look` says why it fails, or ""."""
        reference, action = request.reference, ACTIONS[request.phase]
        _require_tag_name(reference)
        tag = self._known(reference)
        if tag is None:
            why = look()
            settled = {"": Settled(not why, why)}
            tag = self._make(TaskTag(reference, action, "", 0, {}, settled, self._api.limits), request.guard)
            self._sweep_site(reference, request.guard)
        return _checked(tag, request.phase)

    def of_nodes(self, request: Request, names: Sequence[str]) -> Ledger:
        """Make a task of these nodes, or join it, and give each machine its turn.

        Deploys for which there is no place stay unsent, as does what waits for MAAS.
        """
        phase, reference, sent_ago = request.phase, request.reference, request.sent_ago
        _require_tag_name(reference)
        found = None if sent_ago is None else self._known(reference)
        tag = _checked(found or self._make(self._planned(request, names), request.guard), phase)
        ledger = Ledger(self._api, tag, self._now)
        ledger.read()
        if ledger.is_over():
            return ledger
        if found is not None and phase in _REPEATED and sent_ago is not None:
            # What an earlier process has sent may still take effect: a machine would be commissioned twice, or released
            # when it is deployed again.
            self._look_until(ledger, self._driver.settings.settle - sent_ago)
        self._drive(ledger, request)
        older, self._older_tags = self._older_tags - {reference}, set()
        self._sweep_machines(older, request.guard)
        return ledger

    def _planned(self, request: Request, names: Sequence[str]) -> TaskTag:
        phase, reference = request.phase, request.reference
        design = self._designs.for_task(phase, request.design)
        found = by_name(self._api.machines_of("hostname", names))
        orders: dict[str, Order] = {}
        settled = {}
        for name in names:
            same = found.get(name, [])
            if phase is Phase.DEPLOY and name not in design.nodes:
                settled[name] = Settled(False, f"the design has no {NODE} {name}: nothing says what to deploy")
            elif len(same) == 1:
                orders[name] = self._order(phase, same[0], design.nodes.get(name))
            else:
                many = f"{len(same)} machines" if same else "no machine"
                settled[name] = Settled(False, f"MAAS has {many} {name} in {self._api.limits}")
        if any(order.image and "/" not in order.image for order in orders.values()):
            images = self._api.images()
            orders = {name: replace(one, image=full_image(one.image, images)) for name, one in orders.items()}
        prefix = f"{reference.partition('-')[0]}-"
        self._older_tags = {one for same in found.values() for each in same for one in each.tags}
        self._older_tags = {
            one for one in self._older_tags if one.startswith(prefix) and not is_of_other_store(reference, one)
        }
        since = self._api.newest_event([order.system_id for order in orders.values()])
        return TaskTag(reference, ACTIONS[phase], design.digest, since, orders, settled, self._api.limits)

    def _order(self, phase: Phase, machine: Machine, node: SlipwayNode | None) -> Order:
        order = Order(machine.system_id, machine.commissioning_result)
        if phase in (Phase.DESTROY, Phase.RELEASE):
            return replace(order, erase=(node.erase if node is not None else None) or self._driver.settings.erase)
        if phase is not Phase.DEPLOY or node is None:
            return order
        return replace(
            order,
            image=node.image or self._driver.settings.image,
            kernel=node.kernel or "",
            storage=node.storage_layout or "",
            network=node.network_layout or "",
            ephemeral=node.ephemeral,
            user_data=node.user_data is not None,
        )

    def _make(self, tag: TaskTag, guard: Callable[[], None]) -> TaskTag:
        """Make the tag of a task, which MAAS takes once; who comes second gets the first one's.

        Raises `SubmissionRefused`: MAAS takes no such tag; `SubmissionUncertain`: no answer says whether it is there.
        """
        uncertain, attempts = False, self._api.http.retry.attempts
        for attempt in range(1, attempts + 1):
            guard()
            try:
                self._api.make_tag(tag.reference, tag.comment())
                return tag
            except AuthenticationFailed:
                raise
            except ProvisionerError as trouble:
                uncertain, is_refused = uncertain or trouble.may_be_done, isinstance(trouble, ProvisionerRefused)
                found = self._known(tag.reference) if is_refused or trouble.may_be_done else None
                if found is not None:
                    return found
                if is_refused and not uncertain:
                    raise SubmissionRefused(trouble.detail, status=trouble.status, answered=True) from trouble
                if uncertain and (is_refused or attempt == attempts):
                    raise SubmissionUncertain(f"reference {tag.reference}: {trouble.detail}") from trouble
                if attempt == attempts:
                    raise
                # Sent again without waiting: a tag is made once, whenever a lost request takes effect.
                self._api.http.pause(attempt, trouble)
        raise AssertionError("the last attempt returns or raises")  # pragma: no cover

    def _known(self, reference: str) -> TaskTag | None:
        try:
            return self._api.task(reference)
        except (AuthenticationFailed, SubmissionUncertain):
            raise
        except ProvisionerError as trouble:
            raise SubmissionUncertain(f"reference {reference}: {trouble.detail}", status=trouble.status) from trouble

    def _drive(self, ledger: Ledger, request: Request) -> None:
        """Give each machine its turn; what may have been lost is looked for until it can take no effect any more."""
        turns = iter(_TURNS)
        while True:
            self._driver.advance(ledger, request.phase, lambda: self._designs.read(request.design).nodes, request.guard)
            ledger.read()
            self._driver.rest(ledger)
            waits = self._driver.doubtful_for(ledger)
            if waits is None and self._driver.is_kept_waiting and (delay := next(turns, None)) is not None:
                self._sleep(delay)
                continue
            if waits is None:
                return
            self._look_until(ledger, waits, all_lost=True)

    def _look_until(self, ledger: Ledger, seconds: float, *, all_lost: bool = False) -> None:
        """Read the ledger again and again for so long, or until everything that may be lost is seen there."""
        for delay in growing_delays(self._driver.settings.first_look, seconds):
            if not ledger.unsent() or (all_lost and self._driver.doubtful_for(ledger) is None):
                return
            self._sleep(delay)
            ledger.read()

    def _sweep_machines(self, names: Iterable[str], guard: Callable[[], None]) -> None:
        """Delete those of these tags, which stand on the machines of a new task, whose tasks are over."""
        for name in sorted(names):
            try:
                tag = self._api.task(name)
                if tag is None:
                    continue
                ledger = Ledger(self._api, tag, self._now)
                ledger.read()
                if ledger.is_over():
                    guard()
                    self._api.delete_tag(name)
            except ProvisionerProtocolError:
                continue  # somebody else's tag
            except ProvisionerError as trouble:
                log.info("tags of earlier tasks stay in MAAS for now: %s", trouble)
                return

    def _sweep_site(self, reference: str, guard: Callable[[], None]) -> None:
        """Delete the tags that stand on no machine, of earlier tasks than this one: nobody finds them else.

        These are tasks of the whole site, and those of earlier actions that acted on no machine. One action at a time
        is on a site, so that nobody waits for them.
        """
        try:
            for tag in self._api.tasks():
                if tag.site == self._api.limits and _may_go(tag, reference):
                    guard()
                    self._api.delete_tag(tag.reference)
        except ProvisionerError as trouble:
            log.info("tags of earlier tasks of the site stay in MAAS for now: %s", trouble)


def _require_tag_name(reference: str) -> None:
    if not is_tag_name(reference):
        raise SubmissionRefused("a reference must be what MAAS takes as a tag: letters, digits, - and _")


def _checked(tag: TaskTag, phase: Phase) -> TaskTag:
    if tag.action != ACTIONS[phase]:
        raise ProvisionerRefused(f"reference {tag.reference} belongs to another task, {tag.action}")
    return tag


def _may_go(tag: TaskTag, reference: str) -> bool:
    this, other = REFERENCE.fullmatch(reference), REFERENCE.fullmatch(tag.reference)
    if this is None or other is None or is_of_other_store(reference, tag.reference):
        return False
    is_earlier_action = other["action"] < this["action"]
    is_earlier = is_earlier_action or (other["action"] == this["action"] and int(other["op"]) < int(this["op"]))
    if not tag.orders and "" in tag.settled:
        return is_earlier
    return is_earlier_action and tag.orders.keys() <= tag.settled.keys()
