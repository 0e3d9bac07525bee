"""Starting a provisioner task once, whatever is lost on the way (rule 12). It decides when to look and when to send
again; looking and sending are given to it."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass

from provisioner_client.errors import (
    AuthenticationFailed,
    ProvisionerError,
    ProvisionerProtocolError,
    ProvisionerRefused,
    ProvisionerUnavailable,
    SubmissionRefused,
    SubmissionUncertain,
)
from provisioner_client.protocol import ProvisionerTask

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Sighting:
    """What one look at the provisioner's list of tasks showed: our task or None, and how many tasks there were."""

    task: ProvisionerTask | None
    listed: int


@dataclass(frozen=True, slots=True)
class SubmissionPolicy:
    """How carefully to look for a task after its submission went wrong.

    Parameters
    ----------
    attempts : int
        How often to send at most.
    looks : int
        How often to look, after an answer was lost, before sending again.
    look_delay : float
        Seconds before the first look; each further wait is longer by as much.
    settle : float
        Seconds to go on looking when no answer came in time: the provisioner may still be at work on the request.
        Not less than the time that it may take for one.
    """

    attempts: int = 4
    looks: int = 3
    look_delay: float = 1.0
    settle: float = 60.0

    def __post_init__(self) -> None:
        if self.attempts < 1 or self.looks < 1:
            raise ValueError("attempts and looks must be at least 1")

    def look_delays(self, trouble: ProvisionerError) -> tuple[float, ...]:
        """Seconds to wait before each look, after this trouble."""
        delays = [self.look_delay * (number + 1) for number in range(self.looks)]
        if getattr(trouble, "timed_out", False):
            delays.append(max(self.look_delay, self.settle - sum(delays)))
        return tuple(delays)


@dataclass(frozen=True, slots=True)
class Submission:
    """One submission.

    Parameters
    ----------
    send : callable
        Sends the request once and returns the task.
    look : callable
        Looks for the task by its reference; repeats itself when there is trouble.
    pause : callable
        Waits before an attempt, given the number of the failed one and its trouble.
    sleep : callable
        Waits for so many seconds.
    guard : callable
        Called right before each sending; when it raises, nothing is sent.
    prepare : callable
        Called once, before the first sending and only when there is no such task yet; it may raise.
    """

    reference: str
    send: Callable[[], ProvisionerTask]
    look: Callable[[], Sighting]
    pause: Callable[[int, ProvisionerError], None]
    sleep: Callable[[float], None]
    policy: SubmissionPolicy
    guard: Callable[[], None] = lambda: None
    prepare: Callable[[], None] = lambda: None

    def run(self) -> ProvisionerTask:
        """Return the one task of this reference.

        Looks first: a process that died after sending may have started it.

        Raises
        ------
        SubmissionUncertain
            When an answer was lost, or a stranger refused, and the list of tasks does not have it.
        ProvisionerUnavailable
            When it could not be sent, and certainly was not taken.
        SubmissionRefused
            When the provisioner itself refused it, and no earlier sending can have been taken.
        """
        before = self._looked()
        if before.task is None and before.listed == 0:
            # Drydock answers an empty list also when it cannot read its database.
            self.sleep(self.policy.look_delay)
            before = self._looked()
        if before.task is not None:
            log.info("reference %s: provisioner task %s exists and is joined", self.reference, before.task.task_id)
            return before.task
        self.prepare()
        attempt = 0
        uncertain = False
        while True:
            attempt += 1
            self.guard()
            try:
                return self.send()
            except AuthenticationFailed:
                raise
            except ProvisionerRefused as refusal:
                if refusal.answered and not uncertain:
                    raise SubmissionRefused(refusal.detail, status=refusal.status, answered=True) from refusal
                # A proxy may refuse what it has passed on. And an earlier attempt may have been taken after all, and
                # this one refused for that very reason.
                found = self._looked().task
                if found is not None:
                    return found
                detail = f"reference {self.reference}: {refusal.detail}"
                raise SubmissionUncertain(detail, status=refusal.status) from refusal
            except (ProvisionerUnavailable, ProvisionerProtocolError) as trouble:
                uncertain = uncertain or not isinstance(trouble, ProvisionerUnavailable) or trouble.reached
                found = self._look_after(trouble, before.listed)
                if found is not None:
                    log.info("reference %s: the task was taken after all, %s", self.reference, found.task_id)
                    return found
                if attempt >= self.policy.attempts:
                    raise
                log.warning(
                    "reference %s: attempt %d of %d was not taken: %s",
                    self.reference,
                    attempt,
                    self.policy.attempts,
                    trouble,
                )
                self.pause(attempt, trouble)

    def _looked(self) -> Sighting:
        """Look; that the list of tasks is refused (a proxy's 404, say) tells nothing about the task."""
        try:
            return self.look()
        except AuthenticationFailed:
            raise
        except ProvisionerRefused as refusal:
            detail = f"reference {self.reference}: the list of tasks cannot be read: {refusal.detail}"
            raise SubmissionUncertain(detail, status=refusal.status) from refusal

    def _look_after(self, trouble: ProvisionerError, listed_before: int) -> ProvisionerTask | None:
        """Find the task that a failed attempt may have started; None when it certainly did not."""
        if isinstance(trouble, ProvisionerUnavailable) and not trouble.reached:
            return None
        log.warning("reference %s: answer lost (%s), looking whether the task was taken", self.reference, trouble)
        clear = False
        for delay in self.policy.look_delays(trouble):
            self.sleep(delay)
            try:
                sighting = self._looked()
            except (ProvisionerUnavailable, ProvisionerProtocolError) as blind:
                log.warning("reference %s: the list of tasks cannot be read: %s", self.reference, blind)
                clear = False
                continue
            if sighting.task is not None:
                return sighting.task
            # Fewer than nothing to see: a list that was not empty before does not become so by itself.
            clear = not (sighting.listed == 0 and listed_before > 0)
        if not clear:
            raise SubmissionUncertain(
                f"reference {self.reference}: {trouble.detail}; and the list of tasks does not tell",
                status=trouble.status,
            ) from None
        return None
