"""A minimal Keystone v3: Airship's clients fetch their token here, and learn where the API is. No token is needed.

The token is Airflow's own. Domains and projects are accepted and mean nothing. ``SLIPWAY_KEYSTONE=off`` switches it
off.
"""

from __future__ import annotations

import base64
import contextlib
import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Request
from fastapi.responses import JSONResponse
from fastapi.security import HTTPAuthorizationCredentials
from pydantic import BaseModel, Field

from api_client.airflow import AirflowClient
from site_engine.errors import AirflowRefused
from slipway_api.http.airflow_access import airflow_base_url, caller, own_airflow
from slipway_api.http.answers import answers, keystone_errors
from slipway_api.http.api_errors import ApiError, EscapedJson
from slipway_api.http.bodies import JsonObject, json_body_of
from slipway_api.http.concurrency import BlockingRoute
from slipway_api.keystone import wrong_passwords
from slipway_api.keystone.wrong_passwords import PROOF, address_of, proof_of
from strategy_lib.settings import SLIPWAY_KEYSTONE

_INTERFACES = ("public", "internal", "admin")
_DOMAIN = {"id": "default", "name": "Default"}


def _switched_on() -> None:
    if not SLIPWAY_KEYSTONE.read(os.environ):
        raise ApiError(404, "the Keystone face is switched off here: log in at Airflow, with POST /auth/token")


router = APIRouter(
    prefix="/v3",
    tags=["keystone"],
    route_class=BlockingRoute,
    dependencies=[Depends(_switched_on)],
    responses=keystone_errors(404),
)

_PASSWORD = {"user": {"name": "admin", "domain": {"name": "default"}, "password": "…"}}
_SCOPE = {"project": {"name": "service", "domain": {"name": "default"}}}
_TOKEN = {
    "methods": ["password"],
    "expires_at": "2026-01-01T00:00:00.000000Z",
    "user": {"id": "admin", "name": "admin", "domain": _DOMAIN},
    "catalog": [{"type": "shipyard", "name": "shipyard", "endpoints": [{"interface": "public", "url": "http://…"}]}],
}


class VersionBody(BaseModel):
    """Keystone's version document."""

    version: dict[str, Any] = Field(examples=[{"id": "v3.14", "status": "stable"}])


class LoginBody(BaseModel):
    """Keystone's request, by the method `password` or `token`."""

    auth: dict[str, Any] = Field(
        examples=[{"identity": {"methods": ["password"], "password": _PASSWORD}, "scope": _SCOPE}]
    )


class TokenBody(BaseModel):
    """A token, without its secret: that is in the header `X-Subject-Token`."""

    token: dict[str, Any] = Field(examples=[_TOKEN])


@dataclass(frozen=True, slots=True)
class _Login:
    """Who was found to be logging in, how, and with which token of Airflow's."""

    method: str
    user: str
    token: str


@router.get(
    "",
    summary="Keystone's version document",
    responses=answers(VersionBody),
)
async def version(request: Request) -> JSONResponse:
    """Say that this is Keystone v3, to clients that look before they log in."""
    links = [{"rel": "self", "href": f"{_slipway_url(request)}/v3"}]
    media = [{"base": "application/json", "type": "application/vnd.openstack.identity-v3+json"}]
    return JSONResponse({"version": {"id": "v3.14", "status": "stable", "links": links, "media-types": media}})


def _outgoing() -> Iterator[AirflowClient]:
    # As nobody: the login says who it is.
    with contextlib.closing(own_airflow(None)) as calls:
        yield calls


async def _login_by_token(request: Request, body: JsonObject) -> _Login | None:
    """Return the login by a token that the caller has already, checked; None when the method is another."""
    identity = _part(_part(body, "auth"), "identity")
    if "token" not in _methods(identity):
        return None
    token = _text(_part(identity, "token"), "id")
    known = await caller(request, HTTPAuthorizationCredentials(scheme="Bearer", credentials=token))
    return _Login("token", known.name, token)


@router.post(
    "/auth/tokens",
    status_code=201,
    openapi_extra=json_body_of(LoginBody),
    summary="A token for a user, and where the API is",
    responses={**answers(TokenBody, 201), **keystone_errors(400, 401, 413, 429, 500, 501, 503)},
)
def authenticate(
    request: Request,
    body: JsonObject,
    by_token: Annotated[_Login | None, Depends(_login_by_token)],
    airflow: Annotated[AirflowClient, Depends(_outgoing)],
) -> JSONResponse:
    """Exchange user and password for Airflow's token, in ``X-Subject-Token``; or describe a token."""
    login = by_token or _login_by_password(airflow, body, address_of(request.scope))
    begin, end = _lifetime(login.token)
    token: dict[str, Any] = {
        "methods": [login.method],
        "issued_at": _keystone_time(begin),
        "expires_at": _keystone_time(end),
        "user": {"id": login.user, "name": login.user, "domain": _DOMAIN},
        "project": _project(body),
        "is_domain": False,
        "roles": [],
        "audit_ids": [],
    }
    if "nocatalog" not in request.query_params:
        url = f"{_slipway_url(request)}/api/v1.0"
        endpoints = [
            {"id": f"shipyard-{of}", "interface": of, "region": "default", "region_id": "default", "url": url}
            for of in _INTERFACES
        ]
        token["catalog"] = [{"id": "shipyard", "type": "shipyard", "name": "shipyard", "endpoints": endpoints}]
    # Escaped: the project is what the caller sent, and that may hold half a character.
    return EscapedJson({"token": token}, 201, headers={"X-Subject-Token": login.token, "Vary": "X-Auth-Token"})


def _login_by_password(airflow: AirflowClient, body: Mapping[str, Any], address: str) -> _Login:
    identity = _part(_part(body, "auth"), "identity")
    if "password" not in _methods(identity):
        raise ApiError(400, "auth.identity.methods must name 'password' or 'token'")
    user = _part(_part(identity, "password"), "user")
    name = _text(user, "name" if "name" in user else "id")
    password = _text(user, "password")
    with wrong_passwords.REMEMBERED.attempt(address, name) as attempt:
        try:
            token = airflow.log_in(name, password, {PROOF: proof_of(name, password)})
        except AirflowRefused as refused:
            if refused.status in (400, 401, 403, 422):
                attempt.wrong = True
                raise ApiError(401, "Airflow does not accept this user and password") from None
            raise
        attempt.right = True
    return _Login("password", name, token)


def _methods(identity: Mapping[str, Any]) -> list[Any]:
    methods = identity.get("methods")
    return methods if isinstance(methods, list) else []


def _part(body: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    part = body.get(key)
    if not isinstance(part, Mapping):
        raise ApiError(400, f"the body has no object {key!r} where Keystone's requests have one")
    return part


def _text(part: Mapping[str, Any], key: str) -> str:
    text = part.get(key)
    # An escape in JSON may name half a character, which cannot be sent on.
    if not isinstance(text, str) or not text or not text.isprintable():
        raise ApiError(400, f"the body has no text {key!r} where Keystone's requests have one")
    return text


def _project(body: Mapping[str, Any]) -> dict[str, Any]:
    """Return the project that the caller asked for: it means nothing here, and clients expect it back."""
    scope = body["auth"].get("scope")
    project = scope.get("project") if isinstance(scope, Mapping) else None
    given = project.get("name") if isinstance(project, Mapping) else None
    name = given if isinstance(given, str) else "service"
    return {"id": name, "name": name, "domain": _DOMAIN}


def _lifetime(token: str) -> tuple[datetime, datetime]:
    """Return when a token of Airflow's begins and ends, as it says itself.

    Raises `ApiError` 501: the auth manager's tokens do not say it, and Keystone's clients insist on knowing.
    """
    try:
        payload = token.split(".")[1]
        claims = json.loads(base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))
        return datetime.fromtimestamp(claims["iat"], UTC), datetime.fromtimestamp(claims["exp"], UTC)
    except (LookupError, TypeError, ValueError, OverflowError):
        raise ApiError(501, "the token of Airflow's auth manager does not say when it expires") from None


def _keystone_time(at: datetime) -> str:
    return at.strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def _slipway_url(request: Request) -> str:
    """Return where clients reach Slipway: as Airflow's ``[api] base_url`` says, else as they reached it now."""
    base = airflow_base_url()
    return f"{base.rstrip('/')}/slipway" if base else str(request.base_url).rstrip("/")
