"""All texts of a design that must not be seen: also those that only its rendering shows to be secret."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from design_rendering.rendering import Rendering
from design_rendering.secrets import secret_values
from strategy_lib.documents import Document

_BEGIN = re.compile(r"^---(?=\s|\Z)", re.MULTILINE)
_ABSTRACT = re.compile(r"\babstract[\"']?\s*:(?!\s*false\b)")


def secret_texts(documents: Sequence[Document], rendering: Rendering) -> frozenset[str]:
    """Return the secrets of documents as they were written and as they are rendered, and the parts taken of them.

    Parameters
    ----------
    documents
        What was rendered, abstract documents included.
    """
    changed = [rendered.document for rendered in rendering.documents if rendered.changed]
    return secret_values([*documents, *changed], rendering.secret_parts)


def may_hide_secrets(texts: Iterable[str]) -> bool:
    """Return whether there may be secrets that `secret_values` does not find in what the texts are rendered to.

    Those are parts that a pattern takes of a secret, and what comes from a secret document that is itself not part of
    the rendered design. This only looks for the words, so that most texts need not be read.
    """
    return any("pattern" in text or "replacement" in text or _has_abstract_secret(text) for text in texts)


def _has_abstract_secret(text: str) -> bool:
    return any(
        ("encrypted" in document or "deckhand/" in document) and _ABSTRACT.search(document)
        for document in _BEGIN.split(text)
    )
