"""`slipway up` and `slipway controller` do not start with a registration that cannot be used (rule 42)."""

from __future__ import annotations

import pytest
from click.testing import CliRunner

from site_engine.extensions import ExtensionError
from slipway_cli.main import main

SAID = "watcher 'bad' (acme:tell of acme 2.1) is a function: it must be a site_engine.watchers.DesignWatcher"


@pytest.mark.parametrize("command", ["up", "controller"])
def test_rule_42_a_bad_registration_is_refused_at_the_start(command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse() -> None:
        raise ExtensionError(SAID)

    monkeypatch.setattr("slipway_cli.controller.check_installed", refuse)
    monkeypatch.setattr("slipway_cli.up.check_installed", refuse)
    monkeypatch.setattr("slipway_cli.controller.StopSignal", lambda: None)
    monkeypatch.setenv("SLIPWAY_SERVICE_USER", "service")
    monkeypatch.setenv("SLIPWAY_SERVICE_PASSWORD", "secret-secret")
    result = CliRunner().invoke(main, [command])
    assert (result.exit_code, result.output.splitlines()[-1]) == (1, f"Error: {SAID}")
