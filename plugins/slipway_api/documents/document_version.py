"""Which state of a site's documents a request means: a version's name, or the number of a revision."""

from __future__ import annotations

from collections.abc import Callable, Collection

from site_store import Version, VersionNotFound
from slipway_api.http.api_errors import ApiError
from strategy_lib.did_you_mean import did_you_mean

NAMES = tuple(version.value for version in Version)
#: From the oldest to the newest; a comparison goes in this order.
ORDER = (Version.SUCCESSFUL_SITE_ACTION, Version.LAST_SITE_ACTION, Version.COMMITTED, Version.BUFFER)
_LONGEST_NUMBER = 9


def parse_version(text: str) -> Version | int:
    """Return the version that a query parameter names, or the number of a revision.

    Raises
    ------
    ApiError
        400: it is neither.
    """
    wanted = text.strip()
    if wanted.isascii() and wanted.isdecimal() and len(wanted) <= _LONGEST_NUMBER:
        return int(wanted)
    return _named(wanted, (*NAMES, "or the number of a revision"))


def _named(text: str, known: Collection[str]) -> Version:
    wanted = text.strip()
    if wanted in NAMES:
        return Version(wanted)
    hint = did_you_mean(wanted, NAMES, f"known are {', '.join(known)}")
    raise ApiError(400, f"there is no version {wanted[:64]!r}; {hint}", "Bad Request")


def or_nothing(read: Callable[[Version | int], dict[str, str]], version: Version | int) -> dict[str, str]:
    """Return what `read` gives for a version: an empty buffer is like `committed`, which is nothing before any commit.

    Raises
    ------
    VersionNotFound
        There is no other version or revision of this name.
    """
    try:
        return read(version)
    except VersionNotFound:
        if version is Version.BUFFER:
            return or_nothing(read, Version.COMMITTED)
        if version is Version.COMMITTED:
            return {}
        raise


def two_versions(given: Collection[str]) -> tuple[Version, Version]:
    """Return the two versions to compare, the older one first, by the repeated parameter or the form with commas.

    Raises
    ------
    ApiError
        400: they are not two different versions' names.
    """
    texts = [text for item in given for text in item.split(",")]
    if not texts:
        return Version.COMMITTED, Version.BUFFER
    versions = {_named(text, NAMES) for text in texts}
    if len(texts) != 2 or len(versions) != 2:
        raise ApiError(400, "versions needs two different names of versions, such as committed,buffer", "Bad Request")
    older, newer = sorted(versions, key=ORDER.index)
    return older, newer
