"""Where the database is: which URL is meant, and how to name it without giving away its password."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from sqlalchemy import URL, make_url
from sqlalchemy.exc import ArgumentError

from site_store.sql.errors import StoreNotConfigured
from strategy_lib.settings import SLIPWAY_DATABASE_URL, SLIPWAY_HOME

URL_FILE = "store.url"
"""A home's file with the URL of its database: `slipway up` writes it."""

SEVERAL = "postgresql://user:password@/slipway?host=one:5432&host=two:5432&target_session_attrs=read-write"
"""How several servers are named, of which the one that takes writes is used."""

_DRIVERS = {
    "postgres": "postgresql+psycopg",
    "postgresql": "postgresql+psycopg",
    "postgresql+psycopg": "postgresql+psycopg",
    "postgresql+psycopg2": "postgresql+psycopg",
}


def resolve(url: str | None = None, environment: Mapping[str, str] | None = None) -> URL:
    """Return the database's URL, with the driver that Slipway uses.

    Parameters
    ----------
    url : what the caller named; None or empty: `SLIPWAY_DATABASE_URL`, else the database of the `slipway up` whose home
        is `SLIPWAY_HOME`, else `.slipway` below the current directory.
    environment : the environment variables; those of the process by default.

    Raises
    ------
    StoreNotConfigured : None is named; the URL cannot be read, or names a database that Slipway cannot use. It is not
        repeated.
    """
    variables = os.environ if environment is None else environment
    given = url or SLIPWAY_DATABASE_URL.read(variables)
    origin = "the database URL" if url else SLIPWAY_DATABASE_URL.name
    if not given:
        file = SLIPWAY_HOME.read(variables).expanduser().absolute() / URL_FILE
        given, origin = _home_url(file), str(file)
    try:
        parsed = make_url(given)
    except (ArgumentError, ValueError):
        raise StoreNotConfigured(
            f"{origin} cannot be read: it should look like postgresql://user:password@host:5432/slipway, and with "
            f"several servers like {SEVERAL}"
        ) from None
    if "@" in (parsed.host or ""):
        # What stands there is the end of the password: no message may show it.
        raise StoreNotConfigured(
            f"{origin} has a second @: one in a password is written as %40, a / as %2F, a % as %25, a # as %23"
        )
    driver = _DRIVERS.get(parsed.drivername)
    if driver is None:
        raise StoreNotConfigured(
            f"{origin} names a database of the kind {parsed.drivername!r}, and the store can be PostgreSQL alone: "
            "name one as postgresql://user:password@host:5432/slipway, or none, for the one that `slipway up` brings"
        )
    return parsed.set(drivername=driver)


def _home_url(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8").strip()
    except OSError:
        raise StoreNotConfigured(
            "no database is named: set SLIPWAY_DATABASE_URL, or SLIPWAY_HOME to the home of a `slipway up` that was "
            f"started at least once (there is no {file})"
        ) from None


def describe(url: URL) -> str:
    """Name the database for people: no user's password, and no query, which may hold one."""
    port = f":{url.port}" if url.port else ""
    return f"PostgreSQL database {url.database!r} on {hosts_of(url) or 'the local server'}{port}"


def hosts_of(url: URL) -> str:
    """Return the host of a database's server, or the folder of its socket; of several all, with their ports."""
    named = url.query.get("host", "")
    return url.host or (named if isinstance(named, str) else ", ".join(named))


def server_of(url: str | None) -> str | None:
    """Return host and port of a database's server, to compare it with another; None where the URL says nothing.

    Parameters
    ----------
    url : of any database; None: the store's, as this process would open it.
    """
    try:
        parsed = resolve() if url is None else make_url(url)
    except (ArgumentError, ValueError, StoreNotConfigured):
        return None
    port = parsed.port or parsed.query.get("port") or 5432
    return f"{hosts_of(parsed) or 'this machine'}:{port}"
