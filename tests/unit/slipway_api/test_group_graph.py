"""What stands in the box of a group, and in the words of its bar: what failed, and what was never begun."""

from __future__ import annotations

import pytest

from slipway_api.pages.drawings.group_graph import draw
from slipway_api.pages.drawings.status_bar import bar, count_words
from strategy_lib.status.entry import Blame, Entry, EntryKind, GroupDetails, Role
from strategy_lib.status.words import Status

VICTIM = Blame(Role.VICTIM, "control", "blocked by control: deploy_criteria")


@pytest.mark.parametrize(
    ("errors", "not_started", "state", "blame", "fact"),
    [
        pytest.param(3, 0, "failure", None, "2 of 5 · 3 failed", id="failed"),
        pytest.param(3, 3, "failure", None, "2 of 5 · 3 not started", id="never begun"),
        pytest.param(3, 1, "failure", None, "2 of 5 · 2 failed · 1 not started", id="both"),
        pytest.param(3, 3, "failure", VICTIM, "2 of 5 · 3 not run", id="blocked"),
        pytest.param(3, 0, "success", None, "2 of 5 · 3 failed · criteria met", id="criteria met"),
        pytest.param(3, 3, "success", None, "2 of 5 · 3 not started · criteria met", id="withheld"),
    ],
)
def test_a_box_tells_what_failed_from_what_was_never_begun(
    errors: int, not_started: int, state: str, blame: Blame | None, fact: str
) -> None:
    counts = {Status.SUCCESS: 2, Status.ERROR: errors}
    details = GroupDetails(critical=False, state=state, nodes=5)
    group = Entry(
        EntryKind.GROUP, "a", Status.ERROR, counts=counts, not_started=not_started, group=details, blame=blame
    )
    drawn = draw([group], lambda name: name)
    assert drawn is not None
    assert [box.fact for box in drawn.boxes] == [fact]


def test_words_of_a_bar_tell_them_apart_too() -> None:
    counts = {Status.SUCCESS: 2, Status.ERROR: 3}
    assert count_words(counts) == "2 success, 3 error"
    assert count_words(counts, 1) == "2 success, 2 error, 1 not started"
    assert 'aria-label="2 success, 3 not started"' in bar(counts, 3)
