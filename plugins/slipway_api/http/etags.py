"""Versions as `ETag` and `If-Match`: a write that was meant for an older version of something is refused with 412."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, TypeVar

from fastapi import Header

from slipway_api.http.api_errors import ApiError

IfMatch = Annotated[
    str | None,
    Header(
        alias="If-Match",
        description="Only if it still has this version: the `ETag` of an earlier answer. Otherwise 412.",
        examples=['"7"'],
    ),
]
"""A route's parameter ``if_match: IfMatch = None``."""

_Version = TypeVar("_Version", int, str)


def etag_headers(version: int | str) -> dict[str, str]:
    """Return the headers of an answer about something at this version."""
    return {"ETag": f'"{version}"'}


def require_match(if_match: str | None, read_version: Callable[[], _Version], what: str) -> _Version | None:
    """Return the version that something has to keep until it is written, None when the request sets no condition.

    Parameters
    ----------
    if_match : the header: ``*``, or entity tags separated by commas.
    read_version : returns the version that it has now; called where there is a condition.
    what : what it is, in words.

    Raises
    ------
    ApiError : 412: no tag is that of this version.
    """
    if if_match is None:
        return None
    version = read_version()
    tags = {tag.strip() for tag in if_match.split(",")}
    if "*" not in tags and f'"{version}"' not in tags:
        raise mismatch(what, version, if_match)
    return version


def mismatch(what: str, version: int | str, if_match: str) -> ApiError:
    """Return the answer to a write that came too late: 412, with the version that was meant and the present one."""
    meant = if_match.strip().replace('"', "")[:64]
    text = f"{what} is at version {version} now, and not at {meant}: look at it again, then repeat"
    return ApiError(412, text, "Changed Meanwhile", headers=etag_headers(version))
