"""What is wrong with documents as they are written, whatever they are rendered to: one twice, a secret left out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from design_rendering.documents import Document
from design_rendering.secrets import PLACEHOLDER
from strategy_lib.errors import Problem
from strategy_lib.parsing.json_path import Step, path_of


def duplicates(documents: Sequence[Document]) -> Iterator[Problem]:
    """Yield a problem for each document whose schema, layer and name another has before it."""
    first: dict[tuple[str, str | None, str], Document] = {}
    for document in documents:
        other = first.setdefault((document.schema, document.layer, document.name), document)
        if other is not document:
            layer = f" of layer {document.layer!r}" if document.layer else ""
            where = f"{other.source} line {other.line}" if other.source != document.source else f"line {other.line}"
            yield document.problem(
                "$", f"there is already a {document.schema} named {document.name!r}{layer} at {where}; keep one of them"
            )


def placeholders(document: Document) -> Iterator[Problem]:
    """Yield a problem for each value that stands for a secret which was left out."""
    message = (
        f"{PLACEHOLDER} stands for a secret that was left out when the document was read; "
        "write the secret itself, or read the collection with cleartext-secrets=true"
    )
    left: list[tuple[Any, tuple[Step, ...]]] = [(document.data, ("data",))]
    seen: set[int] = set()
    while left:
        value, steps = left.pop()
        if isinstance(value, str):
            if value == PLACEHOLDER:
                yield document.problem(path_of(steps), message)
        # Aliases share their values: each is looked at once.
        elif isinstance(value, Mapping | list) and id(value) not in seen:
            seen.add(id(value))
            below = value.items() if isinstance(value, Mapping) else enumerate(value)
            left.extend((item, (*steps, step)) for step, item in below)
