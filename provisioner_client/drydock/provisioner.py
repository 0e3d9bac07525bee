"""Airship Drydock as a provisioner: which requests go over the wire, and what is refused before it does.

The traps that it knows are numbered in docs/provisioner.md. It never calls /health, which leaves a task behind at
every call, nor the validate_design action, which always fails.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Final

from provisioner_client.designs import DesignSource, DesignValidation, HiddenAddress
from provisioner_client.drydock.submission import (
    Submission,
    SubmissionPolicy,
    check_design_ref,
    checked_names,
    marker_of,
    names_filter,
    selectors_filter,
    some,
)
from provisioner_client.drydock.task_list import API, TaskList, task_data
from provisioner_client.drydock.task_tree import (
    evidence_from,
    task_of_node,
    tree_from,
    with_cause,
    with_list,
    with_task_of_node,
)
from provisioner_client.drydock.wire import (
    checked_task,
    judges_the_design,
    nodes_from,
    selected_from,
    task_from,
    validation_from,
)
from provisioner_client.errors import (
    AuthenticationFailed,
    DesignEmpty,
    DesignUnreadable,
    ProvisionerError,
    ProvisionerProtocolError,
    ProvisionerRefused,
    ProvisionerUnavailable,
    SubmissionRefused,
    TaskNotFound,
)
from provisioner_client.http_session import HttpSession, TokenSource
from provisioner_client.http_settings import AS_SHIPPED, HttpSettings, checked_url, identity_of
from provisioner_client.protocol import (
    ACTIONS,
    LONG_AGO,
    ListedNode,
    NodeChanges,
    ProvisionerTask,
    TaskRef,
    TaskState,
    TaskTree,
    unguarded,
)
from provisioner_client.shared_lists import UNSHARED, SharedLists, shared_nodes
from provisioner_client.tokens import NoToken, asked_by
from strategy_lib.outcome import Evidence
from strategy_lib.phase import Phase
from strategy_lib.strategy import Selector

log = logging.getLogger(__name__)

_NO_NODES: Final = "the design has no nodes"
_NO_SUCH_TASK: Final = "00000000-0000-4000-8000-000000000000"


class DrydockProvisioner:
    """The `Provisioner` protocol for Drydock. One object serves one thread.

    Parameters
    ----------
    url : where Drydock listens, `http://host:9000`; a path before `/api/v1.0` is kept.
    tokens : see `tokens`.
    http : how requests are sent. Drydock takes 30 s to say that a design file is missing, so its read timeout should be
        above.
    list_timeout, lists : seconds for lists of nodes and tasks [the read timeout]; how processes share them.
    submission : for tasks.
    end_user : who is behind the requests, for Drydock's log.
    context_marker : appears in Drydock's log with every request; any text, such as an action's id [a random one].

    Raises `ValueError` when the URL or the end user cannot be used.
    """

    def __init__(
        self,
        url: str,
        tokens: TokenSource | None = None,
        http: HttpSettings = AS_SHIPPED,
        *,
        list_timeout: float | None = None,
        lists: SharedLists = UNSHARED,
        submission: SubmissionPolicy | None = None,
        end_user: str | None = None,
        context_marker: str | None = None,
    ) -> None:
        self.url = checked_url(url).removesuffix(API).removesuffix("/api")
        self.context_marker = marker_of(context_marker)
        headers = {"X-Context-Marker": self.context_marker}
        if end_user:
            if not end_user.isprintable() or not end_user.isascii() or end_user != end_user.strip():
                raise ValueError("the end user cannot stand in a header")
            headers["X-End-User"] = end_user
        self._tokens = tokens or NoToken()
        self._submission = submission or SubmissionPolicy(settle=http.timeouts.read)
        self._sleep = http.sleep
        self._valid_designs: set[str] = set()
        self._http = HttpSession(self.url, http, tokens=self._tokens, headers=headers, keeps_connections=False)
        longest = list_timeout or http.timeouts.read
        place = f"Drydock at {identity_of(self.url)}{asked_by(self._tokens, http.named_by)}"
        shared = (lists, f"list of nodes of {place}", longest, http.redact, self._http.slow_answers)
        self._nodes = partial(shared_nodes, *shared, lambda: nodes_from(self._http.get(f"{API}/nodes").data))
        self._list = TaskList(self._http, lists, f"list of tasks of {place}", longest, http)

    def __repr__(self) -> str:
        return f"DrydockProvisioner({self.url!r}, {self._tokens!r})"

    def secrets(self) -> tuple[str, ...]:
        """Return what is sent to log in now, also a token that Keystone gave."""
        return self._tokens.secrets()

    @property
    def settle(self) -> float:
        return self._submission.settle

    def close(self) -> None:
        self._http.close()
        self._tokens.close()

    def check(self) -> str:
        """Say whether Drydock answers and accepts the credentials, leaving nothing behind.

        Asks for the versions, and for a task that does not exist: a refusal of the credentials comes before the
        search, and nothing else is as cheap.
        """
        versions = self._http.get("/versions").data
        if not isinstance(versions, dict) or "v1.0" not in versions:
            raise ProvisionerProtocolError("GET /versions does not name v1.0: is this Drydock?")
        try:
            task_data(self._http, _NO_SUCH_TASK, {})
        except TaskNotFound:
            return f"Drydock at {self.url} answers (API v1.0) and accepts the credentials."
        raise ProvisionerProtocolError("Drydock gives a task that cannot exist")

    def check_names(self, nodes: Collection[str]) -> None:
        """Refuse names that Drydock would lose (trap 14)."""
        if nodes:
            checked_names(nodes)

    def validate_design(self, design: DesignSource) -> DesignValidation:
        """Have Drydock read and check a design (trap 6).

        Raises `DesignUnreadable`: Drydock cannot read the design. It remembers a fetch that failed for ever, by the
        address.
        """
        check_design_ref(design.address)
        hidden = self._http.hide(HiddenAddress(design.address))
        body = {"href": design.address}
        path, most = f"{API}/validatedesign", self._http.retry.attempts
        answer = self._http.post(path, body, attempts=most, accept=judges_the_design)
        if answer.status == 500:
            # Retry once: for a file that is not there, each attempt takes Drydock half a minute.
            self._http.pause(1, ProvisionerUnavailable("POST /validatedesign: 500", status=500))
            answer = self._http.post(path, body, attempts=1, accept=judges_the_design)
        if answer.status == 500:
            # The server of the design may be starting: a run should not end for that.
            raise DesignUnreadable(f"Drydock could not read {hidden.shown}", status=500)
        validation = validation_from(answer.status, answer.data, hidden)
        if validation.valid:
            self._valid_designs.add(design.address)
        return validation

    def select_nodes(self, design: DesignSource, selectors: Sequence[Selector]) -> frozenset[str]:
        """Names of the nodes that the selectors choose, by Drydock (rules 5 and 6; traps 6, 7, 8).

        The design is validated first (once per design and object): of a design that cannot be read, Drydock says
        that no node matches.

        Raises `ProvisionerRefused` when the design is not valid; `DesignEmpty` when the whole of it has no node. Raises
        `ProvisionerProtocolError` when the answer names nodes that were not asked for.
        """
        fault, names = self._selected(design, selectors)
        if fault:
            raise (DesignEmpty if fault == _NO_NODES else ProvisionerRefused)(fault)
        if selectors and all(selector.node_names for selector in selectors):
            extra = names.difference(*(selector.node_names for selector in selectors))
            if extra:
                raise ProvisionerProtocolError(f"node filter: not asked for, yet selected: {some(extra)}")
        return names

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
        """Start a task, once (rule 12; traps 2, 5, 7, 10). See `Provisioner.submit`.

        With `nodes` None the filter names every node of the design: the reference travels in the filter, and a
        filter of the reference alone makes Drydock's task hang for ever.
        """
        if not reference:
            raise SubmissionRefused("a task without a reference could not be found again")
        action = ACTIONS[phase]
        if nodes is None and phase.is_of_nodes:
            raise SubmissionRefused(f"{action} must name its nodes: it is never sent for a whole site")
        try:
            check_design_ref(design.address)
        except ProvisionerRefused as refusal:
            raise SubmissionRefused(refusal.detail) from refusal
        self._http.hide(HiddenAddress(design.address))
        body: dict[str, object] = {"action": action, "design_ref": design.address}
        if nodes is not None:
            body["node_filter"] = names_filter(checked_names(nodes), reference)

        def name_the_site() -> None:
            body["node_filter"] = names_filter(self._whole_site(design), reference)

        def send() -> ProvisionerTask:
            task = task_from(self._http.post(f"{API}/tasks", body).data)
            checked_task(task, TaskRef(task.task_id, phase, reference))
            if task.reference is None:
                log.warning("task %s does not echo its reference: after a lost answer it is not found", task.task_id)
            return task

        task = Submission(
            reference=reference,
            send=send,
            look=lambda: self._list.look(reference),
            pause=self._http.pause,
            sleep=self._sleep,
            policy=self._submission,
            # Not before the look: what an earlier process has sent is joined, whatever became of the design.
            prepare=name_the_site if nodes is None else unguarded,
            guard=guard or unguarded,
            sent_ago=sent_ago,
        ).run()
        if task.action != action:
            raise ProvisionerRefused(f"reference {reference} belongs to task {task.task_id}, {task.action}")
        return task.task_id

    def find(self, reference: str) -> ProvisionerTask | None:
        """Look through all of Drydock's tasks for a reference (trap 10)."""
        return self._list.find(reference)

    def newest_reference(self, store: str) -> str | None:
        """Look through all of Drydock's tasks. Raises `ProvisionerUnavailable`; `NoTaskListed`: it lists none."""
        return self._list.newest_reference(store)

    def is_dead(self, task_id: str, *, age: float = 0.0) -> bool:
        """Look through all of Drydock's tasks for one that proves that this one does not run (trap 17)."""
        return self._list.is_dead(task_id, age)

    def task(
        self, ref: TaskRef, *, left: float | None = None, guard: Callable[[], None] | None = None
    ) -> ProvisionerTask:
        """Give a task as it is now. Its lists are empty until it is complete (trap 3). Drydock has the whole of it.

        That it is gone is believed only when the list of tasks, which must not be empty, does not have it either.
        """
        try:
            return checked_task(task_from(task_data(self._http, ref.id, {})), ref)
        except TaskNotFound:
            self._list.confirm_gone(ref.id)
            raise

    def task_tree(self, ref: TaskRef, node: str | None = None) -> TaskTree:
        """Give a task with those below it (traps 3, 10).

        Two levels first: a task of a thousand nodes has ten thousand below it. What is deeper is read of one node.
        """
        whole_site = ref.phase is not None and not ref.phase.is_of_nodes
        tree = tree_from(task_data(self._http, ref.id, {"layers": "-1" if whole_site else "2"}), ref.id, node)
        checked_task(tree.task, ref)
        if node is None:
            return tree
        own = task_of_node(tree, node)
        if own is not None:
            return with_task_of_node(tree, tree_from(task_data(self._http, own, {"layers": "-1"}), own, node))
        return tree_from(task_data(self._http, ref.id, {"layers": "-1"}), ref.id, node)

    def evidence(self, ref: TaskRef, sent: Collection[str]) -> Evidence:
        """Collect all that Drydock can say about the nodes of a task (rules 13, 14; traps 2, 3, 4, 9, 25).

        The node list is left out while the task is queued: it would tell what earlier tasks did. The evidence is
        `listed` all the same, as a list would add nothing.
        """
        root: ProvisionerTask | None = None
        trouble: ProvisionerError | None = None
        try:
            data = task_data(self._http, ref.id, {"layers": "2", "subtaskerrors": "true"})
            task, evidence = evidence_from(data, ref.id, sent)
            root = checked_task(task, ref)
        except TaskNotFound:
            self._list.confirm_gone(ref.id)
            log.warning("task %s is gone: only the node list can tell what it did", ref.id)
            evidence = Evidence(over=True)
        except ProvisionerError as failure:
            log.warning("task %s cannot be read: %s", ref.id, failure)
            evidence, trouble = Evidence(over=False), failure
        if root is not None and root.state is TaskState.QUEUED:
            return replace(evidence, listed=True)
        try:
            listed = self.nodes(sent)
        except ProvisionerError as failure:
            if trouble is not None:
                raise trouble from failure
            log.warning("the node list cannot be read: %s", failure)
            return evidence
        return with_cause(with_list(evidence, listed, sent), ref.phase, ref.design)

    def nodes(self, names: Collection[str] | None = None) -> dict[str, ListedNode]:
        """Give Drydock's node list, or of it these nodes: it has no way to ask for some."""
        return self._nodes(names)

    def observe(self, cursor: str | None, known: Mapping[str, ListedNode]) -> NodeChanges:
        """Give the whole list: Drydock has no events."""
        return NodeChanges(self.nodes())

    def power_on(self, nodes: Collection[str]) -> dict[str, str]:
        """Refuse: Drydock has no task that powers a deployed node on."""
        return dict.fromkeys(nodes, "Drydock cannot power a deployed node on")

    def _selected(self, design: DesignSource, selectors: Sequence[Selector]) -> tuple[str, frozenset[str]]:
        """What is wrong with the design (or nothing), and the names that the selectors choose."""
        if design.address not in self._valid_designs:
            validation = self.validate_design(design)
            if not validation.valid:
                return f"the design is not valid: {validation.reasons()}", frozenset()
        self._http.hide(HiddenAddress(design.address))
        node_filter = selectors_filter(selectors)
        body = {"design_ref": design.address, "node_filter": node_filter}
        names = selected_from(self._http.post(f"{API}/nodefilter", body, attempts=self._http.retry.attempts).data)
        return _NO_NODES if node_filter is None and not names else "", names

    def _whole_site(self, design: DesignSource) -> list[str]:
        """All nodes of the design. Only what is said about the design is a refusal of the task."""
        try:
            fault, names = self._selected(design, ())
        except AuthenticationFailed:
            raise
        except ProvisionerRefused as refusal:
            raise ProvisionerUnavailable(f"nothing was sent: {refusal.detail}", status=refusal.status) from refusal
        if fault:
            raise SubmissionRefused(fault)
        return checked_names(names)
