"""A design as a provisioner gets it, and what the provisioner says of it.

Its address is a secret: with it anybody can read the design. `HiddenAddress` says what a text may show of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import SplitResult, urlsplit

from design_rendering.redaction import HIDDEN


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


# A part of a path is taken for a secret from this length on; of a secret that was cut short, so much stays hidden.
_SECRET: Final = 16
_RECOGNISED: Final = 8


@dataclass(frozen=True, slots=True)
class HiddenAddress:
    """An address that must not be written down.

    Parameters
    ----------
    address : as it is sent to the provisioner; any text.
    """

    address: str = field(repr=False)

    @property
    def shown(self) -> str:
        """What stands for it: `the design`, and the server that has it when that is asked over HTTP."""
        parts = self._parts()
        if parts is None or not _is_http(parts) or not parts.hostname:
            return "the design"
        host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
        return f"the design at {parts.scheme}://{host}" + (f":{parts.port}" if parts.port is not None else "")

    def hide(self, text: str) -> str:
        """Take the address out of a text, also its path alone, and its secret parts even when they are cut short."""
        parts = self._parts()
        path = self.address if parts is None else parts._replace(scheme="", netloc="").geturl()
        if not path.strip("/"):
            return text
        text = text.replace(self.address, self.shown)
        if len(path) >= _RECOGNISED:
            # A program that cannot fetch it often names host and path apart.
            text = text.replace(path, "(the design)")
        for secret in _secrets(parts) if parts is not None and _is_http(parts) else ():
            text = _without(text, secret)
        return text

    def _parts(self) -> SplitResult | None:
        try:
            parts = urlsplit(self.address)
            _ = parts.port
        except ValueError:
            return None
        return parts


def _is_http(parts: SplitResult) -> bool:
    """Also for `deckhand+http`."""
    return parts.scheme.rpartition("+")[2] in ("http", "https")


def _secrets(parts: SplitResult) -> Iterator[str]:
    words = "/".join((parts.path, parts.query, parts.fragment)).replace("&", "/").replace("=", "/").split("/")
    yield from (word for word in words if len(word) >= _SECRET)
    yield from (word for word in (parts.password,) if word)


def _without(text: str, secret: str) -> str:
    """Replace every occurrence of a secret, and of as much of its beginning as stands there."""
    head = secret[:_RECOGNISED]
    kept: list[str] = []
    rest = text
    while head in rest:
        before, _, rest = rest.partition(head)
        kept.append(f"{before}{HIDDEN}")
        for char in secret[len(head) :]:
            if not rest.startswith(char):
                break
            rest = rest[1:]
    return "".join([*kept, rest])
