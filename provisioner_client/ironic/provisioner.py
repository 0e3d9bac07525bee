"""Ironic as a provisioner: a task is a mark on each of its nodes, and what became of it is the nodes' state.

How a task is kept and carried on is written in docs/ironic.md.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Final

from provisioner_client.designs import DesignSource, DesignValidation
from provisioner_client.errors import (
    ProvisionerProtocolError,
    SubmissionRefused,
    TaskNotFound,
)
from provisioner_client.ironic.node import Node
from provisioner_client.ironic.site import IronicSite
from provisioner_client.ironic.tasks.driver import Driver, TaskSettings, Work
from provisioner_client.ironic.tasks.evidence import evidence_of, part_of, task_of, verdicts
from provisioner_client.ironic.tasks.next_step import Act, is_told, own_mark, with_mark
from provisioner_client.ironic.tasks.submission import Submission
from provisioner_client.piecewise import told
from provisioner_client.protocol import (
    ACTIONS,
    LONG_AGO,
    ListedNode,
    NodeChanges,
    ProvisionerTask,
    TaskRef,
    TaskTree,
    newest_reference,
    unguarded,
)
from provisioner_client.site_documents import DesignReader, Inventory, require_host_names
from strategy_lib.outcome import Evidence
from strategy_lib.phase import Phase
from strategy_lib.strategy import Selector

log = logging.getLogger(__name__)

_MOST_HISTORIES: Final = 20
"""Of so many nodes the history is asked for; of the others their state has to do."""
_SITE_TASKS: Final = {ACTIONS[phase]: phase for phase in Phase if phase in ACTIONS and not phase.is_of_nodes}


class IronicProvisioner:
    """The `Provisioner` protocol for Ironic. One object serves one thread.

    Parameters
    ----------
    site : the site's part of Ironic.
    designs : reads designs.
    settings : how nodes are acted on.
    """

    def __init__(self, site: IronicSite, designs: DesignReader, settings: TaskSettings) -> None:
        self.site, self._api, self._designs, self._settings = site, site.api, designs, settings
        http = site.api.http.settings
        self._driver = Driver(site, settings, http.clock)
        self._submission = Submission(site, self._driver, designs, http.sleep)
        self._names: dict[str, frozenset[str]] = {}
        self._sources: dict[str, DesignSource] = {}
        # A look at the whole site leaves no trace in Ironic: who needs its result looks again.
        self._looks: dict[str, ProvisionerTask] = {}

    def __repr__(self) -> str:
        return f"IronicProvisioner({self._api.http.base_url!r}, {self._api.limits})"

    @property
    def limits(self) -> str:
        """What limits the site's part of Ironic, for a message."""
        return str(self._api.limits)

    @property
    def settle(self) -> float:
        return self._settings.settle

    def close(self) -> None:
        self._api.http.close()

    def check(self) -> str:
        """Say whether Ironic answers, is new enough and accepts the credentials, and what the site is there."""
        return self.site.check()

    def check_names(self, nodes: Collection[str]) -> None:
        """Refuse what is no host name."""
        require_host_names(nodes, "Ironic")

    def validate_design(self, design: DesignSource) -> DesignValidation:
        """Check the documents, and that Ironic has each node in the site's part, or can enrol it."""
        return self.site.validate_design(design)

    def select_nodes(self, design: DesignSource, selectors: Sequence[Selector]) -> frozenset[str]:
        """Names of the nodes that the selectors choose among those that Ironic has (rules 5 and 6)."""
        return self.site.select_nodes(design, selectors)

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
        """Start a task, once (rule 12), or go on with one that was begun: each node gets its mark, then its turn.

        Nodes for which there is no place yet are sent on their way by those who ask after the task.
        """
        if phase.is_of_nodes and not nodes:
            raise SubmissionRefused(f"{ACTIONS[phase]} must name its nodes: it is never sent for a whole site")
        if not phase.is_of_nodes:
            self._looks[reference] = self._look(phase, design, reference)
            return reference
        self.check_names(nodes or ())
        self._sources[reference] = design
        names = sorted(set(nodes or ()))
        self._names[reference] = self._submission.of_nodes(phase, design, names, reference, guard or unguarded)
        return reference

    def find(self, reference: str) -> ProvisionerTask | None:
        """Look for marks and claims through all of the site's nodes."""
        if reference in self._looks:
            return self._looks[reference]
        found = self._marked(reference, self._api.nodes())
        return task_of(_action_of(reference, found), reference, found) if found else None

    def newest_reference(self, store: str) -> str | None:
        """Look through the marks of all of the site's nodes."""
        marks = [node.mark for node in self._api.nodes() if node.mark is not None]
        return newest_reference([one for mark in marks for one in (mark.ref, mark.claim)], store)

    def is_dead(self, task_id: str, *, age: float = 0.0) -> bool:
        """Return False: each look at a task goes on with it, so that no task depends on a process."""
        return False

    def task(
        self, ref: TaskRef, *, left: float | None = None, guard: Callable[[], None] | None = None
    ) -> ProvisionerTask:
        """Give a task as it is now, after doing what is due of it by now."""
        if ref.id in self._looks or ref.phase in _SITE_TASKS.values():
            return self._looked(ref)
        nodes = self._existing(ref)
        phase = _phase_of(ref.id, nodes)
        source = ref.design or self._sources.get(ref.id)
        made = None if source is None else (lambda: self._designs.read(source).nodes)
        work = Work(phase, ref.id, made, guard or unguarded)
        steps = [self._driver.step(phase, node, ref.id).act for node in nodes]
        if left is not None:
            if left >= self.settle and {Act.SEND, Act.WAIT} & {*steps}:
                self._driver.give_up(work, nodes)
                nodes = self._existing(ref)
        elif {*steps} - {Act.WAIT, Act.SETTLE} or self._is_untold(phase, ref.id, nodes):
            if Act.SEND in steps:
                listed = self._api.nodes()
                work.places, nodes = self._driver.places(listed), self._marked(ref.id, listed)
            self._driver.advance(work, nodes)
            nodes = self._existing(ref)
        return task_of(_action_of(ref.id, nodes), ref.id, nodes)

    def task_tree(self, ref: TaskRef, node: str | None = None) -> TaskTree:
        """Give a task with what Ironic's history says of each of its nodes."""
        if ref.id in self._looks or ref.phase in _SITE_TASKS.values():
            return TaskTree(self._looked(ref), frozenset())
        nodes = {one.name: one for one in self._existing(ref)}
        phase = _phase_of(ref.id, nodes.values())
        waits = {name: self._driver.waits(phase, one, ref.id) for name, one in nodes.items()}
        histories = [node] if node is not None else sorted(nodes)[:_MOST_HISTORIES]

        def below(name: str, ok: bool | None, why: str) -> TaskTree:
            events = self._api.history(nodes[name].uuid) if name in histories else []
            return part_of(ref.id, nodes[name], ok, why, events)

        found = verdicts(phase, ref.id, nodes.values())
        return told.tree_of(
            task_of(_action_of(ref.id, nodes.values()), ref.id, nodes.values()), found, node, waits, below
        )

    def evidence(self, ref: TaskRef, sent: Collection[str]) -> Evidence:
        """Collect what the nodes of a task say of it now (rules 13 and 14)."""
        nodes = {
            node.name: with_mark(node, ref.id) for node in self._api.nodes_of({*sent, *self._names.get(ref.id, ())})
        }
        marked = [node for node in nodes.values() if own_mark(node, ref.id) is not None]
        phase = ref.phase or (_phase_of(ref.id, marked) if marked else Phase.DESTROY)
        if marked:
            _require(ref, marked)
        waits = {node.name: why for node in marked if (why := self._driver.waits(phase, node, ref.id))}
        return evidence_of(phase, ref.id, nodes, sent, waits, str(self._api.limits))

    def nodes(self, names: Collection[str] | None = None) -> dict[str, ListedNode]:
        """Give the site's nodes, all or those of these names."""
        return self.site.nodes(names)

    def observe(self, cursor: str | None, known: Mapping[str, ListedNode]) -> NodeChanges:
        """Give the whole list: a node in it costs Ironic 1 ms."""
        return self.site.observe(cursor, known)

    def power_on(self, nodes: Collection[str]) -> dict[str, str]:
        """Power nodes on that are deployed and off, each by one request."""
        return self.site.power_on(nodes)

    def inventory(self) -> Inventory:
        """Give all nodes of the site as documents can say them, and those that they cannot.

        Raises `ProvisionerError`: Ironic could not be asked.
        """
        return self.site.inventory()

    def _look(self, phase: Phase, design: DesignSource | None, reference: str) -> ProvisionerTask:
        """Say whether the server and the design are as a deployment needs them: all that is to be done for a site."""
        self.check()
        why = ""
        if design is not None:
            validation = self.validate_design(design)
            why = "" if validation.valid else validation.reasons()
        return told.task_of(reference, ACTIONS[phase], {"": (not why, why)}, over=True, is_begun=True)

    def _looked(self, ref: TaskRef) -> ProvisionerTask:
        known = self._looks.get(ref.id)
        if known is None and ref.phase is not None:
            known = self._looks[ref.id] = self._look(ref.phase, ref.design, ref.id)
        if known is None or (ref.phase is not None and known.action != ACTIONS[ref.phase]):
            raise ProvisionerProtocolError(f"the task {ref.id} is of the whole site, and not {ref.phase}")
        return known

    def _marked(self, reference: str, nodes: Collection[Node]) -> list[Node]:
        """Return those nodes that have the mark of a task, or its claim."""
        found = [with_mark(node, reference) for node in nodes]
        return [node for node in found if own_mark(node, reference) is not None]

    def _existing(self, ref: TaskRef) -> list[Node]:
        """Return the nodes of a task. Raises `TaskNotFound`: two lists of all nodes have none of them."""
        names = self._names.get(ref.id)
        nodes = self._marked(ref.id, self._api.nodes_of(names) if names else self._api.nodes())
        nodes = nodes or self._marked(ref.id, self._api.nodes())
        if not nodes:
            self._names.pop(ref.id, None)
            raise TaskNotFound(f"no node has the mark of task {ref.id}", status=404)
        if names is None:
            self._names[ref.id] = frozenset(node.name for node in nodes)
        _require(ref, nodes)
        return nodes

    def _is_untold(self, phase: Phase, reference: str, nodes: Collection[Node]) -> bool:
        """Whether something is known of a node that its state will not say later, and that is not written down."""
        for node in nodes:
            mark = own_mark(node, reference)
            if not is_told(node, mark) and self._driver.step(phase, node, reference).act is Act.SETTLE:
                return True
        return False


def _require(ref: TaskRef, nodes: Collection[Node]) -> None:
    action = _action_of(ref.id, nodes)
    if ref.phase is not None and action != ACTIONS[ref.phase]:
        raise ProvisionerProtocolError(f"the answer for task {ref.id} is about {action}")
    if ref.reference is not None and ref.id != ref.reference:
        raise ProvisionerProtocolError(f"task {ref.id} should have reference {ref.reference}")


def _action_of(reference: str, nodes: Collection[Node]) -> str:
    return next(mark.action for node in nodes if (mark := own_mark(node, reference)) is not None)


def _phase_of(reference: str, nodes: Collection[Node]) -> Phase:
    return told.phase_of(_action_of(reference, nodes))
