"""The key of a site, with which its node agents are asked: in a file that only its owner may read, in no document."""

from __future__ import annotations

import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from provisioner_client.errors import ProvisionerError

FILE_VARIABLE: Final = "SLIPWAY_NODE_KEY_FILE"
SHORTEST_KEY: Final = 32


class UnusableKey(ProvisionerError):
    """Nodes cannot be asked how they are. Mend the file with the site's key."""


def read_site_key(environ: Mapping[str, str], site: str) -> bytes:
    """Return the key of a site, from the file that `SLIPWAY_NODE_KEY_FILE` names; `{site}` there is the site's name.

    Raises `UnusableKey`: there is no such file, others may read it, or what it has is no key.
    """
    named = environ.get(FILE_VARIABLE, "")
    if not named:
        raise UnusableKey(
            f"set {FILE_VARIABLE} to a file with the key of site {site}; {{site}} in it is the site's name"
        )
    if "{site}" in named and ("/" in site or site.startswith(".")):
        raise UnusableKey(f"{FILE_VARIABLE}: {site!r} is no name for a file")
    file = Path(named.replace("{site}", site))
    try:
        if stat.S_IMODE(file.stat().st_mode) & 0o077:
            raise UnusableKey(f"{FILE_VARIABLE}: others may read {file}: run chmod 600 {file}")
        key = file.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is no text"
        raise UnusableKey(f"{FILE_VARIABLE}: {file} cannot be read ({reason})") from error
    if len(key) < SHORTEST_KEY:
        raise UnusableKey(f"{FILE_VARIABLE}: the key in {file} must have {SHORTEST_KEY} characters at least")
    return key.encode()
