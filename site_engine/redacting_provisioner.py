"""A provisioner whose words hold no secret of the design: they go to logs, events and reports, which many may read."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from provisioner_client.errors import ProvisionerError
from provisioner_client.protocol import LONG_AGO

if TYPE_CHECKING:
    from design_rendering.redaction import Redactor
    from provisioner_client.protocol import DesignValidation, ListedNode, Provisioner, ProvisionerTask, TaskAction
    from strategy_lib.outcome import Evidence
    from strategy_lib.strategy import Selector


@dataclass(frozen=True, slots=True)
class RedactingProvisioner:
    """A provisioner that repeats no secret.

    Parameters
    ----------
    provisioner
        The real one; it is closed with this.
    redactor
        Gives what hides the design's secrets. It is called only when there are words to look through, and may be slow.
    """

    provisioner: Provisioner
    redactor: Callable[[], Redactor]

    @property
    def settle(self) -> float:
        """As the real one."""
        return self.provisioner.settle

    def check(self) -> str:
        """As the real one."""
        return self.provisioner.check()

    def validate_design(self, design_ref: str) -> DesignValidation:
        """As the real one; in its messages there is no secret."""
        with self._discreet():
            validation = self.provisioner.validate_design(design_ref)
        said = [replace(message, text=self._hide(message.text)) for message in validation.messages]
        return replace(validation, messages=tuple(said))

    def select_nodes(self, design_ref: str, selectors: Sequence[Selector]) -> frozenset[str]:
        """As the real one."""
        with self._discreet():
            return self.provisioner.select_nodes(design_ref, selectors)

    def submit(
        self,
        action: TaskAction,
        design_ref: str,
        nodes: Sequence[str] | None,
        reference: str,
        *,
        guard: Callable[[], None] | None = None,
        sent_ago: float | None = LONG_AGO,
    ) -> str:
        """As the real one."""
        with self._discreet():
            return self.provisioner.submit(action, design_ref, nodes, reference, guard=guard, sent_ago=sent_ago)

    def find(self, reference: str) -> ProvisionerTask | None:
        """As the real one; in the task's messages there is no secret."""
        with self._discreet():
            found = self.provisioner.find(reference)
        return None if found is None else self._task(found)

    def task(self, task_id: str, *, action: TaskAction | None = None, reference: str | None = None) -> ProvisionerTask:
        """As the real one; in its messages there is no secret."""
        with self._discreet():
            return self._task(self.provisioner.task(task_id, action=action, reference=reference))

    def evidence(
        self,
        task_id: str,
        sent: Collection[str],
        *,
        action: TaskAction | None = None,
        reference: str | None = None,
    ) -> Evidence:
        """As the real one; in its words about nodes there is no secret."""
        with self._discreet():
            evidence = self.provisioner.evidence(task_id, sent, action=action, reference=reference)
        return replace(evidence, messages=self._words(evidence.messages))

    def is_dead(self, task_id: str) -> bool:
        """As the real one."""
        with self._discreet():
            return self.provisioner.is_dead(task_id)

    def nodes(self) -> dict[str, ListedNode]:
        """As the real one."""
        with self._discreet():
            return self.provisioner.nodes()

    def close(self) -> None:
        """Close the real one."""
        self.provisioner.close()

    def _task(self, task: ProvisionerTask) -> ProvisionerTask:
        said = [replace(message, text=self._hide(message.text)) for message in task.messages]
        return replace(task, messages=tuple(said))

    def _words(self, messages: Mapping[str, str]) -> Mapping[str, str]:
        return {node: self._hide(text) for node, text in messages.items()}

    def _hide(self, text: str) -> str:
        return self.redactor().redact(text) if text else text

    @contextmanager
    def _discreet(self) -> Iterator[None]:
        try:
            yield
        except ProvisionerError as error:
            told: BaseException | None = error
            while told is not None:
                if isinstance(told, ProvisionerError):
                    told.detail = self._hide(told.detail)
                    told.args = (told.detail,)
                # A traceback shows what it was raised from.
                told = told.__cause__ or told.__context__
            raise
