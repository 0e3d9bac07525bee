"""Free and busy ports on loopback."""

from __future__ import annotations

import errno
import socket

from slipway_cli.embedded.errors import PortInUse

LOOPBACK = "127.0.0.1"
"""Where all that is embedded listens, and nowhere else."""


def claim_port(port: int, purpose: str, variable: str) -> int:
    """Make sure that the port is free; 0 finds a free one.

    Raises
    ------
    PortInUse
        Something listens there, or the port is not for ordinary users.
    """
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((LOOPBACK, port))
            probe.listen(1)
        except OSError as error:
            if error.errno in (errno.EADDRINUSE, errno.EACCES):
                raise PortInUse(port, purpose, variable) from None
            raise
        number: int = probe.getsockname()[1]
        return number
