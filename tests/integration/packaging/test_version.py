"""The version of a tree: what Git says of it, or of what Git knows nothing."""

from __future__ import annotations

import importlib.metadata
import io
import os
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest
from click.testing import CliRunner
from packaging.version import Version

from site_engine.version import version, version_of
from slipway_cli.main import main
from tests.support.wheel import ROOT

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="Git is not installed")
_KEPT = ("VERSION", ".git_archival.txt", ".gitattributes", ".gitignore")


class Tree:
    """A clone of few files, with the ones that a version is made of."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir()
        self.git("init", "--quiet", "--initial-branch", "main")
        for name in _KEPT:
            shutil.copy(ROOT / name, folder / name)
        (folder / "VERSION").write_text("0.10.0.dev\n")
        self.commit("first")

    def git(self, *arguments: str) -> bytes:
        settings = ["-c", "user.name=ann", "-c", "user.email=ann@example.org", "-c", "protocol.file.allow=always"]
        told = ["git", "-C", str(self.folder), *settings, *arguments]
        return subprocess.run(told, check=True, capture_output=True, timeout=60).stdout

    def commit(self, text: str) -> None:
        (self.folder / "code.py").write_text(text)
        self.git("add", "--all")
        self.git("commit", "--quiet", "--message", text)

    @property
    def head(self) -> str:
        return self.git("rev-parse", "HEAD").decode()[:12]

    @property
    def version(self) -> str:
        return version_of(self.folder)


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    return Tree(tmp_path / "tree")


def test_each_commit_has_a_version_of_its_own_and_the_newer_is_greater(tree: Tree) -> None:
    first = tree.version
    assert first == f"0.10.0.dev1+g{tree.head}"
    tree.commit("second")
    second = tree.version
    assert second == f"0.10.0.dev2+g{tree.head}"
    assert Version("0.1.0") < Version("0.9.0") < Version(first) < Version(second) < Version("0.10.0")
    (tree.folder / "VERSION").write_text("0.10.0\n")
    tree.commit("release")
    assert tree.version == f"0.10.0+g{tree.head}"
    assert Version(second) < Version(tree.version) < Version("0.11.0.dev0")


def test_tags_change_nothing_as_another_copy_may_not_have_them(tree: Tree) -> None:
    before = tree.version
    tree.git("tag", "9.9.9")
    tree.git("tag", "--annotate", "v9.9.9", "--message", "tag")
    assert tree.version == before


def test_changes_that_are_not_committed_have_a_version_of_their_own(tree: Tree) -> None:
    clean, found = tree.version, set[str]()
    for text in ("one", "other"):
        (tree.folder / "code.py").write_text(text)
        found.add(tree.version)
    tree.git("add", "--all")
    assert tree.version in found, "it counts what is there, and not what is staged"
    tree.git("reset", "--quiet", "--hard")
    # Git does not know it, and it would be part of a wheel all the same.
    for name, text in (("new.py", "one"), ("new.py", "other"), ("else.py", "other")):
        (tree.folder / name).write_text(text)
        found.add(tree.version)
        (tree.folder / name).unlink()
    assert len(found) == 5
    assert all(version.startswith(f"{clean}.d") for version in found)
    (tree.folder / "build").mkdir()
    (tree.folder / "build" / "left.py").write_text("ignored")
    assert tree.version == clean


def test_a_source_archive_names_its_commit(tree: Tree, tmp_path: Path) -> None:
    found = []
    for text in ("second", "third"):
        tree.commit(text)
        unpacked = tmp_path / text
        with tarfile.open(fileobj=io.BytesIO(tree.git("archive", "HEAD"))) as packed:
            packed.extractall(unpacked, filter="data")
        found.append(version_of(unpacked))
        assert found[-1] == f"0.10.0.dev0+g{tree.head}"
    assert len(set(found)) == 2
    assert Version(found[-1]) < Version(tree.version), "how many commits there were it cannot know"


def test_a_shallow_clone_does_not_count_what_it_does_not_have(tree: Tree, tmp_path: Path) -> None:
    tree.commit("second")
    tree.git("clone", "--quiet", "--depth", "1", tree.folder.as_uri(), str(tmp_path / "shallow"))
    assert version_of(tmp_path / "shallow") == f"0.10.0.dev0+g{tree.head}"


def test_a_work_tree_beside_the_clone_is_that_clone(tree: Tree, tmp_path: Path) -> None:
    tree.git("worktree", "add", "--quiet", "--detach", str(tmp_path / "beside"))
    assert version_of(tmp_path / "beside") == tree.version


def test_a_copy_without_git_has_the_digest_of_its_files(tree: Tree, tmp_path: Path) -> None:
    # Also inside of another repository, which knows nothing of it.
    copy = Tree(tmp_path / "another").folder / "vendored"
    shutil.copytree(tree.folder, copy, ignore=shutil.ignore_patterns(".git"))
    (copy / ".venv").mkdir()
    first = version_of(copy)
    assert first.startswith("0.10.0.dev0+t")
    (copy / ".venv" / "installed.py").write_text("no source")
    assert version_of(copy) == first
    (copy / "code.py").write_text("changed")
    assert version_of(copy) != first


def test_without_the_program_git_there_is_a_version_all_the_same(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", os.devnull)
    assert version_of(tree.folder).startswith("0.10.0.dev0+t")


def test_the_command_asks_git_when_it_runs_from_a_checkout() -> None:
    assert CliRunner().invoke(main, ["--version"]).stdout == f"slipway {version_of(ROOT)}\n"


def test_an_editable_installation_without_setuptools_scm_says_that_it_cannot_know(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "setuptools_scm", None)
    said = version.__wrapped__()
    assert said == f"{importlib.metadata.version('slipway')}.editable"
    assert Version(said) > Version("0.9.0")
