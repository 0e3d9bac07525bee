"""The rendered design as one YAML text, for the provisioner and for keeping."""

from __future__ import annotations

from design_rendering.document_text import DocumentWriter
from design_rendering.rendering import Rendering


def design_text(rendering: Rendering) -> str:
    """Return the rendered design as a YAML stream.

    A document that rendering left alone is there as it was written, comments included; the others are written anew, and
    so are those in which a key stands twice.
    Secrets are in it: see `secrets.py` for what may be shown to everybody.
    """
    writer = DocumentWriter()
    parts = []
    for rendered in rendering.documents:
        parts.append("---\n")
        parts.append(writer.anew(rendered.document) if rendered.changed else writer.written(rendered.document))
    return "".join(parts)
