"""Which files the collections in a buffer were made of, so that what a commit finds is told by file and line.

Kept on this machine only, and believed only if every change of the buffer since then was made from here: each change
makes the buffer's version one more.
"""

from __future__ import annotations

import contextlib
import json
import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from slipway_cli.embedded.credentials import write_private
from slipway_cli.online.profiles import Folder
from slipway_cli.online.server_config import Installation
from slipway_cli.online.sources import Collection

_MOST = 50
"""Buffers that are remembered."""


class LoadedFiles:
    """The files behind one buffer. What cannot be remembered is not: nothing but line numbers depends on it."""

    def __init__(self, where: Installation, environ: Mapping[str, str] | None = None) -> None:
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
