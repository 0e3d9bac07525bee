"""What the SLIPWAY_* variables make of an embedded Airflow, what Airflow is told, and the secrets in it."""

import json
import stat
from importlib.metadata import distribution
from pathlib import Path

import pytest
from click.testing import CliRunner

from provisioner_client.private_files import write_private
from slipway_cli import SlipwayCliError
from slipway_cli.controller import ServiceAccount, service_account
from slipway_cli.embedded.environment import Credentials, airflow_environment, controller_environment, load_or_create
from slipway_cli.embedded.settings import EmbeddedSettings, default_dags_folder
from slipway_cli.main import main


def environment(home: Path, **environ: str) -> dict[str, str]:
    settings = EmbeddedSettings.from_environment(home, environ=environ)
    credentials = load_or_create(home / "secrets.json", settings.passwords_file, environ)
    return airflow_environment(settings, credentials, 1234, lambda name: f"postgresql:///{name}", environ)


def test_defaults(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    settings = EmbeddedSettings.from_environment(environ={})
    assert settings.home == (tmp_path / ".slipway").resolve()
    assert settings.port == 8080
    assert settings.database_url is None


def test_the_dags_are_those_of_the_installed_package() -> None:
    assert (default_dags_folder() / "deploy_site.py").is_file()
    assert CliRunner().invoke(main, ["dags", "path"]).stdout == f"{default_dags_folder()}\n"


def test_airflow_finds_the_plugin_and_the_provider_by_entry_points() -> None:
    found = {point.group: point.load() for point in distribution("slipway").entry_points}
    assert found["airflow.plugins"].name == "slipway"
    assert found["apache_airflow_provider"]()["name"] == "Slipway"


def test_arguments_win_over_variables(tmp_path: Path) -> None:
    environ = {"SLIPWAY_HOME": "/elsewhere", "SLIPWAY_PORT": "9999"}
    settings = EmbeddedSettings.from_environment(tmp_path, 0, environ)
    assert (settings.home, settings.port) == (tmp_path.resolve(), 0)


def test_the_folders_and_files_of_task_logs_are_private(tmp_path: Path) -> None:
    made = environment(tmp_path)
    assert made["AIRFLOW__LOGGING__FILE_TASK_HANDLER_NEW_FOLDER_PERMISSIONS"] == "0o700"
    assert made["AIRFLOW__LOGGING__FILE_TASK_HANDLER_NEW_FILE_PERMISSIONS"] == "0o600"


def test_an_impossible_port_is_told_in_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLIPWAY_PORT", "http")
    result = CliRunner().invoke(main, ["up", "--home", str(tmp_path)])
    said = "SLIPWAY_PORT: 'http' is not a port from 0 (any free one) to 65535; for example 8080"
    assert (result.exit_code, result.stderr) == (1, f"Error: {said}\n")


def test_a_supervisor_in_the_background_is_told_the_same_settings(tmp_path: Path) -> None:
    environ = {
        "SLIPWAY_PORT": "0",
        "SLIPWAY_DAGS_FOLDER": str(tmp_path / "dags"),
        "SLIPWAY_PLUGINS_FOLDER": str(tmp_path / "plugins"),
        "SLIPWAY_DATABASE_URL": "postgresql://somewhere/slipway",
        "SLIPWAY_AIRFLOW__SCHEDULER__MAX_TIS_PER_QUERY": "3",
    }
    settings = EmbeddedSettings.from_environment(tmp_path, environ=environ)
    assert EmbeddedSettings.from_environment(environ=settings.to_environment()) == settings


def test_another_airflows_variables_are_not_followed(tmp_path: Path) -> None:
    env = environment(
        tmp_path, AIRFLOW_HOME="/prod", AIRFLOW__DATABASE__SQL_ALCHEMY_CONN="postgresql://prod", AIRFLOW__X__Y="z"
    )
    assert env["AIRFLOW_HOME"] == str(tmp_path / "airflow")
    assert env["AIRFLOW__DATABASE__SQL_ALCHEMY_CONN"] == "postgresql:///airflow"
    assert env["AIRFLOW__DATABASE__SQL_ALCHEMY_CONN_ASYNC"] == "postgresql:///airflow"
    assert int(env["AIRFLOW__DATABASE__SQL_ALCHEMY_MAX_OVERFLOW"]) > 40 + 16, "more than the API server has threads"
    assert "AIRFLOW__X__Y" not in env


def test_the_store_is_in_the_embedded_postgresql_unless_another_is_named(tmp_path: Path) -> None:
    assert environment(tmp_path)["SLIPWAY_DATABASE_URL"] == "postgresql:///slipway"
    assert environment(tmp_path, SLIPWAY_DATABASE_URL="postgresql://h/x")["SLIPWAY_DATABASE_URL"].endswith("/x")


def test_our_own_overrides_are_followed(tmp_path: Path) -> None:
    env = environment(tmp_path, SLIPWAY_AIRFLOW__CORE__PARALLELISM="2")
    assert env["AIRFLOW__CORE__PARALLELISM"] == "2"


def test_everything_is_on_loopback_and_bytecode_may_be_written(tmp_path: Path) -> None:
    env = environment(tmp_path, PYTHONDONTWRITEBYTECODE="1", no_proxy="example.org")
    assert env["AIRFLOW__API__HOST"] == "127.0.0.1"
    assert env["AIRFLOW__CORE__EXECUTION_API_SERVER_URL"] == "http://127.0.0.1:1234/execution/"
    assert env["SLIPWAY_URL"] == "http://127.0.0.1:1234"
    assert env["no_proxy"] == "example.org,localhost,127.0.0.1"
    assert "PYTHONDONTWRITEBYTECODE" not in env


def test_the_dags_folder_is_the_only_bundle(tmp_path: Path) -> None:
    env = environment(tmp_path, SLIPWAY_DAGS_FOLDER=str(tmp_path))
    (bundle,) = json.loads(env["AIRFLOW__DAG_PROCESSOR__DAG_BUNDLE_CONFIG_LIST"])
    assert bundle["kwargs"] == {"path": str(tmp_path.resolve())}


def test_the_controller_alone_has_the_password_of_slipways_own_account(tmp_path: Path) -> None:
    given = {
        "SLIPWAY_SERVICE_USER": "robot",
        "SLIPWAY_SERVICE_PASSWORD": "given",
        "SLIPWAY_SERVICE_PASSWORD_FILE": "/x",
    }
    env = environment(tmp_path, **given)
    assert "SERVICE" not in "".join(name for name in env if name.startswith("SLIPWAY"))
    assert env["AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_USERS"] == "admin:admin,viewer:viewer,slipway:user"
    credentials = load_or_create(tmp_path / "secrets.json", tmp_path / "passwords.json", given)
    controllers = controller_environment(env, credentials)
    assert [name for name in controllers if "AIRFLOW__" in name] == []
    assert controllers["SLIPWAY_DATABASE_URL"] == "postgresql:///slipway"
    assert service_account(controllers) == ServiceAccount("slipway", "given")
    assert json.loads((tmp_path / "passwords.json").read_text())["slipway"] == "given"


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
