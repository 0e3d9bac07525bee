"""The log files of the embedded Airflow's processes: appended to, turned over when large, and their last lines."""

from __future__ import annotations

import os
from pathlib import Path
from typing import BinaryIO

_TURN_OVER = 20 * 1024 * 1024


def open_log(path: Path) -> BinaryIO:
    """Open for appending; a log of more than 20 MiB becomes `<name>.1` first."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.exists() and path.stat().st_size > _TURN_OVER:
        path.replace(path.with_name(path.name + ".1"))
    return os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600), "ab", buffering=0)


def tail(path: Path, lines: int = 15, start: int = 0) -> str:
    """The last lines, indented by two blanks; of what was written from offset `start` on."""
    try:
        with path.open("rb") as log:
            size = log.seek(0, os.SEEK_END)
            log.seek(max(start if start <= size else 0, size - 64 * 1024))
            text = log.read().decode(errors="replace")
    except OSError:
        return "  (no log)"
    last = [line.rstrip() for line in text.splitlines() if line.strip()][-lines:]
    return "\n".join("  " + line for line in last) or "  (nothing was logged)"
