"""Traps of the real Drydock, at its client: `test_trap_n` is trap n of docs/provisioner.md."""

from __future__ import annotations

import pytest
import responses

from provisioner_client.drydock.provisioner import DrydockProvisioner
from provisioner_client.errors import (
    ProvisionerRefused,
    ProvisionerUnavailable,
)
from provisioner_client.protocol import ACTIONS, TaskRef
from strategy_lib.node_condition import NodeCondition
from strategy_lib.outcome import judge
from strategy_lib.phase import Phase
from strategy_lib.strategy import Selector
from tests.unit.provisioner_client.drydock.drydock_answers import (
    API,
    DESIGN,
    GOOD,
    NOT_FOUND,
    REF,
    TaskJson,
)


def test_trap_3_before_the_end_the_per_node_children_are_asked(
    http: responses.RequestsMock, drydock: DrydockProvisioner, task_json: TaskJson
) -> None:
    http.get(
        f"{API}/tasks/t-1",
        json={
            "init_task_id": "t-1",
            "t-1": task_json("t-1", status="running", result="incomplete"),
            "c-1": task_json("c-1", parent="t-1", successes=["n1"]),
        },
        match=[responses.matchers.query_param_matcher({"layers": "2", "subtaskerrors": "true"})],
    )
    http.get(f"{API}/nodes", json=[])
    evidence = drydock.evidence(TaskRef("t-1"), ["n1", "n2"])
    assert not evidence.over
    assert evidence.child_success == {"n1"}


@pytest.mark.parametrize("phase", [phase for phase in ACTIONS if phase.is_of_nodes])
def test_rule_11_what_is_done_to_nodes_is_never_done_to_a_whole_site(
    http: responses.RequestsMock, drydock: DrydockProvisioner, phase: Phase
) -> None:
    with pytest.raises(ProvisionerRefused, match="must name its nodes"):
        drydock.submit(phase, DESIGN, None, "ref")
    assert len(http.calls) == 0


def test_trap_6_a_design_that_cannot_be_found_is_no_empty_group(
    http: responses.RequestsMock, drydock: DrydockProvisioner
) -> None:
    http.post(f"{API}/validatedesign", status=500, json=NOT_FOUND)
    http.post(f"{API}/nodefilter", json=[])
    for ask in (
        lambda: drydock.select_nodes(DESIGN, [Selector(node_tags=("t",))]),
        lambda: drydock.validate_design(DESIGN),
    ):
        # The server of the design may be starting again: worth another try.
        with pytest.raises(ProvisionerUnavailable, match="could not read the design") as caught:
            ask()
        assert REF not in str(caught.value), "the address is a secret"


def test_trap_6_a_design_without_nodes_is_refused(
    http: responses.RequestsMock, drydock: DrydockProvisioner, task_json: TaskJson
) -> None:
    http.get(f"{API}/tasks", json=[task_json("old")])
    http.post(f"{API}/validatedesign", json=GOOD)
    http.post(f"{API}/nodefilter", json=[])
    with pytest.raises(ProvisionerRefused, match="has no nodes"):
        drydock.select_nodes(DESIGN, [])
    with pytest.raises(ProvisionerRefused, match="has no nodes"):
        drydock.submit(Phase.VERIFY_SITE, DESIGN, None, "ref")


def test_trap_9_a_false_success_is_caught_by_the_node_list(
    http: responses.RequestsMock, drydock: DrydockProvisioner, task_json: TaskJson
) -> None:
    http.get(f"{API}/tasks/t-1", json={"t-1": task_json("t-1", successes=["n1"])})
    http.get(
        f"{API}/nodes",
        json=[
            {"hostname": "n1", "status_name": "Failed commissioning", "power_state": "off"},
            {"hostname": "stranger", "status_name": "Ready", "power_state": "off"},
        ],
    )
    evidence = drydock.evidence(TaskRef("t-1"), ["n1"])
    assert evidence.condition == {"n1": NodeCondition.FAILED_COMMISSIONING}
    assert judge(Phase.PREPARE, ["n1"], evidence).failed == {"n1"}
