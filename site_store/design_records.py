"""What the store hands out about designs: collections, the buffer, revisions and their documents. Plain values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import NamedTuple


class BufferMode(StrEnum):
    """What a collection that is put into the buffer does with what is there already.

    `REJECT`: the buffer must be empty. `APPEND`: the collection must not be in it yet. `REPLACE`: it is emptied first.
    """

    REJECT = "rejectoncontents"
    APPEND = "append"
    REPLACE = "replace"


class Version(StrEnum):
    """Names for states of a site's documents.

    `BUFFER`: the newest revision with what was put into the buffer; it exists only when it differs. `COMMITTED`: the
    newest revision. `LAST_SITE_ACTION`: that of the newest deployment or update of the whole site that took the site
    and is over, and `SUCCESSFUL_SITE_ACTION` of the newest such that succeeded. Dry runs and actions for some nodes
    do not count.
    """

    BUFFER = "buffer"
    COMMITTED = "committed"
    LAST_SITE_ACTION = "last_site_action"
    SUCCESSFUL_SITE_ACTION = "successful_site_action"


class DocumentKey(NamedTuple):
    """What tells a document from all others of its site."""

    schema: str
    layer: str | None
    name: str


@dataclass(frozen=True, slots=True)
class CollectionRecord:
    """A named part of a site's documents, as it was written. An empty text takes the collection away."""

    name: str
    text: str
    digest: str


@dataclass(frozen=True, slots=True)
class BufferRecord:
    """The change since the newest revision: the collections that differ from it, each whole.

    `version` only grows, also over commits, and is 0 for a site whose buffer was never used. `discarded`, where this is
    the answer to a collection put with `BufferMode.REPLACE`: the other collections that had to go for it.
    """

    site: str
    version: int
    base_revision: int | None
    posted: Mapping[str, CollectionRecord]
    changed: datetime | None = None
    changed_by: str | None = None
    discarded: tuple[str, ...] = ()

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to commit."""
        return not self.posted


@dataclass(frozen=True, slots=True)
class RevisionRecord:
    """One immutable revision of a site's documents.

    `text` is the rendered design: empty in listings (`Revisions.newest`), None when the revision was forced
    although it could not be rendered. `created` says whether the call that returned it made it. `problems` are what
    was overridden when it was `forced`. `base` is the revision that was the newest before it, and `collections` gives
    the digest of each collection's text. `by_policy` names the objects that policies changed, each with those that did.
    """

    site: str
    number: int
    digest: str
    design_token: str
    created_at: datetime
    created_by: str
    text: str | None = ""
    created: bool = False
    forced: bool = False
    problems: tuple[str, ...] = ()
    rollback_of: int | None = None
    base: int | None = None
    collections: Mapping[str, str] = field(default_factory=dict)
    by_policy: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class RevisionSecrets:
    """What of a revision must not be seen: `texts`. `exposed`: a problem for each secret in groups and settings."""

    texts: frozenset[str]
    exposed: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class KeptDesign:
    """The rendered design of a revision, with what of it must not be seen; None: not kept, or not known."""

    text: str | None
    secrets: RevisionSecrets | None
