"""Which documents that make a node differ between two rendered designs, and in which fields. Pure.

Of a large design only what differs is read, and what makes the nodes that are asked for.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace
from typing import Any

from design_rendering.changes.document_changes import Change, DocumentChange, FieldChange, document_changes
from design_rendering.kinds.nodes import NODE_SCHEMAS, nodes_from_documents
from design_rendering.kinds.objects import ObjectKey, design_objects, kind_of, parts_of_nodes
from design_rendering.reading.documents import Document, load_documents
from design_rendering.redaction import PLACEHOLDER

Hide = Callable[[Any], Any]
"""Takes the secrets out of a value."""

_SEPARATOR = re.compile(r"^---[ \t]*$", re.MULTILINE)
_NODE = re.compile("|".join(map(re.escape, NODE_SCHEMAS)))
_NAME = re.compile(r"\bname:\s*[\"']?([^\s\"',}]+)")


def node_changes(before: str, after: str, nodes: Collection[str], hide: Hide) -> dict[str, tuple[DocumentChange, ...]]:
    """Return for each of these nodes the documents that make it and differ, by schema and name.

    A document that no longer makes a node is not among them: the document that named it is.

    Parameters
    ----------
    before, after : two designs as they were rendered: YAML documents, separated by `---`.
    nodes : names of nodes of the design `after`.
    """
    wanted = frozenset(nodes)

    def shapes(part: str) -> bool:
        """Whether a document may make one of these nodes: it is none of another node's."""
        return not _NODE.search(part) or not wanted.isdisjoint(_NAME.findall(part))

    old, new = _parts(before), _parts(after)
    old_texts, new_texts = frozenset(old), frozenset(new)
    changes = {
        ObjectKey(kind_of(change.schema), change.name): _hidden(change, hide)
        for change in document_changes(
            _read(part for part in old if part not in new_texts and shapes(part)),
            _read(part for part in new if part not in old_texts and shapes(part)),
        )
    }
    if not changes:
        return {}
    made = _read(filter(shapes, new))
    parts = parts_of_nodes(design_objects(made, nodes_from_documents(made)))
    found = {}
    for name in sorted(wanted):
        its = [changes[key] for key in parts.get(name, ()) if key in changes]
        found[name] = tuple(sorted(its, key=lambda change: (change.schema, change.name)))
    return found


def _parts(text: str) -> list[str]:
    return [part.strip("\n") for part in _SEPARATOR.split(text) if part.strip()]


def _read(parts: Iterator[str]) -> Sequence[Document]:
    return [replace(document, source="") for document in load_documents("\n---\n".join(parts))]


def _hidden(change: DocumentChange, hide: Hide) -> DocumentChange:
    return replace(change, fields=tuple(_hidden_field(each, hide) for each in change.fields))


def _hidden_field(field: FieldChange, hide: Hide) -> FieldChange:
    before = None if field.change is Change.ADDED else hide(field.before)
    after = None if field.change is Change.REMOVED else hide(field.after)
    if field.change is Change.MODIFIED and PLACEHOLDER in (before, after):
        # What is a secret in one of the two states is shown of neither.
        before = after = PLACEHOLDER
    return replace(field, before=before, after=after)
