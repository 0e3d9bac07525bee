"""Documents for a site, made from what a provisioner has: what `slipway import` writes into files."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import closing
from enum import StrEnum
from typing import Annotated

from fastapi import Query
from fastapi.responses import JSONResponse
from pydantic import BaseModel, Field

from design_rendering.kinds.imported_site import imported_files
from design_rendering.kinds.provisioner_kinds import PROVISIONERS
from provisioner_client.connection import ConnectionValues, secrets_of
from provisioner_client.factory import IMPORTED
from provisioner_client.redacting import nothing_is_secret, without
from site_engine.errors import SettingsError
from site_engine.provisioners import DEFAULT_CONNECTION
from slipway_api.http import airflow_access as access
from slipway_api.http.answers import LeftOut, answers
from slipway_api.http.api_errors import ApiError
from slipway_api.http.dependencies import NAME_PATTERN, blocking_router, provisioners

router = blocking_router("sites")

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


class Imports(StrEnum):
    """Whose machines documents can be made from."""

    MAAS = "maas"
    IRONIC = "ironic"


@router.get(
    "/imports/{provisioner}",
    dependencies=[access.may_commit],
    summary="Documents from what a provisioner has",
    responses=answers(Imported),
)
def import_from(provisioner: Imports, connection: ConnectionId = DEFAULT_CONNECTION) -> JSONResponse:
    """Ask a provisioner for the machines of a connection, and write documents that describe them; nothing is stored.

    Only what the connection's limits allow is looked at. The documents hold no secret.
    """
    values = _connection(connection, provisioner)
    hide = without(secrets_of(values), nothing_is_secret)
    try:
        client = IMPORTED[provisioner](values, hide, None)
    except ValueError as error:
        raise SettingsError(f"connection {connection!r}: {error}") from error
    with closing(client) as backend:
        # What is wrong with a connection is said more clearly than a list of machines says it.
        backend.check()
        found = backend.inventory()
        limits = backend.limits
    if not found.machines:
        name = PROVISIONERS[provisioner]
        raise ApiError(404, hide(_nothing(name, connection, limits, found.left_out)), "Not Found")
    site = connection.removeprefix(DEFAULT_CONNECTION).removeprefix("_") or "site"
    files = imported_files(site, found.machines, provisioner.value, found.notes)
    return JSONResponse(
        {
            "connection": connection,
            "machines": len(found.machines),
            "files": [{"name": name, "text": hide(text)} for name, text in files.items()],
            "left_out": [{"name": hide(name), "reason": hide(reason)} for name, reason in found.left_out.items()],
        }
    )


def _nothing(provisioner: str, connection: str, limits: str, left_out: Mapping[str, str]) -> str:
    """Say that there is nothing to write documents of, and why."""
    if not left_out:
        return f"{provisioner} has no machine in {limits}, which is what the connection {connection!r} leads to"
    named = "; ".join(f"{name}: {why}" for name, why in [*left_out.items()][:_MOST_NAMED])
    more = f"; and {len(left_out) - _MOST_NAMED} more" if len(left_out) > _MOST_NAMED else ""
    return f"none of the machines in {limits} can be a node: {named}{more}"


def _connection(name: str, provisioner: Imports) -> ConnectionValues:
    """Return a connection to a provisioner. Other connections of Airflow are none of Slipway's business.

    Raises `ApiError` 400: it is none of a provisioner's, or leads to another; 404: there is none.
    """
    called = PROVISIONERS[provisioner]
    if name != DEFAULT_CONNECTION and not name.startswith(f"{DEFAULT_CONNECTION}_"):
        right = f"name {DEFAULT_CONNECTION}, or that of one site, {DEFAULT_CONNECTION}_SITE"
        raise ApiError(400, f"{name!r} is no connection of a provisioner: {right}", "Bad Request")
    values = provisioners().find(name)
    if values is None:
        raise ApiError(404, f"there is no Airflow connection {name!r}: create one of the type {called}", "Not Found")
    if values.type != provisioner:
        kind = values.type or "no type"
        raise ApiError(404, f"the connection {name!r} is of the type {kind!r}, and leads to no {called}", "Not Found")
    return values
