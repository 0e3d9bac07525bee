"""Which server, which site and which token are meant; and the profiles that say so."""

from __future__ import annotations

import json
import stat
from pathlib import Path

import pytest
import responses

from slipway_cli import SlipwayCliError
from slipway_cli.embedded.home import HomeLock, Runtime
from slipway_cli.online.server.server_config import Folder, Login, Profile, checked_url, server_config
from tests.unit.slipway_cli.conftest import Slipway

LAB, PLANT, VARIABLE = "http://lab", "https://plant:8443", "http://variable"


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    """Two profiles, of which the lab's is in use."""
    environ = {"XDG_CONFIG_HOME": str(tmp_path / "config"), "SLIPWAY_HOME": str(tmp_path / "home")}
    profiles = {"lab": Profile(LAB, "lab-7", "ann"), "plant": Profile(PLANT)}
    Folder.of(environ).save_profiles("lab", profiles)
    return environ


@pytest.mark.parametrize(
    ("profile", "more", "url", "name"),
    [
        (None, {}, LAB, "lab"),
        ("plant", {}, PLANT, "plant"),
        (None, {"SLIPWAY_PROFILE": "plant"}, PLANT, "plant"),
        ("lab", {"SLIPWAY_PROFILE": "plant"}, LAB, "lab"),
        (None, {"SLIPWAY_URL": VARIABLE}, VARIABLE, None),
        ("plant", {"SLIPWAY_URL": VARIABLE}, PLANT, "plant"),
        (None, {"SLIPWAY_URL": VARIABLE, "SLIPWAY_PROFILE": "plant"}, PLANT, "plant"),
    ],
)
def test_which_server(
    environ: dict[str, str], profile: str | None, more: dict[str, str], url: str, name: str | None
) -> None:
    found = server_config(profile, None, environ | more)
    assert (found.url, found.profile) == (url, name)


@pytest.mark.parametrize(
    ("profile", "more", "others", "login"),
    [
        (None, {}, "--profile, `slipway profile use` or SLIPWAY_URL name another", "slipway login"),
        ("plant", {}, "--profile names another", "slipway login --profile plant"),
        (None, {"SLIPWAY_PROFILE": "plant"}, "which SLIPWAY_PROFILE names; --profile names another", "slipway login"),
        (None, {"SLIPWAY_URL": VARIABLE}, "that variable, or --profile, names another", "slipway login"),
    ],
)
def test_what_is_advised_has_an_effect(
    environ: dict[str, str], profile: str | None, more: dict[str, str], others: str, login: str
) -> None:
    found = server_config(profile, None, environ | more)
    assert (found.advice.endswith(others), found.login) == (True, login), found.advice


@pytest.mark.parametrize(
    ("profile", "site", "more", "expected"),
    [
        (None, None, {}, "lab-7"),
        ("plant", None, {}, "default"),
        (None, None, {"SLIPWAY_SITE": "s2"}, "s2"),
        (None, "s3", {"SLIPWAY_SITE": "s2"}, "s3"),
        (None, None, {"SLIPWAY_URL": VARIABLE}, "default"),
    ],
)
def test_which_site(
    environ: dict[str, str], profile: str | None, site: str | None, more: dict[str, str], expected: str
) -> None:
    assert server_config(profile, site, environ | more).site == expected


@pytest.mark.parametrize("site", ["", "a b", "../x", "-x", "x" * 65])
def test_what_is_no_name_of_a_site(environ: dict[str, str], site: str) -> None:
    if site:
        with pytest.raises(SlipwayCliError, match="is no name of a site"):
            server_config(None, site, environ)


def test_which_token(environ: dict[str, str]) -> None:
    assert server_config(None, None, environ).token is None
    folder = Folder.of(environ)
    folder.save_login(Login(LAB, "ann", "kept"))
    folder.save_login(Login(LAB, "bob", "newer"))
    found = server_config(None, None, environ)
    assert (found.token, found.user) == ("kept", "ann"), "the profile is for ann"
    assert "kept" not in repr(found)
    assert server_config("plant", None, environ).token is None
    assert server_config(None, None, environ | {"SLIPWAY_TOKEN": "given"}).token == "given"
    by_url = server_config(None, None, environ | {"SLIPWAY_URL": LAB})
    assert (by_url.token, by_url.user) == ("newer", "bob"), "a token belongs to a server, however that is named"
    folder.save_login(Login(LAB, "ann", "newest"))
    assert server_config(None, None, environ | {"SLIPWAY_URL": LAB}).token == "newest"
    folder.save_profiles("lab", {"lab": Profile("http://moved")})
    assert server_config(None, None, environ).token is None, "a token goes to the server that gave it, and to no other"


def test_tokens_that_were_kept_by_profile_are_found(environ: dict[str, str]) -> None:
    folder = Folder.of(environ)
    folder.tokens_file.write_text(json.dumps({"lab": {"url": LAB, "user": "ann", "token": "old"}}))
    folder.tokens_file.chmod(0o600)
    assert server_config(None, None, environ).token == "old"
    folder.save_login(Login(LAB, "ann", "new"))
    assert json.loads(folder.tokens_file.read_text()) == {f"ann {LAB}": {"url": LAB, "user": "ann", "token": "new"}}


def test_without_any_word_it_is_the_slipway_that_runs_here(tmp_path: Path) -> None:
    environ = {"XDG_CONFIG_HOME": str(tmp_path / "config"), "SLIPWAY_HOME": str(tmp_path)}
    with pytest.raises(SlipwayCliError, match="no `slipway up` runs here"):
        server_config(None, None, environ)
    lock = HomeLock(tmp_path)
    try:
        Runtime(str(tmp_path), "http://127.0.0.1:4711", 4711, 1, "ready", 0.0, "passwords.json").write()
        assert server_config(None, None, environ).url == "http://127.0.0.1:4711"
    finally:
        lock.release()
    with pytest.raises(SlipwayCliError, match="no `slipway up` runs here"):
        server_config(None, None, environ)


@pytest.mark.parametrize("command", [("get", "actions"), ("login", "-u", "admin"), ("logout",)])
def test_nothing_is_sent_where_no_server_is_named(
    slipway: Slipway, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: tuple[str, ...]
) -> None:
    monkeypatch.setenv("SLIPWAY_HOME", str(tmp_path))
    with responses.RequestsMock() as mock:
        result = slipway(*command, stdin="a password")
        assert not mock.calls
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr == (
        f"Error: no server is named, and no `slipway up` runs here (in {tmp_path}, see SLIPWAY_HOME): start one with "
        "`make up` or `slipway up`, or name a server with `slipway profile add NAME URL` or SLIPWAY_URL\n"
    )


def test_profiles_of_which_none_is_in_use_are_named(environ: dict[str, str]) -> None:
    folder = Folder.of(environ)
    folder.save_profiles(None, folder.profiles()[1])
    with pytest.raises(SlipwayCliError, match=r"a server with `slipway profile use NAME` \(lab, plant\), `slipway"):
        server_config(None, None, environ)


@pytest.mark.parametrize(
    ("given", "address"),
    [
        ("http://h/", "http://h"),
        ("https://h:8443/air/", "https://h:8443/air"),
        ("http://h/slipway/api/v1.0", "http://h"),
        ("http://h/slipway", "http://h"),
    ],
)
def test_addresses(given: str, address: str) -> None:
    assert checked_url(given) == address


@pytest.mark.parametrize("url", ["", "h", "h:8080", "ftp://h", "http://", "http://h:x", "http://h:0", "http://h/?a=b"])
def test_what_is_no_address(url: str) -> None:
    with pytest.raises(SlipwayCliError, match="is not the address of a server"):
        checked_url(url)


def test_an_address_holds_no_password() -> None:
    with pytest.raises(SlipwayCliError, match="leave user and password out") as caught:
        checked_url("http://user:secret@h")
    assert "secret" not in str(caught.value)


def test_profiles_are_added_used_listed_and_removed(slipway: Slipway, tmp_path: Path) -> None:
    assert "there is no profile yet" in slipway("profile", "list").stdout
    assert slipway("profile", "add", "lab", f"{LAB}/", "--site", "lab-7", "--user", "ann").exit_code == 0
    assert slipway("profile", "add", "plant", PLANT).stdout == f"using profile plant: {PLANT}\n"
    assert slipway("profile", "use", "lab").exit_code == 0
    listed = json.loads(slipway("profile", "list", "-o", "json").stdout)
    assert listed == {
        "current": "lab",
        "profiles": [
            {"name": "lab", "url": LAB, "site": "lab-7", "user": "ann"},
            {"name": "plant", "url": PLANT, "site": None, "user": None},
        ],
    }
    assert "*  lab    http://lab          lab-7  ann" in slipway("profile", "list").stdout
    file = tmp_path / "config" / "slipway" / "profiles.yaml"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert slipway("profile", "remove", "lab").exit_code == 0
    assert json.loads(slipway("profile", "list", "-o", "json").stdout)["current"] is None


def test_removing_a_profile_forgets_its_token(slipway: Slipway, tmp_path: Path) -> None:
    folder = Folder.of({"XDG_CONFIG_HOME": str(tmp_path / "config")})
    slipway("profile", "add", "lab", LAB)
    folder.save_login(Login(LAB, "ann", "t"))
    folder.save_login(Login(PLANT, "ann", "t"))
    slipway("profile", "remove", "lab")
    assert (folder.login(LAB), folder.login(PLANT) is not None) == (None, True)


@pytest.mark.parametrize(
    ("user", "other", "kept"),
    [(None, None, True), (None, "ann", True), ("ann", None, True), ("ann", "ann", True), ("ann", "bob", False)],
)
def test_a_token_that_another_profile_uses_stays(
    slipway: Slipway, tmp_path: Path, user: str | None, other: str | None, kept: bool
) -> None:
    folder = Folder.of({"XDG_CONFIG_HOME": str(tmp_path / "config")})
    folder.save_profiles("lab", {"lab": Profile(LAB, user=user), "twin": Profile(LAB, user=other)})
    folder.save_login(Login(LAB, "ann", "t"))
    slipway("profile", "remove", "lab")
    assert (folder.login(LAB) is not None) is kept


@pytest.mark.parametrize(
    "arguments", [("profile", "use", "lap"), ("profile", "remove", "lap"), ("get", "actions", "--profile", "lap")]
)
def test_a_profile_that_is_not_there(slipway: Slipway, arguments: tuple[str, ...]) -> None:
    slipway("profile", "add", "lab", LAB)
    result = slipway(*arguments)
    told = "Error: there is no profile 'lap'. Did you mean lab? `slipway profile add lap URL` makes it\n"
    assert (result.exit_code, result.stderr) == (1, told)


@pytest.mark.parametrize(
    "text", ["[", "- 1", "profiles: {lab: {}}", "profiles: {lab: {url: x, more: 1}}", "profiles: 3"]
)
def test_damaged_profiles_are_told(slipway: Slipway, tmp_path: Path, text: str) -> None:
    file = tmp_path / "config" / "slipway" / "profiles.yaml"
    file.parent.mkdir(parents=True)
    file.write_text(text)
    for arguments in (("profile", "list"), ("get", "actions")):
        result = slipway(*arguments)
        assert (result.exit_code, f"{file} is damaged" in result.stderr) == (1, True), result.stderr
