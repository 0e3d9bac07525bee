"""Reading documents: which version is asked for, whether with its secrets, and how they are sent."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends, Query
from fastapi.responses import Response

from site_store import Version
from slipway_api.airflow_access import CallerDep
from slipway_api.documents.document_version import parse_version
from slipway_api.documents.etag import tag_of
from slipway_api.http.dependencies import Store
from slipway_api.http.site_name import DEFAULT_SITE, SiteName

YAML_TYPE = "application/x-yaml"

VersionText = Annotated[
    str,
    Query(
        alias="version",
        description="`buffer`, `committed`, `last_site_action`, `successful_site_action`, or the number of a revision.",
        examples=["committed"],
    ),
]
Cleartext = Annotated[
    bool,
    Query(
        alias="cleartext-secrets",
        description="Show secrets, and the text exactly as written; for those who may read Airflow's connections.",
    ),
]


@dataclass(frozen=True, slots=True)
class DocumentsAsked:
    """What a caller may read and wants to."""

    site: str
    version: Version | int
    cleartext: bool
    headers: Mapping[str, str]

    def answer(self, text: str) -> Response:
        """Return the documents; they may hold what nobody else should find in a cache."""
        return Response(text, media_type=YAML_TYPE, headers={"Cache-Control": "no-store", **self.headers})


def documents_asked(
    store: Store,
    caller: CallerDep,
    site: SiteName = DEFAULT_SITE,
    version_text: VersionText = Version.BUFFER.value,
    cleartext: Cleartext = False,
) -> DocumentsAsked:
    """Return what is asked for.

    Raises
    ------
    ApiError
        400: there is no such version; 403: the caller may not see secrets.
    """
    version = parse_version(version_text)
    if cleartext:
        caller.require_read_cleartext()
    return DocumentsAsked(site, version, cleartext, tag_of(store, site, version))


Asked = Annotated[DocumentsAsked, Depends(documents_asked)]
"""A route's parameter for it."""
