"""Which Slipway this is: what was fixed when its wheel was built, or what Git says of the tree that it runs from.

A version is `<base><number of commits>+g<commit>`. The base stands in the file `VERSION`, because tags do not travel
with every copy of a repository: `0.10.0.dev` is newer than 0.9.0 and older than 0.10.0. Two trees never share a
version: changes that are not committed add a digest of them, and a tree without Git has the digest of its files.
"""

from __future__ import annotations

import functools
import importlib.metadata
import os
import subprocess
import warnings
from collections.abc import Iterable
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from setuptools_scm.version import ScmVersion

_BASE = "VERSION"
_DIGITS = 12
# Tags may be missing in a copy, which would count otherwise than another of the same commit.
_NO_TAGS = ["git", "describe", "--long", "--match", "tags do not count"]
_PATIENCE = 60.0
# A process of a Git hook would be told of another repository.
_ENVIRONMENT = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
_NO_SOURCES = {"__pycache__", "build", "dist"}


@functools.cache
def version() -> str:
    """Return the version of this installation, as it was when the process asked first.

    An editable installation asks Git; without setuptools-scm it has the version of its installation with `.editable`.
    """
    tree = Path(__file__).parents[1]
    # Other packages, too, may leave a file of this name beside theirs.
    if not all((tree / name).is_file() for name in (_BASE, "setup.py", "pyproject.toml")):
        return importlib.metadata.version("slipway")
    try:
        return version_of(tree)
    except ImportError:
        return f"{importlib.metadata.version('slipway')}.editable"


def version_of(tree: Path) -> str:
    """Return the version of a source tree: a clone, a `git archive`, an sdist, or a plain copy.

    The number of commits is 0 where it cannot be known: in a shallow clone, an archive or a copy.
    Raises `ImportError`: setuptools-scm is not installed.
    """
    from setuptools_scm import get_version

    with warnings.catch_warnings():
        # Of a shallow clone, and of an archive's file that stands in a clone.
        warnings.simplefilter("ignore")
        try:
            return get_version(
                tree, version_scheme=_public, local_scheme=_local, git_describe_command=_NO_TAGS, dist_name="slipway"
            )
        except LookupError:
            return f"{_numbered(tree, 0)}+t{_digest(tree, _sources(tree))}"


def _public(found: ScmVersion) -> str:
    tree = Path(found.config.absolute_root)
    is_shallow = _git(tree, "rev-parse", "--is-shallow-repository") == b"true\n"
    return _numbered(tree, 0 if is_shallow else found.distance or 0)


def _numbered(tree: Path, commits: int) -> str:
    """Return the part of a version that is ordered: a base that is no `.dev` is a release, and has no number."""
    base = (tree / _BASE).read_text(encoding="utf-8").strip()
    return f"{base}{commits}" if base.endswith(".dev") else base


def _local(found: ScmVersion) -> str:
    """Return `+g<commit>`, and after it the digest of what differs from that commit."""
    tree = Path(found.config.absolute_root)
    commit = (found.node or "").removeprefix("g")[:_DIGITS]
    changed = _git(tree, "diff", "--binary", "--no-ext-diff", "--no-textconv", "HEAD")
    added = _git(tree, "ls-files", "-z", "--others", "--exclude-standard").decode().split("\0")[:-1]
    if not changed and not added:
        return f"+g{commit}"
    return f"+g{commit}.d{_digest(tree, map(tree.joinpath, added), changed)}"


def _git(tree: Path, *arguments: str) -> bytes:
    """Return what Git says; nothing where the tree is none of its own, such as an archive."""
    if not (tree / ".git").exists():
        return b""
    told = ["git", "-C", str(tree), *arguments]
    return subprocess.run(told, capture_output=True, check=False, timeout=_PATIENCE, env=_ENVIRONMENT).stdout


def _sources(tree: Path) -> Iterable[Path]:
    """Return the files of a copy that may be installed: those below no hidden folder, environment or build."""
    for folder, folders, files in os.walk(tree):
        folders[:] = sorted(name for name in folders if _is_source(Path(folder, name)))
        yield from (Path(folder, name) for name in sorted(files))


def _is_source(folder: Path) -> bool:
    made = folder.name.startswith(".") or folder.suffix == ".egg-info" or (folder / "pyvenv.cfg").exists()
    return not made and folder.name not in _NO_SOURCES


def _digest(tree: Path, files: Iterable[Path], first: bytes = b"") -> str:
    """Return the first digits of a digest of bytes, and of files with their names."""
    found = sha256(first)
    for file in files:
        found.update(f"\0{file.relative_to(tree).as_posix()}\0".encode(errors="surrogateescape"))
        found.update(sha256(file.read_bytes()).digest() if file.is_file() else b"")
    return found.hexdigest()[:_DIGITS]
