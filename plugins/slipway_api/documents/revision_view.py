"""A revision as the API shows it: where it came from, and what was overridden for it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from site_store import RevisionRecord, Version

LARGEST_NUMBER = 999_999_999


def revision_view(revision: RevisionRecord, versions: Mapping[Version, int | None]) -> dict[str, Any]:
    """Return a revision as JSON; `versions` are the names it goes by now, such as ``committed``."""
    return {
        "site": revision.site,
        "revision": revision.number,
        "digest": revision.digest,
        "created": revision.created_at.isoformat(),
        "user": revision.created_by,
        "base_revision": revision.base,
        "rollback_of": revision.rollback_of,
        "forced": revision.forced,
        "problems": list(revision.problems),
        "collections": [{"name": name, "digest": digest} for name, digest in revision.collections.items()],
        "versions": [
            version.value
            for version, number in versions.items()
            if number == revision.number and version is not Version.BUFFER
        ],
    }
