"""The simulated Drydock beside an embedded Airflow: its connection, its machines, and its death."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
import requests
import responses
from click.testing import CliRunner

from api_client.airflow import AirflowClient
from api_client.session import ApiError, ApiSession, ApiUnreachable
from provisioner_client.connection import ConnectionValues, secrets_of
from provisioner_client.ironic.connection import ironic_api
from slipway_cli.demo import provisioner_connection
from slipway_cli.demo.provisioner_connection import (
    ALL_SITES,
    PendingConnection,
    connect,
    connection_fields,
    disconnect,
)
from slipway_cli.embedded.home import HomeLock, Runtime
from slipway_cli.main import main

URL = "http://127.0.0.1:1"
CONNECTION = f"{URL}/api/v2/connections/{ALL_SITES}"
DRYDOCK = "http://127.0.0.1:4711"


def connected() -> None:
    fields = connection_fields("drydock", DRYDOCK)
    connect(AirflowClient(ApiSession.with_token(URL, "admin", "t")), ALL_SITES, fields, "of the test")


def test_it_is_connected_where_there_is_no_connection(wire: responses.RequestsMock) -> None:
    for method in (wire.get, wire.patch):
        method(CONNECTION, json={"detail": "none"}, status=404)
    created = wire.post(f"{URL}/api/v2/connections", json={}, status=201)
    connected()
    sent = json.loads(created.calls[0].request.body or "")
    assert (sent["connection_id"], sent["host"], sent["conn_type"]) == (ALL_SITES, DRYDOCK, "drydock")
    assert sent["port"] == 0, "without one, Airflow's button Test refuses"


@pytest.mark.parametrize(
    "before",
    [
        {"host": "http://gone", "description": "Made by Slipway: a simulated Drydock, of `slipway up --simulator`."},
        {"host": "http://gone", "description": "The simulated Drydock of the latest demo."},
        {"host": DRYDOCK, "description": None},
    ],
)
def test_a_connection_of_its_own_is_replaced(wire: responses.RequestsMock, before: dict[str, str]) -> None:
    wire.get(CONNECTION, json=before)
    replaced = wire.patch(CONNECTION, json={})
    connected()
    assert replaced.call_count == 1


def test_a_connection_to_real_machines_is_left_alone(wire: responses.RequestsMock) -> None:
    wire.get(CONNECTION, json={"host": "https://drydock.example.org", "description": "the plant"})
    with pytest.raises(ApiError, match=r"leads to https://drydock\.example\.org and was not made by Slipway"):
        connected()


def test_it_is_connected_once_airflows_api_server_is_back(
    wire: responses.RequestsMock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The API server may die between "ready" and this; it is started again by then."""
    monkeypatch.setattr(provisioner_connection, "_RETRY", 0.0)
    monkeypatch.setattr("api_client.airflow._PAUSES", ())
    connecting = PendingConnection(connected, 60)
    wire.get(CONNECTION, body=requests.ConnectionError("refused"))
    assert not connecting.try_now()
    wire.replace(responses.GET, CONNECTION, json={"detail": "the database is away"}, status=503)
    assert not connecting.try_now()
    wire.replace(responses.GET, CONNECTION, json={"host": DRYDOCK, "description": None})
    wire.patch(CONNECTION, json={})
    assert connecting.try_now(), "now it is connected"
    assert not connecting.try_now(), "and not again"


def test_what_airflow_refuses_is_not_asked_for_again(wire: responses.RequestsMock) -> None:
    wire.get(CONNECTION, json={"host": "https://drydock.example.org", "description": "the plant"})
    with pytest.raises(ApiError):
        PendingConnection(connected, 60).try_now()


def test_an_api_server_that_stays_away_is_not_waited_for_for_ever(wire: responses.RequestsMock) -> None:
    wire.get(CONNECTION, body=requests.ConnectionError("refused"))
    with pytest.raises(ApiUnreachable):
        PendingConnection(connected, -1).try_now()


@pytest.mark.parametrize(
    ("found", "removed"),
    [
        ({"host": DRYDOCK, "description": "Made by Slipway: a simulated Drydock, of the latest demo."}, 1),
        ({"host": "http://127.0.0.1:1", "description": "Made by Slipway: a simulated Drydock, of the latest demo."}, 0),
        ({"host": DRYDOCK, "description": "the plant"}, 0),
        (None, 0),
    ],
)
def test_a_demo_takes_its_own_connection_away_and_no_other(
    wire: responses.RequestsMock, found: dict[str, str] | None, removed: int
) -> None:
    wire.get(CONNECTION, json=found or {}, status=200 if found else 404)
    wire.assert_all_requests_are_fired = False
    deleted = wire.delete(CONNECTION, status=204)
    fields = connection_fields("drydock", DRYDOCK)
    disconnect(AirflowClient(ApiSession.with_token(URL, "admin", "t")), ALL_SITES, fields)
    assert deleted.call_count == removed


@pytest.mark.parametrize(
    "options",
    [
        ("--speed", "2"),
        ("--fail", "deploy:n1"),
        ("--simulator", "--fail", "n1"),
        ("--provisioner", "maas"),
        ("--simulator", "--site", "pyproject.toml"),
        ("--simulator", "--provisioner", "ironic", "--site", "pyproject.toml"),
        ("--simulator", "--provisioner", "ironic", "--fail", "deploy:n1:flaky"),
        ("--site", "pyproject.toml"),
    ],
)
def test_what_cannot_be_meant_is_wrong_use(tmp_path: Path, options: tuple[str, ...]) -> None:
    result = CliRunner().invoke(main, ["up", "--home", str(tmp_path / "home"), *options])
    assert (result.exit_code, "Error: " in result.stderr) == (2, True)
    assert not (tmp_path / "home").exists()


def test_a_home_in_use_is_told_before_a_simulator_is_started(tmp_path: Path) -> None:
    lock = HomeLock(tmp_path)
    try:
        Runtime(str(tmp_path), DRYDOCK, 4711, os.getpid(), "ready", 0.0, "passwords.json").write()
        result = CliRunner().invoke(main, ["up", "--home", str(tmp_path), "--port", "0", "--simulator"])
    finally:
        lock.release()
    assert (result.exit_code, f"{tmp_path} is in use by another embedded Airflow" in result.stderr) == (1, True)
    assert not (tmp_path / "logs").exists()


def test_a_connection_to_a_simulated_maas_has_its_key_and_its_pool(wire: responses.RequestsMock) -> None:
    wire.get(CONNECTION, json={"host": DRYDOCK, "description": "Made by Slipway: a simulated Drydock, of the demo."})
    replaced = wire.patch(CONNECTION, json={})
    fields = connection_fields("maas", "http://127.0.0.1:4712")
    connect(AirflowClient(ApiSession.with_token(URL, "admin", "t")), ALL_SITES, fields, "of the test")
    sent = json.loads(replaced.calls[0].request.body or "")
    assert (sent["conn_type"], sent["host"]) == ("maas", "http://127.0.0.1:4712/MAAS")
    assert sent["password"] == "demo-consumer:demo-token:demo-secret"
    assert json.loads(sent["extra"])["pool"] == "default"
    assert sent["description"] == "Made by Slipway: a simulated MAAS, of the test."


def test_a_connection_to_an_embedded_ironic_has_its_password_and_its_part(wire: responses.RequestsMock) -> None:
    wire.get(CONNECTION, json={"host": DRYDOCK, "description": "Made by Slipway: a simulated Drydock, of the demo."})
    replaced = wire.patch(CONNECTION, json={})
    fields = connection_fields("ironic", "http://127.0.0.1:4713", "made-up")
    connect(AirflowClient(ApiSession.with_token(URL, "admin", "t")), ALL_SITES, fields, "of the test")
    sent = json.loads(replaced.calls[0].request.body or "")
    assert (sent["conn_type"], sent["host"]) == ("ironic", "http://127.0.0.1:4713")
    assert (sent["login"], sent["password"]) == ("slipway", "made-up")
    assert json.loads(sent["extra"]) == {"poll_interval": 1, "resource_class": "slipway"}
    assert sent["description"] == "Made by Slipway: an embedded Ironic, of the test."
    given = {name: fields[name] for name in ("host", "login", "password", "extra")}
    assert ironic_api(ConnectionValues("ironic", "demo", **given), str).limits.resource_class == "slipway"


def test_no_plain_word_is_a_secret_of_a_simulated_maas() -> None:
    """The parts of its key are hidden wherever they stand in a text, so that they must be no words of texts."""
    fields = connection_fields("maas", "http://127.0.0.1:4712")
    values = ConnectionValues("maas", "demo", str(fields["host"]), password=str(fields["password"]))
    assert not [secret for secret in secrets_of(values) if secret.isalpha()]
