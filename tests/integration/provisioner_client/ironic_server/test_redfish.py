"""Power by Redfish: Ironic's own driver, and BMCs that an emulator plays."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.embedded_ironic import running_ironic
from tests.support.ironic_machines import Machines
from tests.support.processes import wait_until
from tests.support.redfish_bmcs import running_bmcs

pytestmark = [pytest.mark.soak, pytest.mark.timeout(600)]

DRIVER = "slipway-redfish"


def test_power_is_that_of_the_bmc_and_what_is_wrong_with_it_is_said(tmp_path: Path) -> None:
    with running_ironic(tmp_path) as ironic, running_bmcs(tmp_path / "bmcs", ("good", "locked", "gone")) as bmcs:
        machines = Machines(ironic)
        machines.enroll("good", DRIVER, bmcs.driver_info("good"))
        machines.managed("good")
        machines.go("good", "provide", "available")
        deployed = machines.go("good", "active", "active", "deploy failed")
        assert (deployed["provision_state"], deployed["power_state"]) == ("active", "power on"), deployed["last_error"]
        assert bmcs.power("good") == "On"

        # Somebody switches it off at its BMC: Ironic says so, and leaves it off.
        bmcs.switch_off("good")
        wait_until(lambda: machines.state("good")["power_state"] == "power off", "Ironic sees that it is off", 150)
        seen = machines.state("good")
        assert (seen["provision_state"], seen["maintenance"], bmcs.power("good")) == ("active", False, "Off")

        machines.enroll("locked", DRIVER, bmcs.driver_info("locked", password="guessed"))
        refused = machines.go("locked", "manage", "enroll", "manageable")
        assert refused["provision_state"] == "enroll"
        assert "Incorrect username or password" in refused["last_error"]

        bmcs.stop()
        machines.enroll("gone", DRIVER, bmcs.driver_info("gone"))
        silent = machines.go("gone", "manage", "enroll", "manageable")
        assert silent["provision_state"] == "enroll"
        assert f"Unable to connect to {bmcs.address}" in silent["last_error"]
