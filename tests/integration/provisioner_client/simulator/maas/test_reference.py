"""The simulator's own tables, held against those of a real MAAS (`../shared/reference/maas` beside the project)."""

from __future__ import annotations

import pytest

from provisioner_client.simulator.maas.http.filters import FILTERS, NOT_PLAYED
from provisioner_client.simulator.maas.machines import statuses
from provisioner_client.simulator.machines import MachineStatus
from tests.integration.provisioner_client.simulator.maas.conftest import Admin
from tests.support.maas_calls import MaasCaller
from tests.support.maas_reference import DESCRIPTION, FIELDS, IS_HERE, STATUSES

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


@pytest.mark.parametrize(
    "status",
    [
        "New",
        "Commissioning",
        "Failed commissioning",
        "after commissioning",
        "Ready",
        "Allocated",
        "Deploying",
        "Deployed",
    ],
)
def test_what_a_machine_says_of_itself_in_each_status(maas: MaasCaller, script: Admin, status: str) -> None:
    """Its message may be that of an earlier status, as MAAS's are; power was simulated there, and ids are its own."""
    ways = {
        "Commissioning": ("prepare", "commissioning"),
        "after commissioning": ("prepare", "testing"),
        "Deploying": ("deploy", "deploying"),
    }
    if status in ways:
        phase, stage = ways[status]
        script("m0001", phase, "stuck", stage=stage)
    known = FIELDS["statuses"][status]
    if status == "Failed commissioning":
        # As it was seen: with tests, theirs would be Pending.
        script("m0001", "prepare", "fail")
        maas.act("m0001", "commission", testing_scripts="none")
    for at, act in (("Commissioning", "commission"), ("Allocated", "allocate"), ("Deploying", "deploy")):
        order = ("New", "Commissioning", "after commissioning", "Ready", "Allocated", "Deploying", "Deployed")
        if status not in order or order.index(at) > order.index(status):
            break
        if act == "allocate":
            maas.post("machines/", act, system_id=maas.wait("m0001", "Ready")["system_id"])
        else:
            maas.act("m0001", act)
    machine = maas.wait("m0001", known["status_name"])
    left_out = {"power_state", "netboot", "current_commissioning_result_id", "current_installation_result_id"}
    compared = known.keys() - left_out
    assert {name: machine[name] for name in compared} == {name: known[name] for name in compared}


def test_every_filter_of_the_list_is_played_or_refused() -> None:
    known = {one["name"] for one in DESCRIPTION["paths"]["/machines/"]["get"]["parameters"]}
    assert known == FILTERS | NOT_PLAYED
