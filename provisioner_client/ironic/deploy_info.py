"""From a node of the design to what Ironic is told of it: what to deploy, and how to enrol it. Pure."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any, Final

from design_rendering.kinds.slipway_nodes import Bmc, SlipwayNode

PREFIXES: Final[Mapping[str, str]] = {
    "redfish": "redfish",
    "slipway-redfish": "redfish",
    "idrac": "redfish",
    "ilo": "ilo",
    "ilo5": "ilo",
    "ipmi": "ipmi",
    "irmc": "irmc",
}
"""How the fields of `driver_info` begin that have a BMC's address, user and password, by the hardware type."""


def instance_info_of(node: SlipwayNode, image: str = "", checksum: str = "") -> dict[str, Any]:
    """Return what is deployed on a node, as fields of `instance_info`; no secret is among them.

    Parameters
    ----------
    image, checksum : for a node whose design has no image.
    """
    checksum = (node.checksum or "") if node.image else checksum
    algorithm, _, digits = checksum.partition(":")
    said: dict[str, Any] = {"image_source": node.image or image, "kernel": node.kernel, "ramdisk": node.ramdisk}
    if algorithm in ("sha256", "sha512"):
        said |= {"image_os_hash_algo": algorithm, "image_os_hash_value": digits}
    else:
        said["image_checksum"] = checksum
    said |= {"root_gb": node.root_gb, "root_device": node.root_device, "traits": sorted(node.traits)}
    said["capabilities"] = {key: str(value) for key, value in (node.capabilities or {}).items()}
    return {key: value for key, value in said.items() if value}


KEPT_BY_REBUILD: Final = ("root_gb", "root_device", "capabilities", "traits")
"""What of `instance_info` a rebuild leaves as it is: which disk, how it is laid out, and how the machine is set up."""


def kept_by_rebuild(info: Mapping[str, Any]) -> str:
    """Return a digest of what a rebuild leaves as it is; where two differ, a machine is released in between."""
    kept = {key: info[key] for key in KEPT_BY_REBUILD if info.get(key)}
    return hashlib.sha256(json.dumps(kept, sort_keys=True).encode()).hexdigest()[:16]


def rebuild_of(node: SlipwayNode, info: Mapping[str, Any]) -> str:
    """Return the digest of what stays where a rebuild brings a node to its design; "": it is released first.

    Parameters
    ----------
    info : the `instance_info` of what is deployed on it.
    """
    # Whose disks are to be erased is cleaned.
    is_enough = bool(info.get("image_source")) and node.erase in (None, "none")
    kept = kept_by_rebuild(info)
    return kept if is_enough and kept == kept_by_rebuild(instance_info_of(node)) else ""


def configdrive_of(node: SlipwayNode) -> dict[str, Any] | None:
    """Return what the machine finds at its first boot, which has secrets; None: nothing."""
    if node.user_data is None and node.network_data is None:
        return None
    said: dict[str, Any] = {"meta_data": {"hostname": node.name, "name": node.name}}
    if node.user_data is not None:
        said["user_data"] = node.user_data
    if node.network_data is not None:
        said["network_data"] = dict(node.network_data)
    return said


def driver_info_of(bmc: Bmc) -> dict[str, Any]:
    """Return how the power is switched, as fields of `driver_info`; the password is among them."""
    prefix = PREFIXES.get(bmc.driver, "")
    named = {"address": bmc.address, "username": bmc.user, "password": bmc.password} if prefix else {}
    return {f"{prefix}_{key}": value for key, value in named.items() if value} | dict(bmc.options)


def new_node_of(node: SlipwayNode, bmc: Bmc, limits: Mapping[str, Any]) -> dict[str, Any]:
    """Return what Ironic is to enrol for a node of the design.

    Parameters
    ----------
    limits : what makes it one of the site's (`Limits.new_node`).
    """
    return {**limits, "name": node.name, "driver": bmc.driver, "driver_info": driver_info_of(bmc)}
