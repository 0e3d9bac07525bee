"""What is kept of a release is that release: its commit gives the wheel whose digest is written down."""

from __future__ import annotations

import io
import subprocess
import tarfile
from hashlib import sha256
from pathlib import Path
from zipfile import ZipFile

import pytest

from tests.support.releases import Release, releases
from tests.support.wheel import ROOT, files_sha256, pack


def _git(*arguments: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(["git", "-C", ROOT, *arguments], capture_output=True, timeout=60, check=False)


@pytest.mark.parametrize("release", releases(), ids=lambda release: release.version)
def test_the_commit_of_a_release_gives_its_wheel(release: Release, tmp_path: Path) -> None:
    asked = _git("show", "--no-patch", "--format=%ct", release.commit)
    if asked.returncode != 0:
        pytest.skip(f"this copy of the history does not reach back to {release.commit}")
    archive = _git("archive", release.commit)
    assert archive.returncode == 0, archive.stderr
    with tarfile.open(fileobj=io.BytesIO(archive.stdout)) as packed:
        packed.extractall(tmp_path / "tree", filter="tar")
    built = pack(tmp_path / "tree", tmp_path / "wheel", int(asked.stdout))
    assert built.name == release.wheel
    assert files_sha256(built) == release.wheel_files_sha256
    with ZipFile(built) as wheel:
        (about,) = [name for name in wheel.namelist() if name.endswith(".dist-info/WHEEL")]
        built_with = wheel.read(about).decode()
    # Other versions of the tool write other facts about themselves.
    if f"Generator: {release.built_with}\n" in built_with:
        assert sha256(built.read_bytes()).hexdigest() == release.wheel_sha256
