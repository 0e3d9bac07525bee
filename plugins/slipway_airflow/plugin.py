"""Airflow's door to Slipway's API and pages, and the link to them on each of Slipway's tasks.

Every Airflow process imports this file, so it imports next to nothing. Processes that fork others load the operators
when they start: a task that is forked then has them without a cost.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode, urlsplit

from airflow.configuration import conf
from airflow.listeners import hookimpl
from airflow.plugins_manager import AirflowPlugin
from airflow.sdk import BaseOperator, BaseOperatorLink

if TYPE_CHECKING:
    from airflow.sdk.types import TaskInstanceKey

    from site_engine.monitoring.process_notes import ProcessNotes
    from site_engine.provisioners import Provisioners


# What a task would load by itself otherwise, in 0.2 to 0.7 s of CPU each.
_LOADED_BEFORE_FORKS = ("slipway_airflow.site_dag", "provisioner_client.factory")
_LOGINS = ("/auth/token", "/auth/token/cli")


PAGE = "/plugin/slipway/slipway/ui/run"
"""The page of a DAG run below Airflow's own address, inside Airflow's frame."""


class StatusTreeLink(BaseOperatorLink):
    """A link of every task, computed by the API server; the tasks of other DAGs hide it."""

    @property
    def name(self) -> str:
        """What stands on the button."""
        return "Slipway"

    def get_link(self, operator: BaseOperator, *, ti_key: TaskInstanceKey) -> str:
        """Return the address of the task's entry; "" for a task of another DAG."""
        from site_engine.kinds import KINDS

        if ti_key.dag_id not in KINDS:
            return ""
        place = {"dag_id": ti_key.dag_id, "run_id": ti_key.run_id, "task_id": ti_key.task_id}
        if ti_key.map_index >= 0:
            place["map_index"] = str(ti_key.map_index)
        # Airflow may be served below a path.
        base = urlsplit(conf.get("api", "base_url", fallback="") or "").path.rstrip("/")
        return f"{base}{PAGE}?{urlencode(place)}"


class LazyApp:
    """Stands in for :func:`slipway_api.app.create_app` until the first request.

    Parameters
    ----------
    provisioners : returns what looks up the connections of provisioners; called with the first request.
    """

    def __init__(self, provisioners: Callable[[], Provisioners]) -> None:
        self._provisioners = provisioners
        self._app: Any = None

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if self._app is None:
            from slipway_api.app import create_app

            self._app = create_app(self._provisioners())
        await self._app(scope, receive, send)


class LazyLogin:
    """ASGI middleware around Airflow: stands in for :class:`slipway_api.keystone.wrong_passwords.SlowedLogin`.

    It sees the API server begin and end, and has it noted in the store meanwhile.
    """

    def __init__(self, app: Any) -> None:
        self._app = app
        self._slowed: Any = None
        self._notes: ProcessNotes | None = None

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Serve one request; all but a login pass."""
        if scope["type"] == "lifespan":
            # Loaded before the first request: a second thread that loads the same packages meanwhile deadlocks, and
            # Python then leaves them half loaded for good. What is asked for the first note does not delay the start.
            from slipway_airflow.process_environment import api_server_notes

            threading.Thread(
                target=self._begin_notes, args=(api_server_notes,), name="process note", daemon=True
            ).start()
            try:
                await self._app(scope, receive, send)
            finally:
                if self._notes is not None:
                    self._notes.end()
            return
        if scope["type"] != "http" or scope["method"] != "POST" or not scope["path"].endswith(_LOGINS):
            await self._app(scope, receive, send)
            return
        if self._slowed is None:
            from slipway_api.keystone.wrong_passwords import SlowedLogin

            self._slowed = SlowedLogin(self._app)
        await self._slowed(scope, receive, send)

    def _begin_notes(self, notes: Callable[[], ProcessNotes]) -> None:
        self._notes = notes()
        self._notes.begin()


class Components:
    """Scheduler, DAG processor and triggerer: they load the operators before they fork anything, and are noted."""

    def __init__(self) -> None:
        self._notes: ProcessNotes | None = None

    @hookimpl
    def on_starting(self, component: object) -> None:
        """Load and note; Airflow calls this when such a process begins, and when a task does, which has all by then."""
        for module in _LOADED_BEFORE_FORKS:
            import_module(module)
        if "latest_heartbeat" in vars(component):
            from site_engine.version import version
            from slipway_airflow.process_environment import component_notes

            version()  # asks Git in a checkout, and what is forked would ask again
            self._notes = component_notes(component)
            self._notes.begin()

    @hookimpl
    def before_stopping(self, component: object) -> None:
        """Forget a process that ends as it was told to; a task's process has no notes."""
        if self._notes is not None and "latest_heartbeat" in vars(component):
            self._notes.end()


def _provisioners() -> Provisioners:
    from site_engine.monitoring.metrics import use_sink
    from slipway_airflow import connections
    from slipway_airflow.airflow_stats import emit

    use_sink(emit)
    return connections


class SlipwayPlugin(AirflowPlugin):
    """Serves :mod:`slipway_api`, shows its pages, links tasks to them, and slows down wrong passwords at the login."""

    name = "slipway"
    fastapi_apps: list[dict[str, Any]] = [  # noqa: RUF012 - Airflow declares it so
        {"app": LazyApp(_provisioners), "url_prefix": "/slipway", "name": "Slipway"}
    ]
    external_views: list[dict[str, Any]] = [  # noqa: RUF012 - as above
        {
            "name": "Sites",
            "href": "/slipway/ui/",
            "destination": "nav",
            "url_route": "slipway",
            "icon": "/slipway/ui/static/icon.svg",
            "nav_top_level": True,
        },
        {
            "name": "Slipway",
            "href": "/slipway/ui/run?dag_id={DAG_ID}&run_id={RUN_ID}",
            "destination": "dag_run",
            "url_route": "slipway-run",
            "icon": "/slipway/ui/static/icon.svg",
        },
    ]
    fastapi_root_middlewares: list[dict[str, Any]] = [  # noqa: RUF012 - as above
        {"middleware": LazyLogin, "name": "Slipway: wrong passwords wait"}
    ]
    listeners: list[Any] = [Components()]  # noqa: RUF012 - as above
    # Global, as naming operators would have every Airflow process import them; other DAGs' tasks hide it.
    global_operator_extra_links: list[Any] = [StatusTreeLink()]  # noqa: RUF012 - as above
