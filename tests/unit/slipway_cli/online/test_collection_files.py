"""Files joined into one text, and the way back from its lines."""

from __future__ import annotations

from pathlib import Path

import click
import pytest
from hypothesis import given
from hypothesis import strategies as st

from design_rendering.documents import load_documents
from slipway_cli.files import Source
from slipway_cli.online.collection_files import collection_of, joined

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
