"""How a group goes in batches, in words (rule 59)."""

from __future__ import annotations

from dataclasses import replace

import pytest

from strategy_lib.groups.batch_words import BatchesSoFar, batches_so_far, count_batches
from strategy_lib.phase import GroupState, Phase
from strategy_lib.strategy import Share

RUNNING, SUCCESS, FAILURE = GroupState.RUNNING, GroupState.SUCCESS, GroupState.FAILURE
TENTH, FAILED = BatchesSoFar(4, 2, RUNNING), BatchesSoFar(4, 2, FAILURE)
THREE = "in batches of at most 2 nodes, 3 canaries first"
GOES = "in batches of at most 4 nodes, 2 canaries first"


@pytest.mark.parametrize(
    ("found", "said"),
    [
        # In the view of a site, or before it begins.
        (replace(TENTH, state=None), f"goes {GOES}"),
        (replace(TENTH, state=GroupState.PENDING, left=40), f"goes {GOES}"),
        (BatchesSoFar(1, 0), "goes in batches of at most 1 node"),
        (BatchesSoFar(None, 1), "1 canary first, then all others"),
        # At work: 40 nodes are 2 canaries, and 9 batches and a half.
        (replace(TENTH, batches=1, begun=2, left=38), f"batch 1 of about 11, its canaries; {GOES}"),
        (replace(TENTH, batches=3, begun=10, left=30), f"batch 3 of about 11; {GOES}"),
        (replace(TENTH, batches=11, begun=40), f"batch 11 of 11; {GOES}"),
        # More canaries than may be under way at once.
        (BatchesSoFar(2, 3, RUNNING, 1, 2, 3), f"batch 1 of about 3, its canaries; {THREE}"),
        (BatchesSoFar(None, 2, RUNNING, 2, 5), "batch 2 of 2; 2 canaries first, then all others"),
        # Over.
        (replace(TENTH, state=SUCCESS, batches=11, begun=40), f"went {GOES.replace('batches', '11 batches')}"),
        (BatchesSoFar(None, 1, SUCCESS, 1, 1), "went in 1 batch, 1 canary first"),
        (replace(TENTH, state=SUCCESS), f"goes {GOES}"),
        (replace(FAILED, batches=1, begun=2, left=38), f"ended with batch 1, and 38 nodes never began; {GOES}"),
        (replace(FAILED, batches=11, begun=40), f"ended with batch 11; {GOES}"),
        (replace(FAILED, left=40), f"goes {GOES}"),
    ],
)  # fmt: skip
def test_rule_59_how_a_group_goes_in_batches_is_said_in_words(found: BatchesSoFar, said: str) -> None:
    assert found.text == said


def test_percentages_are_numbers_of_nodes_and_no_group_has_more_canaries_than_nodes() -> None:
    assert batches_so_far(None, None, 40) is None
    assert batches_so_far(Share.parse("10%"), Share.parse("5%"), 40) == BatchesSoFar(4, 2)
    assert batches_so_far(None, Share(9), 3) == BatchesSoFar(None, 3)


def test_a_batch_begins_with_nodes_that_were_never_sent() -> None:
    sent = [
        (Phase.RELEASE, ["b"]),
        (Phase.PREPARE, ["a", "b"]),
        # One is tried again; then one that was prepared for another group is deployed with it.
        (Phase.PREPARE, ["b"]),
        (Phase.DEPLOY, ["a", "b", "c"]),
        (Phase.READY, ["a", "b", "c"]),
        # Nodes of one batch that wait for each other are released one behind the other.
        (Phase.RELEASE, ["e"]),
        (Phase.RELEASE, ["d"]),
        (Phase.PREPARE, ["d", "e"]),
        (Phase.DEPLOY, ["f"]),
    ]
    assert count_batches(sent) == (3, ["b", "a", "c", "e", "d", "f"])
    assert count_batches([]) == (0, [])
