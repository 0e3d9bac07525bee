"""What nodes inherit from host profiles, markers of removal included: Drydock's way, and Slipway's agrees with it."""

from __future__ import annotations

from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from design_rendering.kinds.drydock_nodes import nodes_from_documents
from design_rendering.reading.documents import Document
from provisioner_client.simulator.designs import compiled_traits, read_design, select_names
from strategy_lib.node import Node
from strategy_lib.selectors import NodeIndex
from strategy_lib.strategy import Label, Selector
from tests.support.sites import document

NODE, PROFILE = "drydock/BaremetalNode/v1", "drydock/HostProfile/v1"

BASE = {"tags": ["gpu", "ssd"], "owner_data": {"role": "base", "zone": "a"}, "rack": "r0"}

# What the base profile, the profile on it and the node on that have; and the tags, labels and rack of the node.
# Each row was worked out by hand from Drydock's merge_lists, merge_dicts and apply_field_inheritance.
ROWS: dict[str, tuple[list[dict[str, Any]], set[str], dict[str, str], str | None]] = {
    "all is inherited": ([BASE, {}, {}], {"gpu", "ssd"}, {"role": "base", "zone": "a"}, "r0"),
    "the nearest counts": (
        [BASE, {"owner_data": {"role": "mid"}, "rack": "r1"}, {"tags": ["own"]}],
        {"gpu", "ssd", "own"},
        {"role": "mid", "zone": "a"},
        "r1",
    ),
    "a node removes a tag": ([BASE, {}, {"tags": ["!gpu"]}], {"ssd"}, {"role": "base", "zone": "a"}, "r0"),
    "a profile removes a tag": ([BASE, {"tags": ["!gpu"]}, {}], {"ssd"}, {"role": "base", "zone": "a"}, "r0"),
    "removed and given again": (
        [BASE, {"tags": ["!gpu"]}, {"tags": ["gpu"]}],
        {"gpu", "ssd"},
        {"role": "base", "zone": "a"},
        "r0",
    ),
    "removed and given at once": (
        [BASE, {}, {"tags": ["!gpu", "gpu"]}],
        {"gpu", "ssd"},
        {"role": "base", "zone": "a"},
        "r0",
    ),
    "a label is removed, whatever is written under it": (
        [BASE, {}, {"owner_data": {"!role": "x"}}],
        {"gpu", "ssd"},
        {"zone": "a"},
        "r0",
    ),
    "a label is removed and given at once": (
        [BASE, {}, {"owner_data": {"!role": "", "role": "own"}}],
        {"gpu", "ssd"},
        {"role": "own", "zone": "a"},
        "r0",
    ),
    "the rack is removed": ([BASE, {}, {"rack": "!"}], {"gpu", "ssd"}, {"role": "base", "zone": "a"}, None),
    "a removed rack is inherited as none": (
        [BASE, {"rack": "!"}, {}],
        {"gpu", "ssd"},
        {"role": "base", "zone": "a"},
        None,
    ),
    "what is not there is removed in vain": (
        [BASE, {}, {"tags": ["!none"], "owner_data": {"!none": "x"}}],
        {"gpu", "ssd"},
        {"role": "base", "zone": "a"},
        "r0",
    ),
    "without a parent a marker is a value like any other": (
        [{"tags": ["!gpu", "gpu"], "owner_data": {"!role": "x"}, "rack": "!"}, {}, {}],
        {"!gpu", "gpu"},
        {"!role": "x"},
        "!",
    ),
    "and such a value can be removed": (
        [{"tags": ["!gpu"], "owner_data": {"!role": "x"}}, {"tags": ["!!gpu"], "owner_data": {"!!role": "x"}}, {}],
        set(),
        {},
        None,
    ),
    "labels are kept as they are written": (
        [{"owner_data": {"a": " x ", " b": "y"}}, {}, {"tags": [" t"]}],
        {" t"},
        {"a": " x ", " b": "y"},
        None,
    ),
}


def _chain(metadata: list[dict[str, Any]], node: str = "n1") -> list[dict[str, Any]]:
    base, profile, own = metadata
    return [
        document(PROFILE, "base", {"metadata": base}),
        document(PROFILE, "middle", {"host_profile": "base", "metadata": profile}),
        document(NODE, node, {"host_profile": "middle", "metadata": own}),
    ]


def _read(written: list[dict[str, Any]]) -> list[Document]:
    return [Document(one["schema"], one["metadata"]["name"], "site", one["data"], one["metadata"]) for one in written]


def _as_drydock(documents: list[Document]) -> list[Node]:
    profiles = {one.name: one for one in documents if one.schema == PROFILE}
    found = compiled_traits([one for one in documents if one.schema == NODE], profiles)
    return [Node(name, frozenset(one.tags), dict(one.owner_data), one.rack) for name, one in found.items()]


@pytest.mark.parametrize("row", ROWS)
def test_what_a_node_inherits(row: str) -> None:
    metadata, tags, labels, rack = ROWS[row]
    documents = _read(_chain(metadata))
    expected = [Node("n1", frozenset(tags), labels, rack)]
    assert _as_drydock(documents) == expected
    assert nodes_from_documents(documents) == expected


_words = st.sampled_from(["a", "b", "!a", "!b", "!!a", "!", " a"])
_metadata = st.fixed_dictionaries(
    {},
    optional={
        "tags": st.lists(_words, max_size=4),
        "owner_data": st.dictionaries(_words, st.sampled_from(["1", "2", "!", ""]), max_size=4),
        "rack": st.sampled_from(["r1", "r2", "!", ""]),
    },
)


@settings(max_examples=80, deadline=None)
@given(st.lists(_metadata, min_size=1, max_size=5), _metadata)
def test_slipway_compiles_every_chain_as_drydock_does(profiles: list[dict[str, Any]], own: dict[str, Any]) -> None:
    written = [
        document(PROFILE, f"p{depth}", {"metadata": one, **({"host_profile": f"p{depth - 1}"} if depth else {})})
        for depth, one in enumerate(profiles)
    ]
    written.append(document(NODE, "leaf", {"host_profile": f"p{len(profiles) - 1}", "metadata": own}))
    written.append(document(NODE, "alone", {"metadata": own}))
    documents = _read(written)
    assert nodes_from_documents(documents) == _as_drydock(documents)


SELECTORS = [
    Selector(node_tags=("gpu",)),
    Selector(node_tags=("!gpu",)),
    Selector(rack_names=("r0", "!")),
    Selector(node_labels=(Label("role", "base"),)),
    Selector(node_labels=(Label("a", " x "),)),
    Selector(node_labels=(Label("a", "x"),)),
    Selector(node_tags=("ssd",), node_labels=(Label("zone", "a"),)),
]


def test_selectors_choose_what_the_simulator_chooses() -> None:
    design: list[dict[str, Any]] = [document("drydock/Region/v1", "alpha", {})]
    for number, (metadata, *_) in enumerate(ROWS.values()):
        for one in _chain(metadata, f"n{number}"):
            one["metadata"]["name"] += "" if one["schema"] == NODE else f"-{number}"
            if "host_profile" in one["data"]:
                one["data"]["host_profile"] += f"-{number}"
            design.append(one)
    nodes = read_design(yaml.safe_dump_all(design, explicit_start=True).encode(), "design").nodes
    index = NodeIndex(nodes_from_documents(_read(design)))
    for selector in SELECTORS:
        criteria: dict[str, Any] = {
            "node_tags": list(selector.node_tags),
            "rack_names": list(selector.rack_names),
            "node_labels": {label.key: label.value for label in selector.node_labels},
        }
        one = {"filter_type": "intersection", **{name: value for name, value in criteria.items() if value}}
        node_filter = {"filter_set_type": "union", "filter_set": [one]}
        assert sorted(select_names(node_filter, nodes)) == sorted(index.select([selector])), selector
    assert len(index.select([SELECTORS[0]])) not in (0, len(ROWS))
