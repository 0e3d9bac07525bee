"""Which server, which site and which token a command uses: options first, then the environment, then the profile."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

from slipway_cli import SlipwayCliError
from slipway_cli.online.server.profiles import Folder, Profile
from slipway_cli.output import listed
from strategy_lib.settings import SLIPWAY_HOME, SLIPWAY_PROFILE, SLIPWAY_SITE, SLIPWAY_TOKEN, SLIPWAY_URL

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
    token: str | None = None
    profile: str | None = None
    login: str = "slipway login"
    advice: str = ""
    site_named: bool = True

    @property
    def site_option(self) -> list[str]:
        """The words by which a command that is shown means this site too: none where no site was named."""
        return ["--site", self.site] if self.site_named else []

    def __repr__(self) -> str:
        return f"Installation(url={self.url!r}, site={self.site!r})"


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
