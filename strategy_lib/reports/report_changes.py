"""What a dry run's report says has to be done to nodes: those of which the same is to be said stand in one entry."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

_MOST_NAMES = 20
"""Names of nodes on one line of text."""
_MOST_ENTRIES = 200
_LONGEST_VALUE = 60
_NONE = "none"


@dataclass(frozen=True, slots=True)
class ReportedField:
    """A field of a document that differs; `before` and `after` are None where it was added or removed."""

    path: str
    change: str
    before: Any = None
    after: Any = None


@dataclass(frozen=True, slots=True)
class ReportedDocument:
    """A document that makes nodes, and differs."""

    schema: str
    name: str
    change: str
    fields: tuple[ReportedField, ...] = ()


@dataclass(frozen=True, slots=True)
class ReportedChange:
    """What has to be done to nodes, and why.

    Attributes
    ----------
    change : add, change, redo, relabel or remove.
    withheld : why they are not submitted; None where they are, or are in no group.
    done_version, wanted_version : None where they are not known.
    documents : which documents and fields differ; None where that is not said.
    nodes : their names, sorted.
    """

    change: str
    reason: str
    submitted: bool
    withheld: str | None
    done_version: int | None
    wanted_version: int | None
    documents: tuple[ReportedDocument, ...] | None
    nodes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ReportedGroupChanges:
    """How many nodes of a group have to be added, changed, …, and how many would be submitted."""

    name: str
    counts: Mapping[str, int]
    submitted: int


@dataclass(frozen=True, slots=True)
class ReportedChanges:
    """What has to be done: how many nodes to add, change, …, group by group, and node by node."""

    counts: Mapping[str, int] = field(default_factory=dict)
    groups: tuple[ReportedGroupChanges, ...] = ()
    nodes: tuple[ReportedChange, ...] = ()


def changes_text(changes: ReportedChanges) -> Iterator[str]:
    """Yield lines of plain text: what has to be done to which nodes, why, and which fields differ."""
    yield f"What has to be done: {_counts(changes.counts) or 'nothing'}"
    for group in changes.groups:
        yield f"  group {group.name}: {_counts(group.counts) or 'no node'}; {group.submitted} submitted"
    for each in changes.nodes[:_MOST_ENTRIES]:
        more = f" and {len(each.nodes) - _MOST_NAMES} more" if len(each.nodes) > _MOST_NAMES else ""
        why = f"{each.reason}; not submitted: {each.withheld}" if each.withheld else each.reason
        yield f"  {each.change} {', '.join(each.nodes[:_MOST_NAMES])}{more}: {why}"
        yield from (f"    {line}" for document in each.documents or () for line in _document(document))
    if len(changes.nodes) > _MOST_ENTRIES:
        yield f"  and {len(changes.nodes) - _MOST_ENTRIES} more, which are in the stored report"


def _counts(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{number} {'as wanted' if word == _NONE else word}" for word, number in counts.items() if number)


def _document(document: ReportedDocument) -> Sequence[str]:
    label = f"{document.schema.split('/')[1]} {document.name}"
    if not document.fields:
        return [f"{label}: {document.change}"]
    return [
        f"{label} {each.path}: {each.change} "
        + " -> ".join(_value(value) for value in (each.before, each.after) if value is not None)
        for each in document.fields
    ]


def _value(value: Any) -> str:
    text = str(value)
    return text if len(text) <= _LONGEST_VALUE else text[: _LONGEST_VALUE - 1] + "…"
