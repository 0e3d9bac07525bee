"""Where a site's node agents are asked: a URL with the node's own address in it (`node_states.health_url`)."""

from __future__ import annotations

import re
from dataclasses import dataclass

_HOST = re.compile(r"\{address(?::(?P<network>[^{}:/\s]+))?\}(?::(?P<port>[0-9]+))?(?P<path>/.*)?")
_PATH = re.compile(r"[A-Za-z0-9/_.~!$&'()*+,;=:@%-]*")
LOOKS_LIKE = "http://{address}:9650/state, or with a network of the nodes, http://{address:oam}:9650/state"


@dataclass(frozen=True, slots=True)
class HealthUrl:
    """A URL that is different for each node by the node's address alone.

    Attributes
    ----------
    network : the network whose address of a node is meant; "": the node's primary network.
    """

    scheme: str
    network: str
    port: int | None
    path: str

    def at(self, address: str) -> str:
        """Return the URL of the node with this address."""
        host = f"[{address}]" if ":" in address else address
        return f"{self.scheme}://{host}{'' if self.port is None else f':{self.port}'}{self.path}"


def parse_health_url(text: str) -> HealthUrl:
    """Read a template such as `http://{address}:9650/state`. Raises `ValueError` with what would be right."""
    scheme, found, rest = text.partition("://")
    if scheme not in ("http", "https") or not found:
        raise ValueError(f"must begin with http:// or https://, as in {LOOKS_LIKE}")
    parts = _HOST.fullmatch(rest)
    if parts is None:
        raise ValueError(f"must have the node's own address as its host, and nothing before it, as in {LOOKS_LIKE}")
    path = parts["path"] or "/state"
    if _PATH.fullmatch(path) is None:
        raise ValueError(f"must have a plain path, without a query, as in {LOOKS_LIKE}")
    port = None if parts["port"] is None else int(parts["port"][:6])
    if port is not None and not 1 <= port <= 65535:
        raise ValueError(f"must have a port from 1 to 65535, not {parts['port'][:6]}")
    return HealthUrl(scheme, parts["network"] or "", port, path)
