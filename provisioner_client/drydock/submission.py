"""What is sent to Drydock, and starting a task once, whatever is lost on the way (rule 12).

The parts of requests come first, with what Drydock would take and then break on or lose (trap 14). A submission decides
when to look and when to send again; looking and sending are given to it: nothing here sends by itself.
"""

from __future__ import annotations

import hashlib
import logging
import uuid
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from design_rendering.kinds.nodes import LONGEST_HOST_NAME
from provisioner_client.errors import (
    AuthenticationFailed,
    ProvisionerError,
    ProvisionerProtocolError,
    ProvisionerRefused,
    ProvisionerUnavailable,
    SubmissionRefused,
    SubmissionUncertain,
)
from provisioner_client.http_settings import growing_delays
from provisioner_client.protocol import LONG_AGO, ProvisionerTask
from strategy_lib.strategy import Label, Selector

LONGEST_DESIGN_REF: Final = 128


def check_design_ref(design_ref: str) -> None:
    """Refuse an address of a design that Drydock cannot store.

    Raises `ProvisionerRefused`: the text does not repeat the address.
    """
    if not design_ref:
        raise ProvisionerRefused("the design has no address")
    if len(design_ref) > LONGEST_DESIGN_REF:
        raise ProvisionerRefused(
            f"the design's address would be {len(design_ref)} characters, and Drydock takes {LONGEST_DESIGN_REF}: "
            "set a shorter 'Slipway URL' on the provisioner's connection"
        )


def checked_names(nodes: Collection[str]) -> list[str]:
    """Give names of nodes in order, each once.

    Raises `SubmissionRefused` when there are no names, or Drydock would lose one of them.
    """
    names = sorted(set(nodes))
    if not names:
        raise SubmissionRefused("no nodes: Drydock would call a task without nodes a success")
    bad = [name for name in names if not name or len(name) > LONGEST_HOST_NAME]
    if bad:
        raise SubmissionRefused(
            f"host names must have 1 to {LONGEST_HOST_NAME} characters, or Drydock loses them: {some(bad)}"
        )
    return names


def some(names: Collection[str]) -> str:
    """Write the first ten of these names, and how many more there are."""
    listed = sorted(names)
    return ", ".join(listed[:10]) + (f" (and {len(listed) - 10} more)" if len(listed) > 10 else "")


REFERENCE_KEY: Final = "x_client_ref"
"""Drydock keeps and echoes unknown keys of a node filter; ours is found again by this one."""


def names_filter(names: Sequence[str], reference: str) -> dict[str, Any]:
    """Filter for exactly these nodes, carrying our reference (rule 12).

    Raises `ValueError` when there are no names: Drydock runs such a task for ever, or calls it a success.
    """
    if not names:
        raise ValueError("a filter without names is never sent")
    return {
        "filter_set_type": "union",
        "filter_set": [{"filter_type": "union", "node_names": list(names)}],
        REFERENCE_KEY: reference,
    }


def selectors_filter(selectors: Sequence[Selector]) -> dict[str, Any] | None:
    """Filter for the union of some selectors (rules 5 and 6); None stands for all nodes.

    Drydock takes the criteria of one filter as OR inside and, with `filter_type: intersection`, AND between them, as
    rule 5 wants. It refuses or hangs on a filter without criteria, so one all-selector makes the whole filter None.
    Its labels are a mapping: a second value of one key needs a second filter, with the selector's other criteria
    repeated; the union of the two is the OR of the two labels AND the rest.
    """
    if not selectors or any(selector.is_all for selector in selectors):
        return None
    filters = [one for selector in selectors for one in _selector_filters(selector)]
    return {"filter_set_type": "union", "filter_set": filters}


def _selector_filters(selector: Selector) -> list[dict[str, Any]]:
    criteria: dict[str, Any] = {"filter_type": "intersection"}
    if selector.node_names:
        criteria["node_names"] = list(selector.node_names)
    if selector.node_tags:
        criteria["node_tags"] = list(selector.node_tags)
    if selector.rack_names:
        criteria["rack_names"] = list(selector.rack_names)
    if not selector.node_labels:
        return [criteria]
    return [{**criteria, "node_labels": labels} for labels in _label_maps(selector.node_labels)]


def _label_maps(labels: Iterable[Label]) -> list[dict[str, str]]:
    """As few mappings as hold all labels, each key once in each."""
    maps: list[dict[str, str]] = []
    for label in dict.fromkeys(labels):
        for one in maps:
            if label.key not in one:
                one[label.key] = label.value
                break
        else:
            maps.append({label.key: label.value})
    return maps


def marker_of(text: str | None) -> str:
    """Give this text if it is such a UUID, one that is made of it if it is not, a random one for None."""
    if text is None:
        return str(uuid.uuid4())
    try:
        given = uuid.UUID(text)
    except ValueError:
        given = None
    if given is not None and given.version == 4:
        return str(given)
    return str(uuid.UUID(bytes=hashlib.sha256(text.encode()).digest()[:16], version=4))


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
    attempts : how often to send at most.
    look_delay : seconds before the first look after an answer was lost. Each further wait is twice as long.
    settle : seconds for which a request may still take effect after its answer was lost, however it was lost: the
        provisioner, or a proxy before it, may be at work on it. Not less than the time that it may take for one.
    """

    attempts: int = 4
    look_delay: float = 1.0
    settle: float = 60.0

    def __post_init__(self) -> None:
        if self.attempts < 1:
            raise ValueError("attempts must be at least 1")
        if self.look_delay <= 0 or self.settle <= 0:
            raise ValueError("look_delay and settle are seconds and must be above 0")


@dataclass(frozen=True, slots=True)
class Submission:
    """One submission.

    Parameters
    ----------
    send : sends the request once and returns the task.
    look : looks for the task by its reference; repeats itself when there is trouble.
    pause : waits before an attempt, given the number of the failed one and its trouble.
    sleep : waits for so many seconds.
    guard : called right before each sending; when it raises, nothing is sent.
    prepare : called once, before the first sending and only when there is no such task yet; it may raise.
    sent_ago : seconds since an earlier process last sent the reference, None when none ever did.
    """

    reference: str
    send: Callable[[], ProvisionerTask]
    look: Callable[[], Sighting]
    pause: Callable[[int, ProvisionerError], None]
    sleep: Callable[[float], None]
    policy: SubmissionPolicy
    guard: Callable[[], None] = lambda: None
    prepare: Callable[[], None] = lambda: None
    sent_ago: float | None = LONG_AGO

    def run(self) -> ProvisionerTask:
        """Return the one task of this reference.

        Looks first, unless the reference was never sent: a process that died after sending may have started it.

        Raises `SubmissionUncertain` when an answer was lost, or a stranger refused, and the list of tasks does not have
        it; `ProvisionerUnavailable` when it could not be sent, and certainly was not taken; `SubmissionRefused` when
        the provisioner itself refused it, and no earlier sending can have been taken.
        """
        found, listed = (None, 0) if self.sent_ago is None else self._look_for_earlier(self.sent_ago)
        if found is not None:
            log.info("reference %s: provisioner task %s exists and is joined", self.reference, found.task_id)
            return found
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
                # Only what certainly never reached the provisioner is sent again at once.
                if trouble.may_be_done:
                    uncertain = True
                    log.warning("reference %s: answer lost (%s): was the task taken?", self.reference, trouble)
                    found, listed = self._look_until_settled(self.policy.settle, listed, trouble)
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

    def _look_for_earlier(self, sent_ago: float) -> tuple[ProvisionerTask | None, int]:
        """Find what an earlier process sent, and wait while its request may still take effect."""
        sighting = self._looked()
        if sighting.task is None and sighting.listed == 0:
            # Drydock answers an empty list also when it cannot read its database.
            self.sleep(self.policy.look_delay)
            sighting = self._looked()
        remaining = self.policy.settle - sent_ago
        if sighting.task is not None or remaining <= 0:
            return sighting.task, sighting.listed
        log.info("reference %s: sent %.0f s ago; it may still take effect", self.reference, sent_ago)
        return self._look_until_settled(remaining, sighting.listed, None)

    def _look_until_settled(
        self, seconds: float, listed: int, trouble: ProvisionerError | None
    ) -> tuple[ProvisionerTask | None, int]:
        """Find the task that a request may have started, for as long as the request may still take effect.

        Parameters
        ----------
        listed : the most tasks that a look has shown so far; the same is returned beside the task.

        Raises
        ------
        SubmissionUncertain : the last look did not tell.
        """
        clear = False
        for delay in growing_delays(self.policy.look_delay, seconds):
            self.sleep(delay)
            try:
                sighting = self._looked()
            except (ProvisionerUnavailable, ProvisionerProtocolError) as blind:
                log.warning("reference %s: the list of tasks cannot be read: %s", self.reference, blind)
                clear = False
                continue
            if sighting.task is not None:
                return sighting.task, sighting.listed
            # Drydock lists nothing when it cannot read its database. So an empty list proves nothing right after an
            # answer was lost. The next process believes it (a new Drydock), unless the list was not empty before.
            clear = sighting.listed > 0 or (listed == 0 and trouble is None)
            listed = max(listed, sighting.listed)
        if not clear:
            why = trouble.detail if trouble is not None else "an earlier process began to send it"
            raise SubmissionUncertain(
                f"reference {self.reference}: {why}; and the list of tasks does not tell",
                status=trouble.status if trouble is not None else None,
            ) from None
        return None, listed
