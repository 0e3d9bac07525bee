"""The one door to a provisioner: what it says shows no secret, and each of its answers is told of."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Protocol, TypeAlias, runtime_checkable

from design_rendering.redaction import HIDDEN, SHORTEST_SECRET, Redactor
from provisioner_client.errors import ProvisionerError, ProvisionerRefused, ProvisionerUnavailable
from provisioner_client.protocol import LONG_AGO

if TYPE_CHECKING:
    from provisioner_client.designs import DesignMessage, DesignSource, DesignValidation
    from provisioner_client.protocol import ListedNode, NodeChanges, Provisioner, ProvisionerTask, TaskRef, TaskTree
    from strategy_lib.outcome import Evidence
    from strategy_lib.phase import Phase
    from strategy_lib.strategy import Selector


Redact: TypeAlias = Callable[[str], str]
"""Takes what is secret out of a text; it may have to read the secrets first, and may fail at that."""

NOT_SHOWN = "what the provisioner said is not shown, because the secrets of the design could not be read"


def nothing_is_secret(text: str) -> str:
    """Return the text: for what is said before any design is known."""
    return text


def without(secrets: Collection[str], redact: Redact) -> Redact:
    """Return what takes these secrets out of a text, and then what `redact` does."""
    redactor = Redactor(secrets)
    return (lambda text: redact(redactor.redact(text))) if redactor else redact


@runtime_checkable
class FetchesTokens(Protocol):
    """A provisioner whose client gets tokens while it works."""

    def secrets(self) -> tuple[str, ...]:
        """Return those that it has now: nothing that the provisioner says may show them."""
        ...


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

    def shown(self, newest: Mapping[str, int]) -> None:
        """Take note of the references in one answer: the newest operation of each store, by its incarnation."""
        ...

    def closed(self) -> None:
        """The client is closed: no call follows."""
        ...


@dataclass(frozen=True, slots=True)
class RedactingProvisioner:
    """A provisioner that repeats no secret, and tells of its answers.

    Parameters
    ----------
    provisioner : the real one; it is closed with this.
    redact : takes secrets out of a text. It is called only when there are words to look through. Where it fails, an
        error of the provisioner says `NOT_SHOWN`, and anything else raises what `redact` has raised.
    secrets : gives what is secret besides at this moment, such as a token that was fetched.
    observer : told of each call that has ended, unless what ended it had nothing to do with the provisioner.  [nobody]
    monotonic : seconds on a clock that only goes forward.
    """

    provisioner: Provisioner
    redact: Redact
    secrets: Callable[[], tuple[str, ...]] = tuple
    observer: Observer | None = None
    monotonic: Callable[[], float] = time.monotonic

    @property
    def settle(self) -> float:
        return self.provisioner.settle

    def check(self) -> str:
        with self._call("check"):
            said = self.provisioner.check()
        return self._hide(said)

    def check_names(self, nodes: Collection[str]) -> None:
        self.provisioner.check_names(nodes)

    def validate_design(self, design: DesignSource) -> DesignValidation:
        with self._call("validate_design"):
            validation = self.provisioner.validate_design(design)
        return replace(validation, messages=tuple(map(self._remark, validation.messages)))

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
            found = self.provisioner.find(reference)
        return None if found is None else self._task(found)

    def newest_reference(self, store: str) -> str | None:
        with self._call("newest_reference"):
            return self.provisioner.newest_reference(store)

    def task(
        self, ref: TaskRef, *, left: float | None = None, guard: Callable[[], None] | None = None
    ) -> ProvisionerTask:
        with self._call("task"):
            found = self.provisioner.task(ref, left=left, guard=guard)
        return self._task(found)

    def task_tree(self, ref: TaskRef, node: str | None = None) -> TaskTree:
        with self._call("task_tree"):
            tree = self.provisioner.task_tree(ref, node)
        return self._tree(tree)

    def evidence(self, ref: TaskRef, sent: Collection[str]) -> Evidence:
        with self._call("evidence"):
            evidence = self.provisioner.evidence(ref, sent)
        return replace(
            evidence,
            messages=self._words(evidence.messages),
            texts=self._words(evidence.texts),
            status_names=self._words(evidence.status_names),
        )

    def is_dead(self, task_id: str, *, age: float = 0.0) -> bool:
        with self._call("is_dead"):
            return self.provisioner.is_dead(task_id, age=age)

    def nodes(self, names: Collection[str] | None = None) -> dict[str, ListedNode]:
        with self._call("nodes"):
            nodes = self.provisioner.nodes(names)
        return redacted_nodes(nodes, self._hide)

    def observe(self, cursor: str | None, known: Mapping[str, ListedNode]) -> NodeChanges:
        with self._call("observe"):
            found = self.provisioner.observe(cursor, known)
        return replace(found, nodes=redacted_nodes(found.nodes, self._hide))

    def power_on(self, nodes: Collection[str]) -> dict[str, str]:
        with self._call("power_on"):
            refused = self.provisioner.power_on(nodes)
        return {name: self._hide(why) for name, why in refused.items()}

    def close(self) -> None:
        self.provisioner.close()
        if self.observer is not None:
            self.observer.closed()

    def _task(self, task: ProvisionerTask) -> ProvisionerTask:
        hide = self._hide
        said = [replace(message, text=hide(message.text), at=_maybe(message.at, hide)) for message in task.messages]
        return replace(task, messages=tuple(said))

    def _tree(self, tree: TaskTree) -> TaskTree:
        links = tuple(replace(link, rel=self._hide(link.rel), address=self._hide(link.address)) for link in tree.links)
        created, updated = _maybe(tree.created, self._hide), _maybe(tree.updated, self._hide)
        task = replace(self._task(tree.task), action=self._hide(tree.task.action))
        children = tuple(map(self._tree, tree.children))
        return replace(tree, task=task, links=links, created=created, updated=updated, children=children)

    def _remark(self, message: DesignMessage) -> DesignMessage:
        documents = tuple(map(self._hide, message.documents))
        return replace(message, text=self._hide(message.text), documents=documents, code=self._hide(message.code))

    def _words(self, messages: Mapping[str, str]) -> Mapping[str, str]:
        return {node: self._hide(text) for node, text in messages.items()}

    def _hide(self, text: str) -> str:
        if not text:
            return text
        for secret in self.secrets():
            if len(secret) >= SHORTEST_SECRET:
                text = text.replace(secret, HIDDEN)
        return self.redact(text)

    @contextmanager
    def _call(self, call: str) -> Iterator[None]:
        """Tell of a call how it ended; what it raises shows no secret."""
        began = self.monotonic()
        try:
            yield
        except BaseException as error:
            self._tell(call, _result_of(error), began)
            if isinstance(error, ProvisionerError):
                self._redact_error(error)
            raise
        self._tell(call, CallResult.OK, began)

    def _tell(self, call: str, result: CallResult | None, began: float) -> None:
        if self.observer is not None and result is not None:
            self.observer.called(call, result, self.monotonic() - began)

    def _redact_error(self, error: ProvisionerError) -> None:
        cause: BaseException | None = error
        while cause is not None:
            if isinstance(cause, ProvisionerError):
                cause.detail = redacted_or_not_shown(self._hide, cause.detail)
                cause.args = (cause.detail,)
            # A traceback shows what it was raised from.
            cause = cause.__cause__ or cause.__context__


def _result_of(error: BaseException) -> CallResult | None:
    """Return what an error says of the provisioner; None where it is not the provisioner's: a task was told to stop."""
    if isinstance(error, ProvisionerRefused):
        return CallResult.REFUSED
    if isinstance(error, ProvisionerUnavailable):
        return CallResult.UNAVAILABLE
    return CallResult.MALFORMED if isinstance(error, ProvisionerError) else None


def redacted_nodes(nodes: Mapping[str, ListedNode], hide: Redact) -> dict[str, ListedNode]:
    """Return a list of nodes without secrets. Raises what `hide` raises."""
    words = {word for node in nodes.values() for word in (node.status_name, node.power_state, *node.addresses.values())}
    hidden = {word: hide(word) for word in words if word is not None}
    # Most lists hold no secret, and stay as they are.
    if all(shown == word for word, shown in hidden.items()):
        return dict(nodes)
    return {name: _redacted_node(node, hidden.__getitem__) for name, node in nodes.items()}


def _redacted_node(node: ListedNode, hide: Redact) -> ListedNode:
    addresses = {name: hide(address) for name, address in node.addresses.items()} if node.addresses else node.addresses
    return replace(
        node, status_name=hide(node.status_name), power_state=_maybe(node.power_state, hide), addresses=addresses
    )


def _maybe(text: str | None, hide: Redact) -> str | None:
    return None if text is None else hide(text)


def redacted_or_not_shown(redact: Redact, text: str) -> str:
    """Return a text without secrets, or `NOT_SHOWN` where they cannot be known."""
    try:
        return redact(text)
    except Exception:  # noqa: BLE001 - whatever it is, the text is not shown, and the trouble that it tells of stays
        return NOT_SHOWN
