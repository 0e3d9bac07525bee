"""Commit of the buffer, and rollback: what becomes a revision, and what is refused with nothing changed."""

from __future__ import annotations

import pytest

from site_store import (
    BufferChanged,
    BufferEmpty,
    BufferNotEmpty,
    RevisionNotFound,
    RevisionSecrets,
    ValueRefused,
    Version,
)
from tests.integration.site_store.designs.desk import Desk, counts, written, yaml
from tests.integration.site_store.scenario import SITE, FakeClock

A, B, C = yaml("a1", "a2"), yaml("b1"), yaml("c1")


def test_a_commit_is_base_and_buffer_and_empties_the_buffer(desk: Desk, clock: FakeClock) -> None:
    desk.save({"a": A, "b": B})
    clock.move(60)
    desk.put("b", C)
    record = Desk(desk.store, "bob").commit("the design")
    assert (record.number, record.base, record.created, record.rollback_of) == (2, 1, True, None)
    assert (record.created_by, record.created_at, record.text) == ("bob", clock.time, "the design")
    assert (record.forced, record.problems) == (False, ())
    assert written(desk.store, 2) == {"a": A, "b": C}
    assert record.collections == desk.store.sites.collection_digests(SITE, 2)
    assert desk.store.sites.collection_digests(SITE, 1)["a"] == record.collections["a"]
    found = desk.store.revisions.get(SITE, 2)
    assert (found.text, found.collections, found.digest) == ("the design", record.collections, record.digest)
    assert desk.store.revisions.design_by_token(desk.store.secret_texts.token_of(record.design_handle)) == "the design"
    assert desk.store.buffers.get(SITE).is_empty
    assert desk.store.sites.committed() == [SITE]


def test_what_of_a_revision_is_secret_is_kept_with_it(desk: Desk) -> None:
    hidden = RevisionSecrets(frozenset({"hunter2", "ä\n"}), ("a group shows it",))
    desk.put("a", A)
    desk.commit(hidden=hidden)
    desk.put("a", B)
    desk.commit()
    assert desk.store.revisions.secrets(SITE, 1) == hidden
    assert desk.store.revisions.secrets(SITE, 2) is None, "not known"
    assert desk.store.revisions.secrets(SITE, 3) is None
    texts, documents = counts(desk.store)
    assert texts is not None
    assert documents is not None
    desk.put("a", C)
    desk.commit("other", hidden=hidden)
    assert desk.store.revisions.secrets(SITE, 3) == hidden
    assert counts(desk.store) == (texts + 2, documents + 1), "a collection and a design, and no second text of secrets"


def test_history_is_read_in_pages(desk: Desk) -> None:
    for text in (A, B, C):
        desk.save({"a": text})
    listed = desk.store.revisions.newest(SITE)
    assert [(one.number, one.text, one.base) for one in listed] == [(3, "", 2), (2, "", 1), (1, "", None)]
    assert [dict(one.collections) for one in listed] == [
        desk.store.sites.collection_digests(SITE, one.number) for one in listed
    ]
    assert [one.number for one in desk.store.revisions.newest(SITE, 2)] == [3, 2]
    assert [one.number for one in desk.store.revisions.newest(SITE, 2, before=2)] == [1]


def test_nothing_in_the_buffer_is_nothing_to_commit(desk: Desk) -> None:
    with pytest.raises(BufferEmpty):
        desk.commit()
    desk.save({"a": A})
    with pytest.raises(BufferEmpty):
        desk.commit()
    assert len(desk.store.revisions.newest(SITE)) == 1


def test_a_buffer_that_was_changed_meanwhile_is_not_committed(desk: Desk) -> None:
    seen = desk.put("a", A)
    texts = written(desk.store, Version.BUFFER)
    Desk(desk.store, "bob").put("b", B)
    with pytest.raises(BufferChanged, match="changed by bob"):
        desk.commit_texts(texts, buffer_version=seen.version)
    # Also when the caller's two looks were not at one moment.
    with pytest.raises(BufferChanged, match="something else"):
        desk.commit_texts(texts, buffer_version=desk.store.buffers.version(SITE))
    assert desk.store.revisions.newest(SITE) == []
    assert written(desk.store, Version.BUFFER) == {"a": A, "b": B}


def test_what_goes_past_the_buffer_needs_it_empty(desk: Desk) -> None:
    desk.save({"a": A})
    before = desk.put("b", B)
    with pytest.raises(BufferNotEmpty):
        desk.commit_texts({"a": C})
    with pytest.raises(BufferNotEmpty):
        desk.roll_back(1)
    with pytest.raises(BufferNotEmpty):
        desk.commit_texts({"a": A}, rollback_of=1, buffer_version=before.version)
    assert desk.store.buffers.get(SITE) == before
    assert len(desk.store.revisions.newest(SITE)) == 1


def test_force_says_what_it_overrode(desk: Desk) -> None:
    desk.put("a", A)
    made = desk.commit(None, forced=True, problems=["no node", "ä"])
    found = desk.store.revisions.get(SITE)
    assert (found.text, found.forced, found.problems) == (None, True, ("no node", "ä"))
    assert desk.store.revisions.newest(SITE)[0].problems == ("no node", "ä")
    with pytest.raises(RevisionNotFound):
        desk.store.revisions.design_by_token(desk.store.secret_texts.token_of(made.design_handle))


def test_rollback_is_a_new_revision_with_the_old_collections(desk: Desk) -> None:
    first = desk.save({"a": A, "b": B})
    desk.save({"a": C, "b": ""})
    version = desk.store.buffers.version(SITE)
    back = desk.roll_back(1)
    assert (back.number, back.base, back.rollback_of, back.created) == (3, 2, 1, True)
    assert (back.collections, back.digest, back.text) == (first.collections, first.digest, first.text)
    assert back.design_handle != first.design_handle
    assert desk.store.buffers.version(SITE) == version + 1
    with pytest.raises(RevisionNotFound, match="revision 9"):
        desk.commit_texts({"a": B}, rollback_of=9)


def test_rollback_to_what_is_there_makes_nothing(desk: Desk) -> None:
    desk.save({"a": A})
    version = desk.store.buffers.version(SITE)
    back = desk.roll_back(1)
    assert (back.number, back.created, desk.store.buffers.version(SITE)) == (1, False, version)


def test_a_forced_revision_that_can_be_rendered_by_now_is_made_anew(desk: Desk) -> None:
    desk.put("a", A)
    desk.commit(None, forced=True, problems=["not rendered"])
    again = desk.commit_texts({"a": A}, "rendered", rollback_of=1)
    assert (again.number, again.created, again.text) == (2, True, "rendered")


def test_a_text_is_stored_once(desk: Desk) -> None:
    """However many revisions have it, and whether it was first a collection or first a rendered design."""
    large = yaml(*(f"n{number}" for number in range(50)))

    desk.put("large", large)
    desk.commit(large)
    assert counts(desk.store) == (1, 50)
    desk.put("small", A)
    desk.commit(A + large)
    assert counts(desk.store) == (3, 52)
    desk.put("small", B)
    desk.commit(B + large)
    assert counts(desk.store) == (5, 53)
    # A text that was a rendered design so far becomes a collection: now its documents count.
    desk.put("large", "")
    desk.put("small", "")
    desk.put("all", B + large)
    desk.commit(B + large)
    assert counts(desk.store) == (5, 104)


def test_an_unstorable_document_leaves_nothing_behind(desk: Desk) -> None:
    bad = A + '---\nschema: s\nmetadata: {name: "a\\0b"}\n'
    with pytest.raises(ValueRefused):
        desk.commit_texts({"a": bad})
    assert desk.store.sites.committed() == []
    assert counts(desk.store) == (0, 0)


def test_a_missing_revision_has_no_collections(desk: Desk) -> None:
    desk.save({"a": A})
    for number in (0, 2):
        with pytest.raises(RevisionNotFound, match=f"no revision {number}"):
            desk.store.sites.collections(SITE, number)


def test_a_commit_says_what_is_wanted_of_nodes_and_one_that_cannot_be_read_leaves_that(desk: Desk) -> None:
    def wanted() -> dict[str, tuple[int | None, str | None]]:
        return {one.name: (one.wanted_revision, one.wanted_digest) for one in desk.store.nodes.of_site(SITE)}

    desk.put("a", yaml("a"))
    desk.commit(digests={"n1": "d1", "n2": "d1"})
    assert wanted() == {"n1": (1, "d1"), "n2": (1, "d1")}
    desk.put("b", yaml("b"))
    desk.commit(None, forced=True, problems=["cannot be rendered"])
    assert wanted() == {"n1": (1, "d1"), "n2": (1, "d1")}
    desk.put("c", yaml("c"))
    with pytest.raises(BufferChanged):
        desk.commit(buffer_version=1, digests={"n3": "d3"})
    assert "n3" not in wanted()
    desk.commit(digests={"n1": "d3", "n3": "d3"})
    assert wanted() == {"n1": (3, "d3"), "n2": (None, None), "n3": (3, "d3")}
