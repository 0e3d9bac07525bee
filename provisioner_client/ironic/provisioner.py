"""Ironic as a provisioner: a task is a mark on each of its nodes, and what became of it is the nodes' state.

How a task is kept and carried on is written in docs/ironic.md.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Sequence
from typing import Final

from provisioner_client.designs import DesignSource
from provisioner_client.errors import ProvisionerProtocolError, TaskNotFound
from provisioner_client.ironic.api import IronicApi
from provisioner_client.ironic.site import IronicSite
from provisioner_client.ironic.tasks.driver import Driver
from provisioner_client.ironic.tasks.evidence import MarkedNodes, evidence_of
from provisioner_client.ironic.tasks.next_step import Act, is_told, with_mark
from provisioner_client.ironic.tasks.submission import Submission
from provisioner_client.ironic.tasks.work import TaskSettings, Work
from provisioner_client.piecewise import told
from provisioner_client.piecewise.provisioner import Request
from provisioner_client.protocol import ACTIONS, ProvisionerTask, TaskRef, TaskTree, unguarded
from provisioner_client.references import newest_reference
from provisioner_client.shared_lists import NOT_SHARED, Shared
from strategy_lib.outcome import Evidence
from strategy_lib.phase import Phase

log = logging.getLogger(__name__)

_MOST_HISTORIES: Final = 20
"""Of so many nodes the history is asked for; of the others their state has to do."""
_SITE_TASKS: Final = {ACTIONS[phase]: phase for phase in Phase if phase in ACTIONS and not phase.is_of_nodes}


class IronicProvisioner(IronicSite):
    """The `Provisioner` protocol for Ironic. One object serves one thread.

    Parameters
    ----------
    api, settings, shared : as for `IronicSite`.
    """

    def __init__(self, api: IronicApi, settings: TaskSettings, shared: Shared = NOT_SHARED) -> None:
        super().__init__(api, settings, shared)
        http = api.http.settings
        self._driver = Driver(api, settings, http.clock)
        self._submission = Submission(api, self._driver, self._designs, http.sleep, self.enroll)
        self._names: dict[str, frozenset[str]] = {}
        self._sources: dict[str, DesignSource] = {}
        # A look at the whole site leaves no trace in Ironic: who needs its result looks again.
        self._looks: dict[str, ProvisionerTask] = {}

    def _submit_nodes(self, request: Request, names: Sequence[str]) -> None:
        self._sources[request.reference] = request.design
        self._names[request.reference] = self._submission.of_nodes(request, names)

    def _submit_site(self, request: Request) -> None:
        self._looks[request.reference] = self._look(request.phase, request.design, request.reference)

    def find(self, reference: str) -> ProvisionerTask | None:
        """Look for marks and claims through all of the site's nodes."""
        if reference in self._looks:
            return self._looks[reference]
        found = MarkedNodes(reference, self.api.nodes())
        return found.task() if found.nodes else None

    def newest_reference(self, store: str) -> str | None:
        """Look through the marks of all of the site's nodes."""
        marks = [node.mark for node in self.api.nodes() if node.mark is not None]
        return newest_reference([one for mark in marks for one in (mark.ref, mark.claim)], store)

    def task(
        self, ref: TaskRef, *, left: float | None = None, guard: Callable[[], None] | None = None
    ) -> ProvisionerTask:
        """Give a task as it is now, after doing what is due of it by now."""
        if ref.id in self._looks or ref.phase in _SITE_TASKS.values():
            return self._looked(ref)
        task = self._existing(ref)
        source = ref.design or self._sources.get(ref.id)
        made = None if source is None else (lambda: self._designs.read(source).nodes)
        work = Work(task.phase, ref.id, made, guard or unguarded)
        acts = {name: self._driver.step(work.phase, node, ref.id).act for name, node in task.nodes.items()}
        if left is not None:
            if left >= self.settle and {Act.SEND, Act.WAIT} & {*acts.values()}:
                self._driver.give_up(work, task.nodes.values())
                task = self._existing(ref)
        elif {*acts.values()} - {Act.WAIT, Act.SETTLE} or any(
            act is Act.SETTLE and not is_told(task.nodes[name], task.marks[name]) for name, act in acts.items()
        ):
            # What is settled by a state that will say something else later is written down, too.
            if Act.SEND in acts.values():
                listed = self.api.nodes()
                work.places, task = self._driver.places(listed), MarkedNodes(ref.id, listed)
            self._driver.advance(work, task.nodes.values())
            task = self._existing(ref)
        return task.task()

    def task_tree(self, ref: TaskRef, node: str | None = None) -> TaskTree:
        """Give a task with what Ironic's history says of each of its nodes."""
        if ref.id in self._looks or ref.phase in _SITE_TASKS.values():
            return TaskTree(self._looked(ref), frozenset())
        task = self._existing(ref)
        waits = {name: self._driver.waits(task.phase, one, ref.id) for name, one in task.nodes.items()}
        shown = [node] if node in task.nodes else [] if node is not None else sorted(task.nodes)[:_MOST_HISTORIES]
        task.histories = {name: self.api.history(task.nodes[name].uuid) for name in shown}
        return task.tree(node, waits)

    def evidence(self, ref: TaskRef, sent: Collection[str]) -> Evidence:
        """Collect what the nodes of a task say of it now (rules 13 and 14)."""
        asked = {*sent, *self._names.get(ref.id, ())}
        nodes = {node.name: with_mark(node, ref.id) for node in self.api.nodes_of(asked)}
        task = MarkedNodes(ref.id, nodes.values())
        phase = ref.phase or (task.phase if task.nodes else Phase.DESTROY)
        if task.nodes:
            task.require(ref)
        waits = {name: why for name, node in task.nodes.items() if (why := self._driver.waits(phase, node, ref.id))}
        return evidence_of(phase, ref.id, nodes, sent, waits, self.limits)

    def _look(self, phase: Phase, design: DesignSource | None, reference: str) -> ProvisionerTask:
        """Say whether the server and the design are as a deployment needs them: all that is to be done for a site."""
        if design is None:
            self.check()
        why = "" if design is None else self._hindrance(design)
        return told.task_of(reference, ACTIONS[phase], {"": (not why, why)}, is_begun=True)

    def _looked(self, ref: TaskRef) -> ProvisionerTask:
        known = self._looks.get(ref.id)
        if known is None and ref.phase is not None:
            known = self._looks[ref.id] = self._look(ref.phase, ref.design, ref.id)
        if known is None or (ref.phase is not None and known.action != ACTIONS[ref.phase]):
            raise ProvisionerProtocolError(f"the task {ref.id} is of the whole site, and not {ref.phase}")
        return known

    def _existing(self, ref: TaskRef) -> MarkedNodes:
        """Return the nodes of a task. Raises `TaskNotFound`: two lists of all nodes have none of them."""
        names = self._names.get(ref.id)
        found = MarkedNodes(ref.id, self.api.nodes_of(names) if names else self.api.nodes())
        if not found.nodes:
            found = MarkedNodes(ref.id, self.api.nodes())
        if not found.nodes:
            self._names.pop(ref.id, None)
            raise TaskNotFound(f"no node has the mark of task {ref.id}", status=404)
        if names is None:
            self._names[ref.id] = frozenset(found.nodes)
        found.require(ref)
        return found
