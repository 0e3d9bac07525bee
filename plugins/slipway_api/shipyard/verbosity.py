"""How much an answer tells: Shipyard's query parameter ``verbosity``, accepted by every route."""

from __future__ import annotations

from typing import Annotated

from fastapi import Query

DEFAULT_VERBOSITY = 1
Verbosity = Annotated[
    int,
    Query(
        alias="verbosity",
        ge=0,
        le=5,
        description="0 to 5: from 1 on with summary notes, from 3 on with provisioner tasks, at 5 with nodes.",
    ),
]
"""A route's parameter ``verbosity: Verbosity = DEFAULT_VERBOSITY``."""


def accept_verbosity(verbosity: Verbosity = DEFAULT_VERBOSITY) -> None:
    """Accept the parameter on a route that has no use for it."""
