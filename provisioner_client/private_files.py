"""Files that only their owner can read, such as passwords, tokens and logs."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import BinaryIO

from strategy_lib.settings import SettingError

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


def read_private(path: Path, named_by: str, shortest: int = 1) -> str:
    """Return what is in a file with a password or key, without blanks around it.

    Parameters
    ----------
    named_by : the variable or option that names it.
    shortest : characters that it has at least.

    Raises `SettingError`: the file cannot be read, others than its owner may read it, or it has too little.
    """
    try:
        if stat.S_IMODE(path.stat().st_mode) & PRIVATE_UMASK:
            raise SettingError(named_by, f"others may read {path}: run chmod 600 {path}")
        text = path.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is no text"
        raise SettingError(named_by, f"{path} cannot be read ({reason})") from error
    if not text:
        raise SettingError(named_by, f"{path} is empty")
    if len(text) < shortest:
        raise SettingError(named_by, f"the key in {path} must have {shortest} characters at least")
    return text
