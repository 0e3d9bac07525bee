"""Slipway's own kinds of documents about machines: a site, its nodes, what they share, and their user data."""

from __future__ import annotations

from typing import Final

SITE_SCHEMA: Final = "slipway/Site/v1"
NODE_SCHEMA: Final = "slipway/Node/v1"
NODE_SET_SCHEMA: Final = "slipway/NodeSet/v1"
USER_DATA_SCHEMA: Final = "slipway/UserData/v1"
NODE_MAKERS: Final = (NODE_SCHEMA, NODE_SET_SCHEMA, SITE_SCHEMA, USER_DATA_SCHEMA)
"""All kinds that a node is made of."""

SHAPES: Final = {SITE_SCHEMA: "site", NODE_SCHEMA: "node", NODE_SET_SCHEMA: "node_set", USER_DATA_SCHEMA: "user_data"}
"""The JSON Schema of each kind, by its name in `schemas/`."""
