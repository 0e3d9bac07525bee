"""The files of a collection as one text, and the way back from its lines to the files', also after a later commit."""

from __future__ import annotations

import contextlib
import json
import os
import re
import time
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from provisioner_client.private_files import write_private
from slipway_cli.files import Source, files_in, read_sources
from slipway_cli.online.server.server_config import Folder, ServerConfig

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

    Raises `click.UsageError`: a file cannot be read, or a directory has no documents; all such are named.
    """
    found = [*filenames]
    for directory in directories:
        found += files_in(directory, recurse=recurse)
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


_MOST = 50
"""Buffers that are remembered."""


class UploadCache:
    """The files behind one buffer. What cannot be remembered is not: nothing but line numbers depends on it."""

    def __init__(self, where: ServerConfig, environ: Mapping[str, str] | None = None) -> None:
        self.path = Folder.of(os.environ if environ is None else environ).loaded_file
        self._key = f"{where.url} {where.site}"

    def remember(self, version: int, collection: str, sources: Collection, *, alone: bool) -> None:
        """A collection was put into the buffer, which has this version now; `alone`: it is all that is in it."""
        before = self._read().get(self._key, {})
        kept = before.get("collections", {}) if before.get("version") == version - 1 and not alone else {}
        files = [os.path.abspath(name) if not name.startswith("<") else name for name in sources.names]  # noqa: PTH100
        kept[collection] = {"files": files, "starts": list(sources.starts)}
        self._write({"version": version, "collections": kept, "at": time.time()})

    def collections(self, version: int) -> dict[str, Collection]:
        """The collections of the buffer with this version, as far as they are known; without their texts."""
        found = self._read().get(self._key, {})
        if found.get("version") != version:
            return {}
        with contextlib.suppress(KeyError, TypeError, AttributeError):
            return {
                name: Collection(b"", tuple(_short(file) for file in each["files"]), tuple(each["starts"]))
                for name, each in found["collections"].items()
            }
        return {}

    def forget(self) -> None:
        """The buffer is empty."""
        if self._key in self._read():
            self._write(None)

    def _read(self) -> dict[str, Any]:
        try:
            data = json.loads(self.path.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return {}
        return {key: value for key, value in data.items() if isinstance(value, dict)} if isinstance(data, dict) else {}

    def _write(self, entry: Mapping[str, Any] | None) -> None:
        others = {key: value for key, value in self._read().items() if key != self._key}
        newest = sorted(others.items(), key=lambda item: str(item[1].get("at", "")), reverse=True)[: _MOST - 1]
        data = dict(newest) | ({self._key: entry} if entry is not None else {})
        with contextlib.suppress(OSError):
            write_private(self.path, json.dumps(data))


def version_of(headers: Mapping[str, str]) -> int:
    """The version of the buffer that an answer is about, 0 where it does not say."""
    tag = headers.get("ETag", "").strip('"')
    return int(tag) if tag.isdecimal() else 0


def _short(file: str) -> str:
    """A file as one who is in this folder calls it."""
    with contextlib.suppress(ValueError, OSError):
        return str(Path(file).relative_to(Path.cwd()))
    return file
