"""What of a node's set-up in Ironic becomes fields of its document: image, disk, traits, and its BMC. Pure.

No secret does. Ironic itself shows stars for passwords.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from design_rendering.redaction import is_secret_at
from provisioner_client.ironic.deploy_info import PREFIXES
from provisioner_client.ironic.node import Node
from strategy_lib.parsing.schema_check import check_data

_HIDDEN: Final = "******"
_DIGITS: Final = {64: "sha256", 128: "sha512"}
_OF_IMAGES: Final = ("checksum", "kernel", "ramdisk", "root_gb", "capabilities")


@dataclass(frozen=True, slots=True)
class Described:
    """The fields of an `ImportedMachine`, and the name of the BMC's user; "": there is none."""

    image: str
    of_image: Mapping[str, Any]
    shared: Mapping[str, Any]
    own: Mapping[str, Any]
    bmc_user: str
    notes: tuple[str, ...]


def described(node: Node, mac_addresses: Collection[str]) -> Described:
    """Return what documents can say of a node; what they cannot, or must not, is left out and noted.

    What is, or is to be, deployed on it stands in its `instance_info`.

    Parameters
    ----------
    node : with `instance_info`, `driver` and `driver_info`.
    """
    info, driver_info = _mapping(node.more.get("instance_info")), _mapping(node.more.get("driver_info"))
    driver = str(node.more.get("driver") or "")
    prefix = PREFIXES.get(driver, "")
    login = {f"{prefix}_{key}" for key in ("address", "username", "password")} if prefix else set()
    options = {key: value for key, value in driver_info.items() if key not in login}
    said: dict[str, Any] = {
        "image": info.get("image_source"),
        "checksum": _checksum(info),
        "kernel": info.get("kernel"),
        "ramdisk": info.get("ramdisk"),
        "root_gb": _number(info.get("root_gb")),
        "capabilities": _capabilities(info.get("capabilities")),
        "root_device": info.get("root_device") or node.properties.get("root_device"),
        "traits": sorted(map(str, info.get("traits") or ())),
        "bmc_driver": driver,
        "bmc_address": driver_info.get(f"{prefix}_address"),
        "bmc_options": {key: value for key, value in options.items() if not _is_secret(key, value)},
        "mac_addresses": sorted(mac_addresses),
    }
    notes = [f"left out, as it looks like a secret: {key}" for key in sorted(options) if _is_secret(key, options[key])]
    kept: dict[str, Any] = {}
    for key, value in said.items():
        if value in (None, "", {}, []):
            continue
        if _is_secret(key, value):
            notes.append(f"left out, as it looks like a secret: {key}")
        elif problems := check_data("node", {key: value}):
            notes.append(f"left out, as a document cannot say it: {key}, which {problems[0].message}")
        else:
            kept[key] = value
    image = str(kept.get("image", ""))
    return Described(
        image,
        {key: kept[key] for key in _OF_IMAGES if key in kept} if image else {},
        {key: kept[key] for key in ("root_device", "traits", "bmc_driver") if key in kept},
        {key: kept[key] for key in ("bmc_address", "bmc_options", "mac_addresses") if key in kept},
        str(driver_info.get(f"{prefix}_username") or "") if prefix else "",
        tuple(notes),
    )


def _checksum(info: Mapping[str, Any]) -> str:
    """Return the checksum of what is deployed as documents have it; one that they do not know as it is."""
    if value := info.get("image_os_hash_value"):
        return f"{info.get('image_os_hash_algo')}:{value}"
    value = str(info.get("image_checksum") or "")
    is_digits = all(char in "0123456789abcdef" for char in value)
    return f"{_DIGITS[len(value)]}:{value}" if is_digits and len(value) in _DIGITS else value


def _capabilities(value: object) -> dict[str, Any]:
    """Return capabilities that Ironic takes as a mapping, or as ``boot_mode:uefi,profile:x``."""
    if isinstance(value, dict):
        return value
    pairs = (part.partition(":") for part in str(value or "").split(",") if ":" in part)
    return {name.strip(): said.strip() for name, _, said in pairs}


def _is_secret(key: str, value: object) -> bool:
    return value == _HIDDEN or any(is_secret_at((key, *steps), found) for steps, found in _leaves(value))


def _leaves(value: object) -> Iterator[tuple[tuple[str, ...], object]]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from (((str(key), *steps), found) for steps, found in _leaves(inner))
    elif isinstance(value, list):
        for inner in value:
            yield from _leaves(inner)
    else:
        yield (), value


def _number(value: object) -> object:
    return int(value) if isinstance(value, str) and value.isdecimal() else value


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}
