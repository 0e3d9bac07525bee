"""Logging in: where the password comes from, where the token goes, and who else can read it."""

from __future__ import annotations

import base64
import json
import stat
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
import requests
import responses

from slipway_cli.online.server.server_config import Login
from tests.unit.slipway_cli.conftest import Slipway
from tests.unit.slipway_cli.online.conftest import API, URL

PASSWORD = "correct horse"
CLAIMS = base64.urlsafe_b64encode(json.dumps({"exp": 1772366400}).encode()).decode().rstrip("=")
TOKEN = f"head.{CLAIMS}.signature"


@pytest.fixture
def wire(slipway: Slipway, monkeypatch: pytest.MonkeyPatch) -> Iterator[responses.RequestsMock]:
    monkeypatch.setenv("SLIPWAY_URL", URL)
    with responses.RequestsMock() as mock:
        yield mock


@pytest.fixture
def tokens(tmp_path: Path) -> Path:
    return tmp_path / "config" / "slipway" / "tokens.json"


def accept(wire: responses.RequestsMock) -> responses.BaseResponse:
    answer: responses.BaseResponse = wire.post(f"{URL}/auth/token", json={"access_token": TOKEN}, status=201)
    return answer


def sent(answer: responses.BaseResponse) -> object:
    return json.loads(answer.calls[-1].request.body or "")


def test_the_token_is_kept_for_its_owner_alone_and_used(
    slipway: Slipway, wire: responses.RequestsMock, tokens: Path
) -> None:
    login = accept(wire)
    result = slipway("login", "--user", "admin", stdin=f"{PASSWORD}\n")
    assert result.exit_code == 0, result.output
    assert (
        result.stdout == f"logged in to {URL} as admin; the token is in {tokens} and good until 2026-03-01 12:00 UTC\n"
        "next: slipway status\n"
    )
    assert sent(login) == {"username": "admin", "password": PASSWORD}
    assert (stat.S_IMODE(tokens.stat().st_mode), stat.S_IMODE(tokens.parent.stat().st_mode)) == (0o600, 0o700)
    assert PASSWORD not in tokens.read_text()
    assert [path.name for path in tokens.parent.iterdir()] == ["tokens.json"], "no temporary file is left"
    wire.get(f"{API}/actions", json=[], headers={"X-Shipyard-Req": "r"})
    assert slipway("get", "actions").exit_code == 0
    assert wire.calls[-1].request.headers["Authorization"] == f"Bearer {TOKEN}"


@pytest.mark.parametrize(
    ("options", "stdin", "variable"),
    [
        (["--password-stdin"], PASSWORD, None),
        (["--password-stdin"], f"{PASSWORD}\r\n", "another"),
        ([], "", PASSWORD),
        ([], f"{PASSWORD}\nmore\n", None),
    ],
)
def test_where_a_password_comes_from(
    slipway: Slipway,
    wire: responses.RequestsMock,
    monkeypatch: pytest.MonkeyPatch,
    options: list[str],
    stdin: str,
    variable: str | None,
) -> None:
    if variable is not None:
        monkeypatch.setenv("SLIPWAY_PASSWORD", variable)
    login = accept(wire)
    assert slipway("login", "-u", "admin", *options, stdin=stdin).exit_code == 0
    assert sent(login) == {"username": "admin", "password": PASSWORD}


def test_no_option_takes_a_password() -> None:
    from slipway_cli.online.server.login import login

    takes_text = [p.opts for p in login.params if isinstance(p, click.Option) and not p.is_flag and p.expose_value]
    assert takes_text == [["-u", "--user"], ["--profile"]]


@pytest.mark.parametrize("command", ["login", "logout"])
def test_an_address_is_no_option_and_how_a_server_is_named_is_told(
    slipway: Slipway, wire: responses.RequestsMock, command: str
) -> None:
    result = slipway(command, "--url", "http://x", stdin=PASSWORD)
    assert (result.exit_code, len(wire.calls)) == (2, 0)
    assert "`slipway profile add NAME http://x`, or SLIPWAY_URL=http://x" in result.stderr
    assert "--url" not in slipway(command, "--help").stdout


def test_an_empty_password_is_not_sent(slipway: Slipway, wire: responses.RequestsMock) -> None:
    result = slipway("login", "-u", "admin", "--password-stdin", stdin="")
    assert (result.exit_code, "there is no password on standard input" in result.stderr) == (1, True)


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        ({"json": {"detail": "no"}, "status": 401}, "does not accept user 'admin' with this password"),
        ({"body": "<html>", "status": 404}, f"there is no Airflow 3 at {URL}. The server is the one in SLIPWAY_URL"),
        ({"body": "<html>"}, "is not Slipway: it sent text/plain instead of JSON"),
        ({"json": {"detail": "down"}, "status": 503}, "HTTP 503: down"),
        ({"json": {}}, "gave no token"),
        ({"body": requests.ConnectionError("refused")}, f"{URL} does not answer"),
    ],
)
def test_a_login_that_fails_is_one_sentence_without_the_password(
    slipway: Slipway, wire: responses.RequestsMock, tokens: Path, answer: dict[str, object], told: str
) -> None:
    wire.post(f"{URL}/auth/token", **answer)
    result = slipway("login", "-u", "admin", stdin=PASSWORD)
    assert result.exit_code == 1
    assert told in result.stderr
    assert result.stderr.count("\n") == 1
    assert PASSWORD not in result.output
    assert not tokens.exists()


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o666])
def test_a_file_that_others_can_read_is_refused_with_words(
    slipway: Slipway, wire: responses.RequestsMock, tokens: Path, mode: int
) -> None:
    accept(wire)
    slipway("login", "-u", "admin", stdin=PASSWORD)
    tokens.chmod(mode)
    result = slipway("get", "actions")
    assert (result.exit_code, f"chmod 600 {tokens}" in result.stderr) == (1, True)
    assert TOKEN not in result.output
    assert slipway("logout", "--all").exit_code == 0
    assert not tokens.exists()


def test_logging_out_forgets_this_server_only(
    slipway: Slipway, wire: responses.RequestsMock, monkeypatch: pytest.MonkeyPatch, tokens: Path
) -> None:
    for url in (URL, "http://127.0.0.1:2"):
        monkeypatch.setenv("SLIPWAY_URL", url)
        wire.post(f"{url}/auth/token", json={"access_token": TOKEN})
        slipway("login", "-u", "admin", stdin=PASSWORD)
    assert "logged out of http://127.0.0.1:2" in slipway("logout").stdout
    assert "nothing to forget" in slipway("logout").stdout
    assert [login["url"] for login in json.loads(tokens.read_text()).values()] == [URL]


def test_a_profile_is_for_its_own_user(slipway: Slipway, wire: responses.RequestsMock) -> None:
    slipway("profile", "add", "lab", URL, "--user", "ann")
    result = slipway("login", "--profile", "lab", "--user", "bob", stdin=PASSWORD)
    assert (result.exit_code, len(wire.calls)) == (1, 0)
    assert "profile lab is for user ann: make another one for bob" in result.stderr


@pytest.mark.parametrize("text", ["{", "[]", '{"k": 1}', "\0"])
def test_damaged_tokens_are_told(slipway: Slipway, wire: responses.RequestsMock, tokens: Path, text: str) -> None:
    tokens.parent.mkdir(parents=True)
    tokens.write_text(text)
    tokens.chmod(0o600)
    result = slipway("get", "actions")
    assert (result.exit_code, f"{tokens} is damaged" in result.stderr) == (1, True), result.stderr


def test_a_folder_that_cannot_be_written_is_told(
    slipway: Slipway, wire: responses.RequestsMock, tokens: Path, tmp_path: Path
) -> None:
    accept(wire)
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / "slipway").write_text("a file where a folder should be")
    result = slipway("login", "-u", "admin", stdin=PASSWORD)
    assert (result.exit_code, f"{tokens} cannot be written" in result.stderr) == (1, True), result.stderr


def test_a_login_does_not_show_its_token() -> None:
    assert "secret" not in repr(Login("http://h", "u", "secret"))


@pytest.mark.parametrize("token", ["", "a.b.c", "a.!.c", f"a.{base64.b64encode(b'{}').decode()}.c", "a.W10.c"])
def test_a_token_that_says_no_end_has_none(token: str) -> None:
    assert Login("http://h", "u", token).expires is None
