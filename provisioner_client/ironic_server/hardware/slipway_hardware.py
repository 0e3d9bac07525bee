"""Slipway's own hardware type in a real Ironic: machines that are only pretended.

It runs in Ironic's environment, not in Slipway's, and imports nothing of Slipway. How long a stage takes, and whether
it fails, is up to `slipway_faults.py` beside it.
"""

from __future__ import annotations

from typing import Any

from ironic.common import exception, states
from ironic.conductor import utils
from ironic.conf import CONF
from ironic.drivers import base, fake_hardware
from ironic.drivers.modules import agent, fake
from ironic.drivers.modules.redfish import management, power
from oslo_config import cfg
from slipway_faults import play

REDFISH = "slipway-redfish"
# Ironic looks for this option in a group of the hardware type's name, and fails without such a group.
CONF.register_opts([cfg.StrOpt("verify_ca")], group=REDFISH)
_TORN_DOWN = "slipway_torn_down"
"""Noted with a node whose next cleaning belongs to its destruction."""


def _name(task: Any) -> str:
    return str(task.node.name or task.node.uuid)


class SlipwayPower(fake.FakePower):
    """Power that is off until somebody switches it on; Ironic's own is unknown until then."""

    def get_power_state(self, task: Any) -> str:
        return super().get_power_state(task) or states.POWER_OFF


class SlipwayInspect(fake.FakeInspect):
    """An inspection that takes time, and can fail."""

    def inspect_hardware(self, task: Any) -> str:
        if cause := play(_name(task), "prepare", "inspect"):
            raise exception.HardwareInspectionFailure(error=cause)
        return super().inspect_hardware(task)


class SlipwayDeploy(fake.FakeDeploy):
    """A deployment of one step and a cleaning of one; what to deploy is checked as for the deployment by an agent."""

    def validate(self, task: Any) -> None:
        agent.AgentDeploy().validate(task)

    @base.deploy_step(priority=100)
    def deploy(self, task: Any) -> None:
        if cause := play(_name(task), "deploy", "deploy"):
            raise exception.InstanceDeployFailure(cause)
        utils.node_power_action(task, states.POWER_ON)

    @base.clean_step(priority=10)
    def erase(self, task: Any) -> None:
        phase = "destroy" if task.node.del_driver_internal_info(_TORN_DOWN) else "prepare"
        task.node.save()
        if cause := play(_name(task), phase, "clean"):
            raise exception.NodeCleaningFailure(node=task.node.uuid, reason=cause)

    def tear_down(self, task: Any) -> str:
        if cause := play(_name(task), "destroy", "tear_down"):
            raise exception.InstanceDeployFailure(cause)
        utils.node_power_action(task, states.POWER_OFF)
        task.node.set_driver_internal_info(_TORN_DOWN, True)
        return states.DELETED


class SlipwayHardware(fake_hardware.FakeHardware):
    """The hardware type `slipway`: the fake one of Ironic, with these three interfaces going first."""

    @property
    def supported_deploy_interfaces(self) -> list[Any]:
        return [SlipwayDeploy, *super().supported_deploy_interfaces]

    @property
    def supported_inspect_interfaces(self) -> list[Any]:
        return [SlipwayInspect, *super().supported_inspect_interfaces]

    @property
    def supported_power_interfaces(self) -> list[Any]:
        return [SlipwayPower, *super().supported_power_interfaces]


class SlipwayRedfish(SlipwayHardware):
    """The hardware type `slipway-redfish`: as `slipway`, but power and boot device are those of a BMC, by Redfish."""

    @property
    def supported_power_interfaces(self) -> list[Any]:
        return [power.RedfishPower]

    @property
    def supported_management_interfaces(self) -> list[Any]:
        return [management.RedfishManagement]
