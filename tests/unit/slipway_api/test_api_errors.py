"""Errors and messages in Airship's shapes: which error is which answer, and what a parameter may be, in words."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException

from api_client.slipway import PROVISIONER_REASONS
from design_rendering.reading.documents import load_documents
from provisioner_client.errors import (
    AuthenticationFailed,
    ProvisionerProtocolError,
    ProvisionerRefused,
    ProvisionerUnavailable,
)
from site_engine.errors import AirflowApiError, AirflowRefused, ConnectionLookupFailed, SettingsError
from site_store import SchemaNotCurrent, StoreError, StoreNotConfigured, StoreUnavailable
from site_store.backups import BackupError
from slipway_api.app import create_app
from slipway_api.http.api_errors import ApiError, failure, message_of, plain_message, status
from slipway_api.http.dependencies import NAME_PATTERN
from slipway_api.http.error_answers import PATTERNS_IN_WORDS, as_api_error, validation_message
from strategy_lib.errors import Problem

GROUPS = """\
schema: shipyard/DeploymentStrategy/v1
metadata: {name: deployment-strategy, layeringDefinition: {layer: site}}
data:
  groups: []
"""


def test_a_failure_has_shipyards_keys() -> None:
    answer = failure(
        ApiError(409, "busy", "Conflict of some sort", [plain_message("a"), plain_message("b", "Warning")])
    )
    assert json.loads(bytes(answer.body)) == {
        "kind": "status",
        "apiVersion": "v1.0",
        "metadata": {},
        "status": "Failure",
        "message": "busy",
        "reason": "Conflict of some sort",
        "details": {
            "errorType": "Conflict of some sort",
            "errorCount": 1,
            "messageList": [plain_message("a"), plain_message("b", "Warning")],
        },
        "code": "409 Conflict",
        "retry": False,
    }


def test_a_failure_may_repeat_any_text() -> None:
    assert json.loads(bytes(failure(ApiError(400, "half a character: \ud800")).body))["message"].endswith("\ud800")


def test_a_status_counts_its_errors() -> None:
    body = status([plain_message("a"), plain_message("b", "Info")], 400, "Validations failed")
    assert (body["kind"], body["status"], body["code"]) == ("Status", "Failure", "400 Bad Request")
    assert (body["reason"], body["details"]["errorCount"]) == ("Validation", 1)
    assert status([], 201, "Validations succeeded")["status"] == "Success"


def test_a_problem_as_a_message() -> None:
    (document,) = load_documents(GROUPS, "site-bare-metal")
    message = message_of(document.problem("$.data.groups", "there is no group"))
    assert message == {
        "message": "site-bare-metal:4: $.data.groups: there is no group",
        "error": True,
        "name": "DocumentValidation",
        "documents": [{"schema": "shipyard/DeploymentStrategy/v1", "name": "deployment-strategy"}],
        "level": "Error",
        "diagnostic": "$.data.groups, line 4",
        "source": "Slipway",
        "kind": "ValidationMessage",
        "text": "there is no group",
        "collection": "site-bare-metal",
        "path": "$.data.groups",
        "line": 4,
    }


def test_a_problem_of_no_document() -> None:
    message = message_of(Problem("$", "nothing to deploy", level="warning"))
    assert (message["documents"], message["error"], message["level"]) == ([], False, "Warning")
    assert (message["source"], message["line"], message["collection"]) == ("Slipway", None, None)


@pytest.mark.parametrize(
    ("error", "code", "retry"),
    [
        (ApiError(418, "teapot"), 418, False),
        (AirflowRefused(409, "there is a run"), 409, False),
        (AirflowApiError("no answer"), 503, True),
        (SettingsError("no connection"), 503, False),
        (ProvisionerUnavailable("no answer"), 503, True),
        (ConnectionLookupFailed("the database"), 503, True),
        (ProvisionerRefused("no"), 502, False),
        (HTTPException(405), 405, False),
        (RequestValidationError([]), 400, False),
        (RuntimeError("the password is swordfish"), 500, True),
    ],
)
def test_every_error_has_its_status(error: Exception, code: int, retry: bool) -> None:
    told = as_api_error(error)
    assert (told.status, told.retry) == (code, retry)
    assert "swordfish" not in told.message


def test_a_parameter_that_is_declared_twice_is_told_of_once() -> None:
    wrong = {"loc": ("query", "verbosity"), "msg": "Input should be less than or equal to 5"}
    other = {"loc": ("query", "limit"), "msg": "Input should be greater than or equal to 1"}
    told = as_api_error(RequestValidationError([wrong, other, wrong]))
    assert [message["message"] for message in told.messages] == [
        "query parameter 'verbosity': Input should be less than or equal to 5",
        "query parameter 'limit': Input should be greater than or equal to 1",
    ]


def test_what_the_store_says_is_never_unexpected_without_a_reason() -> None:
    # These come from work that no request does; a route that lets one through has a mistake.
    inner = {"StoreError", "LeaseLost", "PlaceTaken", "SiteStateChanged", "SiteInUse", "SubmissionsHeld"}
    kinds, found = set[type[StoreError]](), [StoreError]
    while found:
        kinds.add(kind := found.pop())
        found += [each for each in kind.__subclasses__() if not each.__module__.startswith("tests.")]
    inner.add(BackupError.__name__)
    statuses = {kind.__name__: as_api_error(kind.__new__(kind)).status for kind in kinds}
    assert {name for name, code in statuses.items() if code == 500} == inner


def patterns(part: Any) -> Iterator[str]:
    """Give every pattern in an API's description."""
    if isinstance(part, dict):
        if isinstance(part.get("pattern"), str):
            yield part["pattern"]
        part = list(part.values())
    if isinstance(part, list):
        for item in part:
            yield from patterns(item)


def test_every_pattern_of_the_api_has_words() -> None:
    found = set(patterns(create_app().openapi()["paths"]))
    assert NAME_PATTERN in found
    assert found - PATTERNS_IN_WORDS.keys() == set()


@pytest.mark.parametrize(
    ("item", "said"),
    [
        (
            {"msg": "String should match", "ctx": {"pattern": NAME_PATTERN}},
            "must be a name: up to 64 letters, digits, _ . and -, beginning with a letter or digit",
        ),
        ({"msg": "as pydantic says it", "ctx": {"pattern": "^x$"}}, "as pydantic says it"),
        ({"msg": "as pydantic says it", "ctx": {"le": 3}}, "as pydantic says it"),
        ({"msg": "as pydantic says it"}, "as pydantic says it"),
    ],
)
def test_errors_in_words(item: dict[str, Any], said: str) -> None:
    assert validation_message(item) == said


@pytest.mark.parametrize(
    ("error", "the_provisioners"),
    [
        (ProvisionerUnavailable("no connection"), True),
        (ProvisionerProtocolError("an HTML page"), True),
        (AuthenticationFailed("401"), True),
        (SettingsError("no Drydock URL"), True),
        (ConnectionLookupFailed("the database is away"), False),
        (AirflowApiError("no answer"), False),
        (StoreUnavailable("no answer"), False),
        (StoreNotConfigured("no URL"), False),
        (SchemaNotCurrent("0003"), False),
        (StoreError("?"), False),
        (ZeroDivisionError(), False),
    ],
)
def test_the_reason_says_whether_an_error_is_the_provisioners(error: Exception, the_provisioners: bool) -> None:
    assert (as_api_error(error).reason in PROVISIONER_REASONS) is the_provisioners
