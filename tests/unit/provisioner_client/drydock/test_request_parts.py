"""What is sent for selectors and for names, judged by the way Drydock reads filters."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from provisioner_client.drydock.request_parts import names_filter, selectors_filter
from strategy_lib.strategy import Label, Selector


@dataclass(frozen=True)
class Server:
    """A node of a design, with what Drydock compares."""

    name: str
    tags: frozenset[str] = frozenset()
    labels: dict[str, str] = field(default_factory=dict)
    rack: str | None = None


def drydock_selects(node_filter: dict[str, Any] | None, servers: list[Server]) -> set[str]:
    """Read a filter as Drydock's code does: labels are OR too, and a filter without criteria is an error."""
    if node_filter is None:
        return {server.name for server in servers}
    assert node_filter["filter_set"], "an empty filter set is a 500"
    assert node_filter["filter_set_type"] == "union"
    chosen: set[str] = set()
    for one in node_filter["filter_set"]:
        assert one["filter_type"] == "intersection"
        tests: dict[str, Callable[[Server, Any], bool]] = {
            "node_names": lambda server, wanted: server.name in wanted,
            "node_tags": lambda server, wanted: bool(server.tags & set(wanted)),
            "rack_names": lambda server, wanted: server.rack in wanted,
            "node_labels": lambda server, wanted: bool(server.labels.items() & wanted.items()),
        }
        criteria = [
            {server.name for server in servers if test(server, one[key])} for key, test in tests.items() if one.get(key)
        ]
        assert criteria, "a filter without criteria is a 500"
        chosen |= set.intersection(*criteria)
    return chosen


def rules_select(selectors: list[Selector], servers: list[Server]) -> set[str]:
    """Read rules 5 and 6 word by word."""

    def matches(selector: Selector, server: Server) -> bool:
        return (
            (not selector.node_names or server.name in selector.node_names)
            and (not selector.node_tags or any(tag in server.tags for tag in selector.node_tags))
            and (not selector.rack_names or server.rack in selector.rack_names)
            and (
                not selector.node_labels
                or any(server.labels.get(label.key) == label.value for label in selector.node_labels)
            )
        )

    return {
        server.name for server in servers if not selectors or any(matches(selector, server) for selector in selectors)
    }


def test_rule_05_two_values_of_one_label_key_and_a_tag_become_two_filters() -> None:
    selector = Selector(node_tags=("t",), node_labels=(Label("k", "a"), Label("k", "b")))
    assert selectors_filter([selector]) == {
        "filter_set_type": "union",
        "filter_set": [
            {"filter_type": "intersection", "node_tags": ["t"], "node_labels": {"k": "a"}},
            {"filter_type": "intersection", "node_tags": ["t"], "node_labels": {"k": "b"}},
        ],
    }


@pytest.mark.parametrize(
    "selectors",
    [
        pytest.param([], id="no selectors"),
        pytest.param([Selector()], id="an empty selector"),
        pytest.param([Selector(node_names=("n1",)), Selector()], id="all beside another"),
    ],
)
def test_trap_7_all_nodes_is_no_filter(selectors: list[Selector]) -> None:
    assert selectors_filter(selectors) is None


def test_labels_of_different_keys_share_a_filter() -> None:
    node_filter = selectors_filter([Selector(node_labels=(Label("a", "1"), Label("b", "2"), Label("a", "3")))])
    assert node_filter is not None
    assert [one["node_labels"] for one in node_filter["filter_set"]] == [{"a": "1", "b": "2"}, {"a": "3"}]


def test_trap_10_a_names_filter_carries_the_reference() -> None:
    assert names_filter(["n1", "n2"], "slipway-a-1") == {
        "filter_set_type": "union",
        "filter_set": [{"filter_type": "union", "node_names": ["n1", "n2"]}],
        "x_client_ref": "slipway-a-1",
    }


def test_trap_5_a_filter_without_names_is_never_made() -> None:
    with pytest.raises(ValueError, match="without names"):
        names_filter([], "slipway-a-1")


_names, _tags, _racks = (st.sampled_from([f"{letter}{number}" for number in range(4)]) for letter in "ntr")
_labels = st.builds(Label, st.sampled_from(["k", "l"]), st.sampled_from(["a", "b", "c"]))
_selectors = st.builds(
    Selector,
    node_names=st.lists(_names, max_size=2).map(tuple),
    node_tags=st.lists(_tags, max_size=2).map(tuple),
    node_labels=st.lists(_labels, max_size=4).map(tuple),
    rack_names=st.lists(_racks, max_size=2).map(tuple),
)
_servers = st.lists(
    st.builds(
        Server,
        name=_names,
        tags=st.frozensets(_tags, max_size=3),
        labels=st.dictionaries(st.sampled_from(["k", "l"]), st.sampled_from(["a", "b", "c"])),
        rack=st.none() | _racks,
    ),
    unique_by=lambda server: server.name,
)


@given(selectors=st.lists(_selectors, max_size=3), servers=_servers)
def test_rules_5_and_6_drydock_reads_the_filter_as_the_rules_mean_it(
    selectors: list[Selector], servers: list[Server]
) -> None:
    assert drydock_selects(selectors_filter(selectors), servers) == rules_select(selectors, servers)
