"""Reporters: programs of others that add leaves of their own to a site's trees, with a token for nothing else."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Annotated, Any

from fastapi import Depends, Path
from fastapi.responses import JSONResponse
from fastapi.security import HTTPAuthorizationCredentials
from pydantic import BaseModel, Field

from site_engine.trees.reported_leaves import find_misplaced
from site_store import NewLeaf
from slipway_api.http import airflow_access as access
from slipway_api.http.answers import EXAMPLE_ID, Moment, answers, errors, shown
from slipway_api.http.api_errors import ApiError
from slipway_api.http.bodies import JsonObject, json_body_of
from slipway_api.http.dependencies import IfMatch, SitePath, Store, blocking_router, etag_headers, require_match
from strategy_lib.did_you_mean import did_you_mean
from strategy_lib.status.words import Status

router = blocking_router("reporters")
reported_router = blocking_router("reporters")
"""What a reporter's own token is for: it is none of Airflow's."""

_LONGEST_TEXT = 2000
_LONGEST_INTERVAL = 7 * 86400.0
_INTERVAL = 120.0
_MOST_AT_ONCE = 10_000


class Reporter(BaseModel):
    """A reporter; its token is not shown."""

    id: str = Field(examples=[EXAMPLE_ID])
    site: str = Field(examples=["default"])
    owner: str = Field(examples=["reporter:burn-in"])
    created: Moment
    created_by: str = Field(examples=["admin"])
    revoked: Moment | None = Field(examples=[None])
    last_used: Moment | None = Field(examples=[None])


class MadeReporter(Reporter):
    """A reporter that was just made, with its token, which is shown this once."""

    token: str = Field(examples=["a-long-random-text"])


class ReporterBody(BaseModel):
    """Whom the reporter speaks for."""

    owner: str = Field(examples=["burn-in"])


class ReportedLeaf(BaseModel):
    """A leaf below the entry at the path `parent`, such as `control` of a site, `deploy_group/control` of an action."""

    parent: str = Field(examples=["control"])
    name: str = Field(examples=["burn-in of rack r1"])
    status: Status
    message: str | None = Field(default=None, examples=["12 of 40 nodes done"])
    revision: int | None = Field(default=None, examples=[3])


class GoneLeaf(BaseModel):
    """A leaf that is not there any more."""

    parent: str
    name: str


class ReportedBody(BaseModel):
    """What a reporter says; leaves that it does not name stay as they are."""

    action_id: str | None = Field(default=None, description="Below which action; without one, the site itself.")
    interval: float = Field(default=_INTERVAL, examples=[60.0], description="Seconds that the reporter is alive now.")
    leaves: list[ReportedLeaf]
    gone: list[GoneLeaf] = Field(default_factory=list)


class Reported(BaseModel):
    """That it was written."""

    owner: str = Field(examples=["reporter:burn-in"])
    leaves: int = Field(examples=[1])


ReporterId = Annotated[str, Path(max_length=64, description="Its id.", examples=[EXAMPLE_ID])]


@router.get(
    "/sites/{site}/reporters",
    dependencies=[access.may_control],
    summary="The reporters of a site",
    responses=answers(list[Reporter]),
)
def get_reporters(site: SitePath, store: Store) -> JSONResponse:
    """Return the reporters of a site, revoked ones too, oldest first."""
    # The version first: a write in between makes it an old one, which is refused.
    headers = etag_headers(store.reporters.version(site))
    return JSONResponse([shown(Reporter, one) for one in store.reporters.of_site(site)], headers=headers)


@router.post(
    "/sites/{site}/reporters",
    status_code=201,
    dependencies=[access.may_control],
    summary="Make a reporter",
    openapi_extra=json_body_of(ReporterBody),
    responses=answers(MadeReporter, 201),
)
def post_reporter(
    site: SitePath, body: JsonObject, store: Store, caller: access.CallerDep, if_match: IfMatch = None
) -> JSONResponse:
    """Make a reporter of a site, and return its token: this once, only a digest of it is kept.

    `If-Match` is the `ETag` of the list of reporters.
    """
    owner = body.get("owner")
    if not isinstance(owner, str) or not owner.strip() or len(owner) > 200:
        raise ApiError(400, "owner must say whom the reporter speaks for, in at most 200 characters", "Bad Request")
    version = _seen(store, site, if_match)
    made = store.reporters.create(site, owner.strip().removeprefix("reporter:"), caller.name, version)
    headers = {"Cache-Control": "no-store", **etag_headers(store.reporters.version(site))}
    return JSONResponse({**shown(Reporter, made.record), "token": made.token}, 201, headers=headers)


@router.delete(
    "/sites/{site}/reporters/{reporter_id}",
    dependencies=[access.may_control],
    summary="Revoke a reporter",
    responses=answers(Reporter),
)
def delete_reporter(site: SitePath, reporter_id: ReporterId, store: Store, if_match: IfMatch = None) -> JSONResponse:
    """Have a reporter's token open nothing any more. What it reported stays.

    `If-Match` is the `ETag` of the list of reporters.
    """
    revoked = store.reporters.revoke(site, reporter_id, _seen(store, site, if_match))
    return JSONResponse(shown(Reporter, revoked), headers=etag_headers(store.reporters.version(site)))


def _seen(store: Store, site: str, if_match: str | None) -> int | None:
    """Return the version that the list of reporters is to keep; None without a condition."""
    return require_match(if_match, lambda: store.reporters.version(site), f"the list of reporters of site {site}")


def reporter_token(
    store: Store, credentials: Annotated[HTTPAuthorizationCredentials | None, Depends(access.bearer)]
) -> str:
    """Return the token of a reporter. Raises `ApiError` 401: there is none, or it opens nothing (any more)."""
    if credentials is None or store.reporters.of_token(credentials.credentials) is None:
        text = "send the token of a reporter, as `slipway create reporter` gave it; to log in does not help"
        raise ApiError(401, text, headers={"WWW-Authenticate": "Bearer"})
    return credentials.credentials


@reported_router.put(
    "/sites/{site}/reported",
    summary="What a reporter says",
    openapi_extra=json_body_of(ReportedBody),
    responses={**answers(Reported), **errors(429)},
)
def put_reported(
    token: Annotated[str, Depends(reporter_token)], site: SitePath, body: JsonObject, store: Store
) -> JSONResponse:
    """Write leaves of the reporter that the token is of, below existing entries of a tree of its site.

    They roll up. They never count for criteria or outcomes. At most one request a second (429).
    """
    _require_known(body, ReportedBody, "")
    action_id = body.get("action_id") or ""
    leaves, gone = _leaves(body), _gone(body)
    interval = body.get("interval", _INTERVAL)
    if not isinstance(interval, int | float) or not 1 <= interval <= _LONGEST_INTERVAL or math.isnan(interval):
        raise ApiError(400, f"interval must be seconds from 1 to {_LONGEST_INTERVAL:.0f}", "Bad Request")
    if not isinstance(action_id, str):
        raise ApiError(400, "action_id must be the id of an action", "Bad Request")
    # Before anything large is read: what is refused counts too.
    own = store.reporters.admit(token, site)
    if action_id and store.actions.get(action_id).site != site:
        raise ApiError(403, f"action {action_id} is not one of site {site}")
    places = {(leaf.parent, leaf.name) for leaf in leaves}
    other = store.reporters.foreign(site, action_id, own.owner, places | set(gone))
    if other is not None:
        raise ApiError(403, f"the leaf {other.name[:200]!r} is of {other.owner}, and not of {own.owner}")
    missing, taken = find_misplaced(store, site, action_id, places)
    if missing:
        raise ApiError(404, f"the tree has no entry {missing[0][:200]!r} below which a leaf could stand")
    if taken:
        raise ApiError(403, f"{taken[0][1][:200]!r} is an entry of the tree itself, and of no reporter")
    known = store.reporters.report(token, site, leaves, action_id, interval=float(interval), gone=gone)
    return JSONResponse({"owner": known.owner, "leaves": len(leaves)})


def _leaves(body: Mapping[str, Any]) -> list[NewLeaf]:
    given = body.get("leaves")
    if not isinstance(given, list) or len(given) > _MOST_AT_ONCE:
        raise ApiError(400, f"leaves must be a list of at most {_MOST_AT_ONCE}", "Bad Request")
    found = []
    for place, leaf in enumerate(given):
        where = f"leaves[{place}]"
        parent, name = _place(leaf, where)
        _require_known(leaf, ReportedLeaf, f"{where}.")
        status, message, revision = leaf.get("status"), leaf.get("message"), leaf.get("revision")
        if status not in tuple(Status):
            raise ApiError(400, f"{where}.status must be one of {', '.join(Status)}", "Bad Request")
        if message is not None and (not isinstance(message, str) or len(message) > _LONGEST_TEXT):
            raise ApiError(400, f"{where}.message must be a text of at most {_LONGEST_TEXT} characters", "Bad Request")
        if revision is not None and (isinstance(revision, bool) or not isinstance(revision, int)):
            raise ApiError(400, f"{where}.revision must be a number", "Bad Request")
        if revision is not None and not 0 <= revision < 2**31:
            raise ApiError(400, f"{where}.revision must be the number of a revision", "Bad Request")
        found.append(NewLeaf(parent, name, status, message, revision))
    return found


def _gone(body: Mapping[str, Any]) -> list[tuple[str, str]]:
    given = body.get("gone") or []
    if not isinstance(given, list) or len(given) > _MOST_AT_ONCE:
        raise ApiError(400, f"gone must be a list of at most {_MOST_AT_ONCE}", "Bad Request")
    return [_place(leaf, f"gone[{place}]") for place, leaf in enumerate(given)]


def _require_known(given: Mapping[str, Any], fields: type[BaseModel], where: str) -> None:
    """Refuse (400) what is no field: its writer means something by it."""
    known = list(fields.model_fields)
    for name in given:
        if name not in known:
            hint = did_you_mean(name, known, f"its fields are {', '.join(known)}")
            raise ApiError(400, f"{where}{name[:80]} is no field; {hint}", "Bad Request")


def _place(leaf: Any, where: str) -> tuple[str, str]:
    if not isinstance(leaf, Mapping):
        raise ApiError(400, f"{where} must be an object", "Bad Request")
    parent, name = leaf.get("parent"), leaf.get("name")
    if not isinstance(parent, str) or len(parent) > _LONGEST_TEXT:
        raise ApiError(400, f"{where}.parent must be the path of an entry", "Bad Request")
    if not isinstance(name, str) or not 0 < len(name) <= 200 or "/" in name:
        raise ApiError(400, f"{where}.name must be a name of at most 200 characters without a slash", "Bad Request")
    return parent.strip("/"), name
