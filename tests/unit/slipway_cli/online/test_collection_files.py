"""Files joined into one text, the way back from its lines, and the memory of what was loaded."""

from __future__ import annotations

from pathlib import Path

import click
import pytest
from hypothesis import given
from hypothesis import strategies as st

from design_rendering.reading.documents import load_documents
from slipway_cli.files import Source
from slipway_cli.online.documents.collection_files import Collection, UploadCache, collection_of, joined, version_of
from slipway_cli.online.server.server_config import ServerConfig

LINES = st.lists(st.sampled_from(["---", "a: 1", "# b", "", "- c", "..."]), max_size=6)
CONTENTS = st.builds(lambda lines, end: ("\n".join(lines) + end).encode(), LINES, st.sampled_from(["", "\n", "\n\n"]))


@given(st.lists(CONTENTS, min_size=1, max_size=5))
def test_every_line_of_every_file_is_found_again(contents: list[bytes]) -> None:
    sources = [Source(f"f{number}", content) for number, content in enumerate(contents)]
    collection = joined(sources)
    lines = collection.text.split(b"\n")
    found = {}
    for number, line in enumerate(lines, 1):
        name, there = collection.place(number)
        found[name, there] = line
    for source in sources:
        for number, line in enumerate(source.content.removesuffix(b"\n").split(b"\n"), 1):
            if source.content:
                assert found[source.name, number] == line


def test_one_file_is_sent_as_it_is() -> None:
    content = b"# comment\n---\na:   1   # as written"
    assert joined([Source("a.yaml", content)]).text == content


def test_files_are_documents_of_their_own(tmp_path: Path) -> None:
    document = "schema: x/Y/v1\nmetadata: {name: %s}\ndata: {}"
    for name, head in (("a", ""), ("b", "---\n"), ("c", "\ufeff"), ("d", "# first\n---\n")):
        (tmp_path / f"{name}.yaml").write_text(head + document % name, encoding="utf-8")
    collection = collection_of([], [str(tmp_path)], False)
    assert [each.name for each in load_documents(collection.text)] == ["a", "b", "c", "d"]


def test_a_folder_is_read_in_order_and_below_only_if_asked_for(tmp_path: Path) -> None:
    (tmp_path / "below").mkdir()
    for name in ("z.yml", "a.yaml", "notes.txt", "below/m.yaml"):
        (tmp_path / name).write_text("a: 1\n")
    named = collection_of([], [str(tmp_path)], False).names
    assert [Path(name).name for name in named] == ["a.yaml", "z.yml"]
    below = collection_of([], [str(tmp_path)], True).names
    assert [str(Path(name).relative_to(tmp_path)) for name in below] == ["a.yaml", "below/m.yaml", "z.yml"]


@pytest.mark.parametrize("folder", ["empty", "missing"])
def test_a_folder_without_documents_is_wrong_use(tmp_path: Path, folder: str) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(click.UsageError, match=f"{folder} (has no file that ends in|cannot be read)"):
        collection_of([], [str(tmp_path / folder)], False)


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
