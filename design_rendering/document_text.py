"""One document as YAML: as it was written, or written anew where it was changed."""

from __future__ import annotations

import re
import sys
from typing import Any

import yaml

from strategy_lib.documents import Document

# libyaml where it is there: the same text, about ten times as fast.
_Dumper: Any = getattr(yaml, "CSafeDumper", yaml.SafeDumper)

# What may be a tag. `!include` and the like are read as the value they stand on, which nobody else does.
_TAG = re.compile(r"(?:^|[\s\[{,:-])!\S", re.MULTILINE)
_LITERAL = re.compile(r"[|>]")


def dumped(document: Document) -> str:
    """Return the document as YAML, without comments; ends with a newline. Shared parts are written once, as aliases."""
    content = {"schema": document.schema, "metadata": document.metadata, "data": document.data}
    text: str = yaml.dump(
        content,
        Dumper=_Dumper,
        sort_keys=False,
        default_flow_style=False,
        allow_unicode=True,
        # Long texts stay on one line: folded ones grow with every level of indentation.
        width=sys.maxsize if _Dumper is yaml.SafeDumper else 2**31 - 1,
    )
    return text


def written(document: Document) -> str:
    """Return the document as it was written, comments kept; ends with a newline.

    One that was not read from a text, or that would not mean the same by itself, is dumped.
    """
    if document.marks is None:
        return dumped(document)
    text = document.marks.text
    if _TAG.search(text):
        return dumped(document)
    if text.endswith("\n"):
        return text
    # A block scalar at the very end of a file without a last newline would gain one.
    return dumped(document) if _LITERAL.search(text) else f"{text}\n"
