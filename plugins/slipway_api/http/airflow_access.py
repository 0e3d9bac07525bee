"""Airflow, as routes need it: who may do what, a client of its REST API for the caller, and its settings.

The one module here that imports Airflow; of the auth manager that is its unofficial API.

Every route has one of ``may_read``, ``may_commit``, ``may_act``, ``may_control`` and ``may_read_run`` among the
dependencies of its decorator, which are looked at before anything else of the request. What depends on the request
itself (which kind of action, whose logs) is asked of the ``Caller`` in the route.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Annotated, Any

from airflow.api_fastapi.app import get_auth_manager
from airflow.api_fastapi.auth.managers.base_auth_manager import COOKIE_NAME_JWT_TOKEN
from airflow.api_fastapi.auth.managers.models.resource_details import ConnectionDetails, DagAccessEntity, DagDetails
from airflow.api_fastapi.core_api.security import get_user
from airflow.configuration import conf
from airflow.models.dag import DagModel
from fastapi import Depends, HTTPException, Request
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer

from api_client.airflow import AirflowClient
from api_client.session import ApiSession
from site_engine.kinds import KINDS
from site_engine.provisioners import DEFAULT_CONNECTION
from slipway_api.http.api_errors import ApiError
from slipway_api.http.concurrency import checked_in_thread
from strategy_lib.settings import SLIPWAY_URL

COMMIT_DAG = "deploy_site"

_READING = ("GET", "HEAD", "OPTIONS")
bearer = HTTPBearer(
    auto_error=False,
    description="Airflow's token: from `POST /auth/token`, or from `POST /v3/auth/tokens` as Keystone gives it. "
    "It may also be sent as `X-Auth-Token`.",
)
"""Where a token stands in a request."""


@dataclass(frozen=True, slots=True)
class Caller:
    """Who asks, and what Airflow lets them do. The methods block: call them in a thread."""

    name: str
    user: Any

    def may_read(self, dag_id: str) -> bool:
        """Whether they may see the runs of a DAG, and so its actions."""
        return self._may("GET", DagAccessEntity.RUN, dag_id)

    def may_create(self, kind: str) -> bool:
        """Whether they may trigger the DAG of this kind of action, and so create one."""
        return self._may("POST", DagAccessEntity.RUN, kind)

    def may_control(self, dag_id: str) -> bool:
        """Whether they may change the runs of a DAG, and so stop, pause and unpause its actions."""
        return self._may("PUT", DagAccessEntity.RUN, dag_id)

    def may_read_cleartext(self) -> bool:
        """Whether they may see secrets: who may read Airflow's connections has the provisioner's keys already."""
        details = ConnectionDetails(conn_id=DEFAULT_CONNECTION)
        return bool(get_auth_manager().is_authorized_connection(method="GET", details=details, user=self.user))

    def may_connect(self) -> bool:
        """Whether they may make a connection in Airflow, such as that of a site's provisioner."""
        details = ConnectionDetails(conn_id=DEFAULT_CONNECTION)
        return bool(get_auth_manager().is_authorized_connection(method="POST", details=details, user=self.user))

    def require_read(self, dag_id: str) -> None:
        """Refuse (403) a caller who may not see the actions of a DAG."""
        self._require(self.may_read(dag_id), f"see the runs of {dag_id}")

    def require_read_logs(self, dag_id: str) -> None:
        """Refuse (403) a caller who may not see the logs of a DAG."""
        self._require(self._may("GET", DagAccessEntity.TASK_LOGS, dag_id), f"see the logs of {dag_id}")

    def require_create(self, kind: str) -> None:
        """Refuse (403) a caller who may not create an action of this kind."""
        self._require(self.may_create(kind), f"trigger {kind}")

    def require_control(self, dag_id: str) -> None:
        """Refuse (403) a caller who may not stop or pause the actions of a DAG."""
        self._require(self.may_control(dag_id), f"change the runs of {dag_id}")

    def require_read_cleartext(self) -> None:
        """Refuse (403) a caller who may not see secrets."""
        self._require(self.may_read_cleartext(), "read connections, which seeing secrets in cleartext needs")

    def _may(self, method: Any, entity: DagAccessEntity, dag_id: str) -> bool:
        team = DagModel.get_team_name(dag_id) if conf.getboolean("core", "multi_team") else None
        details = DagDetails(id=dag_id, team_name=team)
        manager = get_auth_manager()
        return bool(manager.is_authorized_dag(method=method, access_entity=entity, details=details, user=self.user))

    def _require(self, allowed: bool, what: str) -> None:
        if not allowed:
            raise ApiError(403, f"Airflow does not let {self.name} {what}")


async def caller(
    request: Request, credentials: Annotated[HTTPAuthorizationCredentials | None, Depends(bearer)]
) -> Caller:
    """Return who asks: by the bearer token, else by the cookie that Airflow's pages use.

    Raises `ApiError` 401: no token, or one that is malformed, expired or revoked. 403: nothing shows that the cookie
    was sent by one of Airflow's own pages, and others may not change anything by it.
    """
    by_cookie = credentials is None and COOKIE_NAME_JWT_TOKEN in request.cookies
    if by_cookie and request.method not in _READING and not _of_own_origin(request):
        raise ApiError(403, "the request does not come from a page of Airflow's: send a token, not Airflow's cookie")
    try:
        user = await get_user(request, None, credentials)
    except HTTPException as error:
        # Airflow answers 403 to a token that it cannot read; that would say "this user may not".
        raise ApiError(
            401, f"{error.detail}: log in, and send the token", headers={"WWW-Authenticate": "Bearer"}
        ) from error
    return Caller(str(user.get_name()), user)


def _of_own_origin(request: Request) -> bool:
    """Whether a browser says that one of our own pages sends this; what says nothing of its origin is no browser's.

    The cookie's `SameSite` does not tell ports of one host from each other, and a form needs nobody's permission.
    """
    said = request.headers.get("sec-fetch-site")
    if said is not None:
        return said in ("same-origin", "none")
    origin = request.headers.get("origin")
    return origin is not None and origin.partition("://")[2] == request.headers.get("host")


CallerDep = Annotated[Caller, Depends(caller)]


def token_of(request: Request) -> str | None:
    """Return the token that the request was authenticated by; None where Airflow's auth manager needs none."""
    kind, _, token = request.headers.get("authorization", "").partition(" ")
    if kind.lower() == "bearer" and token.strip():
        return token.strip()
    return request.cookies.get(COOKIE_NAME_JWT_TOKEN)


def user_name(caller: CallerDep) -> str:
    return caller.name


UserName = Annotated[str, Depends(user_name)]


def _allowed(check: Callable[[Caller, Request], bool], what: str) -> Any:
    async def demand(caller: CallerDep, request: Request) -> None:
        if not await checked_in_thread(lambda: check(caller, request)):
            raise ApiError(403, f"Airflow does not let {caller.name} {what}")

    return Depends(demand)


may_read = _allowed(lambda caller, _: caller.may_read(COMMIT_DAG), f"see the runs of {COMMIT_DAG}")
"""May read what is no secret: documents, actions, statuses."""

# Committing a design is as weighty as starting its deployment: a user who may trigger deploy_site may commit.
may_commit = _allowed(lambda caller, _: caller.may_create(COMMIT_DAG), f"trigger {COMMIT_DAG}, which committing needs")
"""May change a site's documents."""

may_act = _allowed(lambda caller, _: any(map(caller.may_create, tuple(KINDS))), "trigger any kind of action")
"""May start or control some action; of which kind is asked in the route."""

may_control = _allowed(lambda caller, _: caller.may_control(COMMIT_DAG), f"change the runs of {COMMIT_DAG}")
"""May have something tried again, and have reporters made; of which kind of action is asked in the route."""

may_read_run = _allowed(
    lambda caller, request: caller.may_read(request.path_params["dag_id"]), "see the runs of this DAG"
)
"""May read the runs of the DAG that stands in the path as ``dag_id``."""


_TIMEOUT = (5.0, 20.0)


def own_airflow(token: str | None) -> AirflowClient:
    """Return a client of the Airflow that this process serves, with somebody's token; None: as nobody, to log in."""
    return AirflowClient(ApiSession.with_token(own_url(), "", token, _TIMEOUT, "Airflow"))


def _as_caller(request: Request) -> Iterator[AirflowClient]:
    with contextlib.closing(own_airflow(token_of(request))) as client:
        yield client


Airflow = Annotated[AirflowClient, Depends(_as_caller)]


def airflow_base_url() -> str | None:
    """Return ``[api] base_url``, None when it is not set."""
    return conf.get("api", "base_url", fallback=None) or None


def own_url() -> str:
    """Return where the API server finds itself: the internal address, else the public one, else its own port.

    The public one, ``[api] base_url``, may have a login page or a certificate in front.
    """
    url = SLIPWAY_URL.read(os.environ) or airflow_base_url()
    url = url or f"http://127.0.0.1:{conf.getint('api', 'port', fallback=8080)}"
    return url.rstrip("/")


def longest_mapping() -> int:
    """Return ``[core] max_map_length``: how many groups one run can have."""
    return conf.getint("core", "max_map_length", fallback=1024)


def secret_key() -> str:
    """Return ``[api] secret_key``, which all API servers of one Airflow share, and nobody else knows."""
    return conf.get_mandatory_value("api", "secret_key")
