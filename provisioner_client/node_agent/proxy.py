"""Who asks in the controller's place: an HTTP proxy to the nodes, such as the simulator's, which answers for them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

from provisioner_client.errors import ProvisionerError

PROXY_VARIABLE: Final = "SLIPWAY_NODE_PROXY"


class UnusableProxy(ProvisionerError):
    """Nodes cannot be asked how they are. Mend the address of the proxy to them, or remove it."""


@dataclass(frozen=True, slots=True)
class Proxy:
    """Where an HTTP proxy listens."""

    host: str
    port: int


def read_proxy(environ: Mapping[str, str]) -> Proxy | None:
    """Return the proxy that `SLIPWAY_NODE_PROXY` names; None: nodes are asked directly.

    Raises `UnusableProxy`: it is no `http://HOST:PORT`.
    """
    named = environ.get(PROXY_VARIABLE, "")
    if not named:
        return None
    wrong = UnusableProxy(f"{PROXY_VARIABLE}={named!r} is no proxy: write http://HOST:PORT, without a password")
    try:
        parts = urlsplit(named)
        port = parts.port
    except ValueError:
        raise wrong from None
    if parts.scheme != "http" or not parts.hostname or not port or parts.username or parts.path.strip("/"):
        raise wrong
    return Proxy(parts.hostname, port)
