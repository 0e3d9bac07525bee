"""At which addresses nodes are asked: the installation says so, for others than its operators write the documents."""

from __future__ import annotations

from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from typing import Final

from strategy_lib.settings import SLIPWAY_NODE_NETWORKS, Network

_METADATA: Final = "an address of a cloud's metadata"
_SPECIAL: Final = tuple(
    (words, ip_network(written))
    for words, networks in (
        (_METADATA, "169.254.169.254 169.254.170.2 100.100.100.200 168.63.129.16 192.0.0.192"),
        (_METADATA, "fd00:ec2::254 fd20:ce::254 fd00:42::42"),
        ("a loopback address", "127.0.0.0/8 ::1"),
        ("a link-local address", "169.254.0.0/16 fe80::/10"),
        ("an unspecified address", "0.0.0.0/8 ::"),
        ("a multicast address", "224.0.0.0/4 ff00::/8"),
        ("a reserved address", "240.0.0.0/4"),
    )
    for written in networks.split()
)
"""Where no node is, but often something that trusts who asks."""
_NAT64: Final = ip_network("64:ff9b::/96")
_COMPATIBLE: Final = ip_network("::/96")


@dataclass(frozen=True, slots=True)
class NodeNetworks:
    """The networks in which nodes are asked; none: all, except special addresses.

    A special address, such as one of loopback, is asked only where a network is named that is special as a whole:
    127.0.0.0/8 is, 0.0.0.0/0 is not.
    """

    networks: tuple[Network, ...] = ()

    def refusal(self, text: str) -> str | None:
        """Return why nobody is asked at an address, as a sentence; None: it may be asked.

        Raises `ValueError`: the text is no address.
        """
        forms = _forms(ip_address(text))
        for words, special in _SPECIAL:
            for form in forms:
                if form in special and not any(form in one and _is_within(one, special) for one in self.networks):
                    return f"{text} is {words}, where nodes are not asked unless {SLIPWAY_NODE_NETWORKS.name} has it"
        if self.networks and not any(forms[0] in network for network in self.networks):
            return f"{text} is in no network of {SLIPWAY_NODE_NETWORKS.name}, where alone nodes are asked"
        return None


ALL_BUT_SPECIAL: Final = NodeNetworks()


def _is_within(network: Network, other: Network) -> bool:
    return network.network_address in other and network.prefixlen >= other.prefixlen


def _forms(address: IPv4Address | IPv6Address) -> tuple[IPv4Address | IPv6Address, ...]:
    """Return what is reached at an address: itself, or the IPv4 address within it; first what networks name."""
    if isinstance(address, IPv4Address):
        return (address,)
    if address.ipv4_mapped is not None:
        return (address.ipv4_mapped,)
    within = address.sixtofour
    if within is None and (address in _NAT64 or address in _COMPATIBLE) and int(address) > 1:
        within = IPv4Address(int(address) & 0xFFFFFFFF)
    return (address,) if within is None else (address, within)
