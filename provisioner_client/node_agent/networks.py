"""Where nodes are asked: in the networks that the installation names, and at no special address beside them."""

from __future__ import annotations

from collections.abc import Mapping

from provisioner_client.errors import ProvisionerError
from strategy_lib.parsing.node_networks import NETWORKS_VARIABLE, NodeNetworks, parse_node_networks


class UnusableNetworks(ProvisionerError):
    """Nodes cannot be asked how they are. Mend the list of their networks, or remove it."""


def read_networks(environ: Mapping[str, str]) -> NodeNetworks:
    """Return the networks that `SLIPWAY_NODE_NETWORKS` names. Raises `UnusableNetworks`: it is no list of networks."""
    try:
        return parse_node_networks(environ.get(NETWORKS_VARIABLE, ""))
    except ValueError as error:
        raise UnusableNetworks(str(error)) from None
