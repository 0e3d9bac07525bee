"""Which documents that make a node differ between two rendered designs, and in which fields."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import pytest
import yaml

from design_rendering.changes import node_changes
from tests.support.sites import boot_action, document, group, node, site

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
