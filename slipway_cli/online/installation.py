"""Which server, which site and which token a command uses: options first, then the environment, then the profile."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from slipway_cli.embedded.runtime import find_running
from slipway_cli.embedded.settings import DEFAULT_HOME, DEFAULT_PORT
from slipway_cli.online.profiles import Folder, Profile, ProfileError

DEFAULT_SITE = "default"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")


@dataclass(frozen=True, slots=True)
class Installation:
    """A server as this command uses it.

    Attributes
    ----------
    key : where its login is kept.
    token : None before there is one.
    advice : what to do when this turns out to be the wrong server, or not to be there.
    """

    url: str
    site: str
    key: str
    user: str | None = None
    token: str | None = None
    advice: str = ""

    def __repr__(self) -> str:
        return f"Installation(url={self.url!r}, site={self.site!r})"


def installation(
    profile: str | None, site: str | None, environ: Mapping[str, str] | None = None, *, with_token: bool = True
) -> Installation:
    """Find out which server is meant.

    `--profile` and `SLIPWAY_PROFILE` win over `SLIPWAY_URL`, which wins over the profile in use. Where nobody says
    anything, it is the Slipway that `slipway up` runs in this `SLIPWAY_HOME`, or would run. `SLIPWAY_TOKEN` wins over
    the login that is kept.

    Raises
    ------
    ProfileError
        There is no such profile, an address is none, or a file cannot be used.
    """
    env = os.environ if environ is None else environ
    folder = Folder.of(env)
    name = profile or env.get("SLIPWAY_PROFILE")
    current, profiles = folder.profiles()
    if name:
        found, key, said = folder.profile(name), name, f"The server is that of profile {name}"
    elif env.get("SLIPWAY_URL"):
        found = Profile(env["SLIPWAY_URL"])
        key, said = checked_url(found.url), "The server is the one in SLIPWAY_URL"
    elif current is not None and current in profiles:
        found, key, said = profiles[current], current, f"The server is that of profile {current}, which is in use"
    else:
        found = Profile(_local(env))
        key, said = found.url, "No server was named, so it is the one that `slipway up` runs here"
    url = checked_url(found.url)
    token, user = env.get("SLIPWAY_TOKEN"), found.user
    if with_token and not token:
        login = folder.login(key, url)
        if login is not None:
            token, user = login.token, login.user
    chosen = site or env.get("SLIPWAY_SITE") or found.site or DEFAULT_SITE
    if _NAME.fullmatch(chosen) is None:
        raise ProfileError(f"{chosen!r} is no name of a site: use up to 64 letters, digits, _ . and -")
    advice = f"{said}; --profile, `slipway profile use` or SLIPWAY_URL choose another one"
    return Installation(url, chosen, key, user, token, advice)


def _local(env: Mapping[str, str]) -> str:
    running = find_running(Path(env.get("SLIPWAY_HOME") or DEFAULT_HOME).expanduser())
    return running.url if running is not None else f"http://127.0.0.1:{DEFAULT_PORT}"


def checked_url(url: str) -> str:
    """The address without a slash at its end.

    Raises
    ------
    ProfileError
        It is no address of a web server.
    """
    try:
        parts = urlsplit(url)
        good = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        good = False
    if not good or parts.query or parts.fragment:
        raise ProfileError(f"{url!r} is not the address of a server; write for example https://airflow.example.org")
    if parts.username or parts.password:
        raise ProfileError("an address is kept and shown: leave user and password out of it, and use `slipway login`")
    # Whoever copies the address of the API means the same server.
    return re.sub(r"/slipway(/.*)?$", "", url.rstrip("/"))
