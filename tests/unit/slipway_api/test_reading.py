"""A large collection that was just put is not read once more by its commit; what is kept is neither old nor another."""

from __future__ import annotations

import time

import pytest

from design_rendering.reading.documents import Document, DocumentError
from slipway_api.documents.reading import SMALL, ReadOnce

LARGE = "schema: x/Y/v1\nmetadata: {name: n}\ndata:\n" + "  a: &a\n" + "  - some text\n" * (SMALL // 12)


def read_anew(once: ReadOnce, name: str, text: str, known: list[Document]) -> bool:
    (document,) = once.read(name, text)
    assert (document.name, document.source) == ("n", name)
    return document is not known[0]


def test_what_was_put_last_is_read_once() -> None:
    once = ReadOnce()
    known = once.put("c", LARGE.encode())
    assert not read_anew(once, "c", LARGE, known)
    assert not read_anew(once, "c", LARGE, known)
    assert read_anew(once, "d", LARGE, known)
    assert read_anew(once, "c", f"{LARGE}  - more\n", known)
    other = once.put("d", LARGE.encode())
    assert read_anew(once, "c", LARGE, known)
    once.forget()
    assert read_anew(once, "d", LARGE, other)


def test_the_list_that_is_kept_is_nobody_elses() -> None:
    once = ReadOnce()
    known = once.put("c", LARGE.encode())
    once.read("c", LARGE).clear()
    assert not read_anew(once, "c", LARGE, known)


def test_a_small_collection_is_not_kept() -> None:
    once = ReadOnce()
    text = "schema: x/Y/v1\nmetadata: {name: n}\n"
    assert read_anew(once, "c", text, once.put("c", text.encode()))


def test_a_collection_that_cannot_be_read_leaves_nothing_kept() -> None:
    once = ReadOnce()
    known = once.put("c", LARGE.encode())
    with pytest.raises(DocumentError):
        once.put("c", b"{")
    assert read_anew(once, "c", LARGE, known)
    with pytest.raises(DocumentError):
        once.read("c", "\ud800" * SMALL)


def test_it_is_kept_for_a_while() -> None:
    once = ReadOnce(seconds=0.05)
    known = once.put("c", LARGE.encode())
    deadline = time.monotonic() + 300
    while not read_anew(once, "c", LARGE, known):
        assert time.monotonic() < deadline
