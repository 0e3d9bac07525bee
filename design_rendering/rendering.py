"""Making the documents that count from those that are written, by Deckhand's rules (docs/rendering.md)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from strategy_lib.documents import Document
from strategy_lib.errors import Problem


@dataclass(frozen=True, slots=True)
class RenderedDocument:
    """One document of the rendered design.

    Attributes
    ----------
    document
        With rendered data; source and lines are those of the document that was written.
    changed
        False when it is just as it was written.
    secret_paths
        JSON paths, such as `$.data.oob.credential`, of what was substituted from a secret.
    """

    document: Document
    changed: bool = False
    secret_paths: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Rendering:
    """The rendered design: the concrete documents, in the order they were given, and what deserves a second look."""

    documents: tuple[RenderedDocument, ...]
    warnings: tuple[Problem, ...] = ()


def render(documents: Sequence[Document]) -> Rendering:
    """Render the documents of a site.

    Raises
    ------
    RenderingError
        With every problem at once.
    """
    return Rendering(tuple(RenderedDocument(document) for document in documents if not document.abstract))


def rendered_documents(documents: Sequence[Document]) -> list[Document]:
    """Return the documents that count, rendered; see `render`, whose warnings are left out here."""
    return [rendered.document for rendered in render(documents).documents]
