"""The timeline of an action: each stretch is drawn as what it was."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from site_store import OperationStatus
from site_store.trees.tree_facts import OperationSpan
from slipway_api.pages.drawings import timeline
from strategy_lib.phase import Phase
from strategy_lib.status.entry import Entry, EntryKind, GroupDetails
from strategy_lib.status.words import Status

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
    assert drawn.releases
