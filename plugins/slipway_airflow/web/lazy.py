"""An ASGI application imported with its first request: all Airflow processes import the plugin, one serves it."""

from __future__ import annotations

from typing import Any


class LazyApp:
    """Stands in for :func:`slipway_airflow.web.app.create_app` until someone asks for a page."""

    def __init__(self) -> None:
        self._app: Any = None

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Serve one request."""
        if self._app is None:
            from slipway_airflow.web.app import create_app

            self._app = create_app()
        await self._app(scope, receive, send)
