"""Files that only their owner can read, such as passwords, tokens and logs."""

from __future__ import annotations

import os
from pathlib import Path
from typing import BinaryIO

PRIVATE_UMASK = 0o077
"""Of every process that works in a home: what it makes there is its owner's alone, whatever the caller's umask is."""


def open_private(path: Path) -> BinaryIO:
    """Open a file for appending; what is made for it, its folder too, only its owner can read."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    return os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600), "ab", buffering=0)


def write_private(path: Path, text: str) -> None:
    """Replace a file atomically with one of mode 0600."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    temporary.unlink(missing_ok=True)
    with os.fdopen(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as out:
        out.write(text)
    temporary.replace(path)
