"""What differs between two states of a site's documents: per document, per field, and per node. Pure.

Documents are compared by what they say, so that comments, order of keys and quotes make no difference. Secrets are
compared and never shown: a changed one is seen to have changed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from design_rendering.kinds.nodes import NODE_SCHEMAS, nodes_from_documents
from design_rendering.kinds.objects import ObjectKey, design_objects, kind_of, parts_of_nodes
from design_rendering.reading.documents import Document, load_documents
from design_rendering.reading.nested_data import found_at
from design_rendering.redaction import PLACEHOLDER, redacted
from strategy_lib.errors import Step, path_of

_Key = tuple[str, str | None, str]
_Steps = tuple[Step, ...]
SecretPaths = Mapping[_Key, tuple[str, ...]]
"""JSON paths that hold secrets beyond what the document itself says, by (schema, layer, name)."""


class Change(StrEnum):
    """What happened to a document or a field."""

    ADDED = "added"
    REMOVED = "removed"
    MODIFIED = "modified"
    MOVED = "moved"


@dataclass(frozen=True, slots=True)
class FieldChange:
    """One field that differs.

    Attributes
    ----------
    path : JSON path from the document's root: where it stands afterwards, of a removed one where it stood.
    before, after : its values, None where it was added or removed; a secret is `[redacted]`.
    """

    path: str
    change: Change
    before: Any
    after: Any

    def to_data(self) -> dict[str, Any]:
        """Return it as JSON has it: `from` and `to` where it has such a value."""
        shown: dict[str, Any] = {"path": self.path, "change": self.change.value}
        if self.change is not Change.ADDED:
            shown["from"] = self.before
        if self.change is not Change.REMOVED:
            shown["to"] = self.after
        return shown


@dataclass(frozen=True, slots=True)
class DocumentChange:
    """One document that differs.

    Attributes
    ----------
    collection : where it stands afterwards; of a removed document where it stood.
    moved_from : the collection where it stood, if that was another.
    fields : what is different in it; empty for a document that was added, removed, or only moved.
    """

    collection: str
    schema: str
    name: str
    layer: str | None
    change: Change
    moved_from: str | None = None
    fields: tuple[FieldChange, ...] = ()


def document_changes(
    before: Iterable[Document],
    after: Iterable[Document],
    secrets_before: SecretPaths | None = None,
    secrets_after: SecretPaths | None = None,
) -> Iterator[DocumentChange]:
    """Yield what differs, by collection, schema and name.

    Parameters
    ----------
    before, after : all documents of two states. The source of each is the name of its collection.
    secrets_before, secrets_after : what is a secret beyond what the documents say: where secrets of others were put
        into them.
    """
    old = {_key(document): document for document in before}
    new = {_key(document): document for document in after}
    there = {key: new.get(key) or old[key] for key in old.keys() | new.keys()}
    for key in sorted(there, key=lambda key: (there[key].source, key[0], key[2], key[1] or "")):
        change = _change(
            old.get(key), new.get(key), (secrets_before or {}).get(key, ()), (secrets_after or {}).get(key, ())
        )
        if change is not None:
            yield change


def _key(document: Document) -> _Key:
    return (document.schema, document.layer, document.name)


def _change(
    old: Document | None, new: Document | None, old_secrets: tuple[str, ...], new_secrets: tuple[str, ...]
) -> DocumentChange | None:
    here = new or old
    assert here is not None
    found = DocumentChange(here.source, here.schema, here.name, here.layer, Change.MODIFIED)
    if old is None or new is None:
        return replace(found, change=Change.ADDED if old is None else Change.REMOVED)
    moved_from = old.source if old.source != new.source else None
    places = list(_differences(_tree(old), _tree(new)))
    if not places:
        return None if moved_from is None else replace(found, change=Change.MOVED, moved_from=moved_from)
    before, after = _tree(redacted(old, old_secrets)), _tree(redacted(new, new_secrets))
    # Several fields of one secret are one change.
    fields = {field.path: field for field in (_field(before, after, place) for place in places)}
    return replace(found, moved_from=moved_from, fields=tuple(fields.values()))


def _tree(document: Document) -> dict[str, Any]:
    return {"metadata": dict(document.metadata), "data": document.data}


@dataclass(frozen=True, slots=True)
class _Place:
    """A field that differs, by the steps to it before and after; None where it is not there."""

    before: _Steps | None
    after: _Steps | None


def _field(before: Any, after: Any, place: _Place) -> FieldChange:
    """Return the change at a place of two states as they may be shown; at the nearest secret above it, if any."""
    hidden = [
        steps[:depth]
        for tree, steps in ((before, place.before), (after, place.after))
        if steps is not None and (depth := _secret_depth(tree, steps)) is not None
    ]
    steps = place.after if place.after is not None else place.before
    assert steps is not None
    if hidden:
        # What is a secret in one of the two states is shown of neither.
        steps = min(hidden, key=len)
        return FieldChange(path_of(steps), _kind_of(place, len(steps)), PLACEHOLDER, PLACEHOLDER)
    old = None if place.before is None else found_at(before, place.before)
    new = None if place.after is None else found_at(after, place.after)
    return FieldChange(path_of(steps), _kind_of(place, len(steps)), old, new)


def _kind_of(place: _Place, depth: int) -> Change:
    steps = place.after if place.after is not None else place.before
    if (place.before is not None and place.after is not None) or steps is None or depth < len(steps):
        return Change.MODIFIED
    return Change.ADDED if place.before is None else Change.REMOVED


def _secret_depth(tree: Any, steps: _Steps) -> int | None:
    """Return after how many steps a secret stands, None when there is none on the way or below."""
    value = tree
    for depth, step in enumerate(steps):
        if value == PLACEHOLDER:
            return depth
        value = value[step]
    return len(steps) if value == PLACEHOLDER else None


def _differences(before: Any, after: Any) -> Iterator[_Place]:
    """Yield the places where two trees differ, as deep as possible. Without recursion: trees may be deep."""
    left: list[_Place | tuple[Any, Any, _Steps, _Steps]] = [(before, after, (), ())]
    while left:
        here = left.pop()
        if isinstance(here, _Place):
            yield here
            continue
        old, new, old_steps, new_steps = here
        if isinstance(old, Mapping) and isinstance(new, Mapping):
            pairs: Iterable[tuple[Step | None, Step | None]] = _key_pairs(old, new)
        elif isinstance(old, list) and isinstance(new, list):
            pairs = _item_pairs(old, new)
        else:
            # YAML's `1`, `true` and `1.0` are equal in Python, and not the same.
            if type(old) is not type(new) or old != new:
                yield _Place(old_steps, new_steps)
            continue
        below: list[_Place | tuple[Any, Any, _Steps, _Steps]] = []
        for old_step, new_step in pairs:
            if old_step is None and new_step is not None:
                below.append(_Place(None, (*new_steps, new_step)))
            elif new_step is None and old_step is not None:
                below.append(_Place((*old_steps, old_step), None))
            elif old_step is not None and new_step is not None and old[old_step] is not new[new_step]:
                below.append((old[old_step], new[new_step], (*old_steps, old_step), (*new_steps, new_step)))
        left.extend(reversed(below))


def _key_pairs(old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[tuple[str | None, str | None]]:
    for key in old:
        yield key, (key if key in new else None)
    for key in new:
        if key not in old:
            yield None, key


def _item_pairs(old: list[Any], new: list[Any]) -> Iterator[tuple[int | None, int | None]]:
    """Pair the items of two lists: by their names where all have one and their order is the same, else by place."""
    old_names, new_names = _names(old), _names(new)
    if old_names is not None and new_names is not None:
        kept = [place for name, place in new_names.items() if name in old_names]
        # The order of groups means something.
        if kept == [new_names[name] for name in old_names if name in new_names]:
            yield from ((place, new_names.get(name)) for name, place in old_names.items())
            yield from ((None, place) for name, place in new_names.items() if name not in old_names)
            return
    for place in range(max(len(old), len(new))):
        yield (place if place < len(old) else None), (place if place < len(new) else None)


def _names(items: list[Any]) -> dict[str, int] | None:
    """Return the place of each item by its `name`; None unless all are mappings with names of their own."""
    names: dict[str, int] = {}
    for place, item in enumerate(items):
        name = item.get("name") if isinstance(item, Mapping) else None
        if not isinstance(name, str) or names.setdefault(name, place) != place:
            return None
    return names


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
