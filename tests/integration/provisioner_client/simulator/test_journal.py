"""The detector of nodes submitted twice: what it finds, and what is legitimate."""

from __future__ import annotations

import pytest

from provisioner_client.simulator.journal import split_reference
from tests.integration.provisioner_client.simulator.drydock_calls import Drydock, names_filter
from tests.support.simulators import Simulator

KINDS = ("overlapping", "overlapping_other_action", "repeated", "same_reference")


def _found(simulator: Simulator) -> dict[str, int]:
    answer = simulator.get("double-submissions")
    assert tuple(answer) == KINDS
    return {kind: len(entries) for kind, entries in answer.items() if entries}


@pytest.mark.parametrize(
    ("reference", "parts"),
    [
        ("slipway-01JABC-17", ("01JABC", "17")),
        ("slipway-a-b-c-17", ("a-b-c", "17")),
        ("other-01JABC-17", ("other-01JABC-17", "")),
        ("slipway-17", ("slipway-17", "")),
        (None, ("", "")),
    ],
)
def test_references(reference: str | None, parts: tuple[str, str]) -> None:
    assert split_reference(reference) == parts


def test_different_nodes_and_phases_are_no_double_submission(
    drydock: Drydock, simulator: Simulator, design_ref: str
) -> None:
    drydock.run("prepare_nodes", design_ref, ["n1"], "slipway-A-1")
    drydock.run("prepare_nodes", design_ref, ["n2"], "slipway-A-2")
    drydock.run("deploy_nodes", design_ref, ["n1", "n2"], "slipway-A-3")
    assert _found(simulator) == {}


def test_a_second_submission_while_the_first_is_queued_overlaps(
    drydock: Drydock, simulator: Simulator, design_ref: str
) -> None:
    simulator.script("n1", "prepare", "stuck")
    for op, names in ((1, ["n1", "n2"]), (2, ["n2"])):
        drydock.submit("prepare_nodes", design_ref, names_filter(names, f"slipway-A-{op}"))
    assert _found(simulator) == {"overlapping": 1, "repeated": 1}
    entry = simulator.get("double-submissions")["overlapping"][0]
    assert (entry["action"], entry["phase"], entry["node"]) == ("A", "prepare", "n2")
    assert (entry["first"]["reference"], entry["second"]["reference"]) == ("slipway-A-1", "slipway-A-2")


def test_rule_23_a_new_operation_after_the_end_is_repeated_only(
    drydock: Drydock, simulator: Simulator, design_ref: str
) -> None:
    drydock.run("prepare_nodes", design_ref, ["n1"], "slipway-A-1")
    drydock.run("prepare_nodes", design_ref, ["n1"], "slipway-A-2")
    assert _found(simulator) == {"repeated": 1}


def test_two_actions_may_submit_one_after_the_other_but_not_at_once(
    drydock: Drydock, simulator: Simulator, design_ref: str
) -> None:
    drydock.run("prepare_nodes", design_ref, ["n1"], "slipway-A-1")
    first = drydock.submit("prepare_nodes", design_ref, names_filter(["n1"], "slipway-B-2"))
    drydock.finish(first)
    assert _found(simulator) == {}
    simulator.script("n2", "prepare", "stuck")
    for action in "CD":
        drydock.submit("prepare_nodes", design_ref, names_filter(["n2"], f"slipway-{action}-1"))
    assert _found(simulator) == {"overlapping_other_action": 1}


def test_one_reference_twice(drydock: Drydock, simulator: Simulator, design_ref: str) -> None:
    tasks = [drydock.submit("verify_site", design_ref, {"x_client_ref": "slipway-A-1"}) for _ in range(2)]
    assert simulator.get("double-submissions")["same_reference"] == [{"reference": "slipway-A-1", "tasks": tasks}]


def test_a_whole_site_submission_holds_its_nodes_from_its_start(
    drydock: Drydock, simulator: Simulator, design_ref: str
) -> None:
    simulator.script("n1", "prepare", "stuck")
    drydock.submit("prepare_nodes", design_ref, None)
    drydock.wait_for(drydock.statuses, lambda seen: seen.get("n1") == "Commissioning")
    drydock.submit("prepare_nodes", design_ref, names_filter(["n3"], "slipway-A-1"))
    assert _found(simulator) == {"overlapping_other_action": 1}
