"""Rendering a design: layering, replacement and substitution of documents; and what in them is secret. Pure."""

from design_rendering.design_text import design_text
from design_rendering.errors import DesignRenderingError, RenderingError
from design_rendering.rendering import RenderedDocument, Rendering, render, rendered_documents
from design_rendering.secrets import PLACEHOLDER, is_secret, redacted, redacted_text, secret_values

__all__ = [
    "PLACEHOLDER",
    "DesignRenderingError",
    "RenderedDocument",
    "Rendering",
    "RenderingError",
    "design_text",
    "is_secret",
    "redacted",
    "redacted_text",
    "render",
    "rendered_documents",
    "secret_values",
]
