"""What Drydock remembers of designs: what a reference led to, for ever, and what a validation says of a content."""

from __future__ import annotations

import hashlib
import os
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from urllib.parse import unquote, urlsplit

from provisioner_client.simulator.designs import DesignFault, SiteDesign, read_design
from provisioner_client.simulator.errors import DesignUnresolvable
from provisioner_client.simulator.settings import Ingester

_BOOT_ACTIONS = ("Bootaction Definition", "DD4001")
_ADVICE = "It is expected all nodes have at least one post-deploy action."
_ADDRESSES = ("IP Locality Check", "DD2002")
# These checks always succeed here.
_OTHERS = (
    ("Rational Boot Storage", "DD1001"),
    ("Network Trunking Rationalty", "DD2004"),
    ("Platform Selection", "DD3001"),
    ("Allowed Network Check", "DD1007"),
    ("Hostname Validity", "DD3003"),
    ("Valid IPMI Configuration", "DD4001"),
    ("Bootaction pkg_list Validation", "DD4002"),
)
_NODE = "drydock/BaremetalNode/v1"
_EPOCH = datetime(2026, 1, 1, tzinfo=UTC)

Message = dict[str, object]


def validation_messages(design: SiteDesign, uses: int) -> tuple[bool, list[Message]]:
    """Return whether a design is refused, and all messages about it: a refusal is made once, all else at each use."""
    if design.faults:
        return True, [_refusal(one) for one in design.faults]
    return False, [message for use in range(uses) for message in _one_run(design, use)]


def _one_run(design: SiteDesign, use: int) -> list[Message]:
    warnings: list[tuple[tuple[str, str], str, tuple[str, str] | None]] = [
        (_BOOT_ACTIONS, f"Node {node.name} is not in scope for any bootactions.", (_NODE, node.name))
        for node in design.nodes
        if node.name not in design.booted
    ]
    if not design.networks:
        warnings.append((_ADDRESSES, "No networks found.", None))
    if not design.nodes:
        warnings.append((_ADDRESSES, "No baremetal_nodes found.", None))
    said = [
        _message(f"{title}: {text}", code, "Warning", document, use, _ADVICE if document else "")
        for (title, code), text, document in warnings
    ]
    every = (*_OTHERS, _ADDRESSES, _BOOT_ACTIONS)
    return said + [_message(f"{title}: Validation successful.", code, "Info", None, use) for title, code in every]


def _refusal(fault: DesignFault) -> Message:
    """Return what is said of a fault: where Drydock cannot compile a design, it names no check and no document."""
    if fault.document is not None:
        return _message(fault.message, "DD1001", "Error", fault.document, 0)
    said = {"message": fault.message, "error": True, "context_type": "NA", "context": "NA"}
    return said | {"ts": str(_EPOCH), "extra": {}}


def _message(
    text: str, code: str, level: str, document: tuple[str, str] | None, use: int, diagnostic: str = ""
) -> Message:
    documents: list[Mapping[str, str]] = [] if document is None else [{"schema": document[0], "name": document[1]}]
    return {
        "kind": "ValidationMessage",
        "name": code,
        "message": text,
        "error": level == "Error",
        "level": level,
        "diagnostic": diagnostic,
        # The messages differ only in this time.
        "ts": str(_EPOCH + timedelta(seconds=use)),
        "documents": documents,
    }


FETCH_TIMEOUT = 30.0
PAUSES = (5.0, 25.0)
"""Simulated seconds after the first and the second fetch that failed; there are three."""


@dataclass(slots=True)
class _Reference:
    """What a reference led to: bytes, or None where nothing could be fetched."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    is_known: bool = False
    content: bytes | None = None


class DesignCache:
    """Designs by reference and by content. Only a restart forgets.

    A reference is fetched once: what it led to is kept, also that it led nowhere. The HTTP status is not looked at:
    the body of a refusal is a design without nodes. A design's validation belongs to its content: each use adds its
    messages once more, and a refusal stays.

    Parameters
    ----------
    speed : simulated seconds per second.
    ingester : how a content is read.
    """

    def __init__(
        self,
        speed: float = 1.0,
        ingester: Ingester = Ingester.DECKHAND,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._speed, self._ingester, self._sleep = speed, ingester, sleep
        self._references: dict[str, _Reference] = {}
        self._designs: dict[str, SiteDesign] = {}
        self._uses: dict[str, int] = {}
        self._lock = threading.Lock()

    def resolve(self, reference: str, uses: int = 1) -> SiteDesign:
        """Return the design behind a reference, and count how often it is used for what is asked.

        Raises `DesignUnresolvable`: nothing was there when it was fetched, or nothing that can be read.
        """
        with self._lock:
            known = self._references.setdefault(reference, _Reference())
        with known.lock:
            if not known.is_known:
                known.content = self._fetched(reference)
                known.is_known = True
        if known.content is None:
            raise DesignUnresolvable(f"{reference}: nothing could be fetched when it was first asked for")
        key = _key(known.content)
        with self._lock:
            design = self._designs.get(key)
        if design is None:
            design = SiteDesign.empty() if self._ingester is Ingester.YAML else read_design(known.content, reference)
        with self._lock:
            self._uses[key] = self._uses.get(key, 0) + uses
            return self._designs.setdefault(key, design)

    def uses(self, reference: str) -> int:
        """Return how often the content behind a reference was used: so often its validation's messages stand there."""
        with self._lock:
            known = self._references.get(reference)
            return self._uses.get(_key(known.content), 0) if known is not None and known.content is not None else 0

    def references(self) -> list[str]:
        with self._lock:
            return sorted(self._references)

    def forget(self) -> None:
        with self._lock:
            self._references.clear()
            self._designs.clear()
            self._uses.clear()

    def _fetched(self, reference: str) -> bytes | None:
        """Fetch a reference, up to three times; a scheme that Drydock does not know is the only thing not kept."""
        parts = urlsplit(reference.removeprefix("deckhand+"))
        if parts.scheme not in ("file", "http", "https"):
            raise DesignUnresolvable(f"{reference}: no file:// or http:// reference")
        for pause in (*PAUSES, None):
            try:
                return Path(unquote(parts.path)).read_bytes() if parts.scheme == "file" else _get(parts.geturl())
            except OSError:
                if pause is not None:
                    self._sleep(pause / self._speed)
        return None


def _key(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _get(url: str) -> bytes:
    """Return the body, whatever the status (`requests`' exceptions are kinds of OSError)."""
    import requests  # on first use: the simulator starts without it

    with requests.Session() as session:
        session.trust_env = False
        session.verify = os.environ.get("REQUESTS_CA_BUNDLE") or True
        return session.get(url, timeout=FETCH_TIMEOUT).content
