"""Documents: reading them, rendering a design from them, what in it is secret, and what a deployment takes from it.

Here belong YAML with its lines, Deckhand's rules, kinds of documents, policies and validation.
What a strategy means once it is read is in `strategy_lib`; revisions and buffers are in `site_store`.
It is pure: texts come in, documents and problems go out.
"""

from design_rendering.design import Design, read_design
from design_rendering.kinds.nodes import nodes_from_documents
from design_rendering.reading.documents import Document, DocumentError, RenderingError, find_document, load_documents
from design_rendering.reading.yaml_reader import Limits
from design_rendering.redaction import PLACEHOLDER, is_secret, redacted, redacted_text, secret_values
from design_rendering.rendering import RenderedDocument, Rendering, design_text, render, rendered_documents
