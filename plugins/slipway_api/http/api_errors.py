"""Errors as clients read them: Airship's bodies, and Keystone's below /v3."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any, Literal

from fastapi.responses import JSONResponse
from pydantic import BaseModel, Field
from starlette.types import Scope

from site_engine.errors import EngineError
from strategy_lib.errors import Problem

_API_VERSION = "v1.0"


class ApiError(EngineError):
    """A request is answered with an error.

    Parameters
    ----------
    status : the HTTP status, 400 or more.
    message : what is wrong, and what to do about it, in a sentence.
    reason : of which sort it is, in a word or two; the status's own words by default.
    messages : the details, each as `message_of` or `plain_message` gives it; the message itself by default.
    retry : whether the same request may succeed later.
    headers : further response headers.
    """

    def __init__(
        self,
        status: int,
        message: str,
        reason: str = "",
        messages: Sequence[Mapping[str, Any]] = (),
        *,
        retry: bool = False,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.reason = reason or HTTPStatus(status).phrase
        self.messages = [dict(item) for item in messages] or [plain_message(message)]
        self.retry = retry
        self.headers = dict(headers or {})


class EscapedJson(JSONResponse):
    """JSON in ASCII: an error may repeat what the caller sent, and not every text of Python's can be encoded."""

    def render(self, content: Any) -> bytes:
        return json.dumps(content, separators=(",", ":")).encode("ascii")


class DocumentName(BaseModel):
    """A document, by what its site knows it."""

    schema_: str = Field(alias="schema", examples=["shipyard/DeploymentStrategy/v1"])
    name: str = Field(examples=["deployment-strategy"])


class WorkingAction(BaseModel):
    """The action that a site is busy with."""

    id: str
    name: str
    state: str
    user: str


class StatesVersion(BaseModel):
    """A version of the published states of a site's nodes."""

    epoch: int = Field(ge=0, examples=[1763836800])
    version: int = Field(ge=0, examples=[7])


class Finding(BaseModel):
    """One thing that was found: Airship's validation message, and where it is."""

    message: str = Field(examples=["site:12: $.data.groups[1].selectors: group 'spare' matches no node"])
    error: bool = Field(examples=[False])
    name: str = Field(examples=["DocumentValidation"])
    documents: list[DocumentName]
    level: Literal["Error", "Warning", "Info"] = Field(examples=["Warning"])
    diagnostic: str = Field(examples=["$.data.groups[1].selectors, line 12"])
    source: str = Field(examples=["Slipway"])
    kind: Literal["ValidationMessage"]
    text: str = Field(default_factory=str, examples=["group 'spare' matches no node"])
    collection: str | None = Field(default_factory=str, examples=["site"])
    path: str = Field(default_factory=str, examples=["$.data.groups[1].selectors"])
    line: int | None = Field(default_factory=int, examples=[12])
    action: WorkingAction = Field(default_factory=lambda: WorkingAction.model_construct())
    site_state: StatesVersion = Field(default_factory=lambda: StatesVersion.model_construct())


class Findings(BaseModel):
    """All that was found."""

    errorCount: int = Field(examples=[0])  # noqa: N815 - Shipyard's names, here and below
    messageList: list[Finding]  # noqa: N815


class StatusBody(BaseModel):
    """Shipyard's status body, as `status` makes it."""

    kind: Literal["Status"]
    apiVersion: Literal["v1.0"]  # noqa: N815
    metadata: dict[str, str] = Field(examples=[{}])
    status: Literal["Success", "Failure"]
    message: str = Field(examples=["Validations succeeded"])
    reason: str = Field(examples=["Validation"])
    details: Findings
    code: str = Field(examples=["200 OK"])


class ErrorDetails(Findings):
    """All things that are wrong, at once."""

    errorType: str = Field(examples=["Not Found"])  # noqa: N815


class ErrorBody(BaseModel):
    """The body of every error: it is Shipyard's."""

    kind: str = "status"
    apiVersion: str = _API_VERSION  # noqa: N815
    metadata: dict[str, str] = Field(default_factory=dict)
    status: str = "Failure"
    message: str = Field(examples=["there is no action '01ARZ3NDEKTSV4RRFFQ69G5FAV'"])
    reason: str = Field(examples=["Not Found"])
    details: ErrorDetails
    code: str = Field(examples=["404 Not Found"])
    retry: bool = Field(description="Whether the same request may succeed later.")


class KeystoneError(BaseModel):
    """What went wrong, in Keystone's words."""

    code: int
    message: str
    title: str


class KeystoneErrorBody(BaseModel):
    """Every error below /v3."""

    error: KeystoneError


def failure(error: ApiError) -> JSONResponse:
    # What does not say that it is none is an error.
    messages = [{"error": True, **item} for item in error.messages]
    body = status(messages, error.status, error.message, error.reason)
    details = {"errorType": error.reason, **body["details"], "messageList": error.messages}
    body |= {"kind": "status", "details": details, "retry": error.retry}
    return EscapedJson(body, error.status, headers=error.headers)


def status(
    messages: Sequence[Mapping[str, Any]], code: int, message: str, reason: str = "Validation"
) -> dict[str, Any]:
    """Return Shipyard's status body, as its configdocs and commits answer.

    Parameters
    ----------
    messages : each as `message_of` or `plain_message` gives it.
    code : the HTTP status of the answer.
    """
    errors = sum(1 for item in messages if item.get("error"))
    return {
        "kind": "Status",
        "apiVersion": _API_VERSION,
        "metadata": {},
        "status": "Success" if code < 400 else "Failure",
        "message": message,
        "reason": reason,
        "details": {"errorCount": errors, "messageList": [dict(item) for item in messages]},
        "code": code_text(code),
    }


def message_of(problem: Problem) -> dict[str, Any]:
    """Return a problem in the shape of Airship's validation messages.

    Parameters
    ----------
    problem : what was found. Its source is the name of the collection that the document came from.

    Returns
    -------
    dict
        Airship's keys; ``message`` says the place too. For programs there are ``text`` (without the place),
        ``collection``, ``path`` and ``line`` (from 1, in the collection's text; None where it is not known).
    """
    return {
        **plain_message(str(problem), problem.level.capitalize(), name="DocumentValidation"),
        "documents": [{"schema": schema, "name": name} for schema, name in _documents_of(problem)],
        "diagnostic": f"{problem.path}, line {problem.line}" if problem.line else problem.path,
        "text": problem.message,
        "collection": problem.source,
        "path": problem.path,
        "line": problem.line,
    }


def plain_message(text: str, level: str = "Error", source: str = "Slipway", name: str = "Slipway") -> dict[str, Any]:
    """Return a sentence that is about no document in the same shape; `level` is Error, Warning or Info."""
    return {
        "message": text,
        "error": level == "Error",
        "name": name,
        "documents": [],
        "level": level,
        "diagnostic": "",
        "source": source,
        "kind": "ValidationMessage",
    }


def _documents_of(problem: Problem) -> list[tuple[str, str]]:
    # A label is "source: schema name"; a problem of a whole collection names no document.
    label = (problem.document or "").removeprefix(f"{problem.source}: ")
    schema, _, document = label.partition(" ")
    return [(schema, document)] if schema and document else []


def code_text(code: int) -> str:
    """Return an HTTP status in Shipyard's way: ``404 Not Found``."""
    return f"{code} {HTTPStatus(code).phrase}"


def is_below(scope: Scope, place: str) -> bool:
    """Whether a request is for something below a place of the application, such as ``/ui``."""
    path: str = scope["path"].removeprefix(scope.get("root_path", ""))
    return path == place or path.startswith(f"{place}/")


def keystone_failure(error: ApiError) -> JSONResponse:
    """Return the response to a request that failed, in Keystone's shape."""
    body = KeystoneError(code=error.status, message=error.message, title=HTTPStatus(error.status).phrase)
    return EscapedJson({"error": body.model_dump()}, error.status, headers=error.headers)
