"""The servers that the command line knows, with its tokens; which of them a command uses, and which site.

Options count first, then the environment, then the profile.
"""

from __future__ import annotations

import json
import os
import re
import stat
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import yaml

from api_client.session import token_expiry
from provisioner_client.private_files import write_private
from slipway_cli import SlipwayCliError
from slipway_cli.output import listed
from strategy_lib.did_you_mean import suggestion
from strategy_lib.settings import SLIPWAY_HOME, SLIPWAY_PROFILE, SLIPWAY_SITE, SLIPWAY_TOKEN, SLIPWAY_URL

_TOO_OPEN = stat.S_IRWXG | stat.S_IRWXO


@dataclass(frozen=True, slots=True)
class Profile:
    """A server: its address, the site that is meant when none is named, and the user to log in as."""

    url: str
    site: str | None = None
    user: str | None = None


def token_end(token: str) -> datetime | None:
    """Return when a token ends; None where it does not say."""
    ends = token_expiry(token)
    try:
        return None if ends is None else datetime.fromtimestamp(ends, UTC)
    except (ValueError, OverflowError, OSError):
        return None


@dataclass(frozen=True, slots=True)
class Login:
    """A token, and for which server and user it is."""

    url: str
    user: str
    token: str = field(repr=False)

    def at(self, url: str, user: str | None) -> bool:
        """Whether it is for this server, and for this user if one is named."""
        return self.url == url and user in (None, self.user)

    @property
    def expires(self) -> datetime | None:
        """When the token ends; None where it does not say."""
        return token_end(self.token)


class Folder:
    """The configuration folder: `profiles.yaml`, and `tokens.json`, which only its owner may read.

    `loaded.json` is a memory of files that were sent, see `slipway_cli.online.documents.collection_files`.
    """

    def __init__(self, path: Path) -> None:
        self.profiles_file = path / "profiles.yaml"
        self.tokens_file = path / "tokens.json"
        self.loaded_file = path / "loaded.json"

    @classmethod
    def of(cls, environ: Mapping[str, str]) -> Folder:
        """Return the user's own: `$XDG_CONFIG_HOME/slipway`, else `~/.config/slipway`."""
        base = environ.get("XDG_CONFIG_HOME")
        # A relative path is to be ignored, says the specification of this variable.
        return cls((Path(base) if base and base.startswith("/") else Path.home() / ".config") / "slipway")

    def profiles(self) -> tuple[str | None, dict[str, Profile]]:
        """Return the name of the profile in use, and all profiles by name.

        Raises `SlipwayCliError`: the file is damaged.
        """
        if not self.profiles_file.exists():
            return None, {}
        try:
            data = yaml.safe_load(self._text(self.profiles_file)) or {}
            found = {str(name): Profile(**fields) for name, fields in (data.get("profiles") or {}).items()}
        except (yaml.YAMLError, AttributeError, TypeError) as error:
            raise SlipwayCliError(f"{self.profiles_file} is damaged; correct it, or remove it") from error
        return data.get("current"), found

    def save_profiles(self, current: str | None, profiles: Mapping[str, Profile]) -> None:
        """Replace the file, in one piece."""
        shown = {name: {key: value for key, value in asdict(item).items() if value} for name, item in profiles.items()}
        self._write(self.profiles_file, yaml.safe_dump({"current": current, "profiles": shown}, sort_keys=False))

    def profile(self, name: str) -> Profile:
        """Return a profile by its name. Raises `SlipwayCliError`: no profile has this name."""
        _, profiles = self.profiles()
        if name not in profiles:
            add = f"`slipway profile add {name} URL` makes it"
            raise SlipwayCliError(f"there is no profile {name!r}.{suggestion(name, profiles)} {add}")
        return profiles[name]

    def login(self, url: str, user: str | None = None) -> Login | None:
        """Return the user's login at this server, without a user the newest one there; None when there is none.

        Raises `SlipwayCliError`: others can read the file, or it is damaged.
        """
        found = [login for login in self._logins() if login.at(url, user)]
        return found[-1] if found else None

    def save_login(self, login: Login) -> None:
        """Store a login, in a file of mode 0600, in place of an older one of this user at this server."""
        self._write_logins([*(kept for kept in self._logins() if not kept.at(login.url, login.user)), login])

    def forget_login(self, url: str, user: str | None = None) -> bool:
        """Forget the user's login at this server, or everybody's there; return whether there was one."""
        kept = self._logins()
        left = [login for login in kept if not login.at(url, user)]
        if len(left) != len(kept):
            self._write_logins(left)
        return len(left) != len(kept)

    def forget_logins(self) -> None:
        """Remove the file with all tokens, also a damaged one."""
        try:
            self.tokens_file.unlink(missing_ok=True)
        except OSError as error:
            raise SlipwayCliError(f"{self.tokens_file} cannot be removed: {error.strerror or error}") from error

    def _write_logins(self, logins: Iterable[Login]) -> None:
        data = {f"{item.user} {item.url}": {"url": item.url, "user": item.user, "token": item.token} for item in logins}
        self._write(self.tokens_file, json.dumps(data, indent=1))

    def _logins(self) -> list[Login]:
        """All logins, the newest last."""
        if not self.tokens_file.exists():
            return []
        if os.name == "posix" and self.tokens_file.stat().st_mode & _TOO_OPEN:
            raise SlipwayCliError(
                f"{self.tokens_file} holds tokens and others may have read it: `slipway logout --all`, and log "
                f"in again; or, if you are sure that nobody did, `chmod 600 {self.tokens_file}`"
            )
        try:
            data: dict[str, Any] = json.loads(self._text(self.tokens_file) or "{}")
            # The keys tell nothing more: in older files they are names of profiles.
            return [Login(item["url"], item["user"], item["token"]) for item in data.values()]
        except (ValueError, AttributeError, KeyError, TypeError) as error:
            raise SlipwayCliError(f"{self.tokens_file} is damaged: `slipway logout --all`, and log in again") from error

    @staticmethod
    def _text(path: Path) -> str:
        try:
            return path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise SlipwayCliError(f"{path} cannot be read: {error}") from error

    @staticmethod
    def _write(path: Path, text: str) -> None:
        try:
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            write_private(path, text)
        except OSError as error:
            raise SlipwayCliError(f"{path} cannot be written: {error.strerror or error}") from error


DEFAULT_SITE = "default"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")


@dataclass(frozen=True, slots=True)
class ServerConfig:
    """A server as this command uses it.

    Attributes
    ----------
    site_named : the user named the site; else it is the one that is meant without a name.
    user : the user of the token; None where none is named.
    token : None before there is one.
    profile : the name of its profile, None where it was named in another way.
    login : the command that gets a token for it.
    advice : what to do when this turns out to be the wrong server, or not to be there.
    """

    url: str
    site: str
    user: str | None = None
    token: str | None = field(default=None, repr=False)
    profile: str | None = None
    login: str = "slipway login"
    advice: str = ""
    site_named: bool = True

    @property
    def site_option(self) -> list[str]:
        """The words by which a command that is shown means this site too: none where no site was named."""
        return ["--site", self.site] if self.site_named else []


def server_config(
    profile: str | None, site: str | None, environ: Mapping[str, str] | None = None, *, with_token: bool = True
) -> ServerConfig:
    """Find out which server is meant.

    `--profile` and `SLIPWAY_PROFILE` win over `SLIPWAY_URL`, which wins over the profile in use. Without any of them
    it is the Slipway that `slipway up` runs in this `SLIPWAY_HOME`. If none runs there, there is no server: a password
    is never sent to a program that only listens at a usual address. `SLIPWAY_TOKEN` wins over the stored login.

    Raises `SlipwayCliError`: no server is meant, there is no such profile, or an address or file cannot be used.
    """
    env = os.environ if environ is None else environ
    folder = Folder.of(env)
    server, name, advice = _named(profile, env, folder)
    url = checked_url(server.url)
    token, user = SLIPWAY_TOKEN.read(env) or None, server.user
    if with_token and not token:
        login = folder.login(url, user)
        if login is not None:
            token, user = login.token, login.user
    given = site or SLIPWAY_SITE.read(env) or server.site
    chosen = given or DEFAULT_SITE
    if _NAME.fullmatch(chosen) is None:
        raise SlipwayCliError(f"{chosen!r} is no name of a site: use up to 64 letters, digits, _ . and -")
    return ServerConfig(
        url=url,
        site=chosen,
        user=user,
        token=token,
        profile=name,
        login=f"slipway login --profile {profile}" if profile else "slipway login",
        advice=advice,
        site_named=bool(given),
    )


def _named(profile: str | None, env: Mapping[str, str], folder: Folder) -> tuple[Profile, str | None, str]:
    """Return the server, the name of its profile, and who named it with what names another one."""
    name = profile or SLIPWAY_PROFILE.read(env)
    current, profiles = folder.profiles()
    if name:
        by = "" if profile else ", which SLIPWAY_PROFILE names"
        return folder.profile(name), name, f"The server is that of profile {name}{by}; --profile names another"
    if address := SLIPWAY_URL.read(env):
        said = "The server is the one in SLIPWAY_URL; that variable, or --profile, names another"
        return Profile(address), None, said
    if current is not None and current in profiles:
        said = f"The server is that of profile {current}, which is in use"
        return profiles[current], current, f"{said}; --profile, `slipway profile use` or SLIPWAY_URL name another"
    from slipway_cli.embedded.home import find_running

    home = SLIPWAY_HOME.read(env).expanduser()
    running = find_running(home)
    if running is None:
        known = f"`slipway profile use NAME` ({listed(profiles)}), " if profiles else ""
        raise SlipwayCliError(
            f"no server is named, and no `slipway up` runs here (in {home}, see SLIPWAY_HOME): start one with "
            f"`make up` or `slipway up`, or name a server with {known}`slipway profile add NAME URL` or SLIPWAY_URL"
        )
    said = "No server was named, so it is the one that `slipway up` runs here"
    return Profile(running.url), None, f"{said}; `slipway profile add` or SLIPWAY_URL name another"


def checked_url(url: str) -> str:
    """Return the address without a slash at its end. Raises `SlipwayCliError`: it is no address of a web server."""
    try:
        parts = urlsplit(url)
        good = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        good = False
    if not good or parts.query or parts.fragment:
        raise SlipwayCliError(f"{url!r} is not the address of a server; write for example https://airflow.example.org")
    if parts.username or parts.password:
        raise SlipwayCliError(
            "an address is kept and shown: leave user and password out of it, and use `slipway login`"
        )
    # The address of the API is that of the same server.
    return re.sub(r"/slipway(/.*)?$", "", url.rstrip("/"))
