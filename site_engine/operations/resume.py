"""Drive operations on named nodes for one subject, a group or a node step, from wherever it stands to its verdict.

The loop is always the same: read the store, let the subject say what is next, do it, write it down. That is why a
killed, retried, deferred or cleared task simply starts it again.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Protocol, TypeVar

from site_engine import log_messages
from site_engine.operations.readiness import ReadyRun, StillAsking
from site_engine.operations.reconcile import OperationOwner, UnfinishedOperations, record_end
from site_engine.operations.run import OperationRun
from site_engine.operations.wait import PhaseTimes, StillRunning
from site_store import Claim, Operation, SiteStateChanged, SiteStore
from strategy_lib.node_condition import NodeCondition
from strategy_lib.phase import Phase

Verdict = TypeVar("Verdict", covariant=True)


@dataclass(frozen=True, slots=True)
class NextOperation:
    """One operation that is to be carried out next.

    ``found`` is what the node list says of the nodes right before it, None where that was not read. ``digests`` are the
    versions that it brings about, where the plan does not have them. ``note`` begins what is said of nodes that fail.
    ``number`` is its round among the operations of the phase; ``again`` are nodes that failed before. ``design_ref`` is
    where the provisioner reads their design, None: where it reads that of the action.
    """

    phase: Phase
    nodes: Sequence[str]
    times: PhaseTimes
    found: Mapping[str, NodeCondition] | None = None
    digests: Mapping[str, str] = field(default_factory=dict)
    note: str = ""
    number: int = 0
    again: Collection[str] = ()
    design_ref: str | None = None


class SubjectRequest(Protocol):
    """What every request to drive something says."""

    @property
    def design_ref(self) -> str:
        """Where the provisioner reads the design."""

    @property
    def ignore_older_tasks(self) -> bool:
        """Submit nodes although an older provisioner task still holds them."""


class Subject(Protocol[Verdict]):
    """What is driven: it decides, and the driver does. Each answer is read from the store anew."""

    @property
    def request(self) -> SubjectRequest:
        """What was asked for."""

    @property
    def owner(self) -> OperationOwner:
        """Whose operations are its own."""

    @property
    def since(self) -> datetime:
        """When this attempt began: older operations are waited for from then on."""

    @property
    def times_of_others(self) -> PhaseTimes:
        """How often older operations are looked at, and for how long they are waited for."""

    def unsettled_nodes(self) -> Collection[str]:
        """Return the nodes for which older results are looked at once before a new attempt begins."""

    def open(self) -> None:
        """Begin the attempt, or find it begun."""

    def next(self) -> NextOperation | Verdict:
        """Return the operation that is due, or the verdict."""

    def prepare(
        self, due: NextOperation, free: Sequence[str], seen: Mapping[str, NodeCondition]
    ) -> NextOperation | None:
        """Return what is submitted now for a due operation, of whose nodes these are free; None: nothing is.

        It is the due operation with the nodes that can be sent, or another one that has to come first. `seen` is what
        the node list said a moment ago, when the operation before it had ended; empty where that was not read.
        """


MOST_PLANS = 3
"""So often at most what is due is planned for one claim, where newer states of nodes are published meanwhile."""
SEEN_FOR = timedelta(seconds=1)
"""So long what the node list said when an operation had ended need not be read again."""


class SubjectDriver:
    """Drives subjects.

    Parameters
    ----------
    operations : carries out one operation; its log tells an operator what happens.
    ready : asks nodes whether they are ready; None where no subject does (rule 58).
    """

    def __init__(self, operations: OperationRun, ready: ReadyRun | None = None) -> None:
        self.operations = operations
        self._ready = ready
        self.store = operations.store
        self.log = operations.log
        # How often what is due was planned already and not claimed, as the states of nodes were newer by then.
        self._outdated = 0
        # What the list said at the end of the last operation, and when.
        self._seen: Mapping[str, NodeCondition] = {}
        self._seen_at = datetime.min

    def run(self, subject: Subject[Verdict]) -> Verdict | StillRunning | StillAsking:
        """Go on until the subject has its verdict, or a long wait is better deferred.

        Raises `provisioner_client.errors.ProvisionerError`: the provisioner could not be reached or refused; starting
        again resumes here. Raises `site_store.SubmissionsHeld`: nothing may be sent, and nothing is judged (rule 61).
        """
        unfinished = UnfinishedOperations(self.operations, subject.times_of_others)
        unsettled = subject.unsettled_nodes()
        if unsettled:
            unfinished.look_once(subject.owner, unsettled)
        subject.open()
        while True:
            self.store.home.require_own(subject.owner.site)
            due = subject.next()
            if not isinstance(due, NextOperation):
                return due
            still_running = self._carry_out(subject, due, unfinished)
            if still_running is not None:
                return still_running

    def _carry_out(
        self, subject: Subject[Verdict], due: NextOperation, unfinished: UnfinishedOperations
    ) -> StillRunning | StillAsking | None:
        owner, request = subject.owner, subject.request
        operation = begun_operation(self.store, owner, due.phase, due.number)
        if operation is None:
            free = self._free_nodes(subject, due, unfinished)
            if isinstance(free, StillRunning):
                return free
            # Read first: all that the plan uses is at least as new.
            site_state = self.store.site_views.version(owner.site)
            is_new = self._seen and self.operations.clock.now() - self._seen_at < SEEN_FOR
            ready = subject.prepare(due, free, self._seen if is_new else {})
            if ready is None:
                return None
            wanted = due.nodes if ready.phase is due.phase else ready.nodes
            due = ready
            try:
                asked = Claim(
                    owner.action_id,
                    owner.site,
                    owner.group,
                    owner.attempt or 0,
                    due.phase,
                    due.nodes,
                    due.design_ref or request.design_ref,
                    due.found,
                    due.digests,
                    number=due.number,
                    due=wanted,
                    again=due.again,
                    # The claim looks at what administrators have set in any case: the last plan counts whatever comes.
                    site_state=site_state if self._outdated < MOST_PLANS - 1 else None,
                )
                operation = self.store.operations.begin(asked)
            except SiteStateChanged as changed:
                self._outdated += 1
                self.log.info("The states of nodes are newer by now (%s): planning again.", changed.newest)
                return None
            self._outdated = 0
        if not operation.nodes:
            self.log.info("%s: none of the nodes can be submitted now.", log_messages.word(due.phase))
            return None
        if operation.phase is Phase.READY:
            assert self._ready is not None, "who drives a group that is to be ready can ask its nodes"
            return self._ready.run(operation, due.times.timeout)
        if operation.provisioner_task is None:
            self.log.info(log_messages.submission(due.phase, operation))
        end = self.operations.run(operation, due.times)
        if isinstance(end, StillRunning):
            return end
        self._seen, self._seen_at = end.evidence.condition, self.operations.clock.now()
        record_end(self.store, operation.op, end, self.log, due.note)
        return None

    def _free_nodes(
        self, subject: Subject[Verdict], due: NextOperation, unfinished: UnfinishedOperations
    ) -> Sequence[str] | StillRunning:
        """Return the nodes that no older provisioner task holds, once those have had their time to end."""
        if due.phase is Phase.READY:
            # They are deployed, and nothing is sent to a provisioner.
            return due.nodes
        if subject.request.ignore_older_tasks:
            unfinished.warn(subject.owner, due.nodes)
            return due.nodes
        # From the beginning of the attempt, so that coming back later does not start the clock again.
        give_up = subject.since + timedelta(seconds=subject.times_of_others.timeout)
        held = unfinished.wait(subject.owner, due.phase, due.nodes, give_up)
        if isinstance(held, StillRunning):
            return held
        return [name for name in due.nodes if name not in held]


def begun_operation(store: SiteStore, owner: OperationOwner, phase: Phase, number: int = 0) -> Operation | None:
    """Return the operation of an owner's attempt for a round of a phase; None before it was begun."""
    begun = store.operations.of_action(owner.action_id, owner.group)
    asked = (phase, number)
    return next((one for one in begun if owner.owns(one) and (one.phase, one.round) == asked), None)
