"""MAAS's ledger of events says what became of a machine: the first end after our own request counts."""

from __future__ import annotations

import pytest

from provisioner_client.maas.events import ACQUIRE, CHANGED, COMMISSION, DEPLOY, RELEASE, Event, read_events
from provisioner_client.maas.machine import Machine, Status
from provisioner_client.maas.tasks.progress import (
    Progress,
    events_of_task,
    progress_by_status,
    progress_of,
    reason_of_status,
)

REFERENCE = "slipway-a-1"


def ledger(*told: tuple[str, str]) -> list[Event]:
    return [
        Event(number, "abc123", kind, text, "bob" if "(bob)" in text else "slipway", "", "DEBUG")
        for number, (kind, text) in enumerate(told, 1)
    ]


def asked(kind: str, reference: str = REFERENCE) -> tuple[str, str]:
    return kind, f"(slipway) - {reference}"


def became(new: str, old: str = "?") -> tuple[str, str]:
    return CHANGED, f"From '{old}' to '{new}'"


FAILED = ("Marking node failed", "Node installation failure - 'curtin' ended")
WITHOUT_POWER = (
    "Failed to query node's BMC: Aborting COMMISSIONING and reverting to READY. "
    "Unable to power control the node. Please check power credentials."
)
REVERTED = ("Failed to query node's BMC", f"(slipway) - {WITHOUT_POWER.partition(': ')[2]}")
PREPARED = (
    (COMMISSION, "(slipway)"),
    became("Commissioning"),
    became("Testing"),
    became("Ready"),
)
DEPLOYED = (asked(ACQUIRE), became("Allocated (to slipway)"), asked(DEPLOY), became("Deploying"), became("Deployed"))


@pytest.mark.parametrize(
    ("action", "told", "expected"),
    [
        pytest.param("prepare_nodes", (), Progress(), id="nothing happened"),
        pytest.param("prepare_nodes", PREPARED[:1], Progress(sent=True), id="commissioning was asked for"),
        pytest.param("prepare_nodes", PREPARED[:3], Progress(sent=True), id="tests are on the way"),
        pytest.param("prepare_nodes", PREPARED, Progress(sent=True, ended=True, ok=True), id="prepared"),
        pytest.param(
            "prepare_nodes",
            (*PREPARED, *DEPLOYED[1:4]),
            Progress(sent=True, ended=True, ok=True),
            id="what comes later does not count",
        ),
        pytest.param(
            "prepare_nodes", ((COMMISSION, "(bob)"), *PREPARED[1:]), Progress(), id="somebody else commissions"
        ),
        pytest.param(
            "prepare_nodes",
            (*PREPARED[:2], became("New")),
            Progress(sent=True, ended=True, why="the machine is New", unexplained="it became New"),
            id="aborted, or without power",
        ),
        pytest.param(
            "prepare_nodes",
            (*PREPARED[:2], REVERTED, became("Ready")),
            Progress(sent=True, ended=True, why=WITHOUT_POWER),
            id="no power: it is Ready again as it was",
        ),
        pytest.param(
            "prepare_nodes",
            (*PREPARED[:2], became("Ready"), REVERTED),
            Progress(sent=True, ended=True, why=f"it became Ready: {WITHOUT_POWER}"),
            id="no power, and MAAS says so afterwards",
        ),
        pytest.param(
            "prepare_nodes",
            (*PREPARED[:2], ("Failed to query node's BMC", "(slipway) - no route to host"), *PREPARED[2:]),
            Progress(sent=True, ended=True, ok=True),
            id="a BMC that did not answer once in between is no end",
        ),
        pytest.param(
            "prepare_nodes",
            (*PREPARED[:2], became("Rising from the ashes")),
            Progress(sent=True, waits_at="Rising from the ashes"),
            id="an unknown status waits, and is named",
        ),
        pytest.param(
            "prepare_nodes",
            (*PREPARED[:2], became("Rising from the ashes"), became("Testing")),
            Progress(sent=True),
            id="an unknown status is followed by a known one",
        ),
        pytest.param(
            "prepare_nodes",
            (*PREPARED[:2], became("Rising from the ashes"), became("Ready")),
            Progress(sent=True, ended=True, ok=True),
            id="an unknown status is followed by the end",
        ),
        pytest.param(
            "deploy_nodes",
            (*DEPLOYED[:4], ("User marking node broken", "(bob) - it smells"), became("Broken")),
            Progress(
                sent=True, acquired=True, ended=True, why="it became Broken: User marking node broken by bob: it smells"
            ),
            id="a user has marked it broken",
        ),
        pytest.param(
            "deploy_nodes",
            (*DEPLOYED[:4], ("User releasing node", "(bob) - slipway-01JABC-3"), became("Releasing")),
            Progress(sent=True, acquired=True, ended=True, why="it became Releasing: User releasing node by bob"),
            id="a reference says nothing to a person",
        ),
        pytest.param("deploy_nodes", DEPLOYED[:1], Progress(acquired=True), id="allocated, and no more"),
        pytest.param("deploy_nodes", DEPLOYED[:4], Progress(sent=True, acquired=True), id="deploying"),
        pytest.param("deploy_nodes", DEPLOYED, Progress(sent=True, acquired=True, ended=True, ok=True), id="deployed"),
        pytest.param(
            "deploy_nodes",
            (*DEPLOYED[:4], FAILED, became("Failed deployment")),
            Progress(
                sent=True,
                acquired=True,
                ended=True,
                why=f"Failed deployment: {FAILED[1]}",
            ),
            id="failed, and why",
        ),
        pytest.param(
            "prepare_nodes",
            (*PREPARED[:3], ("Script", "smartctl-validate failed"), ("Failed testing", ""), became("Failed testing")),
            Progress(sent=True, ended=True, why="the machine is Failed testing", unexplained="Failed testing"),
            id="tests failed, of which MAAS writes down no reason",
        ),
        pytest.param(
            "deploy_nodes",
            (*DEPLOYED[:4], became("Allocated"), ("User aborting deployment", "(bob)")),
            Progress(sent=True, acquired=True, ended=True, why="it became Allocated: User aborting deployment by bob"),
            id="aborted, and by whom",
        ),
        pytest.param(
            "deploy_nodes", (asked(DEPLOY, "slipway-a-12"), became("Deployed")), Progress(), id="another's reference"
        ),
        pytest.param(
            "destroy_nodes",
            (asked(RELEASE[1]), became("Disk erasing"), became("Releasing"), became("Ready")),
            Progress(sent=True, ended=True, ok=True),
            id="released with an erasing",
        ),
        pytest.param(
            "destroy_nodes",
            (asked(RELEASE[0]), became("Releasing"), became("Deployed")),
            Progress(sent=True, ended=True, why="the machine is Deployed", unexplained="it became Deployed"),
            id="half released",
        ),
    ],
)
def test_what_the_ledger_says(action: str, told: tuple[tuple[str, str], ...], expected: Progress) -> None:
    assert progress_of(action, REFERENCE, "slipway", ledger(*told)) == expected


def _unexplained(word: str) -> Progress:
    return Progress(True, ended=True, why=f"the machine is {word}", unexplained=f"it became {word}")


@pytest.mark.parametrize(
    ("status", "osystem", "expected"),
    [
        (Status.DEPLOYING, "ubuntu", Progress(sent=True)),
        (Status.DEPLOYED, "ubuntu", Progress(sent=True, ended=True, ok=True)),
        (Status.DEPLOYED, "", _unexplained("Deployed, half released")),
        (Status.BROKEN, "", _unexplained("Broken")),
        (None, "", Progress(sent=True, waits_at="Sublimating")),
    ],
)
def test_a_ledger_that_was_cut_is_made_up_for_by_the_status(
    status: Status | None, osystem: str, expected: Progress
) -> None:
    word = "Sublimating" if status is None else status.name.capitalize()
    machine = Machine("abc123", "w1", status, word, osystem=osystem)
    assert progress_by_status("deploy_nodes", Progress(sent=True), machine) == expected
    assert progress_by_status("deploy_nodes", Progress(), machine) == Progress(), "it was not acted on"


@pytest.mark.parametrize("aborted", [True, False])
def test_a_machine_that_is_ready_is_prepared_unless_its_commissioning_was_aborted(aborted: bool) -> None:
    machine = Machine("abc123", "w1", Status.READY, "Ready", is_commissioning_aborted=aborted)
    assert progress_by_status("prepare_nodes", Progress(sent=True), machine).ok is not aborted
    assert progress_by_status("destroy_nodes", Progress(sent=True), machine).ok


def test_why_a_machine_has_its_status_is_what_was_said_of_the_last_change() -> None:
    told = ledger(*PREPARED, FAILED, became("Failed testing"), ("User marking node broken", "(bob)"), became("Broken"))
    assert reason_of_status(told) == "User marking node broken by bob"
    assert reason_of_status(told[:-2]) == FAILED[1]
    assert reason_of_status(told[:4]) == "", "what was asked for before it began is no reason"
    assert reason_of_status(told[:1]) == ""
    assert reason_of_status([]) == ""


def test_why_a_machine_is_broken_is_told_though_it_was_released_before_that() -> None:
    marked = ("User marking node broken", "(bob) - it smells")
    told = ledger(*DEPLOYED, marked, became("Releasing"), ("Releasing", ""), became("Ready"), became("Broken"))
    assert reason_of_status(told) == "User marking node broken by bob: it smells"
    assert reason_of_status(told[-1:]) == "", "the ledger was cut"


@pytest.mark.parametrize(
    ("action", "told", "own"),
    [
        ("prepare_nodes", (*PREPARED, ("Ready", ""), *DEPLOYED), 5),
        ("prepare_nodes", (*PREPARED[:3], became("Dreaming"), became("Ready"), asked(ACQUIRE, "theirs")), 5),
        ("deploy_nodes", (*DEPLOYED[:4], became("Allocated"), ("User aborting deployment", "(bob)"), became("New")), 6),
        ("deploy_nodes", DEPLOYED[:3], 3),
        ("deploy_nodes", (*PREPARED, became("Allocated (to bob)")), 5),
    ],
)
def test_what_became_of_the_machine_later_is_none_of_the_task(
    action: str, told: tuple[tuple[str, str], ...], own: int
) -> None:
    events = ledger(*told)
    assert events_of_task(action, REFERENCE, "slipway", events) == events[:own]


def test_strangers_events_are_dropped() -> None:
    data = {"events": [{"id": 7, "node": "theirs", "type": DEPLOY}, {"id": 5, "node": "ours", "type": ACQUIRE}]}
    page = read_events(data, ["ours"])
    assert [event.id for event in page.events] == [5]
    assert (len(page.stamps), page.newest) == (2, 7), "of others the number and the time alone"
