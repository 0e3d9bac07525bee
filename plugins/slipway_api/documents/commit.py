"""Make a revision: of what is in the buffer, or of an earlier revision. Both are judged first, in the same way."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import Path, Query
from fastapi.responses import JSONResponse
from pydantic import BaseModel, Field

from site_engine.admission import skipped_commits
from site_engine.plans.plan import FIRST, NextStep, next_step
from site_engine.plans.planning import committed_groups, racks_of
from site_engine.plans.site_plans import plan_site
from site_engine.wishes import refuse_running_action
from site_store import BufferChanged, NewRevision, RevisionRecord, SiteStore, Version
from slipway_api.documents.revisions import LARGEST_NUMBER, Digest
from slipway_api.documents.validation import READ_ONCE, Validated, validate
from slipway_api.documents.versions import BUFFER, changed_meanwhile
from slipway_api.http import airflow_access as access
from slipway_api.http.answers import EXAMPLE_ID, Responses, answers
from slipway_api.http.api_errors import ApiError, ErrorBody, StatusBody, code_text, status
from slipway_api.http.dependencies import (
    DEFAULT_SITE,
    IfMatch,
    SiteName,
    Store,
    blocking_router,
    etag_headers,
    require_match,
)
from strategy_lib.garbage import garbage_put_off

log = logging.getLogger(__name__)
router = blocking_router("configdocs")


class ShownNextStep(BaseModel):
    """The action that brings the newest revision about, with all that it has to be told."""

    name: str = Field(examples=["update_site"])
    parameters: dict[str, bool] = Field(examples=[{"allow_redeploy": True}])
    why: str = Field(examples=["3 nodes are deployed otherwise than wanted, and left alone without allow_redeploy"])


class Judged(StatusBody):
    """Documents were judged, and not committed."""

    retry: bool = Field(examples=[False])


class Committed(Judged):
    """Documents were judged, and are a revision unless it was a dry run."""

    site: str = Field(default_factory=str, examples=["default"])
    revision: int = Field(default_factory=int, examples=[3])
    digest: Digest = Field(default_factory=str)
    forced: bool = Field(default_factory=bool, examples=[False])
    rollback_of: int | None = Field(default_factory=int, examples=[None])
    deployable: bool = Field(default_factory=bool, examples=[True])
    intermediate_commits: list[int] = Field(default_factory=list, examples=[[2]])
    next: ShownNextStep | None = None


_NOT_VALID: Responses = {
    400: {"model": ErrorBody | Judged, "description": "The request is wrong, or the documents are: all that is."}
}

Force = Annotated[bool, Query(description="Commit in spite of errors; who did it and what was overridden is recorded.")]
DryRun = Annotated[bool, Query(description="Only judge; nothing is committed, also not with `force`.")]

CausedBy = Annotated[
    str | None,
    Query(
        alias="caused-by",
        description="The action on whose behalf this is asked; a running one is refused.",
        examples=[EXAMPLE_ID],
        max_length=64,
    ),
]


@router.post(
    "/commitconfigdocs",
    dependencies=[access.may_commit],
    summary="Commit the buffer",
    responses={**answers(Committed), **_NOT_VALID},
)
def commit_configdocs(
    store: Store,
    user: access.UserName,
    site: SiteName = DEFAULT_SITE,
    force: Force = False,
    dryrun: DryRun = False,
    if_match: IfMatch = None,
    caused_by: CausedBy = None,
) -> JSONResponse:
    """Judge what is in the buffer, and make it the site's next revision.

    With errors the answer is 400 with all of them, and nothing is stored; a dry run answers 200 whatever it finds, and
    has `status` say what it was.
    """
    refuse_running_action(store, caused_by)
    buffer, collections = store.buffers.preview(site)
    require_match(if_match, lambda: buffer.version, BUFFER)
    if buffer.is_empty:
        raise ApiError(
            409,
            f"the buffer of site {site} is empty, there is nothing to commit: put a collection into it first",
            "No documents to commit",
            retry=True,
            headers=etag_headers(buffer.version),
        )
    texts = {record.name: record.text for record in collections}
    return _Making(store, site, user, buffer.version, if_match).answer(texts, force=force, dryrun=dryrun)


@router.post(
    "/revisions/{number}/rollback",
    status_code=201,
    dependencies=[access.may_commit],
    summary="Go back to an earlier revision",
    responses={**answers(Committed, 201), **answers(Committed), **_NOT_VALID},
)
def roll_back(
    number: Annotated[int, Path(ge=1, le=LARGEST_NUMBER, description="The revision to go back to.")],
    store: Store,
    user: access.UserName,
    site: SiteName = DEFAULT_SITE,
    force: Force = False,
    dryrun: DryRun = False,
    if_match: IfMatch = None,
    caused_by: CausedBy = None,
) -> JSONResponse:
    """Make a new revision with the collections of an earlier one; it is judged as a commit is.

    The buffer must be empty. Nothing is deployed by this.
    """
    refuse_running_action(store, caused_by)
    texts = {record.name: record.text for record in store.sites.collections(site, number)}
    buffer, newest = store.buffers.preview(site)
    require_match(if_match, lambda: buffer.version, BUFFER)
    if not buffer.is_empty:
        held = ", ".join(sorted(buffer.posted))
        raise ApiError(
            409,
            f"the buffer of site {site} holds {held}: commit it or discard it before going back",
            "Buffer Not Empty",
            headers=etag_headers(buffer.version),
        )
    if texts == {record.name: record.text for record in newest}:
        raise ApiError(409, f"revision {number} is what site {site} has: there is nothing to go back to", "Unchanged")
    making = _Making(store, site, user, buffer.version, if_match)
    return making.answer(texts, force=force, dryrun=dryrun, rollback_of=number)


@dataclass(frozen=True, slots=True)
class _Making:
    """Making the site's next revision, while the buffer still is at the version that was looked at."""

    store: SiteStore
    site: str
    user: str
    version: int
    if_match: str | None

    def answer(
        self, texts: Mapping[str, str], *, force: bool, dryrun: bool, rollback_of: int | None = None
    ) -> JSONResponse:
        """Judge the collections and store them, unless it is a dry run or there are errors that nothing overrides."""
        with garbage_put_off():
            validated = validate(self.store, self.site, texts)
            if dryrun or (validated.errors and not force):
                code, addition = (200, " DRYRUN") if dryrun else (400, "")
                return JSONResponse(_body(validated, code, addition), code, headers=etag_headers(self.version))
            revision = self._stored(texts, validated, rollback_of)
        last = self.store.sites.version_number(self.site, Version.LAST_SITE_ACTION)
        step = self._next(validated, revision.number)
        code = 200 if rollback_of is None else 201
        # With what matters for an action on it: is it deployable, which commits it skips.
        body = _body(validated, code, " FORCED SUCCESS" if validated.errors else "") | {
            "status": "Success",
            "site": revision.site,
            "revision": revision.number,
            "digest": revision.digest,
            "forced": revision.forced,
            "rollback_of": revision.rollback_of,
            "deployable": validated.design is not None,
            "intermediate_commits": list(skipped_commits(last, revision.number)),
            "next": None if step is None else step.to_data(),
        }
        return JSONResponse(body, code, headers=etag_headers(self.version + 1))

    def _next(self, validated: Validated, revision: int) -> NextStep | None:
        """Return how the site goes on; None where no action can use the revision."""
        if validated.design is None:
            return None
        if revision == 1:
            return NextStep(FIRST)
        return next_step(plan_site(self.store, self.site, explained=0))

    def _stored(self, texts: Mapping[str, str], validated: Validated, rollback_of: int | None) -> RevisionRecord:
        overridden = [str(message["message"]) for message in validated.messages if message["error"]]
        try:
            revision = self.store.revisions.commit(
                NewRevision(
                    self.site,
                    texts,
                    validated.documents,
                    validated.text,
                    self.user,
                    forced=bool(overridden),
                    problems=overridden,
                    rollback_of=rollback_of,
                    hidden=validated.secrets,
                    digests=None if validated.design is None else validated.design.digests,
                    groups=None if validated.design is None else committed_groups(validated.design),
                    racks=None if validated.design is None else racks_of(validated.design),
                    objects=validated.objects,
                    notifications=None if validated.design is None else validated.design.notifications.to_data(),
                    settings=None if validated.design is None else validated.design.settings.to_data(),
                ),
                buffer_version=self.version,
            )
        except BufferChanged as error:
            raise changed_meanwhile(error, self.store, self.site, self.if_match) from error
        READ_ONCE.forget()
        if overridden:
            some = "; ".join(overridden[:10])
            log.warning("Revision %d of site %s was forced by %s: %s", revision.number, self.site, self.user, some)
        return revision


def _body(validated: Validated, code: int, addition: str) -> dict[str, Any]:
    """Return Shipyard's status body: its `status` is the verdict on the documents, its `code` that of the answer."""
    failed = validated.errors > 0
    message = "Validations failed" if failed else "Validations succeeded"
    body = status(validated.messages, code, message + addition)
    # What is not listed, because there is so much, is counted all the same.
    body["details"]["errorCount"] = validated.errors
    return {**body, "status": "Failure" if failed else "Success", "code": code_text(code), "retry": False}
