"""What good answers of the API look like, for its description: each key, its type, and whether it may be missing.

Here are those of the service and of the provisioner; `documents/answers.py` and `actions/answers.py` have the others.
"""

from __future__ import annotations

from typing import Any, Literal, NotRequired

from fastapi.responses import PlainTextResponse
from typing_extensions import TypedDict

Moment = str
"""ISO 8601 with its zone."""


class ApiVersion(TypedDict):
    path: str
    status: str


class DocumentName(TypedDict):
    schema: str
    name: str


class WorkingAction(TypedDict):
    """The action that a site is busy with."""

    id: str
    name: str
    state: str
    user: str


class Finding(TypedDict):
    """One thing that was found: Airship's validation message, and where it is."""

    message: str
    error: bool
    name: str
    documents: list[DocumentName]
    level: Literal["Error", "Warning", "Info"]
    diagnostic: str
    source: str
    kind: Literal["ValidationMessage"]
    text: NotRequired[str]
    collection: NotRequired[str | None]
    path: NotRequired[str]
    line: NotRequired[int | None]
    action: NotRequired[WorkingAction]


class Findings(TypedDict):
    """All that was found."""

    errorCount: int
    messageList: list[Finding]


class MachineStatus(TypedDict):
    """What the provisioner says of a machine."""

    hostname: str
    status: str


class MachinePower(TypedDict):
    """Whether a machine is on, in the provisioner's words."""

    hostname: str
    power_state: str | None


class SiteStatuses(TypedDict):
    """Only what was asked for."""

    nodes_provision_status: NotRequired[list[MachineStatus]]
    machines_powerstate: NotRequired[list[MachinePower]]


class KeystoneError(TypedDict):
    """What went wrong, in Keystone's words."""

    code: int
    message: str
    title: str


class KeystoneErrorBody(TypedDict):
    """Every error below /v3."""

    error: KeystoneError


class PlainText(PlainTextResponse):
    """Text that Airship's client prints as it is, such as a log.

    With `--output-format=format` the client reads an answer as YAML unless its type has "json" in it. Then a log ends
    it with a traceback. Shipyard itself calls a log JSON: the client fails to read that, and prints it.
    """

    media_type = "text/plain; charset=utf-8; profile=not-json"


def answers(model: Any, example: Any, code: int = 200) -> dict[int | str, dict[str, Any]]:
    """Return a route's ``responses``: what the good answer looks like, with an example."""
    return {code: {"model": model, "content": {"application/json": {"example": example}}}}


def text_answer(example: str) -> dict[int | str, dict[str, Any]]:
    """Return a route's ``responses``, when it answers text."""
    return {200: {"content": {"text/plain": {"schema": {"type": "string"}, "example": example}}}}
