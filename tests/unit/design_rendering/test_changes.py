"""What differs between two states of documents, and which of it makes a node."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import pytest
import yaml

from design_rendering.changes import Change, DocumentChange, SecretPaths, document_changes, node_changes
from design_rendering.reading.documents import Document, load_documents
from tests.support.sites import boot_action, document, group, node, site


def _state(**collections: Any) -> list[Document]:
    """Return the documents of collections, each a list of documents or a text."""
    return [
        entry
        for name, written in collections.items()
        for entry in load_documents(written if isinstance(written, str) else yaml.safe_dump_all(written), name)
    ]


def _changes(before: list[Document], after: list[Document]) -> list[DocumentChange]:
    return list(document_changes(before, after))


def _fields(before: Any, after: Any, **metadata: Any) -> list[tuple[str, str, Any, Any]]:
    """Return what differs between two documents of this data, both ways told alike."""
    one, other = (_state(c=[document("x/Y/v1", "d", data, **metadata)]) for data in (before, after))
    (change,) = _changes(one, other)
    assert (change.change, change.collection) == (Change.MODIFIED, "c")
    return [(field.path, field.change.value, field.before, field.after) for field in change.fields]


def test_nothing() -> None:
    state = _state(a=[document("x/Y/v1", "d", {"k": [1, {"x": None}]})])
    assert _changes(state, state) == []
    assert _changes([], []) == []


def test_what_is_written_differently_and_says_the_same_is_no_change() -> None:
    text = "schema: x/Y/v1\nmetadata: {name: d}\ndata: {a: 1, b: [x]}\n"
    other = "# a comment\n---\ndata:\n  b:\n  - 'x'\n  a: 0x1\nmetadata:\n  name: d\nschema: x/Y/v1\n"
    assert _changes(_state(c=text), _state(c=other)) == []


def test_documents_come_and_go_and_move() -> None:
    kept, moved, old, new = (document("x/Y/v1", name, {"k": name}) for name in ("kept", "moved", "old", "new"))
    before = _state(a=[kept, moved, old], b=[document("x/Y/v1", "b", 1)])
    after = _state(a=[kept], b=[document("x/Y/v1", "b", 1), moved], z=[new])
    assert [(found.collection, found.name, found.change, found.moved_from) for found in _changes(before, after)] == [
        ("a", "old", Change.REMOVED, None),
        ("b", "moved", Change.MOVED, "a"),
        ("z", "new", Change.ADDED, None),
    ]


def test_a_document_that_moved_and_changed_is_modified() -> None:
    before, after = (_state(**{name: [document("x/Y/v1", "d", name)]}) for name in ("a", "b"))
    (change,) = _changes(before, after)
    assert (change.change, change.collection, change.moved_from) == (Change.MODIFIED, "b", "a")
    assert [field.path for field in change.fields] == ["$.data"]


def test_the_layer_is_part_of_what_a_document_is() -> None:
    def layered(layer: str) -> list[Document]:
        return _state(c=[document("x/Y/v1", "d", 1, layeringDefinition={"layer": layer})])

    assert {(found.layer, found.change) for found in _changes(layered("site"), layered("type"))} == {
        ("site", Change.REMOVED),
        ("type", Change.ADDED),
    }


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ({"a": 1}, {"a": 2}, [("$.data.a", "modified", 1, 2)]),
        ({"a": 1}, {"a": 1, "b": [2]}, [("$.data.b", "added", None, [2])]),
        ({"a": 1, "b c": {}}, {"a": 1}, [("$.data['b c']", "removed", {}, None)]),
        ({"a": {"b": {"c": 1}}}, {"a": {"b": {"c": 2}}}, [("$.data.a.b.c", "modified", 1, 2)]),
        ({"a": {"b": 1}}, {"a": [1]}, [("$.data.a", "modified", {"b": 1}, [1])]),
        ({"a": None}, {}, [("$.data.a", "removed", None, None)]),
        (None, {"a": 1}, [("$.data", "modified", None, {"a": 1})]),
        # Equal in Python, and not in YAML.
        ({"a": 1}, {"a": True}, [("$.data.a", "modified", 1, True)]),
        ({"a": 1}, {"a": 1.0}, [("$.data.a", "modified", 1, 1.0)]),
        ({"a": [1]}, {"a": [True]}, [("$.data.a[0]", "modified", 1, True)]),
        ([1, 2, 3], [1, 9, 3, 4], [("$.data[1]", "modified", 2, 9), ("$.data[3]", "added", None, 4)]),
        ([1, 2], [1], [("$.data[1]", "removed", 2, None)]),
    ],
)
def test_fields(before: Any, after: Any, expected: Any) -> None:
    assert _fields(before, after) == expected


def test_items_with_names_are_compared_by_name() -> None:
    before = [{"name": "a", "k": 1}, {"name": "b", "k": 1}, {"name": "c", "k": 1}]
    after = [{"name": "new"}, {"name": "a", "k": 1}, {"name": "c", "k": 2}]
    assert _fields(before, after) == [
        ("$.data[1]", "removed", {"name": "b", "k": 1}, None),
        ("$.data[2].k", "modified", 1, 2),
        ("$.data[0]", "added", None, {"name": "new"}),
    ]


def test_the_order_of_items_with_names_counts() -> None:
    one, two = {"name": "a"}, {"name": "b"}
    assert _fields([one, two], [two, one]) == [
        ("$.data[0].name", "modified", "a", "b"),
        ("$.data[1].name", "modified", "b", "a"),
    ]


def test_metadata_is_compared_too() -> None:
    before, after = (_state(c=[document("x/Y/v1", "d", 1, labels={"k": value})]) for value in "vw")
    (change,) = _changes(before, after)
    assert [(field.path, field.before, field.after) for field in change.fields] == [("$.metadata.labels.k", "v", "w")]


ENCRYPTED = {"storagePolicy": "encrypted"}


def test_a_changed_secret_is_seen_to_have_changed_and_not_shown() -> None:
    redacted = [("$.data", "modified", "[redacted]", "[redacted]")]
    assert _fields("hunter2", "hunter3", **ENCRYPTED) == redacted
    assert _fields({"a": 1, "b": {"c": 2}}, {"a": 2, "b": {"d": 2}}, **ENCRYPTED) == redacted
    assert _fields({"oob": {"credential": "a"}}, {"oob": {"credential": "b"}}) == [
        ("$.data.oob.credential", "modified", "[redacted]", "[redacted]")
    ]


def test_a_secret_that_comes_or_goes_is_not_shown() -> None:
    assert _fields({}, {"credential": "b"}) == [("$.data.credential", "added", "[redacted]", "[redacted]")]
    assert _fields({"credential": "b"}, {}) == [("$.data.credential", "removed", "[redacted]", "[redacted]")]
    assert _fields({}, {"oob": {"credential": "b", "type": "ipmi"}}) == [
        ("$.data.oob", "added", None, {"credential": "[redacted]", "type": "ipmi"})
    ]


def test_what_becomes_a_secret_is_not_shown_as_it_was_before() -> None:
    before = _state(c=[document("x/Y/v1", "d", "hunter2")])
    after = _state(c=[document("x/Y/v1", "d", "hunter3", **ENCRYPTED)])
    for one, other in ((before, after), (after, before)):
        (change,) = _changes(one, other)
        assert "hunter" not in repr(change)
        assert {field.path for field in change.fields} == {"$.data", "$.metadata.storagePolicy"}


def test_secrets_that_were_put_in_are_not_shown() -> None:
    before, after = (_state(c=[document("x/Y/v1", "d", {"url": value, "k": 1})]) for value in "ab")
    secrets: SecretPaths = {("x/Y/v1", "site", "d"): ("$.data.url",)}
    for sides in ((secrets, secrets), (secrets, None), (None, secrets)):
        (change,) = document_changes(before, after, *sides)
        (field,) = change.fields
        assert (field.path, field.before, field.after) == ("$.data.url", "[redacted]", "[redacted]")


def test_deep_documents_need_no_deep_stack() -> None:
    def nested(leaf: str) -> Any:
        value: Any = leaf
        for _ in range(1500):
            value = {"k": [value]}
        return value

    one, other = (Document("x/Y/v1", "d", None, nested(leaf), {}, "c") for leaf in "ab")
    (change,) = document_changes([one], [other])
    (field,) = change.fields
    assert (field.before, field.after) == ("a", "b")


GROUPS = [group("all")]


def design(nodes: list[dict[str, Any]], *more: dict[str, Any]) -> str:
    return site(nodes, GROUPS) + yaml.safe_dump_all(more, sort_keys=False, explicit_start=True)


def profile(name: str, **data: Any) -> dict[str, Any]:
    return document("drydock/HostProfile/v1", name, data)


def found(before: str, after: str, nodes: Collection[str] = ("a", "b", "c")) -> dict[str, Any]:
    changes = node_changes(before, after, nodes, lambda value: value)
    return {
        name: [
            (each.schema.split("/")[1], each.name, [(f.path, f.change.value, f.before, f.after) for f in each.fields])
            for each in documents
        ]
        for name, documents in changes.items()
        if documents
    }


def test_a_change_of_a_shared_profile_is_one_of_all_nodes_that_are_made_from_it() -> None:
    nodes = [node("a", profile="rack7"), node("b", profile="gpu"), node("c")]
    gpu = profile("gpu", host_profile="rack7")
    before = design(nodes, profile("rack7", platform={"image": "jammy"}), gpu)
    after = design(nodes, profile("rack7", platform={"image": "noble", "kernel": "hwe"}), gpu)
    expected = [
        ("$.data.platform.image", "modified", "jammy", "noble"),
        ("$.data.platform.kernel", "added", None, "hwe"),
    ]
    assert found(before, after) == {name: [("HostProfile", "rack7", expected)] for name in ("a", "b")}
    assert found(before, after, ["b"]) == {"b": [("HostProfile", "rack7", expected)]}
    assert found(after, after) == {}


def test_a_node_s_own_document_and_the_networks_that_it_uses_count_and_others_do_not() -> None:
    before = design([node("a"), node("b", rack="r1")])
    after = design([node("a"), node("b", rack="r2")])
    assert found(before, after) == {"b": [("BaremetalNode", "b", [("$.data.metadata.rack", "modified", "r1", "r2")])]}
    moved = before.replace("cidr: 10.0.0.0/24", "cidr: 10.0.1.0/24")
    changed = [("Network", "oob", [("$.data.cidr", "modified", "10.0.0.0/24", "10.0.1.0/24")])]
    assert found(before, moved) == {"a": changed, "b": changed}
    assert found(before, before.replace("name: alpha", "name: beta")) == {}


def test_a_new_profile_that_a_node_names_is_added() -> None:
    before, after = design([node("a")]), design([node("a", profile="new")], profile("new", oob={"type": "ipmi"}))
    assert found(before, after) == {
        "a": [
            ("BaremetalNode", "a", [("$.data.host_profile", "modified", "compute", "new")]),
            ("HostProfile", "new", []),
        ]
    }


def test_a_boot_action_makes_the_nodes_that_it_is_for() -> None:
    def with_action(data: str) -> str:
        for_a = {"filter_set_type": "union", "filter_set": [{"filter_type": "union", "node_names": ["a"]}]}
        return site([node("a"), node("b")], GROUPS, boot_actions=[boot_action("motd", node_filter=for_a, note=data)])

    assert found(with_action("one"), with_action("two")) == {
        "a": [("BootAction", "motd", [("$.data.note", "modified", "one", "two")])]
    }


@pytest.mark.parametrize("style", ["block", "flow"])
def test_designs_are_read_however_they_are_written(style: str) -> None:
    def written(rack: str) -> str:
        documents = list(yaml.safe_load_all(design([node("a", rack=rack)])))
        return yaml.safe_dump_all(documents, default_flow_style=style == "flow", explicit_start=True)

    assert list(found(written("r1"), written("r2"))) == ["a"]


def test_secrets_are_hidden_and_seen_to_have_changed() -> None:
    before = design([node("a", profile="p")], profile("p", oob={"credential": "one", "motd": "the word is sesame-1"}))
    after = design([node("a", profile="p")], profile("p", oob={"credential": "two", "motd": "the word is sesame-2"}))
    changes = node_changes(before, after, ["a"], lambda value: str(value).replace("sesame", "***"))
    (changed,) = changes["a"]
    assert [(field.path, field.before, field.after) for field in changed.fields] == [
        ("$.data.oob.credential", "[redacted]", "[redacted]"),
        ("$.data.oob.motd", "the word is ***-1", "the word is ***-2"),
    ]
