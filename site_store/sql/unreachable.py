"""Why PostgreSQL cannot be used, in our words, with what to do: the driver gives its own text alone, without a code.

A server that speaks another language than English is understood where it did not answer at all; else its words stand.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from sqlalchemy import URL

from site_store.sql.address import SEVERAL, hosts_of
from site_store.sql.errors import StoreUnavailable

_PLAIN: Final = re.compile(r"[a-z_][a-z0-9_]*")
_VARIABLE: Final = "SLIPWAY_DATABASE_URL"
_LATER: Final = "try again"


def explain(url: URL, name: str, error: BaseException | None) -> StoreUnavailable:
    """Return what to say of an error of the driver.

    Parameters
    ----------
    name : the database in words, as `describe` gives it.
    """
    said = str(error).strip() or type(error).__name__
    # An error with a code was met within a session: the database was there.
    for pattern, sentence in () if getattr(error, "sqlstate", None) else _CAUSES:
        if re.search(pattern, said, re.IGNORECASE):
            what, fix = sentence(url)
            return StoreUnavailable(f"the {name} cannot be used: {what}", fix)
    return StoreUnavailable(f"the {name} cannot be used at the moment ({said.splitlines()[0]})", _LATER)


_Cause = Callable[[URL], tuple[str, str]]


def _no_database(url: URL) -> tuple[str, str]:
    database, user = quoted(url.database or ""), quoted(url.username or "slipway")
    return (
        f"there is no database {url.database!r} on this server",
        f"create it there, as an administrator: CREATE DATABASE {database} OWNER {user}; and then run `slipway store "
        f"upgrade`. Or name another one in {_VARIABLE}",
    )


def _no_role(url: URL) -> tuple[str, str]:
    return (
        f"there is no role {url.username!r} on this server",
        f"create it there, as an administrator: CREATE ROLE {quoted(url.username or '')} LOGIN PASSWORD '…'; or name "
        f"another one in {_VARIABLE}",
    )


def _no_login(url: URL) -> tuple[str, str]:
    return (
        f"the role {url.username!r} may not log in",
        f"on the server: ALTER ROLE {quoted(url.username or '')} LOGIN; or name another one in {_VARIABLE}",
    )


def _refused(url: URL) -> tuple[str, str]:
    given = "this password" if url.password or url.query.get("password") else "no password"
    return (
        f"the server does not let in {url.username!r} with {given}",
        f"correct user and password in {_VARIABLE} (an @ in a password is %40, a / is %2F), or set it on the server: "
        f"ALTER ROLE {quoted(url.username or '')} PASSWORD '…';",
    )


def _not_admitted(url: URL) -> tuple[str, str]:
    return (
        f"the server's pg_hba.conf lets nobody in as {url.username!r} from here, or not in this way",
        f"add a line there and reload it: hostssl {url.database} {url.username} <address of this machine>/32 "
        f"scram-sha-256. Where it wants TLS, add ?sslmode=require to {_VARIABLE}",
    )


def _no_connect(url: URL) -> tuple[str, str]:
    return (
        f"{url.username!r} may not connect to it",
        f"on the server: GRANT CONNECT ON DATABASE {quoted(url.database or '')} TO {quoted(url.username or '')};",
    )


def _full(_: URL) -> tuple[str, str]:
    return (
        "the server has no connection left",
        f"{_LATER}; where that stays so, raise max_connections there, or put PgBouncer before it (`slipway doctor` "
        "says how many are needed)",
    )


def _no_name(url: URL) -> tuple[str, str]:
    host = hosts_of(url)
    return (
        f"the name {host!r} does not resolve on this machine",
        f"correct the host in {_VARIABLE}, or this machine's DNS or /etc/hosts (`getent hosts {host}` shows it)",
    )


def no_writes(_: URL) -> tuple[str, str]:
    """Say that a server lets nobody write, and what to do."""
    return (
        "the server takes no writes: it is a replica, or was set to read only",
        f"{_LATER} where another one is about to take over; else name the one that does in {_VARIABLE}, or several: "
        f"{SEVERAL}",
    )


def _nobody_listens(url: URL) -> tuple[str, str]:
    at = f"{url.host}, port {url.port or 5432}" if url.host else hosts_of(url)
    return (
        f"nobody listens at {at}",
        f"start PostgreSQL there, and look at its listen_addresses and port; or correct host and port in {_VARIABLE}",
    )


def _no_socket(url: URL) -> tuple[str, str]:
    folder = hosts_of(url) or "its usual folder"
    return (
        f"PostgreSQL does not run on this machine, by its socket in {folder}",
        f"start it (one that Slipway brought: `slipway up`), or name another one in {_VARIABLE}",
    )


def _no_answer(url: URL) -> tuple[str, str]:
    host, port = hosts_of(url) or "the local server", url.port or 5432
    return (
        f"{host} does not answer on port {port}",
        f"{_LATER}; where that stays so, see whether that machine is up, and whether a firewall lets this one reach "
        f"port {port}; else correct host and port in {_VARIABLE}",
    )


def _no_tls(_: URL) -> tuple[str, str]:
    return (
        "the server has no TLS, which sslmode asks for",
        f"switch it on there (ssl = on, ssl_cert_file, ssl_key_file), or take sslmode out of {_VARIABLE}",
    )


def _not_trusted(_: URL) -> tuple[str, str]:
    return (
        "its certificate is not trusted here, or is another host's",
        f"name the file of its authority by sslrootcert=… in {_VARIABLE}, readable on this machine, and the host as in "
        "the certificate",
    )


def _starting(_: URL) -> tuple[str, str]:
    return ("the server is just starting or stopping", f"{_LATER} in a moment; its own log says where it stays so")


# In this order: of several addresses that were tried the answer of a server says more than the silence of another one.
_CAUSES: Final[tuple[tuple[str, _Cause], ...]] = (
    (r'database "[^\n]*" does not exist', _no_database),
    (r'role "[^\n]*" does not exist', _no_role),
    (r'role "[^\n]*" is not permitted to log in', _no_login),
    (r"authentication failed for user|no password supplied", _refused),
    (r"pg_hba\.conf", _not_admitted),
    (r"permission denied for database", _no_connect),
    (r"too many (clients|connections)|remaining connection slots", _full),
    (r"the database system is ", _starting),
    (r"session is read-only|server is in hot standby", no_writes),
    (r"server does not support SSL", _no_tls),
    (r"certificate verify failed|root certificate file|does not match host name", _not_trusted),
    (r"failed to resolve host|could not translate host name", _no_name),
    (r"\.s\.PGSQL\.\d+\" failed: (No such file|Connection refused)", _no_socket),
    (r"Connection refused", _nobody_listens),
    (r"connection timeout expired|timeout expired|No route to host|Network is unreachable", _no_answer),
)


def quoted(identifier: str) -> str:
    """Return a name as it stands in a statement of SQL: quoted where it has to be."""
    return identifier if _PLAIN.fullmatch(identifier) else '"' + identifier.replace('"', '""') + '"'
