"""Records of nodes as something with a version: what a request may send as `If-Match`, and the `ETag` after it."""

from __future__ import annotations

from collections.abc import Collection

from site_store import SiteStore
from site_store.nodes.node_versions import common_version, words_for
from slipway_api.http.api_errors import ApiError
from slipway_api.http.etags import etag_headers, require_match


def expected_versions(store: SiteStore, site: str, nodes: Collection[str], if_match: str | None) -> dict[str, int]:
    """Return the version that the record of each node has to keep until it is written; empty without a condition.

    Raises `ApiError`: 412: together they have another version; 400: the request names no node.
    """
    if if_match is None:
        return {}
    if not nodes:
        raise ApiError(400, "If-Match is the version of nodes: name them, or leave it out", "Bad Request")
    found = store.site_nodes.versions(site, nodes)
    if found:
        require_match(if_match, common_version(found), words_for(nodes))
    return found


def version_headers(store: SiteStore, site: str, nodes: Collection[str]) -> dict[str, str]:
    """Return the `ETag` of an answer about nodes: of several the version that they have together; none about none."""
    found = store.site_nodes.versions(site, nodes) if nodes else {}
    return etag_headers(common_version(found)) if found else {}
