"""A provisioner each of whose answers is told of: that it answered, how, and how long it took."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Protocol

from provisioner_client.errors import ProvisionerError, ProvisionerRefused, ProvisionerUnavailable
from provisioner_client.protocol import LONG_AGO

if TYPE_CHECKING:
    from provisioner_client.designs import DesignSource, DesignValidation
    from provisioner_client.protocol import ListedNode, NodeChanges, Provisioner, ProvisionerTask, TaskTree
    from strategy_lib.outcome import Evidence
    from strategy_lib.phase import Phase
    from strategy_lib.strategy import Selector


class CallResult(StrEnum):
    """How a call to a provisioner ended. It answered, unless it was unavailable or its answer is not its own."""

    OK = "ok"
    REFUSED = "refused"
    UNAVAILABLE = "unavailable"
    MALFORMED = "malformed"

    @property
    def is_answer(self) -> bool:
        """Whether the provisioner itself has answered, and so lives."""
        return self in (CallResult.OK, CallResult.REFUSED)


class Observer(Protocol):
    """Is told of the calls to one provisioner. What it raises would be the call's failure: it must raise nothing."""

    def called(self, call: str, result: CallResult, seconds: float) -> None:
        """Take note of one call, such as `nodes`; it may have sent several requests."""
        ...

    def closed(self) -> None:
        """The client is closed: no call follows."""
        ...


@dataclass(frozen=True, slots=True)
class ObservedProvisioner:
    """A provisioner, and who is told of its answers.

    Parameters
    ----------
    provisioner : the real one; it is closed with this.
    observer : told of each call that has ended, unless what ended it had nothing to do with the provisioner.
    monotonic : seconds on a clock that only goes forward.
    """

    provisioner: Provisioner
    observer: Observer
    monotonic: Callable[[], float] = time.monotonic

    @property
    def settle(self) -> float:
        return self.provisioner.settle

    def check(self) -> str:
        with self._call("check"):
            return self.provisioner.check()

    def check_names(self, nodes: Collection[str]) -> None:
        self.provisioner.check_names(nodes)

    def validate_design(self, design: DesignSource) -> DesignValidation:
        with self._call("validate_design"):
            return self.provisioner.validate_design(design)

    def select_nodes(self, design: DesignSource, selectors: Sequence[Selector]) -> frozenset[str]:
        with self._call("select_nodes"):
            return self.provisioner.select_nodes(design, selectors)

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
        with self._call("submit"):
            return self.provisioner.submit(phase, design, nodes, reference, guard=guard, sent_ago=sent_ago)

    def find(self, reference: str) -> ProvisionerTask | None:
        with self._call("find"):
            return self.provisioner.find(reference)

    def task(
        self,
        task_id: str,
        *,
        phase: Phase | None = None,
        reference: str | None = None,
        design: DesignSource | None = None,
        left: float | None = None,
    ) -> ProvisionerTask:
        with self._call("task"):
            return self.provisioner.task(task_id, phase=phase, reference=reference, design=design, left=left)

    def task_tree(
        self,
        task_id: str,
        node: str | None = None,
        *,
        phase: Phase | None = None,
        reference: str | None = None,
    ) -> TaskTree:
        with self._call("task_tree"):
            return self.provisioner.task_tree(task_id, node, phase=phase, reference=reference)

    def evidence(
        self,
        task_id: str,
        sent: Collection[str],
        *,
        phase: Phase | None = None,
        reference: str | None = None,
        design: DesignSource | None = None,
    ) -> Evidence:
        with self._call("evidence"):
            return self.provisioner.evidence(task_id, sent, phase=phase, reference=reference, design=design)

    def is_dead(self, task_id: str, *, age: float = 0.0) -> bool:
        with self._call("is_dead"):
            return self.provisioner.is_dead(task_id, age=age)

    @property
    def lists_by_name(self) -> bool:
        return self.provisioner.lists_by_name

    def nodes(self, names: Collection[str] | None = None) -> dict[str, ListedNode]:
        with self._call("nodes"):
            return self.provisioner.nodes(names)

    def observe(self, cursor: str | None, known: Mapping[str, ListedNode]) -> NodeChanges:
        with self._call("observe"):
            return self.provisioner.observe(cursor, known)

    def power_on(self, nodes: Collection[str]) -> dict[str, str]:
        with self._call("power_on"):
            return self.provisioner.power_on(nodes)

    def close(self) -> None:
        self.provisioner.close()
        self.observer.closed()

    @contextmanager
    def _call(self, call: str) -> Iterator[None]:
        began = self.monotonic()
        try:
            yield
        except BaseException as error:
            result = _result_of(error)
            if result is not None:
                self.observer.called(call, result, self.monotonic() - began)
            raise
        self.observer.called(call, CallResult.OK, self.monotonic() - began)


def _result_of(error: BaseException) -> CallResult | None:
    """Return what an error says of the provisioner; None where it is not the provisioner's: a task was told to stop."""
    if isinstance(error, ProvisionerRefused):
        return CallResult.REFUSED
    if isinstance(error, ProvisionerUnavailable):
        return CallResult.UNAVAILABLE
    return CallResult.MALFORMED if isinstance(error, ProvisionerError) else None
