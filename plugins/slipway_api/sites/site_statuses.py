"""Whether a site's provisioner can be used, and what it says of the machines: Shipyard's site statuses."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import closing
from datetime import datetime
from typing import Annotated, Any

from fastapi import Query
from fastapi.responses import JSONResponse
from pydantic import BaseModel, Field

from provisioner_client.errors import ProvisionerUnavailable
from provisioner_client.protocol import ListedNode
from provisioner_client.redacting import RedactingProvisioner
from provisioner_client.shared_lists import Shared
from site_engine import node_lists
from site_engine.monitoring.owners import ProvisionerObserver
from site_engine.node_lists import NodeList, ObservedList
from site_engine.provisioners import ProvisionerConnection
from site_engine.redaction import redact_for_site
from site_engine.shared_lists import SHORT_PATIENCE, shared_by
from site_store import SiteStore
from slipway_api.http import airflow_access as access
from slipway_api.http.answers import answers
from slipway_api.http.api_errors import ApiError
from slipway_api.http.concurrency import answer_within
from slipway_api.http.dependencies import (
    DEFAULT_SITE,
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
