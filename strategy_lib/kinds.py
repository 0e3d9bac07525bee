"""Documents that look like a kind that Slipway reads and are not: a slip of the pen, or a version it does not know."""

from collections.abc import Sequence
from dataclasses import replace
from difflib import get_close_matches

from strategy_lib.configuration import CONFIGURATION_SCHEMA
from strategy_lib.documents import Document
from strategy_lib.errors import Problem
from strategy_lib.inventory import NODE_SCHEMA
from strategy_lib.strategy import STRATEGY_SCHEMA

READ = (
    STRATEGY_SCHEMA,
    CONFIGURATION_SCHEMA,
    NODE_SCHEMA,
    "drydock/HostProfile/v1",
    "drydock/HardwareProfile/v1",
    "drydock/Network/v1",
    "drydock/NetworkLink/v1",
    "drydock/Region/v1",
)
# Kinds of Drydock's that Slipway passes on without reading them: near to the above, and no slip.
PASSED_ON = ("drydock/Rack/v1", "drydock/BootAction/v1", "drydock/PromenadeJoin/v1")
_NEAR = 0.85


def unknown_kinds(documents: Sequence[Document]) -> list[Problem]:
    """Return a warning for each document whose schema is nearly one that Slipway reads: it is passed by."""
    nearest = {schema: _nearest(schema) for schema in {document.schema for document in documents}}
    return [
        replace(
            document.problem("$.schema", f"not read: {document.schema!r} is no known kind. Did you mean {near}?"),
            level="warning",
        )
        for document in documents
        if (near := nearest[document.schema]) is not None
    ]


def _nearest(schema: str) -> str | None:
    if schema in READ or schema in PASSED_ON:
        return None
    return next(iter(get_close_matches(schema, READ, n=1, cutoff=_NEAR)), None)
