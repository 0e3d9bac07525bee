"""The buffer: what is put together before it is committed."""

from __future__ import annotations

import pickle

import pytest

from site_store import (
    BufferChanged,
    BufferMode,
    BufferNotEmpty,
    DocumentElsewhere,
    RevisionNotFound,
    SiteStore,
    ValueRefused,
    Version,
)
from tests.integration.site_store.designs.desk import Desk, counts, written, yaml
from tests.integration.site_store.scenario import SITE, FakeClock

A, B, C = yaml("a1", "a2"), yaml("b1"), yaml("c1")


def test_a_site_that_nobody_touched_has_an_empty_buffer(store: SiteStore) -> None:
    record = store.buffers.get("nobody")
    assert (record.version, record.base_revision, record.posted, record.is_empty) == (0, None, {}, True)
    assert (record.changed, record.changed_by) == (None, None)
    assert store.buffers.version("nobody") == 0
    with pytest.raises(RevisionNotFound, match="its buffer is empty"):
        store.sites.collections("nobody", Version.BUFFER)
    assert store.sites.committed() == []


def test_what_is_put_comes_back_as_it_was_written(desk: Desk, clock: FakeClock) -> None:
    clock.move(5)
    record = desk.put("a", A)
    assert (record.version, record.base_revision, record.is_empty) == (1, None, False)
    assert (record.changed, record.changed_by) == (clock.time, "ann")
    assert {name: one.text for name, one in record.posted.items()} == {"a": A}
    assert "# as written" in record.posted["a"].text
    assert desk.store.buffers.get(SITE) == record
    assert desk.store.buffers.version(SITE) == 1
    assert desk.store.sites.collections(SITE, Version.BUFFER) == [record.posted["a"]]
    assert desk.store.buffers.get("elsewhere").is_empty


def test_reject_needs_an_empty_buffer(desk: Desk) -> None:
    desk.put("a", A, BufferMode.REJECT)
    with pytest.raises(BufferNotEmpty, match="holds a:"):
        desk.put("b", B, BufferMode.REJECT)
    assert list(desk.store.buffers.get(SITE).posted) == ["a"]


def test_append_needs_a_collection_that_is_not_there_yet(desk: Desk) -> None:
    desk.put("a", A, BufferMode.APPEND)
    assert sorted(desk.put("b", B, BufferMode.APPEND).posted) == ["a", "b"]
    with pytest.raises(BufferNotEmpty, match=r"'a' .* \(--renew\) .*, replace \(--replace\) also discards b$"):
        desk.put("a", C, BufferMode.APPEND)
    assert written(desk.store, Version.BUFFER) == {"a": A, "b": B}
    assert desk.store.buffers.version(SITE) == 2


def test_replace_empties_the_buffer_first(desk: Desk) -> None:
    desk.put("a", A)
    desk.put("b", B)
    record = desk.put("b", C, BufferMode.REPLACE)
    assert (record.version, {name: one.text for name, one in record.posted.items()}) == (3, {"b": C})
    assert record.discarded == ("a",)
    # What nothing refers to any more is gone.
    assert counts(desk.store) == (1, 1)


def test_a_lone_collection_is_replaced_at_the_cost_of_no_other(desk: Desk) -> None:
    desk.put("a", A)
    with pytest.raises(BufferNotEmpty, match=r"\(--renew\) puts this one in its place$"):
        desk.put("a", C, BufferMode.APPEND)
    assert desk.put("a", C, BufferMode.REPLACE).discarded == ()


def test_renew_puts_a_collection_in_its_own_place_and_leaves_the_others(desk: Desk) -> None:
    desk.put("a", A, BufferMode.RENEW)
    desk.put("b", B)
    record = desk.put("a", C, BufferMode.RENEW)
    assert (record.version, {name: one.text for name, one in record.posted.items()}) == (3, {"a": C, "b": B})
    assert record.discarded == ()
    assert counts(desk.store) == (2, 2), "what nothing refers to any more is gone"
    with pytest.raises(DocumentElsewhere, match="'b'"):
        desk.put("a", B, BufferMode.RENEW)
    assert written(desk.store, Version.BUFFER) == {"a": C, "b": B}


@pytest.mark.parametrize("mode", list(BufferMode))
def test_the_same_as_committed_is_nothing_to_change(desk: Desk, mode: BufferMode) -> None:
    desk.save({"a": A})
    with pytest.raises(ValueRefused, match="the same as in the newest revision"):
        desk.put("a", A, mode)
    with pytest.raises(ValueRefused, match="not in the newest revision"):
        desk.put("b", " \n", mode)
    assert desk.store.buffers.get(SITE).is_empty


def test_a_refused_replacement_leaves_the_buffer(desk: Desk) -> None:
    desk.save({"a": A})
    before = desk.put("b", B)
    with pytest.raises(ValueRefused, match="newest revision"):
        desk.put("a", A, BufferMode.REPLACE)
    assert desk.store.buffers.get(SITE) == before


def test_an_empty_collection_takes_its_documents_away(desk: Desk) -> None:
    desk.save({"a": A, "b": B})
    record = desk.put("a", "\n")
    assert record.posted["a"].text == ""
    assert written(desk.store, Version.BUFFER) == {"b": B}
    desk.commit()
    assert written(desk.store, Version.COMMITTED) == {"b": B}
    assert written(desk.store, 1) == {"a": A, "b": B}


def test_a_document_lives_in_one_collection(desk: Desk) -> None:
    desk.save({"a": A})
    desk.put("b", B)
    with pytest.raises(
        DocumentElsewhere, match=r"'a2' of layer 'site' is in collection 'a' already, and 1 more"
    ) as error:
        desk.put("c", yaml("a2", "b1", "c1"))
    assert sorted((key.name, holder) for key, holder in error.value.found) == [("a2", "a"), ("b1", "b")]
    again = pickle.loads(pickle.dumps(error.value))  # noqa: S301 - made here
    assert (str(again), again.found) == (str(error.value), error.value.found)
    assert sorted(desk.store.buffers.get(SITE).posted) == ["b"]
    # The same name in another layer is another document; in another site it is nobody's business.
    desk.put("c", yaml("a2", layer="global"))
    Desk(desk.store).store.buffers.put("south", "z", A, [], BufferMode.REJECT, "ann")


def test_a_document_moves_when_its_old_collection_lets_it_go(desk: Desk) -> None:
    desk.save({"a": A})
    desk.put("a", yaml("a1"))
    desk.put("b", yaml("a2"))
    desk.commit()
    desk.put("a", "")
    desk.put("c", yaml("a1"))
    assert written(desk.store, Version.BUFFER) == {"b": yaml("a2"), "c": yaml("a1")}


def test_what_was_discarded_by_replacing_holds_no_document(desk: Desk) -> None:
    desk.put("a", A)
    assert list(desk.put("b", yaml("a1"), BufferMode.REPLACE).posted) == ["b"]


def test_discard(desk: Desk, clock: FakeClock) -> None:
    desk.save({"a": A})
    texts = counts(desk.store)
    put = desk.put("a", B)
    clock.move(9)
    record = desk.store.buffers.discard(SITE, "bob")
    assert (record.is_empty, record.version, record.changed_by, record.changed) == (
        True,
        put.version + 1,
        "bob",
        clock.time,
    )
    assert counts(desk.store) == texts
    assert desk.store.buffers.discard(SITE, "carl") == record
    assert desk.store.buffers.discard("nobody", "carl").version == 0


def test_the_version_only_grows_also_over_commits(desk: Desk) -> None:
    seen = [desk.store.buffers.version(SITE)]
    for text in (A, B):
        seen.append(desk.put("a", text).version)
        desk.commit()
        seen.append(desk.store.buffers.version(SITE))
    desk.put("a", C)
    seen.append(desk.store.buffers.discard(SITE, "ann").version)
    assert seen == [0, 1, 2, 3, 4, 6]
    assert desk.store.buffers.get(SITE).base_revision == 2


def test_another_version_than_the_one_that_was_seen_is_refused(desk: Desk) -> None:
    desk.put("a", A, if_version=0)
    with pytest.raises(
        BufferChanged, match=r"is at version 1, not 0: it was changed by ann at 2026-11-21 12:00:00 UTC"
    ):
        Desk(desk.store, "bob").put("b", B, if_version=0)
    with pytest.raises(BufferChanged):
        desk.store.buffers.discard(SITE, "bob", if_version=0)
    assert desk.store.buffers.discard(SITE, "bob", if_version=1).is_empty


@pytest.mark.parametrize("name", ["x" * 1001, "ä" * 501, "a\0b", "half \ud800"], ids=["long", "umlauts", "nul", "half"])
def test_a_name_that_cannot_be_stored_is_refused_by_both_databases(store: SiteStore, name: str) -> None:
    with pytest.raises(ValueRefused, match=r"(cannot|can) be stored"):
        store.buffers.put(SITE, name, "x", [], BufferMode.REJECT, "ann")
    assert store.buffers.get(SITE).version == 0


def test_a_document_may_have_any_name_that_is_text(desk: Desk) -> None:
    desk.put("long", yaml("x" * 20_000, "ü" * 3000))
    text = 'schema: s\nmetadata: {name: "a\\0b"}\n'
    with pytest.raises(ValueRefused, match="NUL"):
        desk.put("nul", text)
    desk.put("data", yaml("a", data='{"a\\0b": "\\0"}'))
    assert desk.commit().collections.keys() == {"long", "data"}
