"""Whether nodes that were deployed are ready: their agents are asked until they say up, or the time is over (rule 58).

Nothing is submitted, so that asking again is safe at any time, from any process. When it is given up follows from when
the operation was begun, by the database's clock; a node that was up once stays ready.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Collection, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, Protocol

from design_rendering.design import read_site_settings
from design_rendering.kinds.health_urls import node_urls
from site_engine import log_messages
from site_engine.designs import read_revision
from site_engine.log_messages import TaskLog
from site_engine.monitoring.metrics import measure_operation
from site_engine.process import Clock, Stopping
from site_store import Operation, OperationStatus, SiteStore
from site_store.groups.waits import KeptQuestion
from strategy_lib.node_states.generated import NodeAvailability
from strategy_lib.node_states.reported import UNNAMED_NOW, Reported
from strategy_lib.outcome import Outcome
from strategy_lib.settings import SettingError

EVERY: Final = 5.0
"""Seconds between two questions to a node."""

Answer = Reported | str


class AskNodes(Protocol):
    """Asks nodes of a site once, at most so many at the same time; `provisioner_client.node_agent.request` does."""

    def __call__(self, site: str, urls: Mapping[str, str], most: int, /) -> Awaitable[Mapping[str, Answer]]:
        """Return what each node says, or why there is no answer. Raises `SettingError`: nobody can be asked."""
        ...


@dataclass(frozen=True, slots=True)
class StillAsking:
    """Nodes take longer to become ready than this process should wait: defer, and come back."""

    op: int
    timeout: float
    deadline: datetime


@dataclass(frozen=True, slots=True)
class Question:
    """Whom to ask, where, and until when.

    Attributes
    ----------
    urls : where each node of the operation is asked; those that have no address in the design are not in it.
    most : how many are asked at once.
    """

    operation: Operation
    urls: Mapping[str, str]
    most: int
    timeout: float

    @property
    def deadline(self) -> datetime:
        """When it is given up, by the database's clock: so long after the operation was begun."""
        return self.operation.created + timedelta(seconds=self.timeout)


def read_question(store: SiteStore, op: int, timeout: float) -> Question:
    """Return whom an operation asks. The design is read once; the triggerer, and who comes back, find what was kept.

    Raises `EngineError`: there is no design to work with; `StoreError`: the store does not answer.
    """
    operation = store.operations.get(op)
    kept = store.questions.get(op)
    if kept is not None:
        return Question(operation, kept.urls, kept.most, timeout)
    documents = read_revision(store, operation.site, store.actions.get(operation.action_id).revision)[1]
    settings = read_site_settings(documents)
    urls = node_urls(documents, settings.health_url) if settings.health_url else {}
    wanted = {name: urls[name] for name in operation.nodes if name in urls}
    store.questions.keep(op, KeptQuestion(wanted, settings.max_agent_connections))
    return Question(operation, wanted, settings.max_agent_connections, timeout)


def note_ready(store: SiteStore, op: int, answers: Mapping[str, Answer]) -> list[str]:
    """Keep which nodes are ready by now; return those that are left to be asked, by name."""
    left = store.tasks.left_to_ask(op)
    ready = frozenset(name for name in left if is_ready(answers.get(name)))
    if ready:
        store.operations.record_outcome(op, Outcome(ready, frozenset(), frozenset()))
    return [name for name in left if name not in ready]


def counted(store: SiteStore, question: Question, answers: Mapping[str, Answer]) -> Mapping[str, Answer]:
    """Return the answers without those that do not show whose they are: their nodes signed by a newer version before.

    How nodes sign is noted (rule 63).
    """
    signed = {name: answer.signed for name, answer in answers.items() if isinstance(answer, Reported)}
    if not signed:
        return answers
    refused = store.nodes.take_signatures(question.operation.site, signed)
    return {name: UNNAMED_NOW if name in refused else answer for name, answer in answers.items()}


def is_ready(answer: Answer | None) -> bool:
    """Whether a node says that it is up."""
    return isinstance(answer, Reported) and answer.state is NodeAvailability.UP


def end_asking(store: SiteStore, question: Question, answers: Mapping[str, Answer], left: Collection[str]) -> None:
    """Record the end of an operation: the nodes that are left were not ready in time."""
    notes = {name: _why_not(question, name, answers.get(name)) for name in left}
    outcome = Outcome(frozenset(), frozenset(left), frozenset(), notes=notes)
    result = "not ready" if left else "ready"
    op = question.operation.op
    store.operations.record_outcome(op, outcome, status=OperationStatus.COMPLETE, result=result)
    store.questions.forget(op)
    measure_operation(store.operations.get(op))


def _why_not(question: Question, name: str, answer: Answer | None) -> str:
    late = f"deployed, but not ready within {question.timeout:g} s"
    if name not in question.urls:
        return f"{late}: health_url of the site's settings has no address of it, so that it was not asked"
    if isinstance(answer, Reported):
        said = f"{answer.state.value} ({answer.reason})" if answer.reason else answer.state.value
        return f"{late}: it says {said}"
    return f"{late}: {answer or 'it could not be asked'}"


@dataclass
class ReadyRun:
    """Asks the nodes of operations, from a process that is to wait for a while at most.

    Parameters
    ----------
    ask : asks nodes once.
    patience : seconds to ask in this process before `StillAsking` is returned.
    every : seconds between two questions to a node.
    """

    store: SiteStore
    ask: AskNodes
    clock: Clock
    patience: float
    log: TaskLog
    stopping: Stopping
    every: float = EVERY

    def run(self, operation: Operation, timeout: float) -> StillAsking | None:
        """Ask until all nodes are ready, or the time is over; None: what came of each is in the store.

        Raises `SettingError`: nobody can be asked; `TaskStopped`: this process was told to stop.
        """
        op = operation.op
        self.store.operations.mark_running(op)
        question = read_question(self.store, op, timeout)
        left: Collection[str] = self.store.tasks.left_to_ask(op)
        began, told = self.clock.now(), len(left)
        self.log.info("Ready: asking %s: %s.", log_messages.count(len(left), "node"), log_messages.names(left))
        while True:
            self.stopping.require_not_told()
            # Looked at first, so that the last question comes after the deadline.
            over = self.store.now() >= question.deadline
            answers = counted(self.store, question, asyncio.run(_answers(self.ask, question, left)))
            left = note_ready(self.store, op, answers)
            if over or not left:
                break
            if len(left) < told:
                told = len(left)
                self.log.info("Ready: %s left: %s.", log_messages.count(told, "node"), log_messages.names(left))
            if self.clock.now() - began >= timedelta(seconds=self.patience):
                return StillAsking(op, timeout, question.deadline)
            self.clock.sleep(self.every)
        end_asking(self.store, question, answers, left)
        if left:
            self.log.warning("Not ready within %g s: %s.", timeout, log_messages.names(left))
        else:
            self.log.info("Ready: all %s.", log_messages.count(len(operation.nodes), "node"))
        return None


async def _answers(ask: AskNodes, question: Question, left: Collection[str]) -> Mapping[str, Answer]:
    urls = {name: question.urls[name] for name in left if name in question.urls}
    return await ask(question.operation.site, urls, question.most) if urls else {}


async def ask_in_turn(
    store: SiteStore, ask: AskNodes, op: int, timeout: float, log: TaskLog, every: float = EVERY
) -> bool:
    """Ask in an event loop that belongs to others, too, until all nodes are ready or the time is over.

    What needs the store runs in threads. Which nodes were ready is kept on the way; the end is
    left to who comes back. Returns whether all were ready.
    """
    question = await asyncio.to_thread(read_question, store, op, timeout)
    told = False
    while True:
        left = await asyncio.to_thread(store.tasks.left_to_ask, op)
        answers: Mapping[str, Answer] = {}
        try:
            answers = await _answers(ask, question, left)
        except SettingError as error:
            if not told:
                log.warning("Nodes cannot be asked here whether they are ready: %s", error)
            told = True
        answers = await asyncio.to_thread(counted, store, question, answers)
        left = await asyncio.to_thread(note_ready, store, op, answers)
        if not left:
            return True
        if await asyncio.to_thread(store.now) >= question.deadline:
            return False
        await asyncio.sleep(every)
