"""New stores with the present schema: a copy is made in a moment, and building one takes much longer."""

from __future__ import annotations

import functools
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from site_store import SiteStore


@functools.cache
def _template() -> bytes:
    with tempfile.TemporaryDirectory() as directory:
        file = Path(directory) / "slipway.db"
        SiteStore.upgrade(f"sqlite:///{file}")
        return file.read_bytes()


def new_store(folder: Path) -> str:
    """Make an empty store in a folder, in the file `slipway.db`; return its URL."""
    file = folder / "slipway.db"
    file.write_bytes(_template())
    return f"sqlite:///{file}"


@contextmanager
def new_store_in_memory() -> Iterator[str]:
    """Make an empty store that is not written to a disk, where the system has files in memory; give its URL."""
    in_memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=in_memory if in_memory.is_dir() else None) as folder:
        yield new_store(Path(folder))


def upgrade_fails_at(operation: str, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Upgrade a database, with the power cut at the first of these operations of Alembic."""

    def fail(*_args: object, **_options: object) -> None:
        raise RuntimeError("power cut")

    with monkeypatch.context() as broken:
        broken.setattr(f"alembic.operations.Operations.{operation}", fail)
        with pytest.raises(RuntimeError, match="power cut"):
            SiteStore.upgrade(url)
