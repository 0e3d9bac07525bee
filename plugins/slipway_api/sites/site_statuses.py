"""Whether a site's provisioner can be used, and what it says of the machines: Shipyard's site statuses.

And documents for a site on MAAS, made from what MAAS has: what `slipway import maas` writes into files.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import closing
from datetime import datetime
from typing import Annotated, Any

from fastapi import Query
from fastapi.responses import JSONResponse
from pydantic import BaseModel, Field

from design_rendering.kinds.imported_site import imported_files
from provisioner_client.connection import ConnectionValues, secrets_of
from provisioner_client.errors import ProvisionerUnavailable
from provisioner_client.maas.connection import connect_maas
from provisioner_client.protocol import ListedNode
from provisioner_client.redacting import RedactingProvisioner, nothing_is_secret, without
from provisioner_client.shared_lists import Shared
from site_engine import node_lists
from site_engine.errors import SettingsError
from site_engine.monitoring.owners import ProvisionerObserver
from site_engine.node_lists import NodeList, ObservedList
from site_engine.provisioners import DEFAULT_CONNECTION, ProvisionerConnection
from site_engine.redaction import redact_for_site
from site_engine.shared_lists import SHORT_PATIENCE, shared_by
from site_store import SiteStore
from slipway_api.http import airflow_access as access
from slipway_api.http.answers import LeftOut, answers
from slipway_api.http.api_errors import ApiError
from slipway_api.http.concurrency import answer_within
from slipway_api.http.dependencies import (
    DEFAULT_SITE,
    NAME_PATTERN,
    SiteName,
    blocking_router,
    open_store,
    provisioners,
)

router = blocking_router("sites")

PROVISION_STATUS = "nodes-provision-status"
POWER_STATE = "machines-power-state"
PATIENCE = 20.0
"""Seconds after which a provisioner that is checked counts as one that does not answer."""


class MachineStatus(BaseModel):
    """What the provisioner says of a machine."""

    hostname: str = Field(examples=["node-1"])
    status: str = Field(examples=["Deployed"])


class MachinePower(BaseModel):
    """Whether a machine is on, in the provisioner's words."""

    hostname: str
    power_state: str | None


class SiteStatuses(BaseModel):
    """Only what was asked for."""

    nodes_provision_status: list[MachineStatus] = Field(
        default_factory=list, examples=[[{"hostname": "node-1", "status": "Deployed"}]]
    )
    machines_powerstate: list[MachinePower] = Field(
        default_factory=list, examples=[[{"hostname": "node-1", "power_state": "on"}]]
    )


class Provisioner(BaseModel):
    """That the provisioner can be used."""

    message: str = Field(examples=["Drydock at http://drydock:9000 answers (API v1.0) and accepts the credentials."])


@router.get(
    "/provisioner",
    dependencies=[access.may_read],
    summary="Whether the site's provisioner can be used",
    responses=answers(Provisioner),
)
def provisioner_check(site: SiteName = DEFAULT_SITE) -> JSONResponse:
    """Find out whether the site's provisioner answers and accepts the credentials. It leaves no trace there."""
    store = open_store()
    connection = provisioners().for_site(site).hurried
    provisioner = client_of(store, site, connection)

    def work() -> str:
        with closing(provisioner):
            return provisioner.check()

    try:
        return JSONResponse({"message": answer_within(PATIENCE, "provisioner-check", work)})
    except TimeoutError:
        said = f"{connection.backend} has not answered for {PATIENCE:g} s (connection {connection.id!r})"
        raise ProvisionerUnavailable(said, timed_out=True) from None


@router.get(
    "/site_statuses",
    dependencies=[access.may_read],
    summary="What the provisioner says of the machines",
    responses=answers(SiteStatuses),
)
def site_statuses(
    filters: Annotated[
        list[str] | None,
        Query(
            description=f"Which statuses, separated by commas: `{PROVISION_STATUS}`, `{POWER_STATE}`; all by default.",
            examples=[PROVISION_STATUS],
        ),
    ] = None,
    site: SiteName = DEFAULT_SITE,
) -> JSONResponse:
    """Ask the site's provisioner for its list of machines, now. The list is kept for dry runs and pages."""
    wanted = _wanted(filters or [])
    return JSONResponse(statuses(read_list(open_store(), site).nodes, wanted))


def read_list(store: SiteStore, site: str) -> NodeList:
    """Return what the site's provisioner says of its nodes now; the list is kept.

    Raises `ProvisionerError`, `SettingsError` or `ConnectionLookupFailed`: it cannot be asked.
    """
    connection = provisioners().for_site(site)
    with closing(client_of(store, site, connection, shared_by(store, patience=SHORT_PATIENCE))) as provisioner:
        listed = node_lists.read_list(store, site, connection.id, provisioner)
    return NodeList(listed, store.now(), connection.id)


def client_of(
    store: SiteStore, site: str, connection: ProvisionerConnection, shared: Shared | None = None
) -> RedactingProvisioner:
    """Return a client of a site's provisioner, for one thread and one request, which closes it."""
    observer = ProvisionerObserver(store, connection)
    return connection.connect(redact_for_site(store, site), observer=observer, shared=shared)


def observe_list(store: SiteStore, site: str, cursor: str | None, since: datetime | None = None) -> ObservedList:
    """Ask the site's provisioner what has changed in its list since a look, and keep the list. Raises as `read_list`.

    Parameters
    ----------
    cursor : of the last look; None: the whole list is read.
    since : a list serves that was asked for after this time of the database.  [now]
    """
    connection = provisioners().for_site(site)
    asked = store.now() if since is None else min(since, store.now())
    with closing(client_of(store, site, connection, shared_by(store, asked, SHORT_PATIENCE))) as provisioner:
        return node_lists.observe_list(store, site, connection.id, provisioner, cursor, asked)


def statuses(nodes: Mapping[str, ListedNode], wanted: frozenset[str]) -> dict[str, Any]:
    """Return the wanted statuses of the provisioner's nodes, by name, in Shipyard's shape."""
    ordered = [nodes[name] for name in sorted(nodes)]
    answer: dict[str, Any] = {}
    if PROVISION_STATUS in wanted:
        answer["nodes_provision_status"] = [{"hostname": node.name, "status": node.status_name} for node in ordered]
    if POWER_STATE in wanted:
        answer["machines_powerstate"] = [{"hostname": node.name, "power_state": node.power_state} for node in ordered]
    return answer


def _wanted(filters: list[str]) -> frozenset[str]:
    known = frozenset({PROVISION_STATUS, POWER_STATE})
    given = frozenset(part.strip() for text in filters for part in text.split(",") if part.strip())
    if unknown := sorted(given - known):
        names = ", ".join(repr(name) for name in unknown)
        raise ApiError(400, f"there is no filter {names}: use {PROVISION_STATUS} and {POWER_STATE}", "Bad Request")
    return given or known


_TYPE = "maas"
_LONGEST_ID = 250
_MOST_NAMED = 10


class ImportedFile(BaseModel):
    """A file of documents."""

    name: str = Field(examples=["nodes.yaml"])
    text: str = Field(examples=["---\nschema: slipway/Node/v1\nmetadata: {name: n1}\ndata: {rack: rack01}\n"])


class Imported(BaseModel):
    """Documents made from machines."""

    connection: str = Field(examples=["slipway_provisioner"])
    machines: int = Field(examples=[40], description="How many there are documents for.")
    files: list[ImportedFile]
    left_out: list[LeftOut] = Field(examples=[[{"name": "n2", "reason": "alice owns it"}]])


ConnectionId = Annotated[
    str,
    Query(
        pattern=NAME_PATTERN,
        max_length=_LONGEST_ID,
        description="The Airflow connection of a provisioner: the one for all sites, or that of one site.",
        examples=[DEFAULT_CONNECTION],
    ),
]


@router.get(
    "/imports/maas",
    dependencies=[access.may_commit],
    summary="Documents from what MAAS has",
    responses=answers(Imported),
)
def import_from_maas(connection: ConnectionId = DEFAULT_CONNECTION) -> JSONResponse:
    """Ask MAAS for the machines of a connection, and write documents that describe them; nothing is stored.

    Only what the connection's pool or tag allows is looked at. The documents hold no secret.
    """
    values = _maas_connection(connection)
    hide = without(secrets_of(values), nothing_is_secret)
    try:
        client = connect_maas(values, hide)
    except ValueError as error:
        raise SettingsError(f"connection {connection!r}: {error}") from error
    with closing(client) as maas:
        # What is wrong with a connection is said more clearly than a list of machines says it.
        maas.check()
        found = maas.inventory()
        limits = maas.limits
    if not found.machines:
        raise ApiError(404, hide(_nothing(connection, limits, found.left_out)), "Not Found")
    site = connection.removeprefix(DEFAULT_CONNECTION).removeprefix("_") or "site"
    files = imported_files(site, found.machines)
    return JSONResponse(
        {
            "connection": connection,
            "machines": len(found.machines),
            "files": [{"name": name, "text": hide(text)} for name, text in files.items()],
            "left_out": [{"name": hide(name), "reason": hide(reason)} for name, reason in found.left_out.items()],
        }
    )


def _nothing(connection: str, limits: str, left_out: Mapping[str, str]) -> str:
    """Say that there is nothing to write documents of, and why."""
    if not left_out:
        return f"MAAS has no machine in {limits}, which is what the connection {connection!r} leads to"
    named = "; ".join(f"{name}: {why}" for name, why in [*left_out.items()][:_MOST_NAMED])
    more = f"; and {len(left_out) - _MOST_NAMED} more" if len(left_out) > _MOST_NAMED else ""
    return f"none of the machines in {limits} can be a node: {named}{more}"


def _maas_connection(name: str) -> ConnectionValues:
    """Return a connection to MAAS. Other connections of Airflow are none of Slipway's business.

    Raises `ApiError` 400: it is none of a provisioner's, or leads to another; 404: there is none.
    """
    if name != DEFAULT_CONNECTION and not name.startswith(f"{DEFAULT_CONNECTION}_"):
        right = f"name {DEFAULT_CONNECTION}, or that of one site, {DEFAULT_CONNECTION}_SITE"
        raise ApiError(400, f"{name!r} is no connection of a provisioner: {right}", "Bad Request")
    values = provisioners().find(name)
    if values is None:
        raise ApiError(404, f"there is no Airflow connection {name!r}: create one of the type MAAS", "Not Found")
    if values.type != _TYPE:
        kind = values.type or "no type"
        raise ApiError(404, f"the connection {name!r} is of the type {kind!r}, and leads to no MAAS", "Not Found")
    return values
