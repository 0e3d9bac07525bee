"""Slipway's own kinds of documents about machines: a site, its nodes, what they share and name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

SITE_SCHEMA: Final = "slipway/Site/v1"
NODE_SCHEMA: Final = "slipway/Node/v1"
NODE_SET_SCHEMA: Final = "slipway/NodeSet/v1"
USER_DATA_SCHEMA: Final = "slipway/UserData/v1"
BMC_ACCOUNT_SCHEMA: Final = "slipway/BmcAccount/v1"
NODE_MAKERS: Final = (NODE_SCHEMA, NODE_SET_SCHEMA, SITE_SCHEMA, USER_DATA_SCHEMA, BMC_ACCOUNT_SCHEMA)
"""All kinds that a node is made of."""

SHAPES: Final = {
    SITE_SCHEMA: "site",
    NODE_SCHEMA: "node",
    NODE_SET_SCHEMA: "node_set",
    USER_DATA_SCHEMA: "user_data",
    BMC_ACCOUNT_SCHEMA: "bmc_account",
}
"""The JSON Schema of each kind, by its name in `schemas/`."""

NAMED_BY_VALUES: Final = {"user_data": USER_DATA_SCHEMA, "bmc_account": BMC_ACCOUNT_SCHEMA}
"""The fields of a node, a set or a site's defaults that name another document, and its kind."""


def part_names(schema: str, data: Any) -> Iterator[tuple[str, str]]:
    """Yield schema and name of the sets and other documents that the data of such a document names itself."""
    if not isinstance(data, Mapping):
        return
    sets = data.get("sets") if schema == NODE_SCHEMA else None
    for name in sets if isinstance(sets, list) else ():
        if isinstance(name, str) and name:
            yield NODE_SET_SCHEMA, name
    values = data.get("defaults") if schema == SITE_SCHEMA else data
    if not isinstance(values, Mapping) or schema not in (NODE_SCHEMA, NODE_SET_SCHEMA, SITE_SCHEMA):
        return
    for key, named in NAMED_BY_VALUES.items():
        name = values.get(key)
        if isinstance(name, str) and name:
            yield named, name
