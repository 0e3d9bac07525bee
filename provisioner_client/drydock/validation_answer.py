"""Drydock's answer to a validation: what it says of a design, each remark once. Pure.

Drydock repeats all its remarks each time that a design's content is used, and says of every check that it succeeded.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

from provisioner_client.designs import DesignMessage, DesignValidation
from provisioner_client.drydock.wire import mapping_of, message_list
from provisioner_client.errors import ProvisionerProtocolError
from provisioner_client.hidden_address import HiddenAddress
from provisioner_client.http_errors import ErrorShape, ErrorText, one_line

MOST_MESSAGES: Final = 200
_LEVELS: Final = ("error", "warning")
# Remarks that only say that nothing is wrong.
_ALL_WELL: Final = re.compile(r"(validation successful|passed validation|is valid)\.?\s*", re.IGNORECASE)


def validation_from(status: int, given: object, design: HiddenAddress) -> DesignValidation:
    """Read the answer to a validation: valid is 200 and `Success` and no code that says otherwise.

    Each remark is taken once, errors first, and not more than `MOST_MESSAGES`; notes that a check succeeded are left
    out. The design's address is taken out of what is said about it.

    Raises `ProvisionerProtocolError` when it is neither a validation nor an error.
    """
    data = mapping_of(given, "a validation")
    if data.get("type") == "error":
        return DesignValidation(False, (DesignMessage("Error", _said(data.get("message"), design), ()),))
    if "status" not in data:
        raise ProvisionerProtocolError("a validation without a status")
    valid = status == 200 and data["status"] == "Success" and data.get("code", 200) in (200, "200")
    # Thousands of repetitions: what is equal is recognised before it is made fit to be shown.
    distinct = {_key(item): item for item in message_list(data) if not _says_only_well(item)}
    messages = sorted((_message(item, design) for item in distinct.values()), key=_rank)
    if not valid and not messages:
        reason = data.get("message") or data.get("reason") or "no reason"
        messages = [DesignMessage("Error", _said(reason, design), ())]
    return DesignValidation(valid, tuple(messages[:MOST_MESSAGES]), max(0, len(messages) - MOST_MESSAGES))


def _message(item: dict[str, Any], design: HiddenAddress) -> DesignMessage:
    text, advice = (_said(item.get(key) or "", design) for key in ("message", "diagnostic"))
    return DesignMessage(
        level=_level(item),
        text=f"{text.rstrip('.')}. {advice}" if advice else text,
        documents=tuple(one_line(design.hide(name)) for name in _document_names(item.get("documents"))),
        code=one_line(item.get("name") or ""),
    )


def _level(item: dict[str, Any]) -> str:
    return one_line(item.get("level") or ("Error" if item.get("error") else "Info"))


def _says_only_well(item: dict[str, Any]) -> bool:
    text = str(item.get("message", ""))
    if item.get("error") or _level(item).lower() != "info" or item.get("documents"):
        return False
    return _ALL_WELL.search(text) is not None and _ALL_WELL.sub("", text).count(".") == 0


def _key(item: dict[str, Any]) -> tuple[str, ...]:
    """What makes a remark: all of it but its time."""
    return (_level(item), *(str(item.get(key)) for key in ("name", "message", "diagnostic", "documents")))


def _rank(message: DesignMessage) -> int:
    level = message.level.lower()
    return _LEVELS.index(level) if level in _LEVELS else len(_LEVELS)


def _document_names(documents: object) -> Iterator[str]:
    for document in documents if isinstance(documents, list) else []:
        if isinstance(document, dict):
            yield "/".join(str(document[key]) for key in ("schema", "name") if document.get(key))


def _said(text: object, design: HiddenAddress) -> str:
    return one_line(design.hide(str(text)))


def judges_the_design(status: int, error: ErrorText) -> bool:
    """Return whether an answer is about the design: 400 for a bad one, Drydock's own 500 where it finds none."""
    if status == 400:
        return error.shape in (ErrorShape.STATUS, ErrorShape.DRYDOCK)
    return status == 500 and error.shape is ErrorShape.DRYDOCK
