"""Where the password of Slipway's own account comes from."""

from __future__ import annotations

from pathlib import Path

import pytest

from slipway_cli.controller import ServiceAccount, service_account
from strategy_lib.settings import SettingError

FILE = "SLIPWAY_SERVICE_PASSWORD_FILE"


def test_without_a_password_there_is_none() -> None:
    assert service_account({"SLIPWAY_SERVICE_USER": "robot"}) is None


def test_from_the_environment() -> None:
    assert service_account({"SLIPWAY_SERVICE_PASSWORD": "x"}) == ServiceAccount("slipway", "x")
    environ = {"SLIPWAY_SERVICE_USER": "robot", "SLIPWAY_SERVICE_PASSWORD": "x", FILE: "/nowhere"}
    assert service_account(environ) == ServiceAccount("robot", "x")


def test_from_a_file_that_only_its_owner_can_read(tmp_path: Path) -> None:
    file = tmp_path / "password"
    file.write_text("from the file\n")
    file.chmod(0o600)
    assert service_account({FILE: str(file)}) == ServiceAccount("slipway", "from the file")
    file.chmod(0o640)
    with pytest.raises(SettingError, match="chmod 600"):
        service_account({FILE: str(file)})


@pytest.mark.parametrize(("content", "why"), [(None, "cannot be read"), (b"\n", "is empty"), (b"\xff", "is no text")])
def test_a_file_that_is_of_no_use_is_named(tmp_path: Path, content: bytes | None, why: str) -> None:
    file = tmp_path / "password"
    if content is not None:
        file.write_bytes(content)
        file.chmod(0o600)
    with pytest.raises(SettingError, match=why) as caught:
        service_account({FILE: str(file)})
    assert str(file) in str(caught.value)


def test_the_password_is_in_no_representation() -> None:
    assert "hidden" not in repr(ServiceAccount("slipway", "hidden"))
