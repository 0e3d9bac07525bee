"""What is kept of a release is that release: its commit gives the wheel whose digest is written down."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path
from zipfile import ZipFile

import pytest

from tests.support.releases import Release, git, releases
from tests.support.wheel import files_sha256, pack


@pytest.mark.parametrize("release", releases(), ids=lambda release: release.version)
def test_the_commit_of_a_release_gives_its_wheel(release: Release, tmp_path: Path) -> None:
    release.unpack(tmp_path / "tree")
    made = git("show", "--no-patch", "--format=%ct", release.commit)
    built = pack(tmp_path / "tree", tmp_path / "wheel", int(made.stdout))
    assert built.name == release.wheel
    assert files_sha256(built) == release.wheel_files_sha256
    with ZipFile(built) as wheel:
        (about,) = [name for name in wheel.namelist() if name.endswith(".dist-info/WHEEL")]
        built_with = wheel.read(about).decode()
    # Other versions of the tool write other facts about themselves.
    if f"Generator: {release.built_with}\n" in built_with:
        assert sha256(built.read_bytes()).hexdigest() == release.wheel_sha256
