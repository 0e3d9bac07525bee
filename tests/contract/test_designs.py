"""Contract: a provisioner checks designs and selects nodes by the rules."""

from __future__ import annotations

import secrets
from pathlib import Path

import pytest

from provisioner_client.designs import DesignSource
from provisioner_client.errors import ProvisionerRefused, ProvisionerUnavailable
from provisioner_client.protocol import Provisioner
from strategy_lib.strategy import Label, Selector
from tests.contract.conftest import Publish
from tests.contract.servers import ContractDrydock

ONE_NODE = "{filter_set_type: union, filter_set: [{filter_type: union, node_names: [c1]}]}"
SEED = secrets.token_hex(8)
"""In a content that no Drydock has seen."""
ALL = {"c1", "c2", "w1", "w2", "w3", "w4"}


def test_a_good_design_is_valid(provisioner: Provisioner, design: DesignSource) -> None:
    assert provisioner.validate_design(design).valid


def test_a_bad_design_says_what_is_wrong(provisioner: Provisioner, site_file: Path, publish: Publish) -> None:
    text = site_file.read_text().replace("host_profile: compute", "host_profile: lost").replace(", compute]", ", lost]")
    answer = provisioner.validate_design(publish(text))
    assert not answer.valid
    # Drydock names the profile alone.
    assert any("lost" in str(message) and message.level == "Error" for message in answer.messages)


@pytest.mark.drydock_alone("trap 22")
def test_what_is_said_of_a_design_is_said_once_however_often_it_is_used(
    provisioner: Provisioner, site_file: Path, publish: Publish
) -> None:
    text = site_file.read_text().replace("signaling: false", f"node_filter: {ONE_NODE}")
    answers = [provisioner.validate_design(publish(f"{text}# {SEED}\n")) for _ in range(3)]
    assert answers[0] == answers[1] == answers[2], "one content, at three addresses"
    said = [str(message) for message in answers[0].messages]
    assert len(said) == len(set(said))
    assert sum("DD4001" in one and "w1" in one for one in said) == 1, "no boot action is for w1"


def test_trap_6_a_design_that_is_not_there_is_not_valid(provisioner: Provisioner, tmp_path: Path) -> None:
    with pytest.raises(ProvisionerUnavailable) as caught:
        provisioner.validate_design(DesignSource(f"file://{tmp_path}/none.yaml"))
    assert "none.yaml" not in str(caught.value), "the address is a secret"


def test_trap_6_a_design_that_is_not_there_is_no_empty_group(provisioner: Provisioner, tmp_path: Path) -> None:
    with pytest.raises(ProvisionerUnavailable):
        provisioner.select_nodes(DesignSource(f"file://{tmp_path}/none.yaml"), [Selector(node_tags=("ctl",))])


@pytest.mark.drydock_alone("trap 14; MAAS does not fetch designs")
def test_a_design_whose_address_is_too_long_is_refused(provisioner: Provisioner) -> None:
    with pytest.raises(ProvisionerRefused, match="128"):
        provisioner.validate_design(DesignSource("http://" + "x" * 122))


@pytest.mark.parametrize(
    ("selectors", "chosen"),
    [
        pytest.param([], ALL, id="rule 6: no selectors"),
        pytest.param([Selector()], ALL, id="rule 6: an empty selector"),
        pytest.param([Selector(node_names=("c1",)), Selector()], ALL, id="rule 6: all beside another"),
        pytest.param([Selector(node_names=("c1", "w4"))], {"c1", "w4"}, id="names"),
        pytest.param([Selector(node_names=("c1", "none"))], {"c1"}, id="an unknown name"),
        pytest.param([Selector(node_tags=("none",))], set(), id="an unknown tag"),
        pytest.param([Selector(node_tags=("mon", "ctl"))], {"c1", "c2", "w3"}, id="rule 5: tags are OR"),
        pytest.param([Selector(rack_names=("r1",))], {"c1", "c2", "w1"}, id="a rack"),
        pytest.param([Selector(rack_names=("r1", "r2"))], ALL, id="rule 5: racks are OR"),
        pytest.param([Selector(node_labels=(Label("role", "compute"),))], {"w1", "w2", "w3", "w4"}, id="profile label"),
        pytest.param([Selector(node_labels=(Label("zone", "a"),))], {"c1", "w1", "w4"}, id="label of a parent profile"),
        pytest.param(
            [Selector(node_labels=(Label("zone", "b"),))], {"c2", "w2"}, id="a node's label beats its profile"
        ),
        pytest.param([Selector(node_tags=("metal",))], ALL, id="tag of a parent profile"),
        pytest.param([Selector(node_tags=("spare",))], ALL - {"w4"}, id="a node removes a tag that it inherits"),
        pytest.param([Selector(node_tags=("!spare",))], set(), id="what removes a tag is none"),
        pytest.param(
            [Selector(node_labels=(Label("hall", "north"), Label("!hall", "none")))],
            ALL - {"w4"},
            id="a node removes a label that it inherits",
        ),
        pytest.param([Selector(node_labels=(Label("hall", " north"),))], set(), id="labels are compared exactly"),
        pytest.param([Selector(node_labels=(Label("zone", "c:1"),))], {"w3"}, id="rule 2: a colon in a value"),
        pytest.param(
            [Selector(node_labels=(Label("zone", "b"), Label("zone", "c:1")))],
            {"c2", "w2", "w3"},
            id="rule 5: two values of one label are OR",
        ),
        pytest.param(
            [Selector(node_labels=(Label("zone", "c:1"), Label("role", "compute")))],
            {"w1", "w2", "w3", "w4"},
            id="rule 5: two labels are OR",
        ),
        pytest.param(
            [Selector(node_labels=(Label("zone", "b"), Label("zone", "c:1")), node_tags=("mon",))],
            {"c2", "w3"},
            id="rule 5: two values of one label AND a tag",
        ),
        pytest.param([Selector(node_tags=("work",), rack_names=("r1",))], {"w1"}, id="rule 5: AND between criteria"),
        pytest.param(
            [
                Selector(
                    node_names=("c1", "w2"), node_tags=("ctl",), rack_names=("r1",), node_labels=(Label("zone", "a"),)
                )
            ],
            {"c1"},
            id="rule 5: AND of all four",
        ),
        pytest.param(
            [Selector(node_tags=("ctl",), rack_names=("r2",)), Selector(node_names=("w4",))],
            {"w4"},
            id="rule 5: union of selectors",
        ),
    ],
)
def test_selection(provisioner: Provisioner, design: DesignSource, selectors: list[Selector], chosen: set[str]) -> None:
    assert provisioner.select_nodes(design, selectors) == chosen


def test_selecting_leaves_no_tasks(simulator: ContractDrydock, provisioner: Provisioner, design: DesignSource) -> None:
    provisioner.validate_design(design)
    provisioner.select_nodes(design, [])
    assert simulator.tasks() == []
