"""Ironic's database in the embedded PostgreSQL of a home: one of its own for each Ironic, made when it is not there.

With SQLite a conductor serves a few machines. With 200 of them a cleaning took five times as long, and a request got no
answer within a minute (docs/ironic.md).
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import psycopg
from psycopg import sql

from provisioner_client.ironic_server.installation import IronicServerError

HERE = "/proc/self/cwd"
"""The current folder as a socket's folder: the path of a home may be longer than a socket's may be."""
_SUPERUSER, _ROLE = "postgres", "slipway"
_PORT = 5432
_TICK = 0.1
_KEPT = "alembic_version"
"""The table that says which schema a database has."""


@dataclass(frozen=True, slots=True)
class IronicDatabase:
    """One database.

    Attributes
    ----------
    sockets : the folder of the server's socket.
    name : of the database.
    """

    sockets: Path
    name: str

    @property
    def url(self) -> str:
        """SQLAlchemy's URL for a process whose current folder is `sockets`; it holds no secret."""
        return f"postgresql+psycopg://{_ROLE}@/{self.name}?host={HERE}&port={_PORT}"

    def prepare(self, version: str, anew: bool, make: Callable[[bool], None], patience: float) -> None:
        """Have the database there, with the schema of a version; the current folder is its socket's from then on.

        Parameters
        ----------
        version : what tells one Ironic from another; noted with the database.
        anew : without any machine that an earlier Ironic has left in it.
        make : makes the schema (False: there is none yet) or brings it up to date (True).
        patience : seconds until the server must answer.

        Raises
        ------
        IronicServerError : the server does not answer, or does not make the database.
        """
        self._wait(patience)
        with self._explained():
            self._prepare(version, anew, make)

    def _prepare(self, version: str, anew: bool, make: Callable[[bool], None]) -> None:
        with self._connection("postgres") as server:
            if server.execute("SELECT 1 FROM pg_database WHERE datname = %s", (self.name,)).fetchone() is None:
                made = sql.SQL("CREATE DATABASE {} OWNER {}")
                server.execute(made.format(sql.Identifier(self.name), sql.Identifier(_ROLE)))
        with self._connection(self.name) as database:
            if _noted(database) != version:
                make(_has_schema(database))
                note = sql.SQL("COMMENT ON DATABASE {} IS {}")
                database.execute(note.format(sql.Identifier(self.name), sql.Literal(version)))
            if anew:
                _empty(database)

    def remove(self, patience: float) -> None:
        """Remove the database, if it is there. Raises as `prepare`."""
        self._wait(patience)
        with self._explained(), self._connection("postgres") as server:
            server.execute(sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(sql.Identifier(self.name)))

    def _wait(self, patience: float) -> None:
        """Go into the folder of the socket once the server has been set up; it is made anew when the server starts."""
        end = time.monotonic() + patience
        while True:
            try:
                os.chdir(self.sockets)
                with self._connection("postgres") as server:
                    if server.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", (_ROLE,)).fetchone() is None:
                        raise FileNotFoundError(f"it has no role {_ROLE} yet")
            except (OSError, psycopg.OperationalError) as error:
                if time.monotonic() > end:
                    raise IronicServerError(
                        f"the embedded PostgreSQL does not answer in {self.sockets} after {patience:g} s, and Ironic "
                        f"has its machines in it: start Slipway in this home first ({str(error).splitlines()[0]})"
                    ) from error
                time.sleep(_TICK)
            else:
                return

    @contextlib.contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except psycopg.Error as error:
            raise IronicServerError(
                f"the embedded PostgreSQL does not do what Ironic's database {self.name} needs; start Slipway anew, "
                f"and see its postgres.log ({str(error).splitlines()[0]})"
            ) from error

    def _connection(self, database: str) -> psycopg.Connection:
        return psycopg.connect(
            host=HERE, port=_PORT, user=_SUPERUSER, dbname=database, connect_timeout=5, autocommit=True
        )


def _noted(database: psycopg.Connection) -> str | None:
    row = database.execute(
        "SELECT shobj_description(oid, 'pg_database') FROM pg_database WHERE datname = current_database()"
    ).fetchone()
    return None if row is None else row[0]


def _has_schema(database: psycopg.Connection) -> bool:
    # Without the table nothing can be upgraded: its making was interrupted, and is repeated.
    row = database.execute("SELECT to_regclass(%s) IS NOT NULL", (_KEPT,)).fetchone()
    if row is None or not row[0]:
        return False
    return database.execute(sql.SQL("SELECT 1 FROM {}").format(sql.Identifier(_KEPT))).fetchone() is not None


def _empty(database: psycopg.Connection) -> None:
    found = database.execute(
        "SELECT tablename FROM pg_tables WHERE schemaname = 'public' AND tablename <> %s", (_KEPT,)
    )
    tables = sql.SQL(", ").join(sql.Identifier(str(row[0])) for row in found)
    database.execute(sql.SQL("TRUNCATE {} RESTART IDENTITY").format(tables))
