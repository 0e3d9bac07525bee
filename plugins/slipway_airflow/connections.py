"""Which Airflow connection leads to a provisioner. It answers "there is none" only where that is certain.

This module is the `site_engine.provisioners.Provisioners` of Airflow's tasks and of its API server.

Airflow's own look-up says "not found" for any error on the way, and so does the API server when a task asks it. A
site's own connection that only seems to be missing would send its servers to the provisioner of all other sites.
"""

from __future__ import annotations

import logging
import os
import time
from typing import TYPE_CHECKING, Any

from airflow.configuration import conf
from airflow.sdk import Connection
from airflow.sdk.log import mask_secret

from provisioner_client.connection import ConnectionValues
from site_engine.errors import ConnectionLookupFailed, ConnectionMissing, NoConnection
from site_engine.provisioners import ProvisionerConnection, connection_candidates
from site_store.sql.sealing import use_keys
from strategy_lib.settings import SLIPWAY_URL

if TYPE_CHECKING:
    from site_store import ActionRecord, SiteStore

log = logging.getLogger(__name__)

# The API server answers a task 404 also when its database fails. So often, so far apart in seconds, and each time with
# proof that the database answers, it has to say so before it is believed.
_LOOKS = 3
_BETWEEN_LOOKS = 0.5


def _fernet_keys() -> str:
    """Return Airflow's keys, with commas between them: those of the store, where no setting names others."""
    return str(conf.get("core", "fernet_key", fallback="") or "")


use_keys(_fernet_keys)


def find(conn_id: str) -> ConnectionValues | None:
    """Return a connection of any type as plain values, None when there certainly is none.

    Raises `ConnectionLookupFailed`: it is not known whether there is one.
    """
    found = find_connection(conn_id)
    return None if found is None else _plain(found, found.conn_type or "")


def find_for_site(site: str) -> ProvisionerConnection | None:
    """Return the connection of a site's provisioner: its own, else the one for all sites; None when there is neither.

    Raises `ConnectionLookupFailed`: it is not known whether there is one.
    """
    for conn_id in connection_candidates(site):
        found = find_connection(conn_id)
        if found is not None:
            return provisioner_connection(found)
    return None


def for_site(site: str) -> ProvisionerConnection:
    """Return the connection of a site's provisioner: its own, else the one for all sites.

    Raises `NoConnection`: neither connection exists; `ConnectionLookupFailed`: it is not known whether they exist.
    """
    found = find_for_site(site)
    if found is None:
        from provisioner_client.factory import FACTORY

        own, shared = connection_candidates(site)
        raise NoConnection(site, own, shared, FACTORY.names)
    return found


def for_action(store: SiteStore, action: ActionRecord) -> ProvisionerConnection:
    """Return the connection that an action uses, decided now unless it was; another is never used.

    Raises `SettingsError`: there is no connection for the action's site; `ConnectionLookupFailed`: it is not known
    whether there is one; `ConnectionMissing`: the one that was decided on is not there any more.
    """
    decided = action.connection or store.actions.get(action.id).connection
    if decided is None:
        chosen = for_site(action.site)
        decided = store.actions.decide_connection(action.id, chosen.id)
        if decided == chosen.id:
            return chosen
    found = find_connection(decided)
    if found is None:
        raise ConnectionMissing(
            f"the Airflow connection {decided!r}, which action {action.id} uses, is not there any more: create it "
            "again, or stop the action; another connection is never used for it"
        )
    return provisioner_connection(found)


def provisioner_connection(connection: Connection) -> ProvisionerConnection:
    """Return an Airflow connection as plain values.

    One of a type without a provisioner is used as one of the first type there is: the type did not always count, and
    a run may be under way.
    """
    # Not above: an HTTP library that only few of the processes need which read the DAGs.
    from provisioner_client.factory import FACTORY

    given = connection.conn_type or ""
    used = FACTORY.used_type(given)
    if given not in ("", used):
        log.warning(
            "The Airflow connection %r is of the type %r, which no provisioner has: it is used as %r. "
            "Choose one of %s.",
            connection.conn_id,
            given,
            used,
            ", ".join(FACTORY.types),
        )
    return ProvisionerConnection(_plain(connection, used), slipway_url())


def _plain(connection: Connection, kind: str) -> ConnectionValues:
    return ConnectionValues(
        type=kind,
        id=str(connection.conn_id),
        host=connection.host or "",
        schema=connection.schema or "",
        port=connection.port,
        login=connection.login or "",
        password=connection.password or "",
        extra=connection.extra_dejson,
        named_by=f"Airflow connection {connection.conn_id!r}",
    )


def slipway_url() -> str:
    """Return where a provisioner finds Slipway's API when its connection does not say."""
    return SLIPWAY_URL.read(os.environ) or conf.get("api", "base_url", fallback=None) or "http://127.0.0.1:8080"


def find_connection(conn_id: str) -> Connection | None:
    """Return an Airflow connection, None when there certainly is none; in a task or in the API server.

    Raises `ConnectionLookupFailed`: it could not be looked up.
    """
    from airflow.sdk.execution_time.secrets import ExecutionAPISecretsBackend
    from airflow.sdk.execution_time.supervisor import ensure_secrets_backend_loaded

    for backend in ensure_secrets_backend_loaded():
        if isinstance(backend, ExecutionAPISecretsBackend):
            found = _ask_repeatedly(conn_id)
        else:
            try:
                found = backend.get_connection(conn_id=conn_id)
            except Exception as error:
                raise _failed(conn_id, f"{type(backend).__name__}: {type(error).__name__}") from error
        if found is not None:
            if found.password:
                mask_secret(found.password)
            if found.extra:
                mask_secret(found.extra)
            return found
    return None


def _ask_repeatedly(conn_id: str) -> Connection | None:
    for look in range(_LOOKS):
        if look:
            time.sleep(_BETWEEN_LOOKS)
        found = _ask_api_server(conn_id)
        if found is not None:
            return found
        _require_database(conn_id)
    return None


def _ask_api_server(conn_id: str) -> Connection | None:
    """Ask Airflow's API server, as a task does."""
    from airflow.sdk import Connection
    from airflow.sdk.exceptions import ErrorType
    from airflow.sdk.execution_time.comms import ConnectionResult, ErrorResponse, GetConnection

    answer = _send(GetConnection(conn_id=conn_id), conn_id)
    if isinstance(answer, ErrorResponse) and answer.error is ErrorType.CONNECTION_NOT_FOUND:
        return None
    if not isinstance(answer, ConnectionResult):
        raise _failed(conn_id, f"Airflow's API server answers {_said(answer)}")
    return Connection(**answer.model_dump(exclude={"type"}, by_alias=True))


def _require_database(conn_id: str) -> None:
    """Make sure that the API server's database answers, by a question whose failure is not hidden."""
    from airflow.sdk.execution_time.comms import DRCount, GetDRCount

    answer = _send(GetDRCount(dag_id="deploy_site"), conn_id)
    if not isinstance(answer, DRCount):
        raise _failed(conn_id, f"Airflow's database does not answer: {_said(answer)}")


def _send(question: Any, conn_id: str) -> Any:
    from airflow.sdk.exceptions import AirflowRuntimeError
    from airflow.sdk.execution_time import task_runner

    try:
        return task_runner.SUPERVISOR_COMMS.send(question)
    except AirflowRuntimeError as error:
        return error.error
    except Exception as error:
        raise _failed(conn_id, type(error).__name__) from error


def _said(answer: Any) -> str:
    return str(getattr(getattr(answer, "error", None), "value", type(answer).__name__))


def _failed(conn_id: str, why: str) -> ConnectionLookupFailed:
    return ConnectionLookupFailed(
        f"whether there is an Airflow connection {conn_id!r} is not known ({why}), so that none is chosen: "
        "see the API server's log"
    )
