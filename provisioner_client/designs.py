"""A design as a provisioner gets it, and what the provisioner says of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class DesignMessage:
    """One remark on a design. `documents` are written `schema/name`, `code` is the check's, such as `DD1001`."""

    level: str
    text: str
    documents: tuple[str, ...]
    code: str = ""

    def __str__(self) -> str:
        """Return the remark with its code and documents, for a log or a message."""
        about = f" [{', '.join(self.documents)}]" if self.documents else ""
        return f"{self.code}{': ' if self.code else ''}{self.text}{about}"


@dataclass(frozen=True, slots=True)
class DesignValidation:
    """Whether the provisioner can use a design, and what it says about it.

    Each remark stands here once, errors first. `omitted` counts those that are left out because there are so many.
    """

    valid: bool
    messages: tuple[DesignMessage, ...]
    omitted: int = 0

    def reasons(self, most: int = 5) -> str:
        """Say in one line why the design is refused: the first errors, or whatever was said."""
        errors = [one for one in self.messages if one.level.lower() == "error"] or list(self.messages)
        more = len(errors) - most
        if len(errors) == len(self.messages):
            more += self.omitted
        said = "; ".join(str(one) for one in errors[:most]) or "it gave no message"
        return said + (f" (and {more} more)" if more > 0 else "")


def _no_content() -> str:
    raise LookupError("this design is known by its address alone")


@dataclass(frozen=True, slots=True)
class DesignSource:
    """Where a provisioner gets a design: a backend uses the address, or the content.

    Parameters
    ----------
    address : at which the provisioner can fetch it. A secret, and another one for another design.
    read : gives the text of its documents, for a backend that sends them itself. It may be slow, and is not called for
        nothing. Without it `LookupError` is raised.
    """

    address: str = field(repr=False)
    read: Callable[[], str] = field(default=_no_content, repr=False, compare=False)
