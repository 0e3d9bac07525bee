"""A machine as MAAS's API shows it: 80 fields. The agent name is not among them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from provisioner_client.simulator.maas.http.answers import BASE
from provisioner_client.simulator.maas.machines.hardware import hardware_fields
from provisioner_client.simulator.maas.machines.machine import Machine
from provisioner_client.simulator.maas.machines.script_sets import STATUSES
from provisioner_client.simulator.maas.machines.statuses import STATUS_IDS, UNKNOWN_STATUS_ID

_DOMAIN = {
    "authoritative": True,
    "id": 0,
    "is_default": True,
    "name": "maas",
    "resource_record_count": 0,
    "resource_uri": f"{BASE}/domains/0/",
    "ttl": None,
}

StatusOf = Callable[[int | None], str]
PlaceOf = Callable[[str, str], Mapping[str, Any]]


def represent(machine: Machine, status_of: StatusOf, place_of: PlaceOf) -> dict[str, Any]:
    """Return a machine's JSON; `status_of` knows the status of a script set, `place_of` a zone or pool by its name."""
    tested = machine.testing_id
    return {
        **hardware_fields(
            machine.system_id,
            machine.position,
            machine.ip_address if machine.osystem else None,
            machine.storage_layout,
            machine.link_mode,
        ),
        **_checks("commissioning", status_of(machine.commissioning_id)),
        **_checks("testing", status_of(tested)),
        **_checks("cpu_test", "Unknown"),
        **_checks("interface_test", "Unknown"),
        **_checks("memory_test", "Unknown"),
        **_checks("network_test", "Unknown"),
        **_checks("other_test", "Unknown"),
        **_checks("storage_test", status_of(tested)),
        "address_ttl": None,
        "architecture": machine.architecture,
        "current_commissioning_result_id": machine.commissioning_id,
        "current_installation_result_id": machine.installation_id,
        "current_testing_result_id": tested,
        "description": machine.description,
        "disable_ipv4": False,
        "distro_series": machine.distro_series,
        "domain": _DOMAIN,
        "enable_hw_sync": False,
        "enable_kernel_crash_dump": False,
        "ephemeral_deploy": machine.ephemeral_deploy,
        "error_description": machine.error_description,
        "fqdn": f"{machine.hostname}.maas",
        "hostname": machine.hostname,
        "hwe_kernel": machine.hwe_kernel,
        "is_dpu": False,
        "last_sync": None,
        "locked": machine.locked,
        "min_hwe_kernel": "",
        "netboot": machine.netboot,
        "next_sync": None,
        "node_type": 0,
        "node_type_name": "Machine",
        "osystem": machine.osystem,
        "owner": machine.owner,
        "owner_data": dict(machine.owner_data),
        "parent": None,
        "pod": None,
        "pool": place_of("pool", machine.pool),
        "power_state": machine.power_state,
        "power_type": "ipmi",
        "resource_uri": f"{BASE}/machines/{machine.system_id}/",
        "status": UNKNOWN_STATUS_ID if machine.unknown_status else STATUS_IDS[machine.status],
        "status_action": None if machine.status_message is None else "",
        "status_message": machine.status_message,
        "status_name": machine.unknown_status or machine.status,
        "swap_size": None,
        "sync_interval": None,
        "system_id": machine.system_id,
        "tag_names": list(machine.tags),
        "virtualmachine_id": None,
        "workload_annotations": dict(machine.owner_data),
        "zone": place_of("zone", machine.zone),
    }


def _checks(kind: str, status: str) -> dict[str, Any]:
    return {f"{kind}_status": STATUSES.get(status, -1), f"{kind}_status_name": status}
