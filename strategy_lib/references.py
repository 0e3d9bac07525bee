"""What the nodes of a site are made from and is not there: hardware profiles, networks and links."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from strategy_lib.digests import HARDWARE_SCHEMA, LINK_SCHEMA, NETWORK_SCHEMA, part_names
from strategy_lib.documents import Document
from strategy_lib.errors import Problem
from strategy_lib.inventory import NODE_SCHEMA, PROFILE_SCHEMA

_MAKERS = (NODE_SCHEMA, PROFILE_SCHEMA)
_PARTS = (HARDWARE_SCHEMA, NETWORK_SCHEMA, LINK_SCHEMA)


def missing_parts(documents: Sequence[Document]) -> list[Problem]:
    """Return a warning for each hardware profile, network or link that is referred to and is not there.

    It is one for all documents that refer to it, at the first of them: thousands of nodes use the same network. Whether
    the design can be used without it is the provisioner's to say. A name such as `!oam` removes what is inherited.
    """
    there = {(document.schema, document.name) for document in documents if document.schema in _PARTS}
    users: dict[tuple[str, str], list[Document]] = {}
    for document in documents:
        if document.schema in _MAKERS and not document.abstract:
            for part in dict.fromkeys(part_names(document.data)):
                if part not in there and not part[1].startswith("!"):
                    users.setdefault(part, []).append(document)
    return [_warning(schema, name, of) for (schema, name), of in users.items()]


def _warning(schema: str, name: str, users: list[Document]) -> Problem:
    first, *others = users
    more = f", and {len(others)} more documents refer to it" if len(others) > 1 else ""
    more = f", and {others[0].name} refers to it too" if len(others) == 1 else more
    message = f"there is no {schema} named {name!r}{more}"
    return replace(first.problem("$.data", message), level="warning")
