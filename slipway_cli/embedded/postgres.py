"""The embedded PostgreSQL: its files in a home, made once, where its socket is, its process, and its databases.

It listens only on a Unix socket below the home, which is closed to other users. Only the home's owner may connect: the
kernel names the user to it (`peer`), so there is no password.
"""

from __future__ import annotations

import contextlib
import os
import pwd
import re
import shutil
import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path

import psycopg
from psycopg import sql
from sqlalchemy import URL

from slipway_cli import SlipwayCliError
from slipway_cli.embedded.component import Component, SetupStep
from slipway_cli.embedded.postgres_account import MAJOR, free_ids, programs, setup_user
from slipway_cli.embedded.processes import kill_found, servers_of, tied_program

OWN_FOLDER = "/proc/self/cwd"
"""PostgreSQL's data folder as it names it: its current one. So the folders above need not be open to its user."""
SUPERUSER, ROLE = "postgres", "slipway"
AIRFLOW, STORE = "airflow", "slipway"
"""The databases."""
PORT = 5432
"""No port is open; it is part of the socket's name."""
_SOCKET = f".s.PGSQL.{PORT}"
_LONGEST_SOCKET = 107
# Characters without a special meaning in a database URL and in a setting of Airflow's.
_PLAIN = re.compile(r"[A-Za-z0-9_./@+=-]+")
# Arguments of `initdb`.
INITDB = (
    "--username=postgres",
    "--auth=peer",
    "--encoding=UTF8",
    # Names sort by their characters' numbers, as in Python, whatever the machine's language.
    "--locale=C",
    "--locale-provider=builtin",
    "--builtin-locale=C.UTF-8",
)


class PostgresCluster:
    """The files of one home's PostgreSQL."""

    def __init__(self, home: Path) -> None:
        self.folder = home / "postgresql"
        self.data = self.folder / "data"
        self.sockets = self.folder / "run"
        self._new = self.folder / "new"
        self._link_note = self.folder / "socket-link"
        self._host: Path | None = None

    def exists(self) -> bool:
        """Whether it was made before."""
        return (self.data / "PG_VERSION").exists()

    @property
    def user(self) -> tuple[int, int] | None:
        """The user and group id that it runs as, None for the caller's own."""
        if os.geteuid() != 0:
            return None
        if self.exists():
            found = self.data.stat()
            return found.st_uid, found.st_gid
        return free_ids()

    def program(self, name: str) -> str:
        """A program of the version that made the data. Raises `SlipwayCliError`: it is not installed."""
        major = int((self.data / "PG_VERSION").read_text(encoding="ascii")) if self.exists() else MAJOR
        return str(programs(major, self.user) / name)

    def begin_creation(self, log: Path) -> SetupStep:
        """Begin to make the files; those of an interrupted start are made again.

        Raises `SlipwayCliError`: their owner cannot be set.
        """
        user = self.user
        _identity()  # without an account nothing is begun
        with _explained(self.folder):
            self.folder.mkdir(mode=0o700, exist_ok=True)
            shutil.rmtree(self._new, ignore_errors=True)
            self._new.mkdir(mode=0o700)
            if user is not None:
                # The server's group may go through the folder, nobody else; and write in its own below it alone.
                os.chown(self.folder, 0, user[1])
                self.folder.chmod(0o710)
                user = (setup_user(), user[1])
                os.chown(self._new, *user)
        command = tied_program(signal.SIGKILL, user, self.program("initdb"), "-D", OWN_FOLDER, *INITDB)
        return SetupStep("making the database (initdb)", command, server_environment(), log, self._new)

    def finish_creation(self) -> None:
        """Write which user may connect, and move the files to their place: from here on they exist.

        Raises `SlipwayCliError`: their owner cannot be set.
        """
        user = self.user
        with _explained(self.folder):
            (self._new / "pg_hba.conf").write_text("local all all peer map=home\n", encoding="utf-8")
            roles = "".join(f"{_identity()} {role}\n" for role in (SUPERUSER, ROLE))
            (self._new / "pg_ident.conf").write_text(roles, encoding="utf-8")
            if user is not None:
                for folder, _, files in os.walk(self._new):
                    os.chown(folder, *user)
                    for file in files:
                        os.chown(Path(folder) / file, *user, follow_symlinks=False)
            self._new.rename(self.data)

    def open(self) -> None:
        """Prepare a start: make the folder of the socket, and a short path to it where its own is too long.

        Nothing of this home may be running: files that a killed server has left are removed.

        Raises `SlipwayCliError`: it cannot be made, or the files are another user's.
        """
        with _explained(self.folder):
            lets_in = (self.data / "pg_ident.conf").read_text(encoding="utf-8")
            if _identity() not in lets_in:
                owner = lets_in.partition('"')[2].partition('"')[0] or "another user"
                raise SlipwayCliError(
                    f"the database in {self.folder} was made by {owner} and lets in nobody else; start Slipway as that "
                    "user, or choose another home with --home or SLIPWAY_HOME"
                )
            # A server that looks for the process named there would take any other of the same number for its own.
            (self.data / "postmaster.pid").unlink(missing_ok=True)
            shutil.rmtree(self.sockets, ignore_errors=True)
            self.sockets.mkdir(mode=0o700)
            if (user := self.user) is not None:
                os.chown(self.sockets, *user)
            self._host = self._short_way()

    def look_after(self) -> None:
        """Make the short path again if a cleaner of temporary files has removed it."""
        if self.host != self.sockets and not self.host.is_symlink():
            with contextlib.suppress(OSError):
                self.host.parent.mkdir(mode=0o700, exist_ok=True)
                if self.host.parent.lstat().st_uid == os.geteuid():
                    self.host.symlink_to(self.sockets)

    def close(self) -> None:
        """Remove the short path."""
        with contextlib.suppress(OSError):
            self._remove_link()

    @property
    def host(self) -> Path:
        """The folder of the socket, for those who connect."""
        assert self._host is not None, "it is opened first"
        return self._host

    def url(self, database: str) -> str:
        """SQLAlchemy's URL of a database; it holds no secret."""
        # The port is part of the socket's name; without it PGPORT of the caller's environment would count.
        query = {"host": str(self.host), "port": str(PORT)}
        url = URL.create("postgresql+psycopg", ROLE, database=database, query=query)
        return url.render_as_string(hide_password=False)

    def _short_way(self) -> Path:
        self._remove_link()
        if len(os.fsencode(self.sockets / _SOCKET)) <= _LONGEST_SOCKET and _PLAIN.fullmatch(str(self.sockets)):
            return self.sockets
        # A folder that only its owner can enter; the socket itself stays in the home.
        folder = Path(tempfile.mkdtemp(prefix="slipway-", dir="/tmp"))
        self._link_note.write_text(str(folder), encoding="utf-8")
        (folder / "run").symlink_to(self.sockets)
        return folder / "run"

    def _remove_link(self) -> None:
        try:
            folder = Path(self._link_note.read_text(encoding="utf-8"))
        except FileNotFoundError:
            return
        with contextlib.suppress(OSError):
            if folder.lstat().st_uid == os.geteuid():
                (folder / "run").unlink()
                folder.rmdir()
        self._link_note.unlink()


def _identity() -> str:
    """The user of this process, as PostgreSQL's file of identities names who is let in."""
    try:
        name = pwd.getpwuid(os.geteuid()).pw_name.replace('"', '""')
    except KeyError:
        raise SlipwayCliError(
            f"the user id {os.geteuid()} has no account on this machine, and PostgreSQL lets in accounts alone: add one"
        ) from None
    return f'home "{name}"'


def server_environment() -> dict[str, str]:
    """Return the environment of a server, without the caller's: PGDATA and its like would lead elsewhere."""
    return {"PATH": os.defpath, "LC_ALL": "C", "TZ": "UTC", "PYTHONPATH": os.environ.get("PYTHONPATH", "")}


@contextlib.contextmanager
def _explained(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise SlipwayCliError(
            f"PostgreSQL's folder {folder} cannot be made ({error.strerror or error}); choose another home with --home "
            "or SLIPWAY_HOME, on a local disk"
            + ("; under root its files must belong to another user" if os.geteuid() == 0 else "")
        ) from error


NAME = "postgres"
_SETTINGS = {
    "listen_addresses": "",
    "port": str(PORT),
    "unix_socket_directories": "../run",
    "unix_socket_permissions": "0700",
    # Each of Airflow's processes may open 15 connections and as many asynchronous ones, each process with a store 22.
    "max_connections": "220",
    # One small machine: little memory, no helpers that nobody needs, and a log that is read.
    "shared_buffers": "64MB",
    "max_wal_size": "256MB",
    "wal_level": "minimal",
    "max_wal_senders": "0",
    "max_logical_replication_workers": "0",
    "max_parallel_workers_per_gather": "0",
    "io_method": "sync",
    "jit": "off",
    "log_checkpoints": "off",
    # A statement and the details of its failure may hold secrets of a design.
    "log_error_verbosity": "terse",
    "log_min_error_statement": "panic",
    "log_parameter_max_length": "0",
    "log_parameter_max_length_on_error": "0",
    "log_timezone": "UTC",
    "TimeZone": "UTC",
}


class PostgresProcess(Component):
    """The server of an opened cluster."""

    # "Fast": it ends transactions and connections, and writes down what is to be kept.
    stop_signal = signal.SIGINT

    def __init__(self, cluster: PostgresCluster, log: Path) -> None:
        options = [part for key, value in _SETTINGS.items() for part in ("-c", f"{key}={value}")]
        # Should the supervisor die, "immediate": it ends at once, and recovers at the next start.
        command = tied_program(signal.SIGQUIT, cluster.user, cluster.program("postgres"), "-D", OWN_FOLDER, *options)
        super().__init__(NAME, command, server_environment(), log, cluster.data, "PostgreSQL")
        self._cluster = cluster

    def kill_rest(self) -> list[int]:
        """Kill the server's processes: each of them has a session of its own."""
        left = kill_found(lambda: servers_of(self._cluster.data))
        self.reap()
        return left

    def answers(self) -> bool:
        """Whether it can be talked to (it may be recovering from a crash)."""
        try:
            self._administer().close()
        except psycopg.OperationalError:
            return False
        return True

    def make_databases(self) -> None:
        """Make the databases that are not there yet, and the role that owns them, which has no right to more."""
        with self._administer() as server:
            if server.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", (ROLE,)).fetchone() is None:
                server.execute(sql.SQL("CREATE ROLE {} LOGIN").format(sql.Identifier(ROLE)))
            for name in (AIRFLOW, STORE):
                if server.execute("SELECT 1 FROM pg_database WHERE datname = %s", (name,)).fetchone() is None:
                    made = sql.SQL("CREATE DATABASE {} OWNER {}")
                    server.execute(made.format(sql.Identifier(name), sql.Identifier(ROLE)))

    def _administer(self) -> psycopg.Connection:
        return psycopg.connect(
            host=str(self._cluster.host),
            port=PORT,
            user=SUPERUSER,
            dbname="postgres",
            connect_timeout=5,
            autocommit=True,
        )
