"""Rule 27: seven words, the highest of the children wins, and a stored status is judged when it is read."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strategy_lib import roll_up, shown_status
from strategy_lib.status.roll_up import status_of_parent
from strategy_lib.status.words import Status

ORDER = ["success", "deleted", "pending", "unresponsive", "processing", "error", "undefined"]
words = st.sampled_from(ORDER)


@pytest.mark.parametrize(
    ("stored", "alive", "current", "shown", "owner_reads"),
    [
        pytest.param(None, True, True, "pending", "pending", id="no record, owner alive"),
        pytest.param(None, True, False, "pending", "pending", id="no record, owner alive, current does not matter"),
        pytest.param(None, False, True, "unresponsive", "pending", id="no record, owner gone"),
        pytest.param(
            None, False, False, "unresponsive", "pending", id="no record, owner gone, current does not matter"
        ),
        pytest.param("error", True, True, "error", "error", id="alive and current: as stored"),
        pytest.param("error", True, False, "pending", "pending", id="alive, of an older version: pending"),
        pytest.param("error", False, True, "unresponsive", "error", id="gone, current: the owner reads its own word"),
        pytest.param("error", False, False, "unresponsive", "pending", id="gone, of an older version"),
        *(
            pytest.param(
                value, alive, current, "undefined", None, id=f"{value!r} is looked at first: {alive} {current}"
            )
            for value in ("undefined", "bananas", "", "Success")
            for alive in (True, False)
            for current in (True, False)
        ),
    ],
)
def test_rule_27_what_is_shown(
    stored: str | None, alive: bool, current: bool, shown: str, owner_reads: str | None
) -> None:
    assert shown_status(stored, owner_alive=alive, current=current) == {"shown": shown, "owner_reads": owner_reads}


@pytest.mark.parametrize("stored", ORDER[:-1])
def test_rule_27_every_word_that_is_known_is_shown_as_stored(stored: str) -> None:
    assert shown_status(stored, owner_alive=True, current=True) == {"shown": stored, "owner_reads": stored}
    assert shown_status(stored, owner_alive=True, current=False) == {"shown": "pending", "owner_reads": "pending"}
    assert shown_status(stored, owner_alive=False, current=True) == {"shown": "unresponsive", "owner_reads": stored}


def test_rule_27_the_order_of_the_words() -> None:
    assert [str(status) for status in Status] == ORDER
    for i, lower in enumerate(ORDER):
        assert Status(lower).rank == i
        for higher in ORDER[i:]:
            assert roll_up([higher, lower]) == roll_up([lower, higher]) == higher


def test_rule_27_no_children_are_a_success() -> None:
    assert roll_up([]) == "success"
    assert roll_up(iter(())) == "success"


def test_rule_27_an_unknown_value_counts_as_undefined() -> None:
    assert roll_up(["success", "bananas", "error"]) == "undefined"


@given(st.lists(words))
def test_rule_27_success_needs_all_children(statuses: list[str]) -> None:
    assert (roll_up(statuses) == "success") is all(status == "success" for status in statuses)


@given(st.recursive(words, lambda children: st.lists(children, max_size=4), max_leaves=40))
def test_rule_27_a_tree_rolls_up_as_its_leaves_do(tree: object) -> None:
    """How the leaves are grouped does not matter: the counts of a site need not know."""

    def level_by_level(node: object) -> str:
        return node if isinstance(node, str) else roll_up(map(level_by_level, children(node)))

    def leaves(node: object) -> list[str]:
        return [node] if isinstance(node, str) else [leaf for child in children(node) for leaf in leaves(child)]

    def children(node: object) -> list[object]:
        assert isinstance(node, list)
        return node

    assert level_by_level(tree) == max(leaves(tree), key=ORDER.index, default="success")


@pytest.mark.parametrize(
    ("children", "parent"),
    [
        pytest.param([], "success", id="none"),
        pytest.param(["deleted"], "deleted", id="deleted is all there is"),
        pytest.param(["deleted", "success"], "success", id="deleted beside a success does not count"),
        pytest.param(["deleted", "error"], "error", id="deleted beside an error does not count"),
    ],
)
def test_rule_32_deleted_counts_only_where_it_is_all(children: list[str], parent: str) -> None:
    assert status_of_parent([Status(child) for child in children]) == parent


def test_statuses_can_be_told_apart_without_colours() -> None:
    """Pending and deleted share a colour: the symbol tells them apart, also where only ASCII can be shown."""
    assert "".join(status.symbol for status in Status) == "✓–·?▶✗‽"
    ascii_symbols = "".join(status.ascii_symbol for status in Status)
    assert ascii_symbols.isascii()
    assert len(set(ascii_symbols)) == len(Status)
    assert [status.colour for status in Status] == ["green", "grey", "grey", "yellow", "blue", "red", "magenta"]
