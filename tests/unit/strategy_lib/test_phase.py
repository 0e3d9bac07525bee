"""What is asked of a provisioner: one list, whose values are in every store."""

from __future__ import annotations

from strategy_lib.phase import GROUP_PHASES, NODE_STEPS, Phase


def test_the_stored_values_never_change() -> None:
    assert {phase.name: phase.value for phase in Phase} == {
        "PREPARE": "prepare",
        "DEPLOY": "deploy",
        "READY": "ready",
        "RELEASE": "release",
        "VERIFY_SITE": "verify_site",
        "PREPARE_SITE": "prepare_site",
        "DESTROY": "destroy_nodes",
        "RELABEL": "relabel_nodes",
    }


def test_each_phase_is_of_a_group_of_named_nodes_or_of_a_site() -> None:
    of_a_site = {phase for phase in Phase if not phase.is_of_nodes}
    assert of_a_site == {Phase.VERIFY_SITE, Phase.PREPARE_SITE}
    assert {phase for phase in Phase if phase.is_node_step} == set(NODE_STEPS)
    assert set(Phase) - of_a_site - set(NODE_STEPS) - set(GROUP_PHASES) == {Phase.RELEASE}
