"""An error as a value, whether it still says something about today, and how it is reported outside (rules 46 to 48)."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

from strategy_lib.phase import Phase
from strategy_lib.status.node_row import is_superseded


class ErrorCode(StrEnum):
    """What kind of error it is, as the place that noticed it knows; never guessed from the words of a message.

    `REFUSED`: the request was not taken at all. `LOST`: nothing could be learnt of its outcome. `DEPENDENCY`: it was
    held for another's failure.
    """

    PROVISIONER = "provisioner"
    REFUSED = "refused"
    TIMEOUT = "timeout"
    LOST = "lost"
    DEPENDENCY = "dependency"
    POLICY = "policy"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class NodeError:
    """One error of one operation on one node; the same record whether it came at once or an hour later.

    Attributes
    ----------
    text : the whole text: all messages of the provisioner task in their order, one a line.
    op : number of the operation that it belongs to.
    provisioner_task : the provisioner's own name for its task; None where it did not get that far.
    wanted_version : the version that the operation was to bring the node to.
    """

    code: ErrorCode
    text: str
    site: str
    node: str
    phase: Phase
    action: str
    op: int
    provisioner_task: str | None
    wanted_version: int
    time: datetime


def read_code(stored: str, text: str) -> tuple[ErrorCode, str]:
    """Return a code and its text; a code that this version does not know is `unknown`, and stands in the text."""
    try:
        return ErrorCode(stored), text
    except ValueError:
        return ErrorCode.UNKNOWN, f"{stored}: {text}" if text else stored


def join_messages(messages: Iterable[str]) -> str:
    """Return the text of one error from the messages of its task: in order, one a line, a repeat in a row once."""
    kept: list[str] = []
    for message in messages:
        said = message.strip()
        if said and (not kept or kept[-1] != said):
            kept.append(said)
    return "\n".join(kept)


class Standing(StrEnum):
    """What an error still says. `SUPERSEDED`: about an older wanted version. `HISTORY`: of an earlier action."""

    SHOWN = "shown"
    SUPERSEDED = "superseded"
    HISTORY = "history"


def standing_of(error: NodeError, *, wanted_version: int | None, newest_action: str, newest_op: int | None) -> Standing:
    """Tell whether an error is shown for its node (rule 46).

    Parameters
    ----------
    error : the error.
    wanted_version : the version that is wanted of the node now; None: the node left the design, and no version
        supersedes it.
    newest_action : the newest action whose plan has the node. From its plan on, errors of earlier actions are history.
    newest_op : the newest operation on the node; None: none is known. An older one's error is history too.
    """
    if is_superseded(error.wanted_version, wanted_version):
        return Standing.SUPERSEDED
    if error.action != newest_action or (newest_op is not None and error.op < newest_op):
        return Standing.HISTORY
    return Standing.SHOWN


class ReportState(StrEnum):
    """How far the report of an operation's error is.

    `TRACKED`: the operation has begun, no error is known. `FAILED`: there is an error that nobody was told of.
    `REPORTED`: it was sent at least once. `CLEARED`: its reader has acknowledged it, or the operation succeeded.
    """

    TRACKED = "tracked"
    FAILED = "failed"
    REPORTED = "reported"
    CLEARED = "cleared"


@dataclass(frozen=True, slots=True)
class RemovalProgress:
    """How far the removal of a node is: the step it is at, and whether that is the end."""

    step: str
    ended: bool = False


def report_id(site: str, node: str, op: int, error: NodeError | None, removal: RemovalProgress | None = None) -> str:
    """Return the id of a node's report: the same for a repeat, another one for another error or step of a removal.

    An error counts as another one if its code or its text is: the text stands in the id as eight digits of its SHA-256.
    """
    said = [site, node, str(op), "none" if error is None else f"{error.code.value}-{_digest(error.text)}"]
    if removal is not None:
        said.append("removed" if removal.ended else removal.step)
    return "/".join(said)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:8]


@dataclass(frozen=True, slots=True)
class NodeReport:
    """What is reported of a node outside: three parts, each there or not, none depending on another (rule 47)."""

    site: str
    node: str
    op: int
    state: str | None = None
    removal: RemovalProgress | None = None
    error: NodeError | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the report as plain data; a part that is not there has no key."""
        report: dict[str, Any] = {"id": report_id(self.site, self.node, self.op, self.error, self.removal)}
        report |= {"site": self.site, "node": self.node, "op": self.op}
        if self.state is not None:
            report["state"] = self.state
        if self.removal is not None:
            report["removal"] = {"step": self.removal.step, "ended": self.removal.ended}
        if self.error is not None:
            report["error"] = {
                "code": self.error.code.value,
                "message": self.error.text,
                "action": self.error.action,
                "phase": self.error.phase.value,
                "provisioner_task": self.error.provisioner_task,
            }
        return report
