"""What the API says when it is put together."""

from __future__ import annotations

from typing import Any, cast

import pytest

from site_engine.extensions import ExtensionError
from slipway_api import app

WRONG = "policy 'bad' (acme:policy of acme 2.1) cannot be loaded: ImportError: no acme"


@pytest.mark.parametrize("wrong", [None, WRONG])
def test_rule_42_registrations_that_cannot_be_used_are_named_in_the_log(
    wrong: str | None, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def check() -> None:
        if wrong is not None:
            raise ExtensionError(wrong)

    monkeypatch.setattr(app, "check_installed", check)
    monkeypatch.setattr(app, "use_provisioners", lambda _: None)
    # Most of the time would go into the routes.
    monkeypatch.setattr(app, "_ROUTERS", ())
    app.create_app(cast(Any, object()))
    said = [record.getMessage() for record in caplog.records if record.name == app.__name__]
    assert len(said) == (wrong is not None)
    assert all(WRONG in one and "503" in one for one in said)
