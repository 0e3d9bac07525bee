"""The command line as a user of the server has it."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner


@pytest.fixture
def slipway(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, origin: str, tokens: dict[str, str]) -> CliRunner:
    """Let `slipway` ask the server, in a folder of its own."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("SLIPWAY_URL", origin)
    monkeypatch.setenv("SLIPWAY_TOKEN", tokens["user"])
    monkeypatch.chdir(tmp_path)
    return CliRunner()
