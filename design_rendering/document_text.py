"""One document as YAML: as it was written, or written anew where it was changed."""

from __future__ import annotations

import re

from design_rendering.block_yaml import BlockYaml
from design_rendering.budget import Budget, TooMuchError
from design_rendering.errors import RenderingError
from strategy_lib.documents import Document

# What may be a tag. `!include` and the like are read as the value they stand on, which nobody else does.
_TAG = re.compile(r"(?:^|[\s\[{,:-])!\S", re.MULTILINE)
_BLOCK_SCALAR = re.compile(r"[|>]")


class DocumentWriter:
    """Writes documents; one writer for many of them is faster than one for each."""

    __slots__ = ("_budget", "_yaml")

    def __init__(self) -> None:
        self._yaml = BlockYaml()
        self._budget = Budget()

    def dumped(self, document: Document) -> str:
        """Return the document as YAML, without comments; ends with a newline.

        Raises
        ------
        RenderingError
            When it is too large, or nested too deep, to be read again: aliases are written out.
        """
        try:
            self._budget.keep(document.metadata)
            self._budget.keep(document.data)
        except TooMuchError as error:
            raise RenderingError([document.problem("$", str(error))]) from None
        return self.anew(document)

    def anew(self, document: Document) -> str:
        """Return the document as `dumped` does, when its size is known to be bounded: it was rendered."""
        return self._yaml.text({"schema": document.schema, "metadata": document.metadata, "data": document.data})

    def written(self, document: Document) -> str:
        """Return the document as it was written, comments kept; ends with a newline.

        One that was not read from a text, that has a key twice, or that would not mean the same by itself, is dumped.
        """
        if document.marks is None:
            return self.dumped(document)
        text = document.marks.text
        if document.warnings or _TAG.search(text):
            return self.dumped(document)
        if text.endswith("\n"):
            return text
        # A block scalar at the very end of a file without a last newline would gain one.
        return self.dumped(document) if _BLOCK_SCALAR.search(text) else f"{text}\n"
