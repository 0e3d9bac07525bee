"""The record of a node as something with a version: what a request may send as `If-Match`, and the `ETag` after it."""

from __future__ import annotations

from collections.abc import Collection

from site_store import SiteStore
from slipway_api.http.api_errors import ApiError
from slipway_api.http.etags import etag_headers, require_match


def expected_versions(store: SiteStore, site: str, nodes: Collection[str], if_match: str | None) -> dict[str, int]:
    """Return the version that a node's record has to keep until it is written; empty without a condition.

    Raises `ApiError`: 412: it has another version; 400: the request is about several nodes, which one tag cannot mean.
    """
    if if_match is None:
        return {}
    names = frozenset(nodes)
    if len(names) != 1:
        raise ApiError(400, "If-Match is the version of one node: name one node, or leave it out", "Bad Request")
    (name,) = names
    known = store.site_nodes.get(site, name)
    version = None if known is None else require_match(if_match, known.version, f"node {name}")
    return {} if version is None else {name: version}


def version_headers(store: SiteStore, site: str, nodes: Collection[str]) -> dict[str, str]:
    """Return the `ETag` of an answer about one node; none about several."""
    names = frozenset(nodes)
    known = store.site_nodes.get(site, next(iter(names))) if len(names) == 1 else None
    return {} if known is None else etag_headers(known.version)
