"""Which server, which site and which token a command uses: options first, then the environment, then the profile."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

from slipway_cli.online.profiles import Folder, Profile, ProfileError

DEFAULT_URL = "http://127.0.0.1:8080"
DEFAULT_SITE = "default"


@dataclass(frozen=True, slots=True)
class Installation:
    """A server as this command uses it. `key` is where its login is kept, `token` is None before there is one."""

    url: str
    site: str
    key: str
    user: str | None = None
    token: str | None = None

    def __repr__(self) -> str:
        return f"Installation(url={self.url!r}, site={self.site!r})"


def installation(
    profile: str | None, site: str | None, environ: Mapping[str, str] | None = None, *, with_token: bool = True
) -> Installation:
    """Find out which server is meant.

    `SLIPWAY_URL` wins over the profile in use, `--profile` and `SLIPWAY_PROFILE` win over it; `SLIPWAY_TOKEN` wins over
    the login that is kept.

    Raises
    ------
    ProfileError
        There is no such profile, an address is none, or a file cannot be used.
    """
    env = os.environ if environ is None else environ
    folder = Folder.of(env)
    name = profile or env.get("SLIPWAY_PROFILE")
    found = Profile(env.get("SLIPWAY_URL") or DEFAULT_URL)
    key = found.url
    if name:
        found, key = folder.profile(name), name
    elif not env.get("SLIPWAY_URL"):
        current, profiles = folder.profiles()
        if current is not None and current in profiles:
            found, key = profiles[current], current
    url = checked_url(found.url)
    token, user = env.get("SLIPWAY_TOKEN"), found.user
    if with_token and not token:
        login = folder.login(key, url)
        if login is not None:
            token, user = login.token, login.user
    return Installation(url, site or env.get("SLIPWAY_SITE") or found.site or DEFAULT_SITE, key, user, token)


def checked_url(url: str) -> str:
    """The address without a slash at its end.

    Raises
    ------
    ProfileError
        It is no address of a web server.
    """
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ProfileError(f"{url!r} is not the address of a server; write for example https://airflow.example.org")
    return url.rstrip("/")
