"""What Slipway needs of a provisioner: one small protocol and the values that pass through it.

Backends (`drydock`, `maas`, `ironic`) stand beside it as equals and need not inherit from anything.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType
from typing import Final, Protocol

from provisioner_client.designs import DesignSource, DesignValidation
from provisioner_client.errors import ProvisionerProtocolError
from strategy_lib.node_condition import NodeCondition
from strategy_lib.outcome import Evidence
from strategy_lib.phase import Phase
from strategy_lib.strategy import Selector

NO_ADDRESSES: Final[Mapping[str, str]] = MappingProxyType({})
ACTIONS: Final[Mapping[Phase, str]] = {
    Phase.VERIFY_SITE: "verify_site",
    Phase.PREPARE_SITE: "prepare_site",
    Phase.PREPARE: "prepare_nodes",
    Phase.DEPLOY: "deploy_nodes",
    Phase.RELEASE: "destroy_nodes",
    Phase.DESTROY: "destroy_nodes",
    Phase.RELABEL: "relabel_nodes",
}
"""The word for what is asked of a provisioner, as a task shows it: Drydock's own, and ours where MAAS has none."""
ON_ITS_WAY: Final = frozenset(
    {
        *(NodeCondition.COMMISSIONING, NodeCondition.TESTING, NodeCondition.DEPLOYING, NodeCondition.RELEASING),
        NodeCondition.RESCUE,
    }
)
"""The conditions from which a provisioner itself brings a node to another; it may also stay in rescue mode."""
LONG_AGO: Final = math.inf
"""The age of a request that can have no effect any more, except one that can be seen already."""


class TaskState(StrEnum):
    """Where a provisioner task is. A queued one has not started: its clock does not run yet (rule 14)."""

    QUEUED = "queued"
    RUNNING = "running"
    COMPLETE = "complete"


class TaskResult(StrEnum):
    """What a provisioner says of a whole task; it proves nothing about any node (rule 13).

    `UNREPORTED`: it says nothing, or nothing that is understood.
    """

    INCOMPLETE = "incomplete"
    SUCCESS = "success"
    PARTIAL_SUCCESS = "partial_success"
    FAILURE = "failure"
    DEPENDENT_FAILURE = "dependent_failure"
    UNREPORTED = "unreported"


@dataclass(frozen=True, slots=True)
class TaskMessage:
    """One message of a provisioner task.

    `context` is the node that it is about, None when it is about anything else. `at` is the provisioner's own time
    stamp, as it came (it may lack a zone: for people, not for arithmetic).
    """

    text: str
    error: bool
    context: str | None
    at: str | None


@dataclass(frozen=True, slots=True)
class ProvisionerTask:
    """A provisioner task as its provisioner describes it.

    `action` is the provisioner's own word for what it was asked to do.
    The lists prove what became of nodes, once the state is complete (rule 13). A node may be in both. They may hold
    names that are not nodes at all (prepare_site reports networks).
    """

    task_id: str
    action: str
    state: TaskState
    result: TaskResult
    successes: frozenset[str]
    failures: frozenset[str]
    messages: tuple[TaskMessage, ...]
    reference: str | None


@dataclass(frozen=True, slots=True)
class TaskRef:
    """Which provisioner task is meant: its id, and what else the caller knows that it must be, or is for."""

    id: str
    phase: Phase | None = None
    reference: str | None = None
    design: DesignSource | None = None


@dataclass(frozen=True, slots=True)
class TaskLink:
    """An address that a provisioner gives with a task, such as of a log; nobody has checked it. `rel` says of what."""

    rel: str
    address: str


@dataclass(frozen=True, slots=True)
class TaskTree:
    """A provisioner task with the tasks into which the provisioner has split it, in the order of their beginnings.

    `nodes` are those that it is about; empty where it does not say. `attempt` counts from 1: a provisioner tries again
    by itself. `created` and `updated` are the provisioner's own time stamps, as they came.
    """

    task: ProvisionerTask
    nodes: frozenset[str]
    attempt: int = 1
    created: str | None = None
    updated: str | None = None
    links: tuple[TaskLink, ...] = ()
    children: tuple[TaskTree, ...] = ()


@dataclass(frozen=True, slots=True)
class ListedNode:
    """A node in the provisioner's list. `status_name` is its own word, `condition` ours.

    `addresses` are those that it says of the node: `boot_ip`, `power_address`; what it does not say is left out.
    `cores` and `memory` (MiB) are what the node has, None where the list does not say. `key` is the provisioner's own
    id of the machine, by which its changes are found; "" where it has none.
    `can_power_on`: it is deployed and off, and the provisioner can power it on.
    """

    name: str
    condition: NodeCondition
    status_name: str
    power_state: str | None
    addresses: Mapping[str, str] = field(default_factory=lambda: NO_ADDRESSES, hash=False)
    cores: int | None = None
    memory: int | None = None
    key: str = ""
    can_power_on: bool = False


def size_of(given: object) -> int | None:
    """Return a number of things that a machine has; None for 0, which MAAS says before it has commissioned it."""
    return given if isinstance(given, int) and not isinstance(given, bool) and given > 0 else None


@dataclass(frozen=True, slots=True)
class NodeChanges:
    """What a provisioner says of its nodes since it was asked last.

    Attributes
    ----------
    nodes : all of them, or those of which it says something else now; by name.
    is_whole : whether they are all.
    cursor : to ask with the next time, in the backend's own form; None: the next answer is whole, too.
    """

    nodes: Mapping[str, ListedNode]
    is_whole: bool = True
    cursor: str | None = None


def require_action(ref: TaskRef, action: str) -> None:
    """Make sure that an answer about a task is about the phase that is meant. Raises `ProvisionerProtocolError`."""
    if ref.phase is not None and action != ACTIONS[ref.phase]:
        raise ProvisionerProtocolError(f"task {ref.id} should be {ACTIONS[ref.phase]}, and is {action}")


def unguarded() -> None:
    """Guard nothing: for submissions that may always be sent."""


class Provisioner(Protocol):
    """Something that prepares and deploys nodes.

    Every method may raise `ProvisionerUnavailable` (try again), `ProvisionerRefused` (do not), its kind
    `AuthenticationFailed`, and `ProvisionerProtocolError`. One object serves one thread.
    """

    @property
    def settle(self) -> float:
        """Seconds for which a request may still take effect after it was sent, or after its answer was lost."""
        ...

    def check(self) -> str:
        """Find out whether the provisioner can be reached and accepts the credentials.

        Returns
        -------
        str
            A sentence for a person. Leaves no trace at the provisioner: no task, no record.
        """
        ...

    def check_names(self, nodes: Collection[str]) -> None:
        """Refuse names of nodes that the provisioner would lose. It is not asked.

        Raises `SubmissionRefused`: no task with one of these names could be submitted.
        """
        ...

    def validate_design(self, design: DesignSource) -> DesignValidation:
        """Have a design checked. That it is not valid is an answer and not an error.

        Raises `DesignUnreadable`: the provisioner cannot read the design. It may remember that: try another address.
        """
        ...

    def select_nodes(self, design: DesignSource, selectors: Sequence[Selector]) -> frozenset[str]:
        """Names of the nodes of a design that the selectors choose (rules 5 and 6).

        Raises `ProvisionerRefused` when the design is not valid. Its kind `DesignEmpty`: the provisioner sees no node
        in the whole of it, and an empty answer would look like an empty group. Raises `DesignUnreadable`: the
        provisioner cannot read the design.
        """
        ...

    def submit(
        self,
        phase: Phase,
        design: DesignSource,
        nodes: Sequence[str] | None,
        reference: str,
        *,
        guard: Callable[[], None] | None = None,
        sent_ago: float | None = LONG_AGO,
    ) -> str:
        """Start a provisioner task, once (rule 12).

        Parameters
        ----------
        phase : what it is asked to do; a backend has its own word for it.
        design : DesignSource
        nodes : exactly these nodes, never none. None means the whole site, and is for verify_site and prepare_site
            only: a list that came out empty by mistake must not deploy everything.
        reference : our name for this task. However often one reference is submitted, and whatever is lost on the way,
            there is one task.
        guard : called right before each sending, after looks and pauses. When it raises, nothing is sent.
        sent_ago : seconds since this reference was last sent by an earlier process. None: it certainly never was, and
            nothing is looked for before it is sent. A request sent less than `settle` seconds ago may still take
            effect.

        Returns
        -------
        str
            The provisioner task's id.

        Raises
        ------
        SubmissionRefused : when the provisioner certainly did not take the task, and never will.
        SubmissionUncertain : when it could not be learnt whether the task was taken. Submitting again with the same
            reference is safe.
        """
        ...

    def find(self, reference: str) -> ProvisionerTask | None:
        """Give the provisioner task that was submitted with this reference, None when there is certainly none.

        Raises `ProvisionerUnavailable`, also when the provisioner shows no tasks at all: it may be unable to read them.
        """
        ...

    def newest_reference(self, store: str) -> str | None:
        """Return the reference of the newest operation of this store (its incarnation) that the provisioner shows.

        None: it shows none of it. It may cost as much as `find`. Raises `ProvisionerError`: it is not known.
        """
        ...

    def task(
        self, ref: TaskRef, *, left: float | None = None, guard: Callable[[], None] | None = None
    ) -> ProvisionerTask:
        """Give a provisioner task as it is now.

        A backend that does a task piece by piece does what is due of it when it is asked, and may need the design for
        that. Without it, such pieces wait for the next who asks.

        Parameters
        ----------
        left : given by who looks at a task for which nobody waits any more: seconds since its `submit` may have sent
            anything. A backend that does a task piece by piece begins no further piece, and gives up those that were
            not begun as soon as that is certain.
        guard : called right before each such piece is sent. When it raises, that and what follows is not sent.

        Raises
        ------
        ProvisionerProtocolError : also when the answer is about another task, phase or reference: a stale cache must
            prove nothing.
        TaskNotFound : when the provisioner certainly does not know it (any more): two different answers say so.
        """
        ...

    def task_tree(self, ref: TaskRef, node: str | None = None) -> TaskTree:
        """Give a provisioner task with the tasks below it, for people to look at. It proves nothing about a node.

        Parameters
        ----------
        node : leave out what is only about other nodes. None: the whole, but not what is deeper than the tasks of the
            single nodes.

        Raises
        ------
        TaskNotFound : the provisioner says that it does not know the task. It is asked once, and may be wrong.
        """
        ...

    def evidence(self, ref: TaskRef, sent: Collection[str]) -> Evidence:
        """Everything that the provisioner can say about the nodes of a task, over or not (rules 13 and 14).

        An answer about another task, phase or reference is left out, like one that could not be read.

        Parts that cannot be had are left empty and logged, never guessed. A task that is gone is over: nothing more
        will come of it. `Evidence.listed` says whether the node list was read, or the task is queued and the list could
        tell nothing yet. The design that the task was submitted for may tell what the provisioner does not say.

        Raises `ProvisionerError` when nothing at all could be had.
        """
        ...

    def is_dead(self, task_id: str, *, age: float = 0.0) -> bool:
        """Say whether a task that is said to run will certainly never end: its provisioner was killed under it.

        False proves nothing. It may cost as much as `find`: ask every few minutes at most.

        Parameters
        ----------
        task_id : str
        age : what the provisioner was asked so many seconds ago serves, too.
        """
        ...

    def nodes(self, names: Collection[str] | None = None) -> dict[str, ListedNode]:
        """Give the provisioner's list of nodes, by name.

        Parameters
        ----------
        names : only these; the others are left out. None: all of them.
        """
        ...

    def observe(self, cursor: str | None, known: Mapping[str, ListedNode]) -> NodeChanges:
        """Give what has changed in the list of nodes, at the least cost: it is asked again and again.

        Parameters
        ----------
        cursor : of the last answer. None, or one that does not fit any more: the answer is whole.
        known : the list as it is known by that answer, or by a newer list.
        """
        ...

    def power_on(self, nodes: Collection[str]) -> dict[str, str]:
        """Power nodes on that are deployed and off. What runs on them stays; asked for again, it is the same.

        Returns
        -------
        dict
            For each of them that is not powered on: why.
        """
        ...

    def close(self) -> None:
        """Give back connections. The object is of no use afterwards."""
        ...
