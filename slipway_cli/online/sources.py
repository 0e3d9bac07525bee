"""The files of a collection as one text, sent as they are written, and the way back from its lines to the files'."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import click

from slipway_cli.files import Source, read_sources

_SUFFIXES = (".yaml", ".yml")
# A line that is neither blank nor a comment, nor only begins or ends a document.
_SOMETHING = re.compile(rb"^(?!(?:---|\.\.\.)?[ \t]*(?:#.*)?\r?$)[^\r\n]+", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Collection:
    """The text of a collection, and the line (from 0) at which each file begins in it."""

    text: bytes
    names: tuple[str, ...]
    starts: tuple[int, ...]

    @property
    def has_documents(self) -> bool:
        """Whether there is more than comments and separators in it; what cannot be read is for the server to judge."""
        return _SOMETHING.search(self.text) is not None

    def place(self, line: int) -> tuple[str, int]:
        """File and line (from 1) of a line (from 1) of the text."""
        found = max(bisect_right(self.starts, line - 1) - 1, 0)
        return self.names[found], line - self.starts[found]


def collection_of(filenames: Sequence[str], directories: Sequence[str], recurse: bool) -> Collection:
    """Read the files, and those in the directories, in order.

    Raises
    ------
    click.UsageError
        A file cannot be read, or a directory has no documents; all such are named.
    """
    found = [*filenames]
    for directory in directories:
        inside = sorted(str(path) for path in _documents(Path(directory), recurse))
        if not inside:
            raise click.UsageError(f"{directory} has no file that ends in {' or '.join(_SUFFIXES)}")
        found += inside
    return joined(read_sources(found))


def joined(sources: Iterable[Source]) -> Collection:
    """Join files into one text; each begins a new document."""
    text = bytearray()
    names: list[str] = []
    starts: list[int] = []
    for source in sources:
        content = source.content.removeprefix(b"\xef\xbb\xbf")
        if text:
            text += b"" if text.endswith(b"\n") else b"\n"
            text += b"" if content.startswith(b"---") else b"---\n"
        names.append(source.name)
        starts.append(text.count(b"\n"))
        text += content
    return Collection(bytes(text), tuple(names), tuple(starts))


def _documents(directory: Path, recurse: bool) -> Iterable[Path]:
    try:
        inside = directory.rglob("*") if recurse else directory.iterdir()
        return [path for path in inside if path.suffix in _SUFFIXES and path.is_file()]
    except OSError as error:
        raise click.UsageError(f"{directory} cannot be read: {error.strerror or error}") from error
