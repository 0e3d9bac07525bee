"""What MAAS says of a machine's hardware, disks and network: made up, the same in every run, and of the real shape."""

from __future__ import annotations

import hashlib
from typing import Any

from provisioner_client.simulator.maas.http.answers import BASE

CPUS, MEMORY_MB, DISK_BYTES = 32, 131072, 960_197_124_096

_INFO = (
    *("chassis_serial", "chassis_type", "chassis_vendor", "chassis_version", "cpu_model"),
    *("mainboard_firmware_date", "mainboard_firmware_vendor", "mainboard_firmware_version"),
    *("mainboard_product", "mainboard_serial", "mainboard_vendor", "mainboard_version"),
    *("system_family", "system_product", "system_serial", "system_sku", "system_vendor", "system_version"),
)


def mac_address(system_id: str) -> str:
    """Return the address of a machine's only interface."""
    digest = hashlib.sha256(system_id.encode()).hexdigest()
    return "52:54:00:" + ":".join(digest[at : at + 2] for at in (0, 2, 4))


def hardware_fields(
    system_id: str, position: int, ip_address: str | None, layout: str, link_mode: str
) -> dict[str, Any]:
    """Return the fields that no action changes, the address (None: it has none now), and how disks and links are."""
    disk, interface = _disk(system_id, position, layout), _interface(system_id, position, ip_address, link_mode)
    return {
        "architecture": "amd64/generic",
        "bcaches": [],
        "bios_boot_method": None,
        "blockdevice_set": [disk],
        "boot_disk": disk,
        "boot_interface": interface,
        "cache_sets": [],
        "cpu_count": CPUS,
        "cpu_speed": 2600,
        "default_gateways": {
            "ipv4": {"gateway_ip": "10.0.0.1", "link_id": None},
            "ipv6": {"gateway_ip": None, "link_id": None},
        },
        "hardware_info": dict.fromkeys(_INFO, "Unknown"),
        "hardware_uuid": hashlib.md5(system_id.encode(), usedforsecurity=False).hexdigest(),
        "interface_set": [interface],
        "memory": MEMORY_MB,
        "numanode_set": [{"cores": [*range(CPUS)], "hugepages_set": [], "index": 0, "memory": MEMORY_MB}],
        "physicalblockdevice_set": [disk],
        "raids": [],
        "special_filesystems": [],
        "storage": DISK_BYTES / 1e6,
        "virtualblockdevice_set": [],
        "volume_groups": [{"id": position + 1, "name": "vgroot", "size": DISK_BYTES}] if layout == "lvm" else [],
    }


def _disk(system_id: str, position: int, layout: str) -> dict[str, Any]:
    partitions = [] if layout == "blank" else [_partition(system_id, position, layout)]
    return {
        "available_size": 0,
        "block_size": 4096,
        "filesystem": None,
        "firmware_version": "1.0",
        "id": position + 1,
        "id_path": None,
        "model": "Simulated",
        "name": "sda",
        "numa_node": 0,
        "partition_table_type": "GPT",
        "partitions": partitions,
        "path": "/dev/disk/by-dname/sda",
        "resource_uri": f"{BASE}/nodes/{system_id}/blockdevices/{position + 1}/",
        "serial": f"SIM{position:06}",
        "size": DISK_BYTES,
        "storage_pool": None,
        "system_id": system_id,
        "tags": ["ssd"],
        "type": "physical",
        "used_for": f"GPT partitioned with {len(partitions)} partitions",
        "used_size": 0,
        "uuid": None,
    }


def _partition(system_id: str, position: int, layout: str) -> dict[str, Any]:
    used_for = {"flat": "ext4 formatted filesystem mounted at /", "lvm": "LVM volume for vgroot"}
    found = {
        "bootable": True,
        "device_id": position + 1,
        "id": position + 1,
        "path": "/dev/disk/by-dname/sda-part1",
        "resource_uri": f"{BASE}/nodes/{system_id}/blockdevices/{position + 1}/partition/{position + 1}",
        "size": DISK_BYTES,
        "system_id": system_id,
        "tags": [],
        "type": "partition",
        "used_for": used_for.get(layout, layout),
        "uuid": hashlib.md5(f"{system_id}/1".encode(), usedforsecurity=False).hexdigest(),
    }
    if layout != "flat":
        return found
    mounted = {"fstype": "ext4", "label": None, "mount_options": "", "mount_point": "/", "uuid": found["uuid"]}
    return {**found, "filesystem": mounted}


def _interface(system_id: str, position: int, ip_address: str | None, link_mode: str) -> dict[str, Any]:
    vlan = {
        "dhcp_on": True,
        "external_dhcp": None,
        "fabric": "fabric-0",
        "fabric_id": 0,
        "id": 5001,
        "mtu": 1500,
        "name": None,
        "primary_rack": "abc123",
        "relay_vlan": None,
        "resource_uri": f"{BASE}/vlans/5001/",
        "secondary_rack": None,
        "space": "undefined",
        "vid": 0,
    }
    return {
        "children": [],
        "discovered": [],
        "effective_mtu": 1500,
        "enabled": True,
        "firmware_version": None,
        "id": position + 1,
        "interface_speed": 10000,
        "link_connected": True,
        "link_speed": 10000,
        "links": [_link(position, vlan, ip_address, link_mode)],
        "mac_address": mac_address(system_id),
        "name": "eth0",
        "numa_node": 0,
        "params": "",
        "parents": [],
        "product": "Simulated",
        "resource_uri": f"{BASE}/nodes/{system_id}/interfaces/{position + 1}/",
        "sriov_max_vf": 0,
        "system_id": system_id,
        "tags": [],
        "type": "physical",
        "vendor": "Simulated",
        "vlan": vlan,
    }


def _link(position: int, vlan: dict[str, Any], ip_address: str | None, mode: str) -> dict[str, Any]:
    subnet = {
        "active_discovery": False,
        "allow_dns": True,
        "allow_proxy": True,
        "cidr": "10.0.0.0/16",
        "description": "",
        "disabled_boot_architectures": [],
        "dns_servers": [],
        "gateway_ip": "10.0.0.1",
        "id": 1,
        "managed": True,
        "name": "10.0.0.0/16",
        "rdns_mode": 2,
        "resource_uri": f"{BASE}/subnets/1/",
        "space": "undefined",
        "vlan": vlan,
    }
    link = {"id": position + 1, "mode": mode, "subnet": subnet}
    return link if ip_address is None else {**link, "ip_address": ip_address}
