"""An ASGI application, served in a thread of the test process."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import uvicorn

if TYPE_CHECKING:
    from fastapi import FastAPI


@contextmanager
def serving(app: FastAPI, lifespan: Literal["auto", "off"] = "auto", certificate: Path | None = None) -> Iterator[str]:
    """Serve an application on a free loopback port, and give its URL. At the end no answer is waited for.

    Parameters
    ----------
    certificate : a file with a key and its certificate, for TLS.
    """
    config = uvicorn.Config(
        app, host="127.0.0.1", port=0, log_level="warning", lifespan=lifespan, ssl_certfile=certificate
    )
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run)
    thread.start()
    while not server.started:
        thread.join(0.02)
    (listening,) = server.servers[0].sockets
    yield f"http{'' if certificate is None else 's'}://127.0.0.1:{listening.getsockname()[1]}"
    server.should_exit = server.force_exit = True
    thread.join(10)
