"""Secrets and passwords are made once and kept private."""

import json
import stat
from pathlib import Path

import pytest

from provisioner_client.private_files import write_private
from slipway_cli import SlipwayCliError
from slipway_cli.embedded.environment import Credentials, load_or_create


def load(home: Path, **environ: str) -> Credentials:
    return load_or_create(home / "secrets.json", home / "passwords.json", environ)


def test_made_once_and_kept(tmp_path: Path) -> None:
    first, second = load(tmp_path), load(tmp_path)
    assert first == second
    assert set(first.passwords) == {"admin", "viewer"}
    assert first.passwords["admin"] != first.passwords["viewer"]
    assert first.given == frozenset()


def test_only_the_owner_can_read_them(tmp_path: Path) -> None:
    (tmp_path / "passwords.json").write_text("{}")
    (tmp_path / "passwords.json").chmod(0o644)
    load(tmp_path)
    for name in ("secrets.json", "passwords.json"):
        assert stat.S_IMODE((tmp_path / name).stat().st_mode) == 0o600


def test_a_password_from_the_environment_replaces_the_kept_one(tmp_path: Path) -> None:
    before = load(tmp_path)
    after = load(tmp_path, SLIPWAY_ADMIN_PASSWORD="chosen")
    assert after.passwords == {"admin": "chosen", "viewer": before.passwords["viewer"]}
    assert after.given == {"admin"}
    assert after.service_password == before.service_password
    assert load(tmp_path, SLIPWAY_SERVICE_PASSWORD="given").service_password == "given"
    assert json.loads((tmp_path / "passwords.json").read_text())["admin"] == "chosen"


@pytest.mark.parametrize("damage", ["{", "[]", '{"jwt_secret": 1}'])
def test_a_damaged_file_is_named(tmp_path: Path, damage: str) -> None:
    (tmp_path / "secrets.json").write_text(damage)
    with pytest.raises(SlipwayCliError, match=r"secrets\.json is damaged"):
        load(tmp_path)


def test_no_secret_in_the_representation(tmp_path: Path) -> None:
    credentials = load(tmp_path)
    assert credentials.service_password not in repr(credentials)
    for secret in (credentials.jwt_secret, credentials.fernet_key, *credentials.passwords.values()):
        assert secret not in repr(credentials)


def test_a_private_file_is_replaced_as_a_whole(tmp_path: Path) -> None:
    target = tmp_path / "deep" / "file"
    write_private(target, "a longer text")
    write_private(target, "short")
    assert target.read_text() == "short"
    assert [path.name for path in target.parent.iterdir()] == ["file"]
