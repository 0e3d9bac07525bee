"""One machine of MAAS as the simulator keeps it, and the steps that it has still before it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from provisioner_client.simulator.machines import MachineStatus

DEBUG, INFO, WARNING, ERROR = "DEBUG", "INFO", "WARNING", "ERROR"


@dataclass(frozen=True, slots=True)
class Step:
    """One thing that happens to a machine by itself.

    Parameters
    ----------
    at : seconds since the epoch (real clock), already divided by the speed; None: when a stuck machine is let go.
    after : real seconds after the step before it, for steps behind one whose time is not known yet.
    status, power : what they become, None if they stay.
    events : entries of MAAS's ledger as (level, type, description).
    results : outcomes of script sets, by their kind: `Passed`, `Failed`, `Aborted`, `Timed out`.
    output : what the log of a script says that failed.
    fields : further fields of the machine that change.
    """

    at: float | None
    after: float = 0.0
    status: MachineStatus | None = None
    power: str | None = None
    events: tuple[tuple[str, str, str], ...] = ()
    results: Mapping[str, str] = field(default_factory=dict)
    output: str = ""
    fields: Mapping[str, Any] = field(default_factory=dict)


@dataclass(slots=True)
class Machine:
    """Everything that MAAS knows of a machine, and how often each was begun with it (`prepares`, …).

    `unknown_status` is the name of a status that no MAAS has yet: nothing is begun with the machine meanwhile.
    `storage_layout` and `link_mode` stand for all that can be set up of its disks and interfaces.
    """

    system_id: str
    hostname: str
    position: int
    zone: str = "default"
    pool: str = "default"
    architecture: str = "amd64/generic"
    description: str = ""
    tags: list[str] = field(default_factory=list)
    status: MachineStatus = MachineStatus.NEW
    unknown_status: str = ""
    previous_status: MachineStatus = MachineStatus.NEW
    before_rescue: MachineStatus = MachineStatus.NEW
    power_state: str = "off"
    owner: str | None = None
    agent_name: str = ""
    owner_data: dict[str, str] = field(default_factory=dict)
    locked: bool = False
    osystem: str = ""
    distro_series: str = ""
    hwe_kernel: str | None = None
    netboot: bool = True
    ephemeral_deploy: bool = False
    status_message: str | None = None
    error_description: str = ""
    commissioning_id: int | None = None
    testing_id: int | None = None
    installation_id: int | None = None
    storage_layout: str = "flat"
    link_mode: str = "auto"
    composed: bool = False
    address: str = ""
    prepares: int = 0
    deploys: int = 0
    destroys: int = 0
    steps: list[Step] = field(default_factory=list)

    @property
    def ip_address(self) -> str:
        """The address that it has while it is deployed: what the site says, or one of its place in the park."""
        return self.address or f"10.0.{self.position // 250}.{self.position % 250 + 2}"

    @property
    def due(self) -> float | None:
        """When its next step is, None if it has none, or is stuck before it."""
        return self.steps[0].at if self.steps else None

    def begin_release(self) -> None:
        """Forget what goes as a release begins: what was deployed, and what its owner wrote down."""
        self.agent_name = self.osystem = self.distro_series = ""
        self.owner_data, self.netboot, self.ephemeral_deploy, self.hwe_kernel = {}, True, False, None

    def to_data(self) -> dict[str, Any]:
        """Return it as JSON data, in the form that `from_data` reads."""
        return asdict(self)

    @staticmethod
    def from_data(data: dict[str, Any]) -> Machine:
        """Read what `to_data` gave."""
        known = {**data, "status": MachineStatus(data["status"])}
        for name in ("previous_status", "before_rescue"):
            known[name] = MachineStatus(data[name])
        known["steps"] = [_step(one) for one in data["steps"]]
        return Machine(**known)

    def describe(self) -> dict[str, Any]:
        """Return what `GET /_sim/nodes` says of it: the fields that a Drydock's machine has, and MAAS's own."""
        return {
            "site": "maas",
            "name": self.hostname,
            "status": self.unknown_status or self.status,
            "power_state": self.power_state,
            "hidden": False,
            "rack": self.zone,
            "tags": sorted(self.tags),
            "labels": dict(self.owner_data),
            "prepares": self.prepares,
            "deploys": self.deploys,
            "destroys": self.destroys,
            "relabels": 0,
            "system_id": self.system_id,
            "owner": self.owner,
            "agent_name": self.agent_name,
            "locked": self.locked,
            "pool": self.pool,
            "zone": self.zone,
            "osystem": self.osystem,
            "distro_series": self.distro_series,
            "netboot": self.netboot,
            "ephemeral_deploy": self.ephemeral_deploy,
            "storage_layout": self.storage_layout,
            "link_mode": self.link_mode,
        }


def _step(data: dict[str, Any]) -> Step:
    status = data["status"]
    return Step(
        **{
            **data,
            "status": None if status is None else MachineStatus(status),
            "events": tuple((level, kind, text) for level, kind, text in data["events"]),
        }
    )
