"""Does what is due of a task, machine by machine: after a look at the ledger, never twice, never on a stranger's.

Any process may do it, with what stands in the task's tag; only user data comes from the design.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Final

from design_rendering.kinds.slipway_nodes import SlipwayNode
from provisioner_client.errors import ProvisionerError, ProvisionerRefused
from provisioner_client.maas.api import BATCH, MaasApi
from provisioner_client.maas.inventory import LabelWords
from provisioner_client.maas.machine import FAILED, Machine, Status
from provisioner_client.maas.tasks.evidence import KINDS_OF_STATUS, failed_scripts
from provisioner_client.maas.tasks.ledger import Ledger
from provisioner_client.maas.tasks.machine_acts import DeployTurn, MachineActs, TurnLost, was_set
from provisioner_client.maas.tasks.next_step import (
    COMMISSIONED_FROM,
    Act,
    NextStep,
    doubt_about,
    next_step,
    refusal_of,
)
from provisioner_client.maas.tasks.progress import reason_of_status
from provisioner_client.maas.tasks.relabelling import relabel
from provisioner_client.maas.tasks.task_tag import Settled
from provisioner_client.piecewise.doubts import Doubts
from strategy_lib.phase import Phase

log = logging.getLogger(__name__)

FRESH: Final = 10.0
"""Seconds for which a look at a machine counts: when its turn comes later, somebody else may have it."""
_NEWEST: Final = 100
"""How many of a machine's newest events are searched for the reason of a status from before our task."""
_NOT_DEPLOYABLE: Final = 400
"""What MAAS refuses so of a deploy does not change by itself: an image, a network or a root file system is missing."""
_WITH_A_CAUSE: Final = (409, 500)
"""The answers in whose words a cause may stand that MAAS does not write down: a BMC does not answer."""
_EXPLAINED: Final = FAILED | {Status.BROKEN}

Nodes = Callable[[], Mapping[str, SlipwayNode]]


@dataclass(frozen=True, slots=True)
class TaskSettings:
    """What a task is made of, how its machines are acted on, and how patiently.

    Parameters
    ----------
    parallel : how many machines this account deploys at once at most.
    recommission : whether a machine that is Ready is commissioned again.
    settle : seconds for which a request whose answer was lost may still take effect.
    words : how labels are written as tags.
    image, erase : for nodes whose design names none; the latter is one of `machine_acts.ERASE`.
    first_look : seconds before the first look after a lost answer; each further wait is twice as long.
    """

    parallel: int = 8
    recommission: bool = True
    settle: float = 120.0
    words: LabelWords = field(default_factory=LabelWords)
    image: str = ""
    erase: str = "none"
    first_look: float = 1.0


@dataclass(frozen=True, slots=True)
class _Advance:
    """What one call of `advance` is about, and what it has settled so far; the fields are those of the call."""

    ledger: Ledger
    phase: Phase
    nodes: Nodes | None
    guard: Callable[[], None]
    settled: dict[str, Settled] = field(default_factory=dict)


class Driver:
    """Acts on the machines of tasks.

    Parameters
    ----------
    api : of the site.
    settings : see there.
    now : seconds since any moment.
    turn : to deploy, among all processes.
    """

    def __init__(self, api: MaasApi, settings: TaskSettings, now: Callable[[], float], turn: DeployTurn) -> None:
        self._api = api
        self.settings = settings
        self._now = now
        self._turn = turn
        self._acts = MachineActs(api, turn)
        self.is_kept_waiting = False
        """Whether, at the last look, another process had its turn to deploy."""
        self._advanced_at = now()
        self._doubts = Doubts(settings.settle, now)
        self._waits: dict[tuple[str, str], str] = {}

    def doubtful_for(self, ledger: Ledger) -> float | None:
        """Return after how many seconds a lost request of a task is settled; None: none was lost.

        One that was settled before `advance` was called last, and was not sent again by it, waits for a place, or for
        what MAAS is at: that is no doubt any more.
        """
        return self._doubts.seconds(ledger.tag.reference, ledger.unsent(), self._advanced_at)

    def advance(self, ledger: Ledger, phase: Phase, nodes: Nodes | None, guard: Callable[[], None]) -> None:
        """Do what is due for those machines that were not acted on yet, and keep what is settled by that.

        Parameters
        ----------
        ledger : of the task, just read.
        nodes : gives the design's nodes; without them machines that get user data wait for somebody who has it.
        guard : called right before each request that changes anything.

        Raises
        ------
        ProvisionerError : MAAS could not be asked. What was sent until then stays so.
        """
        this = _Advance(ledger, phase, nodes, guard)
        self.is_kept_waiting, self._advanced_at = False, self._now()
        try:
            if phase is Phase.RELABEL:
                self._relabel(this)
            else:
                self._act_on_all(this)
        except ProvisionerError:
            with suppress(ProvisionerError):
                self.keep(ledger, this.settled, guard)
            raise
        finally:
            self.rest(ledger)
        self.keep(ledger, this.settled, guard)

    def give_up(self, ledger: Ledger, phase: Phase, guard: Callable[[], None]) -> None:
        """Settle what was not begun of a task for which nobody waits any more, unless another process may be at it.

        What it sends at this moment would be seen too late. It is for who asks when nothing of `submit` may be lost.
        """
        if phase is Phase.DEPLOY and not self._turn.take():
            return
        try:
            ledger.read()
            why = "its turn had not come when nobody waited for it any more: nothing was done"
            self.keep(ledger, {name: Settled(False, why) for name in ledger.unsent()}, guard)
        finally:
            self.rest(ledger)

    def rest(self, ledger: Ledger) -> None:
        """Let other processes deploy, unless a deploy of ours may still begin of which the ledger does not know."""
        if not self._doubts.has_other(ledger.tag.reference, ledger.unsent()):
            self._turn.end()

    def _act_on_all(self, this: _Advance) -> None:
        ledger = this.ledger
        unsent = ledger.unsent()
        queue = [name for name in unsent if not self._doubts.is_open(ledger.tag.reference, name)]
        if this.phase is not Phase.DEPLOY:
            self._act_on_queue(this, queue, len(queue))
        elif queue:
            self.is_kept_waiting = not self._turn.take()
            if self.is_kept_waiting:
                log.info("%s: another process is sending deploys to MAAS; the next look goes on", ledger.tag.reference)
                return
            # What was lost may be deployed in a moment.
            places = self.settings.parallel - self._api.deploying() - (len(unsent) - len(queue))
            with suppress(TurnLost):
                self._act_on_queue(replace(this, guard=self._turn.guarded(this.guard)), queue, places)

    def _act_on_queue(self, this: _Advance, queue: Sequence[str], places: int) -> None:
        ledger = this.ledger
        while queue and places > 0:
            batch, queue = queue[: min(places, BATCH)], queue[min(places, BATCH) :]
            machines, looked = self._machines(ledger, batch), self._now()
            self._mark(this, machines)
            for name in batch:
                if self._now() - looked > FRESH:
                    machines = self._machines(ledger, [name])
                machine = machines.get(name)
                step = self._step(this.phase, machine, ledger, name)
                if step.act is Act.SETTLE:
                    this.settled[name] = Settled(step.ok, self._explained(step, machine))
                elif step.act is Act.WAIT:
                    self._note_wait(ledger, name, step.why)
                elif self._act(this, name, step):
                    places -= 1

    def _mark(self, this: _Advance, machines: Mapping[str, Machine]) -> None:
        """Give the task's tag to machines that are to be acted on: free or ours, and neither locked nor Broken."""
        ids = [
            machine.system_id
            for name, machine in machines.items()
            if not machine.locked
            and machine.status is not Status.BROKEN
            and this.ledger.tag.reference not in machine.tags
            and self._step(this.phase, machine, this.ledger, name).act not in (Act.SETTLE, Act.WAIT)
        ]
        if ids:
            this.guard()
            self._api.tag_machines(this.ledger.tag.reference, add=ids)

    def _act(self, this: _Advance, name: str, step: NextStep) -> bool:
        """Act on one machine; return whether anything was sent for it."""
        ledger, settled = this.ledger, this.settled
        order, reference = ledger.tag.orders[name], ledger.tag.reference
        user_data = None
        if order.user_data and step.act in (Act.ALLOCATE, Act.DEPLOY):
            if this.nodes is None:
                return False
            node = this.nodes().get(name)
            user_data = None if node is None else node.user_data
            if user_data is None:
                said = f"the design does not have the user data of {name} any more, and it is not deployed without"
                settled[name] = Settled(False, said)
                return False
        doubt = self._doubts.of(reference, name)
        if doubt is not None and doubt.is_last:
            settled[name] = Settled(False, doubt.said)
            return False
        acts = self._acts
        try:
            refused = acts.carry_out(step, name, order, reference, ledger.progress(name), user_data, this.guard)
            if refused is not None:
                settled[name] = refused
        except ProvisionerError as trouble:
            is_refused = isinstance(trouble, ProvisionerRefused)
            if trouble.is_of_all or (acts.sent is None and not is_refused):
                raise
            if is_refused and not trouble.may_be_done:
                self._refused(this, name, trouble)
                return True
            said = doubt_about(acts.sent or step.act, name, order.system_id, trouble)
            self._note_doubt(reference, name, trouble, said)
            # Where MAAS does not answer at all, the other machines keep their turns.
            ledger.read()
            self._keep_words(this, name, said, trouble)
        return True

    @staticmethod
    def _keep_words(this: _Advance, name: str, said: str, answer: ProvisionerError) -> None:
        """Keep what MAAS answered of what it began and did not end well, where its events do not say why."""
        known = this.ledger.progress(name)
        if known.unexplained and answer.said and answer.status in _WITH_A_CAUSE:
            this.settled[name] = Settled(False, f"{said.rstrip('.')}; {known.why}", is_over=True)

    def _refused(self, this: _Advance, name: str, refusal: ProvisionerError) -> None:
        """Find out why a machine was refused: another process was faster, or another user owns it now."""
        ledger = this.ledger
        sent, has_set, order = self._acts.sent or Act.DEPLOY, self._acts.has_set, ledger.tag.orders[name]
        ledger.read()
        known = ledger.progress(name)
        if known.sent:
            # A refusal does not prove that nothing was done: what the BMC failed to erase is Failed disk erasing.
            self._keep_words(this, name, doubt_about(sent, name, order.system_id, refusal), refusal)
            return
        machine = self._machines(ledger, [name]).get(name)
        step = self._step(this.phase, machine, ledger, name)
        if step.act is Act.WAIT or (known.acquired and sent is Act.ALLOCATE):
            # What MAAS is at ends by itself, and another process that was faster goes on: the next look will tell.
            return
        if step.act is Act.SETTLE and not step.ok:
            why = self._explained(step, machine)
            if has_set:
                done = " and ".join(f"its {what} ({text})" for what, text in was_set(order).items())
                why = f"{why}; before that, Slipway had set up {done}"
        else:
            why = refusal_of(sent, name, order.system_id, refusal)
            if sent is Act.DEPLOY and known.acquired and step.act is Act.DEPLOY and refusal.status == _NOT_DEPLOYABLE:
                why = f"{why.rstrip('.')}; {self._acts.let_go(name, order, ledger.tag.reference, this.guard)}"
        this.settled[name] = Settled(False, why)

    def _explained(self, step: NextStep, machine: Machine | None) -> str:
        """Return why a machine is settled; of one that cannot be used as it is also what MAAS says of that."""
        if step.ok or machine is None or machine.status is None or machine.status not in _EXPLAINED:
            return step.why
        if machine.is_owned_by_other(self._api.account):
            return step.why
        try:
            reason = reason_of_status(self._api.newest_events(machine.system_id, _NEWEST))
            reason = reason or failed_scripts(self._api, machine.system_id, KINDS_OF_STATUS.get(machine.status, ()))
        except ProvisionerError as trouble:
            log.info("why %s is %s cannot be read: %s", machine.name, machine.shown, trouble)
            return step.why
        return f"{step.why}; MAAS says: {reason}" if reason else step.why

    def _note_wait(self, ledger: Ledger, name: str, why: str) -> None:
        """Say in the log what is waited for, once."""
        key = (ledger.tag.reference, name)
        if self._waits.get(key) != why:
            self._waits[key] = why
            log.warning("%s", why)

    def _note_doubt(self, reference: str, name: str, trouble: ProvisionerError, said: str) -> None:
        log.warning("%s: no answer about %s (%s): the ledger of events will tell", reference, name, trouble)
        self._doubts.note(reference, name, said, trouble.status)

    def _step(self, phase: Phase, machine: Machine | None, ledger: Ledger, name: str) -> NextStep:
        doubt = self._doubts.of(ledger.tag.reference, name)
        if (
            phase is Phase.PREPARE
            and doubt is not None
            and doubt.status == 500
            and machine is not None
            and machine.status in COMMISSIONED_FROM
            and machine.owner == self._api.account
        ):
            # What is left of a commissioning whose power action failed: it was tried, and is not tried again.
            return NextStep(Act.SETTLE, ok=False, why=doubt.said)
        settings = self.settings
        known = ledger.progress(name)
        return next_step(phase, machine, known, self._api.account, recommission=settings.recommission)

    def _machines(self, ledger: Ledger, names: Sequence[str]) -> dict[str, Machine]:
        found = ledger.machines(names)
        for machine in found.values():
            ledger.note_owner(machine)
        return found

    def _relabel(self, this: _Advance) -> None:
        ledger = this.ledger
        names = ledger.unsent()
        if this.nodes is None or not names:
            return
        machines = self._machines(ledger, names)
        wanted = {}
        for name in names:
            step = self._step(Phase.RELABEL, machines.get(name), ledger, name)
            if step.act is Act.SETTLE:
                this.settled[name] = Settled(step.ok, step.why)
            else:
                wanted[name] = machines[name]
        self._mark(this, wanted)
        this.settled.update(relabel(self._api, self.settings.words, wanted, this.nodes(), this.guard))

    def keep(self, ledger: Ledger, settled: Mapping[str, Settled], guard: Callable[[], None]) -> None:
        """Write down in the tag what needs no look at the ledger, so that every process says the same of it.

        The tag is taken from machines that somebody else has by now.
        """
        self._take_off(ledger, guard)
        if not settled:
            return
        guard()
        current = self._api.task(ledger.tag.reference) or ledger.tag
        ledger.tag = current.settle(settled)
        self._api.rewrite_tag(ledger.tag.reference, ledger.tag.comment())

    def _take_off(self, ledger: Ledger, guard: Callable[[], None]) -> None:
        ids, ledger.strangers = ledger.strangers, set()
        if not ids:
            return
        guard()
        try:
            self._api.tag_machines(ledger.tag.reference, remove=sorted(ids))
        except ProvisionerError as trouble:
            log.info("the tag %s stays on machines that others have: %s", ledger.tag.reference, trouble)
