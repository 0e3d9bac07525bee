"""Which error is which answer, and what a parameter may be, in words."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from api_client.slipway import PROVISIONER_REASONS
from provisioner_client.errors import AuthenticationFailed, ProvisionerProtocolError, ProvisionerUnavailable
from site_engine.errors import AirflowApiError, ConnectionLookupFailed, SettingsError
from site_store import SchemaNotCurrent, StoreError, StoreNotConfigured, StoreUnavailable
from slipway_api.app import create_app
from slipway_api.http.dependencies import NAME_PATTERN
from slipway_api.http.error_answers import as_api_error, pattern_in_words, validation_message


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
    assert {pattern for pattern in found if pattern_in_words(pattern) is None} == set()


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
