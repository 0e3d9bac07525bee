"""`slipway create connection`: what is sent to Airflow, and what is refused before anything is."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.unit.slipway_cli.conftest import Slipway
from tests.unit.slipway_cli.online.conftest import URL, Server

NAME = "slipway_provisioner"
MAAS = ("create", "connection", "maas", NAME, "--url", "http://maas.example:5240/MAAS")
KEY = "one:two:three"
AT = f"{URL}/api/v2/connections"


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch, slipway: Slipway) -> None:
    monkeypatch.setenv("SLIPWAY_CONNECTION_PASSWORD", KEY)


def _answer(server: Server, *, before: Any = None, good: bool = True) -> None:
    """Answer as Airflow that has this connection, or none, and finds the new one good or not."""
    server.mock.get(f"{AT}/{NAME}", json=before, status=200 if before else 404)
    server.mock.post(f"{AT}/test", json={"status": good, "message": "MAAS 3.5" if good else "wrong key"})
    if good:
        server.mock.patch(f"{AT}/{NAME}", json={}, status=200 if before else 404)
    if good and not before:
        server.mock.post(AT, json={}, status=201)


def test_it_is_tested_and_then_stored(slipway: Slipway, server: Server) -> None:
    _answer(server)
    extra = ("--extra", "pool=north", "--extra", "parallel_deploys=4", "--extra", "recommission=false")
    result = slipway(*MAAS, *extra)
    assert result.exit_code == 0, result.output
    assert result.stdout == f"tested: MAAS 3.5\nconnection {NAME} is stored in Airflow\nnext: slipway doctor\n"
    sent = [json.loads(call.request.body) for call in server.mock.calls if call.request.body]
    assert sent[0] == sent[-1], "what was tested is stored"
    fields = {key: sent[0][key] for key in ("connection_id", "conn_type", "host", "port", "password")}
    at = "http://maas.example:5240/MAAS"
    assert fields == {"connection_id": NAME, "conn_type": "maas", "host": at, "port": 0, "password": KEY}
    assert json.loads(sent[0]["extra"]) == {"pool": "north", "parallel_deploys": 4, "recommission": False}
    assert KEY not in result.output


def test_what_fails_its_test_is_not_stored(slipway: Slipway, server: Server) -> None:
    _answer(server, good=False)
    result = slipway(*MAAS, "--extra", "pool=north")
    assert (result.exit_code, result.stderr) == (
        1,
        "Error: wrong key: nothing was stored (--no-test stores it all the same)\n",
    )


def test_where_airflow_tests_nothing_it_says_so(slipway: Slipway, server: Server) -> None:
    server.mock.get(f"{AT}/{NAME}", status=404)
    said = "Testing connections is disabled in Airflow configuration."
    server.mock.post(f"{AT}/test", json={"detail": said}, status=403)
    result = slipway(*MAAS, "--extra", "pool=north")
    assert (
        "Airflow tests no connections there ([core] test_connection is not Enabled): nothing was stored"
        in result.stderr
    )


def test_one_that_is_there_is_replaced_after_a_question(slipway: Slipway, server: Server) -> None:
    there = {"conn_type": "drydock", "host": "http://old.example"}
    server.mock.get(f"{AT}/{NAME}", json=there)
    result = slipway(*MAAS, "--extra", "pool=north", stdin="n\n")
    assert f"connection {NAME} of type drydock leads to http://old.example: replace it by http://maas" in result.stderr
    assert "nothing was done" in result.stderr
    server.mock.reset()
    _answer(server, before=there)
    result = slipway(*MAAS, "--extra", "pool=north", "--yes", "-o", "json")
    assert json.loads(result.stdout) == {"connection": NAME, "type": "maas", "replaced": True, "test": "MAAS 3.5"}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (MAAS[:4], "where does it listen? --url http://maas.example:5240/MAAS"),
        (MAAS, "which machines are the site's? --extra pool=… (pool or tag)"),
        ((*MAAS, "--extra", "pool"), "--extra pool: write KEY=VALUE"),
        ((*MAAS, "--extra", "pool=a", "--extra", "pool=b"), "--extra pool is given twice"),
        ((*MAAS, "--extra", "auth_token=x"), "is a secret: write it into a file, and --extra auth_token=@FILE"),
        ((*MAAS, "--extra", "pool=@nowhere"), "nowhere cannot be read: No such file"),
        ((*MAAS, "--extra", "pool=a", "--extra", "parallel_deploys=many"), "parallel_deploys"),
        (("create", "connection", "webhook", "chat", "--url", "ftp://chat.example"), "has no URL that can be used"),
        (("create", "connection", "mass", "x"), "'mass' is not one of"),
    ],
)
def test_what_cannot_be_is_refused_before_anything_is_sent(
    slipway: Slipway, server: Server, arguments: tuple[str, ...], said: str
) -> None:
    result = slipway(*arguments)
    assert (result.exit_code != 0, said in result.stderr) == (True, True), result.output
    assert len(server.mock.calls) == 0


def test_a_password_comes_from_a_file_or_is_missed(
    slipway: Slipway, server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SLIPWAY_CONNECTION_PASSWORD")
    command = (*MAAS, "--extra", "pool=north")
    said = "API key (consumer:token:secret): give it by --password-file FILE, or SLIPWAY_CONNECTION_PASSWORD"
    assert said in slipway(*command).stderr
    (tmp_path / "maas.key").write_text("a:b:c\n")
    for file, stdin in ((tmp_path / "maas.key", None), ("-", "a:b:c\n")):
        server.mock.reset()
        _answer(server)
        assert slipway(*command, "--password-file", file, stdin=stdin).exit_code == 0
        assert json.loads(server.request.body)["password"] == "a:b:c"


def test_a_webhook_gets_a_signed_notification(slipway: Slipway, server: Server) -> None:
    hook = server.mock.post("https://chat.example/in", status=204)
    server.mock.get(f"{AT}/chat", status=404)
    server.mock.patch(f"{AT}/chat", status=404)
    server.mock.post(AT, json={}, status=201)
    result = slipway("create", "connection", "webhook", "chat", "--url", "https://chat.example/in")
    assert result.exit_code == 0, result.output
    assert json.loads(hook.calls[0].request.body)["event"] == "test"
    assert hook.calls[0].request.headers["Slipway-Signature"].startswith("v1=")
    assert json.loads(server.request.body)["conn_type"] == "http"
