"""What stands in the box of a group and in the words of its bar, and each stretch of a timeline as what it was."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from site_store import OperationStatus
from site_store.trees.tree_facts import OperationSpan
from slipway_api.pages.drawings import timeline
from slipway_api.pages.drawings.group_graph import bar, count_words, draw, drawn_box, legend, segments
from strategy_lib.phase import Phase
from strategy_lib.status.entry import Blame, Entry, EntryKind, GroupDetails, Role
from strategy_lib.status.serves import Serves, Serving
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


def test_rule_27_pending_nodes_that_serve_an_older_revision_are_no_grey_part_of_a_bar() -> None:
    counts, serving = {Status.SUCCESS: 2, Status.PENDING: 13}, Serving(pending={Serves.OLDER: 12})
    assert count_words(counts, 0, serving) == "2 success, 12 pending (serving an older revision), 1 pending"
    assert [part.look for part in segments(counts, serving)] == ["success", "serves-older", "pending"]
    assert 'class="f-serves-older"' in bar(counts, 0, serving)
    assert [part.symbol for part in legend(counts, serving)] == ["✓", "↑", "·"]


def test_rule_27_nor_is_the_box_of_their_group_grey() -> None:
    serving = Serving({Serves.OLDER: 4, Serves.NOTHING: 1}, {Serves.OLDER: 4})
    details, counts = GroupDetails(critical=False, nodes=5), {Status.PENDING: 5}
    group = Entry(EntryKind.GROUP, "a", Status.PENDING, counts=counts, group=details, serving=serving)
    drawn = draw([group], lambda name: name)
    assert drawn is not None
    (box,) = drawn.boxes
    assert (box.fact, box.mark) == ("0 of 5 · 4 serve older", "↑")
    assert 'class="group-pending serves-older"' in drawn_box(box)


BEGUN = datetime(2026, 3, 1, 12, tzinfo=UTC)


def test_a_release_is_drawn_as_a_release_and_has_its_word_in_the_legend() -> None:
    details = GroupDetails(True, (), "success", None, (), 0, 1, 1, started=BEGUN)
    group = Entry(EntryKind.GROUP, "racks", Status.SUCCESS, group=details)
    end = BEGUN + timedelta(minutes=1)
    span = OperationSpan(
        op=1, group="racks", phase=Phase.RELEASE, attempt=1, status=OperationStatus.COMPLETE, begun=BEGUN, ended=end
    )
    drawn = timeline.draw([group], [span], BEGUN, end)
    assert drawn is not None
    assert [one.what for one in drawn.lanes[0].spans] == ["waiting", "release"]
    assert "release" in drawn.kinds
