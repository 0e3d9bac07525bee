"""The exceptions of `strategy_lib` and the `Problem` they carry. Each says where it is and what would be right."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, Protocol

_SHOWN = 20


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong with a document, or (level "warning") that deserves a second look.

    Attributes
    ----------
    path : JSON path from the document's root, such as `$.data.groups[2].depends_on[0]`.
    message : a plain sentence that says what is wrong and what would be right.
    line : line in the source, counted from 1; None where it is not known.
    document : label of the document, such as `site.yaml: shipyard/DeploymentStrategy/v1 deployment-strategy`.
    level : "error" refuses the document, "warning" does not (rule 4).
    source : name of the file the document was read from.
    """

    path: str
    message: str
    line: int | None = None
    document: str | None = None
    level: Literal["error", "warning"] = "error"
    source: str | None = None

    def __str__(self) -> str:
        place = self.source if self.source is not None else self.document
        if place is None:
            where = f"line {self.line}: " if self.line is not None else ""
        else:
            where = f"{place}:{self.line}: " if self.line is not None else f"{place}: "
        return f"{where}{self.path}: {self.message}"


class Origin(Protocol):
    """What data was read from, such as a document: it knows the lines."""

    def problem(self, path: str, message: str, level: Literal["error", "warning"] = "error") -> Problem:
        """Return a problem at a JSON path of this document, with its line."""


def problem_at(path: str, message: str, origin: Origin | None, level: Literal["error", "warning"] = "error") -> Problem:
    """Return a problem of data: with document and line where the origin of the data is known."""
    return origin.problem(path, message, level) if origin is not None else Problem(path, message, level=level)


class StrategyLibError(Exception):
    """The input cannot be used. Mend the problems listed below and try again.

    Parameters
    ----------
    said : the first line of the message; by default the first line of the class's docstring.
    """

    def __init__(self, problems: Iterable[Problem] = (), said: str = "") -> None:
        self.problems: tuple[Problem, ...] = tuple(problems)
        self._said = said
        super().__init__(self.problems, said)

    def __str__(self) -> str:
        lines = [self._said or (type(self).__doc__ or "").strip().splitlines()[0]]
        lines += [f"  {problem}" for problem in self.problems[:_SHOWN]]
        if len(self.problems) > _SHOWN:
            lines.append(f"  and {len(self.problems) - _SHOWN} more")
        return "\n".join(lines)


class StrategyError(StrategyLibError):
    """The deployment strategy is not valid. Mend the groups listed below."""


class InventoryError(StrategyLibError):
    """The list of nodes is not valid. Mend the nodes listed below."""


Step = str | int

_PLAIN_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*\Z")
_STEP = re.compile(r"\.([A-Za-z_][A-Za-z0-9_-]*)|\[(\d+)\]|\['((?:[^'\\]|\\.)*)'\]", re.DOTALL)


def extend(path: str, *steps: Step) -> str:
    """Return `path` with keys and list positions added.

    Examples
    --------
    >>> extend("$.data", "groups", 2, "odd key")
    "$.data.groups[2]['odd key']"
    """
    parts = [path]
    for step in steps:
        if isinstance(step, int):
            parts.append(f"[{step}]")
        elif _PLAIN_KEY.match(step):
            parts.append(f".{step}")
        else:
            escaped = step.replace("\\", "\\\\").replace("'", "\\'")
            parts.append(f"['{escaped}']")
    return "".join(parts)


def path_of(steps: Iterable[Step]) -> str:
    """Return the path of these steps from the root `$`."""
    return extend("$", *steps)


def split(path: str) -> tuple[Step, ...]:
    """Return the steps of a path made by `extend`; what cannot be read ends the steps early."""
    steps: list[Step] = []
    position = 1 if path.startswith("$") else 0
    while match := _STEP.match(path, position):
        plain, index, quoted = match.groups()
        if index is not None:
            steps.append(int(index))
        elif plain is not None:
            steps.append(plain)
        else:
            steps.append(re.sub(r"\\(.)", r"\1", quoted, flags=re.DOTALL))
        position = match.end()
    return tuple(steps)
