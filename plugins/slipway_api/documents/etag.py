"""The buffer's version as HTTP knows it: `ETag` on every answer about the buffer, `If-Match` on what changes it."""

from __future__ import annotations

from typing import Annotated

from fastapi import Header

from site_store import BufferChanged, SiteStore, Version
from slipway_api.http.api_errors import ApiError

IfMatch = Annotated[
    str | None,
    Header(
        alias="If-Match",
        description="Only if the buffer still has this version: the `ETag` of an earlier answer. Otherwise 412.",
        examples=['"7"'],
    ),
]
"""A route's parameter ``if_match: IfMatch = None``."""


def tagged(version: int) -> dict[str, str]:
    """Return the headers of an answer about the buffer at this version."""
    return {"ETag": f'"{version}"'}


def tag_of(store: SiteStore, site: str, *versions: Version | int) -> dict[str, str]:
    """Return the headers of an answer about these versions: the buffer's tag if it is one of them."""
    return tagged(store.buffer_version(site)) if Version.BUFFER in versions else {}


def require_match(if_match: str | None, version: int) -> int | None:
    """Return the version that the buffer has to keep, None when the request sets no condition.

    Parameters
    ----------
    if_match
        The header: ``*``, or entity tags separated by commas.
    version
        The version that the buffer has now.

    Raises
    ------
    ApiError
        412: no tag is that of this version.
    """
    if if_match is None:
        return None
    tags = {tag.strip() for tag in if_match.split(",")}
    if "*" not in tags and f'"{version}"' not in tags:
        raise _mismatch(f"the buffer is at version {version} now", version)
    return version


def require_current(store: SiteStore, site: str, if_match: str | None) -> int | None:
    """As `require_match`, with the version that the site's buffer has now."""
    return None if if_match is None else require_match(if_match, store.buffer_version(site))


def changed_meanwhile(error: BufferChanged, store: SiteStore, site: str, if_match: str | None) -> ApiError:
    """Return what a caller is told whose request was overtaken by another: 412 if they set a condition, else 409."""
    version = store.buffer_version(site)
    if if_match is not None:
        return _mismatch(str(error), version)
    return ApiError(409, str(error), "Buffer Changed", retry=True, headers=tagged(version))


def _mismatch(text: str, version: int) -> ApiError:
    return ApiError(412, f"{text}: look at it again, then repeat", "Buffer Changed", headers=tagged(version))
