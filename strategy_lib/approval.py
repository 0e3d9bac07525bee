"""A person's approval that a group may ask for: when, of whom, and for how long it waits."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class ApprovalMoment(StrEnum):
    """When a group asks for approval: before anything is submitted, or before its verdict."""

    BEFORE = "before"
    AFTER = "after"


@dataclass(frozen=True, slots=True)
class Approval:
    """What a group asks a person for.

    Attributes
    ----------
    moment : when it asks.
    text : what it asks; "" for the default (`question`).
    approvers : names of the users who may answer; none: who may start an action of the kind.
    timeout : seconds after which nobody's answer is a refusal; None: it waits for ever.
    """

    moment: ApprovalMoment
    text: str = ""
    approvers: tuple[str, ...] = ()
    timeout: int | None = None

    def question(self, group: str) -> str:
        """Return what the person is asked."""
        if self.text:
            return self.text
        if self.moment is ApprovalMoment.BEFORE:
            return f"Shall group {group} be deployed?"
        return f"Is group {group} as it should be?"

    def announcement(self, group: str) -> str:
        """Say in the plan that the group is going to ask."""
        when = "before it begins" if self.moment is ApprovalMoment.BEFORE else "before its verdict"
        who = f" by {', '.join(self.approvers)}" if self.approvers else ""
        return f"Group {group} asks for approval{who} {when}; while it waits no other group starts."
