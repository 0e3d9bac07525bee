"""The memory of files that were sent is used only where it cannot be wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from slipway_cli.online.collection_files import Collection, UploadCache, version_of
from slipway_cli.online.server_config import ServerConfig

ONE = Collection(b"", ("one.yaml", "<stdin>"), (0, 5))
TWO = Collection(b"", ("two.yaml",), (0,))


@pytest.fixture(autouse=True)
def _there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)


def loaded(site: str = "default") -> UploadCache:
    return UploadCache(ServerConfig("http://h", site, "k"))


def test_what_was_loaded_from_here_alone_is_known() -> None:
    loaded().remember(7, "one", ONE, alone=True)
    loaded().remember(8, "two", TWO, alone=False)
    assert loaded().collections(8) == {"one": ONE, "two": TWO}
    assert loaded("other").collections(8) == {}


def test_what_somebody_else_changed_since_is_not_known() -> None:
    loaded().remember(7, "one", ONE, alone=True)
    assert loaded().collections(8) == {}
    loaded().remember(9, "two", TWO, alone=False)
    assert loaded().collections(9) == {"two": TWO}


def test_replacing_the_buffer_forgets_what_was_in_it() -> None:
    loaded().remember(7, "one", ONE, alone=True)
    loaded().remember(8, "two", TWO, alone=True)
    assert set(loaded().collections(8)) == {"two"}
    loaded().forget()
    assert loaded().collections(8) == {}


def test_files_are_named_as_one_calls_them_from_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    loaded().remember(1, "two", TWO, alone=True)
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert loaded().collections(1)["two"].names == (str(tmp_path / "two.yaml"),)


@pytest.mark.parametrize("text", ["", "[]", '{"http://h default": 3}', '{"http://h default": {"version": 1}}', "\0"])
def test_a_damaged_memory_is_none(text: str) -> None:
    loaded().remember(1, "two", TWO, alone=True)
    loaded().path.write_text(text)
    assert loaded().collections(1) == {}
    loaded().remember(2, "two", TWO, alone=True)
    assert loaded().collections(2) == {"two": TWO}


def test_a_memory_that_cannot_be_written_is_done_without(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "file"))
    loaded().remember(1, "two", TWO, alone=True)
    assert loaded().collections(1) == {}


def test_old_buffers_are_forgotten() -> None:
    for number in range(60):
        loaded(f"s{number}").remember(1, "two", TWO, alone=True)
    known = [number for number in range(60) if loaded(f"s{number}").collections(1)]
    assert known == list(range(10, 60))


def test_the_version_of_an_answer() -> None:
    assert [version_of({"ETag": tag}) for tag in ('"7"', "7", 'W/"7"', "")] == [7, 7, 0, 0]
    assert version_of({}) == 0
