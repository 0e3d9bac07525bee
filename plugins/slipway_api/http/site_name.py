"""Which site a request is about: the query parameter ``site``, else the site that Shipyard's own client means."""

from __future__ import annotations

from typing import Annotated

from fastapi import Query

DEFAULT_SITE = "default"
NAME_PATTERN = r"^[A-Za-z0-9][A-Za-z0-9_.-]*$"
LONGEST_NAME = 64


SiteName = Annotated[
    str,
    Query(
        alias="site",
        pattern=NAME_PATTERN,
        max_length=LONGEST_NAME,
        description="The site. Airship's own client names none, and works on the site `default`.",
        examples=[DEFAULT_SITE],
    ),
]
"""A route's parameter ``site: SiteName = DEFAULT_SITE``; the site need not exist."""
