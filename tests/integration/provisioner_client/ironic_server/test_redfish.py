"""Power by Redfish: Slipway enrols, Ironic's own driver acts, and an emulator plays the BMCs."""

from __future__ import annotations

import json
import secrets
from pathlib import Path

import pytest

from provisioner_client.designs import DesignSource
from provisioner_client.ironic.provisioner import IronicProvisioner
from provisioner_client.protocol import ProvisionerTask
from strategy_lib.phase import Phase
from tests.support.embedded_ironic import running_ironic
from tests.support.ironic_sites import CHECKSUM, IMAGE, IronicTestSite, finish
from tests.support.processes import wait_until
from tests.support.redfish_bmcs import PASSWORD, USER, RedfishBmcs, running_bmcs

pytestmark = [pytest.mark.soak, pytest.mark.timeout(900)]

DRIVER = "slipway-redfish"
GOOD, LOCKED, GONE = "good", "locked", "gone"


def design(bmcs: RedfishBmcs) -> DesignSource:
    """A site whose nodes are enrolled by their BMCs; of one of them the password is wrong."""
    defaults = {"image": IMAGE, "checksum": CHECKSUM, "bmc_driver": DRIVER, "bmc_account": "right"}
    site = {"provisioner": "ironic", "enroll": True, "defaults": defaults}
    documents = [document("Site", "site", site)]
    documents += [document("BmcAccount", name, {"user": USER, "password": said}) for name, said in ACCOUNTS.items()]
    for name in (GOOD, LOCKED, GONE):
        data = {"bmc_address": bmcs.address, "bmc_options": {"redfish_system_id": bmcs.path(name)}}
        documents.append(document("Node", name, data | ({"bmc_account": "wrong"} if name == LOCKED else {})))
    text = "---\n".join(documents)
    return DesignSource(f"nowhere:{secrets.token_hex(8)}", lambda: text)


ACCOUNTS = {"right": PASSWORD, "wrong": "guessed-4711"}


def document(kind: str, name: str, data: object) -> str:
    metadata = {"schema": "metadata/Document/v1", "name": name}
    if kind == "BmcAccount":
        metadata["storagePolicy"] = "encrypted"
    return f"schema: slipway/{kind}/v1\nmetadata: {json.dumps(metadata)}\ndata: {json.dumps(data)}\n"


def done(client: IronicProvisioner, phase: Phase, source: DesignSource, name: str) -> ProvisionerTask:
    """Have a phase done with one node."""
    reference = f"slipway-a-{phase.value}-{name}"
    client.submit(phase, source, [name], reference)
    return finish(client, reference, source)


def said(task: ProvisionerTask) -> str:
    return " ".join(message.text for message in task.messages)


def test_power_is_that_of_the_bmc_and_what_is_wrong_with_it_is_said(tmp_path: Path) -> None:
    with running_ironic(tmp_path) as ironic, running_bmcs(tmp_path / "bmcs", (GOOD, LOCKED, GONE)) as bmcs:
        client, source = IronicTestSite(ironic, "bmcs").client(), design(bmcs)
        assert done(client, Phase.PREPARE, source, GOOD).successes == {GOOD}
        assert done(client, Phase.DEPLOY, source, GOOD).successes == {GOOD}
        assert bmcs.power(GOOD) == "On"

        # Somebody switches it off at its BMC: Ironic leaves it off, and Slipway sees it, and can power it on.
        bmcs.switch_off(GOOD)
        wait_until(lambda: client.nodes([GOOD])[GOOD].power_state == "off", "Slipway sees that it is off", 150)
        assert (client.nodes([GOOD])[GOOD].can_power_on, bmcs.power(GOOD)) == (True, "Off")
        assert client.power_on([GOOD]) == {}
        wait_until(lambda: bmcs.power(GOOD) == "On", "it is on again", 60)

        refused = done(client, Phase.PREPARE, source, LOCKED)
        assert refused.failures == {LOCKED}
        assert "Incorrect username or password" in said(refused)
        assert ACCOUNTS["wrong"] not in said(refused)

        bmcs.stop()
        silent = done(client, Phase.PREPARE, source, GONE)
        assert silent.failures == {GONE}
        assert f"Unable to connect to {bmcs.address}" in said(silent)
        assert "Correct its driver_info in Ironic, or delete it there" in said(silent)
