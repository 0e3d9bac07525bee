"""What answers about documents, collections and revisions look like, for the API's description."""

from __future__ import annotations

from typing import Any, Literal, NotRequired

from typing_extensions import TypedDict

from slipway_api.http.answers import Findings, Moment

Digest = str
"""SHA-256 in hexadecimal digits."""
Change = Literal["added", "modified", "removed"]


class _Status(TypedDict):
    kind: Literal["Status"]
    apiVersion: Literal["v1.0"]
    metadata: dict[str, str]
    status: Literal["Success", "Failure"]
    message: str
    reason: str
    details: Findings
    code: str


class Buffer(TypedDict):
    """What is about to be committed."""

    version: int
    base_revision: int | None
    collections: list[str]
    discarded: list[str]


class Loaded(_Status):
    """A collection was put into the buffer."""

    site: str
    buffer: Buffer


class Judged(_Status):
    """Documents were judged, and not committed."""

    retry: bool


class Committed(Judged):
    """Documents were judged, and are a revision unless it was a dry run."""

    site: NotRequired[str]
    revision: NotRequired[int]
    digest: NotRequired[Digest]
    forced: NotRequired[bool]
    rollback_of: NotRequired[int | None]
    deployable: NotRequired[bool]
    intermediate_commits: NotRequired[list[int]]


class CollectionStatus(TypedDict):
    """A collection in two versions."""

    collection_name: str
    base_version: str
    base_revision: int | None
    new_version: str
    new_revision: int | None
    base_status: Literal["present", "not present"]
    new_status: Literal["unmodified", "modified", "created", "deleted"]


class CollectionDigest(TypedDict):
    """A collection of a revision."""

    name: str
    digest: Digest


class Revision(TypedDict):
    """A revision: where it came from, and what was overridden for it."""

    site: str
    revision: int
    digest: Digest
    created: Moment
    user: str
    base_revision: int | None
    rollback_of: int | None
    forced: bool
    problems: list[str]
    collections: list[CollectionDigest]
    versions: list[str]


class State(TypedDict):
    """One side of a comparison."""

    version: str | None
    revision: int | None


class ChangedCollection(TypedDict):
    """A collection that differs."""

    name: str
    change: Change


ChangedField = TypedDict(
    "ChangedField", {"path": str, "change": Change, "from": NotRequired[Any], "to": NotRequired[Any]}
)


class ChangedDocument(TypedDict):
    collection: str
    schema: str
    name: str
    layer: str | None
    change: Change | Literal["moved"]
    fields: list[ChangedField]
    moved_from: NotRequired[str]
    fields_left_out: NotRequired[int]


Differences = TypedDict(
    "Differences",
    {
        "site": str,
        "from": State,
        "to": State,
        "rendered": bool,
        "collections": list[ChangedCollection],
        "documents": list[ChangedDocument],
    },
)
