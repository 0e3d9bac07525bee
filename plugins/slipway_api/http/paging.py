"""Long answers in pages: the header ``Link`` leads from one to the next."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fastapi import Request


def link_to_next(request: Request, **place: object) -> dict[str, str]:
    """Return the header of a page that is not the last: the same request, but for where the next page begins."""
    url = request.url.include_query_params(**place)
    return {"Link": f'<{url.path}?{url.query}>; rel="next"'}
