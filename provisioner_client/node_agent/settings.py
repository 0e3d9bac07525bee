"""The settings with which nodes are asked: a site's key, the networks of its nodes, and a proxy that asks for us.

All three are environment variables of the controller and of the triggerer; no document has them.
"""

from __future__ import annotations

import stat
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from provisioner_client.errors import ProvisionerError
from strategy_lib.parsing.node_networks import NETWORKS_VARIABLE, NodeNetworks, parse_node_networks

FILE_VARIABLE: Final = "SLIPWAY_NODE_KEY_FILE"
PROXY_VARIABLE: Final = "SLIPWAY_NODE_PROXY"
SHORTEST_KEY: Final = 32


class UnusableNodeSetting(ProvisionerError):
    """Nodes cannot be asked how they are. Mend the setting that the detail names."""


@dataclass(frozen=True, slots=True)
class Proxy:
    """Where an HTTP proxy listens."""

    host: str
    port: int


def read_site_key(environ: Mapping[str, str], site: str) -> bytes:
    """Return the key of a site, from the file that `SLIPWAY_NODE_KEY_FILE` names; `{site}` there is the site's name.

    Raises `UnusableNodeSetting`: there is no such file, others may read it, or what it has is no key.
    """
    named = environ.get(FILE_VARIABLE, "")
    if not named:
        raise UnusableNodeSetting(
            f"set {FILE_VARIABLE} to a file with the key of site {site}; {{site}} in it is the site's name"
        )
    if "{site}" in named and ("/" in site or site.startswith(".")):
        raise UnusableNodeSetting(f"{FILE_VARIABLE}: {site!r} is no name for a file")
    file = Path(named.replace("{site}", site))
    try:
        if stat.S_IMODE(file.stat().st_mode) & 0o077:
            raise UnusableNodeSetting(f"{FILE_VARIABLE}: others may read {file}: run chmod 600 {file}")
        key = file.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is no text"
        raise UnusableNodeSetting(f"{FILE_VARIABLE}: {file} cannot be read ({reason})") from error
    if len(key) < SHORTEST_KEY:
        raise UnusableNodeSetting(f"{FILE_VARIABLE}: the key in {file} must have {SHORTEST_KEY} characters at least")
    return key.encode()


def read_networks(environ: Mapping[str, str]) -> NodeNetworks:
    """Return the networks that `SLIPWAY_NODE_NETWORKS` names.

    Raises `UnusableNodeSetting`: it is no list of networks.
    """
    try:
        return parse_node_networks(environ.get(NETWORKS_VARIABLE, ""))
    except ValueError as error:
        raise UnusableNodeSetting(str(error)) from None


def read_proxy(environ: Mapping[str, str]) -> Proxy | None:
    """Return the proxy that `SLIPWAY_NODE_PROXY` names; None: nodes are asked directly.

    Raises `UnusableNodeSetting`: it is no `http://HOST:PORT`.
    """
    named = environ.get(PROXY_VARIABLE, "")
    if not named:
        return None
    wrong = UnusableNodeSetting(f"{PROXY_VARIABLE}={named!r} is no proxy: write http://HOST:PORT, without a password")
    try:
        parts = urlsplit(named)
        port = parts.port
    except ValueError:
        raise wrong from None
    if parts.scheme != "http" or not parts.hostname or not port or parts.username or parts.path.strip("/"):
        raise wrong
    return Proxy(parts.hostname, port)
