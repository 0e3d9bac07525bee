"""A redeploy on a real Ironic: rebuilt in place where that is enough, deleted and deployed where it is not."""

from __future__ import annotations

from collections import Counter

import pytest

from provisioner_client.designs import DesignSource
from provisioner_client.errors import SubmissionRefused
from provisioner_client.ironic.provisioner import IronicProvisioner
from provisioner_client.protocol import TaskRef
from strategy_lib.node_condition import NodeCondition
from strategy_lib.outcome import judge
from strategy_lib.phase import Phase
from tests.support.ironic_sites import IronicTestSite, finish

pytestmark = pytest.mark.endurance

NEW = "https://images.invalid/plucky.qcow2"
CLEANED = Counter(automated_cleaning_start=1, automated_cleaning_end=1)
DEPLOYED = Counter(deployment_start=1, deployment_end=1)


@pytest.fixture
def client(site: IronicTestSite) -> IronicProvisioner:
    """A client of a site with one node, of the same name, that it has deployed."""
    site.make_available([site.name])
    made = site.client()
    assert done(made, Phase.DEPLOY, site.design([site.name]), "slipway-a-1")
    return made


def done(client: IronicProvisioner, phase: Phase, design: DesignSource, reference: str) -> bool:
    """Have a phase done to the node, and say whether it came to that, as a group judges it."""
    (name,) = client.nodes()
    client.submit(phase, design, [name], reference)
    finish(client, reference)
    return judge(phase, [name], client.evidence(TaskRef(reference, phase), [name])).succeeded == {name}


def redeploy(client: IronicProvisioner, design: DesignSource) -> None:
    """Do what a group does that redeploys."""
    for number, phase in enumerate((Phase.RELEASE, Phase.PREPARE, Phase.DEPLOY), 2):
        assert done(client, phase, design, f"slipway-a-{number}")


def test_another_image_is_rebuilt_and_keeps_the_claim(site: IronicTestSite, client: IronicProvisioner) -> None:
    claim, design = site.node(site.name)["instance_uuid"], site.design([site.name], NEW)
    assert done(client, Phase.RELEASE, design, "slipway-a-2")
    listed = client.nodes()[site.name]
    assert (listed.condition, listed.status_name) == (NodeCondition.TO_REDEPLOY, "active, to be rebuilt")
    assert done(client, Phase.PREPARE, design, "slipway-a-3")
    assert site.events(site.name) == CLEANED + DEPLOYED, "it serves until it is rebuilt"
    assert done(client, Phase.DEPLOY, design, "slipway-a-4")
    node = site.node(site.name)
    assert (node["provision_state"], node["instance_uuid"]) == ("active", claim)
    assert node["instance_info"]["image_source"] == NEW
    mark = node["extra"]["slipway"]
    assert (mark["ref"], mark["step"], mark["claim"]) == ("slipway-a-4", "rebuild", "slipway-a-1")
    assert site.events(site.name) == CLEANED + DEPLOYED + DEPLOYED, "it was not cleaned"
    assert client.nodes()[site.name].condition is NodeCondition.DEPLOYED
    # By name it is deleted, whatever would do.
    assert done(client, Phase.DESTROY, design, "slipway-a-5")
    assert site.node(site.name)["instance_uuid"] is None


def test_another_disk_is_deleted_and_deployed(site: IronicTestSite, client: IronicProvisioner) -> None:
    claim = site.node(site.name)["instance_uuid"]
    redeploy(client, site.design([site.name], root_device={"size": 200}))
    node = site.node(site.name)
    assert (node["provision_state"], node["instance_uuid"] != claim) == ("active", True)
    assert node["instance_info"]["root_device"] == {"size": 200}
    assert site.events(site.name) == CLEANED + DEPLOYED + CLEANED + DEPLOYED


def test_what_was_released_to_be_rebuilt_can_be_destroyed(site: IronicTestSite, client: IronicProvisioner) -> None:
    design = site.design([site.name], NEW)
    assert done(client, Phase.RELEASE, design, "slipway-a-2")
    assert done(client, Phase.DESTROY, design, "slipway-a-3")
    assert site.node(site.name)["provision_state"] == "available"
    assert client.nodes()[site.name].condition is NodeCondition.READY


def test_it_is_not_rebuilt_to_another_design_than_it_was_released_for(
    site: IronicTestSite, client: IronicProvisioner
) -> None:
    assert done(client, Phase.RELEASE, site.design([site.name], NEW), "slipway-a-2")
    other = site.design([site.name], root_device={"size": 200})
    client.submit(Phase.DEPLOY, other, [site.name], "slipway-a-3")
    assert finish(client, "slipway-a-3").failures == {site.name}
    assert site.events(site.name) == CLEANED + DEPLOYED
    assert client.nodes()[site.name].condition is NodeCondition.TO_REDEPLOY
    # The next action releases it anew, by what is wanted then.
    assert done(client, Phase.RELEASE, other, "slipway-a-4")
    assert site.node(site.name)["provision_state"] == "available"


def test_a_rebuild_that_fails_is_a_failed_deployment_of_ours(site: IronicTestSite, client: IronicProvisioner) -> None:
    design = site.design([site.name], NEW)
    site.ironic.play({"node": site.name, "phase": "deploy", "behaviour": "fail", "message": "no such disk"})
    assert done(client, Phase.RELEASE, design, "slipway-a-2")
    client.submit(Phase.DEPLOY, design, [site.name], "slipway-a-3")
    assert finish(client, "slipway-a-3").failures == {site.name}
    said = client.evidence(TaskRef("slipway-a-3", Phase.DEPLOY), [site.name]).messages[site.name]
    assert said == "deploy failed: Deploy step deploy.deploy failed: no such disk."
    assert client.nodes()[site.name].condition is NodeCondition.FAILED_DEPLOYMENT
    site.ironic.play()
    assert done(client, Phase.RELEASE, design, "slipway-a-4")
    assert site.node(site.name)["provision_state"] == "available"


def test_a_strangers_and_one_in_maintenance_are_not_rebuilt(site: IronicTestSite, client: IronicProvisioner) -> None:
    design = site.design([site.name], NEW)
    assert done(client, Phase.RELEASE, design, "slipway-a-2")
    site.call("PUT", f"nodes/{site.name}/maintenance", {"reason": "its fan"})
    with pytest.raises(SubmissionRefused, match="in maintenance"):
        client.submit(Phase.DEPLOY, design, [site.name], "slipway-a-3")
    site.call("DELETE", f"nodes/{site.name}/maintenance")
    stranger = "11111111-2222-3333-4444-555555555555"
    site.call("PATCH", f"nodes/{site.name}", [{"op": "remove", "path": "/instance_uuid"}])
    assert site.patch(site.name, instance_uuid=stranger).ok
    with pytest.raises(SubmissionRefused, match="owned by instance"):
        client.submit(Phase.DEPLOY, design, [site.name], "slipway-a-4")
    node = site.node(site.name)
    assert (node["provision_state"], node["instance_uuid"]) == ("active", stranger)
    assert site.events(site.name) == CLEANED + DEPLOYED
