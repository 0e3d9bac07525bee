"""A real Ironic, and a design that it cannot carry out: a sentence that says what to do, and nothing half done."""

from __future__ import annotations

import json
import secrets
from typing import Any

import pytest

from provisioner_client.designs import DesignSource
from provisioner_client.errors import SubmissionRefused
from strategy_lib.phase import Phase
from tests.support.ironic_sites import CHECKSUM, DRIVER, IMAGE, IronicTestSite, finish

pytestmark = pytest.mark.endurance

GOOD = {"image": IMAGE, "checksum": CHECKSUM, "bmc_driver": DRIVER}
NO_SUCH = "11111111-2222-3333-4444-555555555555"


def design(*names: str, enroll: bool = True, **changes: Any) -> DesignSource:
    """A site with these nodes; `changes` of what all of them have."""
    site = {"provisioner": "ironic", "enroll": enroll, "defaults": {**GOOD, **changes}}
    said = [("Site", "site", site), *(("Node", name, {}) for name in names)]
    text = "---\n".join(
        f"schema: slipway/{kind}/v1\nmetadata: {{schema: metadata/Document/v1, name: {name}}}\n"
        f"data: {json.dumps(data)}\n"
        for kind, name, data in said
    )
    return DesignSource(f"nowhere:{secrets.token_hex(8)}", lambda: text)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"checksum": None}, f"the image {IMAGE} of {{name}} has no checksum, and Ironic deploys none without: say"),
        ({"image": "noble"}, "Ironic has no image 'noble' for {name}: say its address, such as https://images/"),
        ({"image": None}, "{name} has no image, and Ironic has none of its own: say image and checksum, or give"),
        ({"bmc_driver": "slipwya"}, "Ironic has no hardware type 'slipwya' for {name}, as bmc_driver says: did you"),
        ({"bmc_driver": None}, "Ironic has no node {name}, and its document has no bmc_address by which it could be"),
        ({"enroll": False}, "Ironic has no node {name} in resource class {name}: enrol it there, or say enroll: true"),
        ({"storage": "lvm"}, "{name} has storage, which is for MAAS and which Ironic does not have: say root_device"),
        ({"traits": ["CUSTOM_GPU"]}, None),
    ],
)
def test_what_is_wrong_with_a_design_is_said_before_anything_is_sent(
    site: IronicTestSite, changes: dict[str, Any], said: str | None
) -> None:
    found = site.client().validate_design(design(site.name, **changes))
    texts = [message.text for message in found.messages]
    if said is None:
        assert (found.valid, texts) == (True, [])
    else:
        assert (found.valid, [said.format(name=site.name) in text for text in texts]) == (False, [True]), texts
    assert site.call("GET", f"nodes/{site.name}").status_code == 404


def test_a_name_is_one_node_in_a_design_and_one_node_in_all_of_ironic(site: IronicTestSite) -> None:
    name = site.name
    twice = site.client().validate_design(design(name, name))
    assert "there is already a slipway/Node/v1 named" in twice.messages[0].text
    assert "keep one of them" in twice.messages[0].text
    IronicTestSite(site.ironic, f"{name}-other").enroll([name])
    before = site.node(name)
    elsewhere = f"Ironic has {name}, but not in resource class {name}: give it these there, or correct the connection"
    found = site.client().validate_design(design(name))
    assert [message.text for message in found.messages] == [elsewhere]
    with pytest.raises(SubmissionRefused, match=f"nothing was done: {name} is not enrolled: {elsewhere}"):
        site.client().submit(Phase.PREPARE, design(name), [name], "slipway-a-1")
    assert site.node(name) == before


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"checksum": None}, '"image_checksum", or "image_os_hash_algo" and "image_os_hash_value" must be provided'),
        ({"image": "noble"}, "Validation of image href noble failed"),
        ({"image": NO_SUCH, "checksum": None}, "Failed to validate deploy or power info"),
    ],
)
def test_what_ironic_does_not_take_leaves_the_node_as_it_was(
    site: IronicTestSite, changes: dict[str, Any], said: str
) -> None:
    """Also where nobody has looked at the design before: the claim is taken away again, and the next deploy goes."""
    name = site.name
    site.make_available([name])
    client, wrong = site.client(), design(name, **changes)
    client.submit(Phase.DEPLOY, wrong, [name], "slipway-a-1")
    task = finish(client, "slipway-a-1", wrong)
    assert task.failures == {name}
    (message,) = task.messages
    assert message.text.startswith(f"Ironic did not deploy {name}: ")
    assert said in message.text
    now = site.node(name)
    assert (now["provision_state"], now["instance_uuid"], now["instance_info"]) == ("available", None, {})
    client.submit(Phase.DEPLOY, design(name), [name], "slipway-a-2")
    assert finish(client, "slipway-a-2").successes == {name}
    assert site.events(name)["deployment_start"] == 1
