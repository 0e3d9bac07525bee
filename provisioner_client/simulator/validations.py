"""What /validatedesign says of a design: one run of all checks, as often as the content was used. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from provisioner_client.simulator.designs import SiteDesign

_BOOT_ACTIONS = ("Bootaction Definition", "DD4001")
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
        faults = [_message(one.message, "DD1001", "Error", (one.schema, one.name), 0) for one in design.faults]
        return True, faults
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
    said = [_message(f"{title}: {text}", code, "Warning", document, use) for (title, code), text, document in warnings]
    every = (*_OTHERS, _ADDRESSES, _BOOT_ACTIONS)
    return said + [_message(f"{title}: Validation successful.", code, "Info", None, use) for title, code in every]


def _message(text: str, code: str, level: str, document: tuple[str, str] | None, use: int) -> Message:
    documents: list[Mapping[str, str]] = [] if document is None else [{"schema": document[0], "name": document[1]}]
    return {
        "kind": "ValidationMessage",
        "name": code,
        "message": text,
        "error": level == "Error",
        "level": level,
        "diagnostic": "",
        # The messages differ only in this time.
        "ts": str(_EPOCH + timedelta(seconds=use)),
        "documents": documents,
    }
