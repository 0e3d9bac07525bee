"""A request that names a site which does not exist is refused: a misspelt name must not look like an empty site."""

from __future__ import annotations

import re

from fastapi import Request

from slipway_api.airflow_access import COMMIT_DAG, CallerDep
from slipway_api.http.api_errors import ApiError
from slipway_api.http.dependencies import open_store
from slipway_api.http.site_name import DEFAULT_SITE, NAME_PATTERN
from strategy_lib.did_you_mean import did_you_mean

_NEAREST = 3
# A site begins with the first collection that is put into its buffer.
_CREATES = ("POST", "/configdocs/")


def require_existing_site(request: Request, caller: CallerDep) -> None:
    """Refuse a site that has neither documents nor actions; the default one may be empty.

    Raises
    ------
    ApiError
        404, with the nearest names.
    """
    site = request.query_params.get("site")
    method, place = _CREATES
    # The route itself refuses a caller who may not read, and a text that cannot be the name of a site.
    if site is None or site == DEFAULT_SITE or not re.search(NAME_PATTERN, site) or not caller.may_read(COMMIT_DAG):
        return
    if request.method == method and place in request.url.path:
        return
    store = open_store()
    if store.site_exists(site):
        return
    known = store.known_sites()
    there = "there is none yet: put a collection of documents into its buffer first"
    if known:
        there = f"there are {', '.join(known[:20])}" + (f" and {len(known) - 20} more" if len(known) > 20 else "")
    hint = did_you_mean(site, known, there, most=_NEAREST)
    raise ApiError(404, f"there is no site {site[:64]!r}; {hint}", "Site not found")
