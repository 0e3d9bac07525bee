"""What all backends have in common whose tasks Slipway itself does, node by node."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Generic, TypeVar

from provisioner_client.designs import DesignMessage, DesignSource, DesignValidation
from provisioner_client.errors import DesignEmpty, ProvisionerRefused, SubmissionRefused
from provisioner_client.http_session import HttpSession
from provisioner_client.protocol import ACTIONS, LONG_AGO, unguarded
from provisioner_client.site_documents import (
    Design,
    DesignReader,
    KnownMachine,
    require_host_names,
    select,
    validation_of,
)
from strategy_lib.phase import Phase
from strategy_lib.strategy import Selector

_FRESH: Final = 30.0
"""Seconds for which what a provisioner has of a design's nodes serves those who look at the design."""

FoundT = TypeVar("FoundT")
"""What a provisioner may have under one name: a node, or several machines."""


@dataclass(frozen=True, slots=True)
class Request:
    """What was asked for with a `submit`; the fields are those of that."""

    phase: Phase
    reference: str
    design: DesignSource
    guard: Callable[[], None]
    sent_ago: float | None


class PiecewiseProvisioner(ABC, Generic[FoundT]):
    """The part of the `Provisioner` protocol that such backends share. One object serves one thread.

    Parameters
    ----------
    name : what people call the provisioner.
    http : the server.
    limits : what limits the site's part of it, for a message: ``pool default and tag slipway``.
    settle : seconds for which a request may still take effect.
    """

    def __init__(self, name: str, http: HttpSession, limits: str, settle: float) -> None:
        self.limits = limits
        self._name, self._http, self._settle = name, http, settle
        self._designs = DesignReader()
        self._seen: tuple[float, str, Mapping[str, FoundT]] | None = None

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._http.base_url!r}, {self.limits})"

    @property
    def settle(self) -> float:
        return self._settle

    def close(self) -> None:
        self._http.close()

    @abstractmethod
    def check(self) -> str:
        """Say whether the server answers and accepts the credentials, and what the site is there."""

    def check_names(self, nodes: Collection[str]) -> None:
        """Refuse what is no host name."""
        require_host_names(nodes, self._name)

    def validate_design(self, design: DesignSource) -> DesignValidation:
        """Check the documents, and that the provisioner has all that is needed for them."""
        read = self._designs.read(design)
        return validation_of(read, lambda: self._lacks(read))

    def select_nodes(self, design: DesignSource, selectors: Sequence[Selector]) -> frozenset[str]:
        """Names of the nodes that the selectors choose among those that the provisioner has (rules 5 and 6).

        It is asked once, by the design's names, and the selectors are compared with that answer.
        """
        read = self._designs.read(design)
        if read.problems:
            raise ProvisionerRefused(f"the design is not valid: {'; '.join(read.problems[:5])}")
        if not read.nodes:
            raise DesignEmpty("the design has no nodes")
        known = self._known(read)
        if not known:
            raise DesignEmpty(f"{self._name} has none of the design's {len(read.nodes)} nodes in {self.limits}")
        return select(read.nodes, known, selectors)

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
        """Start a task, once (rule 12), or go on with one that was begun: it is noted, then each node has its turn.

        Nodes for which there is no place yet are sent on their way by those who ask after the task.
        """
        if phase.is_of_nodes and not nodes:
            raise SubmissionRefused(f"{ACTIONS[phase]} must name its nodes: it is never sent for a whole site")
        self.check_names(nodes or ())
        request = Request(phase, reference, design, guard or unguarded, sent_ago)
        if phase.is_of_nodes:
            self._submit_nodes(request, sorted(set(nodes or ())))
        else:
            self._submit_site(request)
        return reference

    def is_dead(self, task_id: str, *, age: float = 0.0) -> bool:
        """Return False: each look at a task goes on with it, so that no task depends on a process."""
        return False

    @abstractmethod
    def _submit_nodes(self, request: Request, names: Sequence[str]) -> None:
        """Note a task at its nodes, and begin with it."""

    @abstractmethod
    def _submit_site(self, request: Request) -> None:
        """Carry out a task of the whole site."""

    @abstractmethod
    def _lacks(self, design: Design) -> Iterable[DesignMessage]:
        """Say what the provisioner lacks for a design that has nodes."""

    @abstractmethod
    def _known(self, design: Design) -> Mapping[str, KnownMachine]:
        """Return what selectors choose the nodes of a design by that the provisioner has."""

    @abstractmethod
    def _find(self, names: Collection[str]) -> Mapping[str, FoundT]:
        """Ask the provisioner for what it has of these names."""

    def _found(self, design: Design) -> Mapping[str, FoundT]:
        """Return what the provisioner has of a design's nodes, as it was at most some seconds ago."""
        now = self._http.settings.clock()
        if self._seen is None or self._seen[1] != design.digest or now - self._seen[0] > _FRESH:
            self._seen = (now, design.digest, self._find(design.nodes))
        return self._seen[2]

    def _hindrance(self, design: DesignSource) -> str:
        """Say what of the server, or of a design, is not as a deployment needs it; "": nothing."""
        self.check()
        validation = self.validate_design(design)
        return "" if validation.valid else validation.reasons()
