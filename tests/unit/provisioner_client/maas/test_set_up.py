"""Whether a machine is set up as it was: what MAAS gives out by itself does not count."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest

from provisioner_client.maas.machine import SetUp, find_set_up, read_set_up
from provisioner_client.simulator.maas.machines.hardware import hardware_fields

MACHINE = hardware_fields("abc123", 0, None, "flat", "auto")


def changed(change: Callable[[dict[str, Any]], object]) -> SetUp:
    data = copy.deepcopy(MACHINE)
    change(data)
    return read_set_up(data)


def partition(data: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = data["blockdevice_set"][0]["partitions"][0]
    return found


def link(data: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = data["interface_set"][0]["links"][0]
    return found


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda data: partition(data).update(id=77, uuid="other"), id="another number"),
        pytest.param(lambda data: partition(data)["filesystem"].update(uuid="other"), id="a copy of a file system"),
        pytest.param(lambda data: link(data).update(id=77, ip_address="10.0.0.9"), id="an address that MAAS chose"),
        pytest.param(lambda data: data["blockdevice_set"].reverse(), id="another order"),
        pytest.param(lambda data: data["interface_set"][0].update(link_connected=False), id="a cable"),
    ],
)
def test_what_maas_gives_out_by_itself_does_not_count(change: Callable[[dict[str, Any]], object]) -> None:
    assert changed(change) == read_set_up(MACHINE)


@pytest.mark.parametrize(
    ("change", "storage", "network"),
    [
        pytest.param(lambda data: partition(data)["filesystem"].update(fstype="xfs"), False, True, id="a file system"),
        pytest.param(lambda data: data.update(volume_groups=[{"name": "vgroot"}]), False, True, id="a volume group"),
        pytest.param(lambda data: data["blockdevice_set"][0].update(partitions=[]), False, True, id="no partitions"),
        pytest.param(lambda data: link(data).update(mode="dhcp"), True, False, id="the mode of a link"),
        pytest.param(lambda data: link(data)["subnet"].update(id=9), True, False, id="a subnet"),
        pytest.param(lambda data: data["interface_set"].clear(), True, False, id="no interfaces"),
    ],
)
def test_what_somebody_sets_up_counts(change: Callable[[dict[str, Any]], object], storage: bool, network: bool) -> None:
    before, after = read_set_up(MACHINE), changed(change)
    assert (before.storage == after.storage, before.network == after.network) == (storage, network)


def test_it_is_found_in_the_comment_of_an_allocation() -> None:
    made = read_set_up(MACHINE)
    assert find_set_up(f"(slipway) - slipway-a-1 {made.written}") == made
    assert find_set_up("(slipway) - slipway-a-1") is None
    assert read_set_up({"blockdevice_set": None, "interface_set": [7]}) == read_set_up({})
