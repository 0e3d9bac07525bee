"""What is found wrong while rendering, all at once, and what deserves a second look."""

from __future__ import annotations

from collections.abc import Iterable

from design_rendering.reading.documents import Document
from strategy_lib.errors import Problem, StrategyLibError

_MOST = 1000


class RenderingError(StrategyLibError):
    """The documents cannot be rendered. Mend the layering and the substitutions listed below."""


class Diagnostics:
    """Collects errors and warnings; past a thousand of either they are only counted."""

    def __init__(self) -> None:
        self._errors: list[Problem] = []
        self._warnings: list[Problem] = []
        self.more_errors = 0
        self.more_warnings = 0

    def error(self, document: Document, path: str, message: str) -> None:
        """Note what makes rendering impossible."""
        if len(self._errors) < _MOST:
            self._errors.append(document.problem(path, message))
        else:
            self.more_errors += 1

    def warning(self, document: Document, path: str, message: str) -> None:
        """Note what deserves a second look."""
        if len(self._warnings) < _MOST:
            self._warnings.append(document.problem(path, message, "warning"))
        else:
            self.more_warnings += 1

    def read(self, documents: Iterable[Document]) -> None:
        """Note what was found when the documents were read."""
        found = [warning for document in documents for warning in document.warnings]
        kept = found[: _MOST - len(self._warnings)]
        self._warnings += kept
        self.more_warnings += len(found) - len(kept)

    def warnings(self) -> tuple[Problem, ...]:
        more = f"there are {self.more_warnings} more warnings like these"
        return (*self._warnings, *((Problem("$", more, level="warning"),) if self.more_warnings else ()))

    def raise_errors(self) -> None:
        """Raise what was found. Raises `RenderingError` with all errors, if there are any."""
        if self._errors:
            more = f"there are {self.more_errors} more problems like these"
            raise RenderingError([*self._errors, *([Problem("$", more)] if self.more_errors else [])])
