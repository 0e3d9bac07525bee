"""The store that all requests of a process share."""

from __future__ import annotations

import contextlib
from pathlib import Path

import pytest

from slipway_api.http.dependencies import open_store
from tests.support.stores import new_store


def open_files(folder: Path) -> set[str]:
    """Return the files below a folder that this process has open."""
    found = set()
    for descriptor in Path("/proc/self/fd").iterdir():
        # That of the listing itself is closed by now.
        with contextlib.suppress(FileNotFoundError):
            found.add(str(descriptor.readlink()))
    return {file for file in found if file.startswith(f"{folder}/")}


def test_a_store_of_an_earlier_environment_keeps_no_file_open(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stores = []
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        monkeypatch.setenv("SLIPWAY_DATABASE_URL", new_store(tmp_path / name))
        stores.append(open_store())
        assert open_store() is stores[-1]
        assert stores[-1].sites.known() == []
        assert open_files(tmp_path / name) != set()
    assert open_files(tmp_path / "one") == set()
    monkeypatch.setenv("SLIPWAY_DATABASE_URL", f"sqlite:///{tmp_path}/one/slipway.db")
    assert open_store().sites.known() == []
    assert open_files(tmp_path / "two") == set()
