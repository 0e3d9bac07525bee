"""The simulator's own tables, held against those of a real MAAS (`../shared/reference/maas` beside the project)."""

from __future__ import annotations

import pytest

from provisioner_client.simulator.maas import statuses
from provisioner_client.simulator.maas.filters import FILTERS, NOT_PLAYED
from provisioner_client.simulator.machines import MachineStatus
from tests.support.maas_reference import DESCRIPTION, IS_HERE, STATUSES

pytestmark = pytest.mark.skipif(not IS_HERE, reason="what is known of a real MAAS is not here")


def test_numbers_and_labels_of_statuses() -> None:
    assert {str(number): name for name, number in statuses.STATUS_IDS.items()} == STATUSES["names"]
    assert sorted(statuses.LABELS) == STATUSES["short_labels"]
    assert set(statuses.LABELS.values()) == set(MachineStatus)


@pytest.mark.parametrize(
    ("action", "ours"),
    [
        ("commission", statuses.COMMISSIONABLE),
        ("lock", statuses.LOCKABLE),
        ("mark-broken", statuses.MARKABLE_BROKEN),
        ("test", statuses.TESTABLE),
        ("rescue-mode", statuses.RESCUABLE),
        ("exit-rescue-mode", statuses.IN_RESCUE),
    ],
)
def test_what_an_action_may_start_from(action: str, ours: frozenset[MachineStatus]) -> None:
    assert sorted(ours) == STATUSES["actions_from"][action]


def test_what_may_be_released_what_fails_and_what_has_a_time_limit() -> None:
    assert sorted(statuses.RELEASABLE) == STATUSES["releasable"]
    assert statuses.FAILURE_OF.items() <= STATUSES["failure_of"].items()
    for status, seconds in statuses.TIME_LIMITS.items():
        known = STATUSES["time_limited"][status]
        assert known["becomes"] == statuses.FAILURE_OF[status]
        if known["minutes"] == 5:
            assert seconds == 300


def test_every_filter_of_the_list_is_played_or_refused() -> None:
    known = {one["name"] for one in DESCRIPTION["paths"]["/machines/"]["get"]["parameters"]}
    assert known == FILTERS | NOT_PLAYED
