"""The address of a design, which is a secret: with it anybody can read the design. What a text may show of it. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import SplitResult, urlsplit

from design_rendering.redaction import HIDDEN

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
