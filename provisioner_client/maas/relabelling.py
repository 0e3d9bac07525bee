"""Brings MAAS's tags and annotations of machines to what the design says: one request per tag, not per machine."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from design_rendering.slipway_nodes import SlipwayNode
from provisioner_client.errors import ProvisionerRefused
from provisioner_client.maas.api import MaasApi
from provisioner_client.maas.machine import Machine, Status
from provisioner_client.maas.selection import LabelWords
from provisioner_client.maas.task_tag import Settled, is_tag_name

_ANNOTATED: Final = frozenset({Status.ALLOCATED, Status.DEPLOYING, Status.DEPLOYED})


def relabel(
    api: MaasApi,
    words: LabelWords,
    machines: Mapping[str, Machine],
    nodes: Mapping[str, SlipwayNode],
    guard: Callable[[], None],
) -> dict[str, Settled]:
    """Give machines the tags and labels of their nodes, and take other values of these labels from them.

    A label is a tag by the template, unless it is a zone, a pool or the architecture, which stay as they are; our own
    machines get it as an annotation, too. Tags that the design does not name are left alone. All of it can be repeated.

    Returns
    -------
    dict
        What became of each machine.

    Raises
    ------
    ProvisionerError : MAAS could not be asked, or refuses a tag.
    """
    settled = {name: Settled(False, "the design does not have it") for name in machines if name not in nodes}
    adds: dict[str, list[str]] = {}
    removes: dict[str, list[str]] = {}
    for name, machine in machines.items():
        if name in settled:
            continue
        node = nodes[name]
        bad = sorted(tag for tag in _tags(node, words) if not is_tag_name(tag))
        if bad:
            settled[name] = Settled(False, f"MAAS takes no such tag: {', '.join(bad)}")
            continue
        wanted = _tags(node, words)
        for tag in wanted - machine.tags:
            adds.setdefault(tag, []).append(machine.system_id)
        for tag in machine.tags - wanted:
            if any(words.is_other_value(tag, key, value) for key, value in _tagged(node, words).items()):
                removes.setdefault(tag, []).append(machine.system_id)
    for tag in sorted({*adds, *removes}):
        guard()
        _tag(api, tag, adds.get(tag, []), removes.get(tag, []))
    for name, machine in machines.items():
        if name not in settled:
            labels = dict(nodes[name].labels)
            settled[name] = Settled(True, "")
            if labels and machine.owner == api.account and machine.status in _ANNOTATED:
                guard()
                settled[name] = _annotate(api, machine, labels)
    return settled


def _annotate(api: MaasApi, machine: Machine, labels: Mapping[str, str]) -> Settled:
    if machine.locked:
        return Settled(False, f"{machine.name} is {machine.shown} and locked in MAAS: unlock it there")
    try:
        api.act(machine.system_id, "set_workload_annotations", sorted(labels.items()))
    except ProvisionerRefused as refusal:
        if refusal.status != 403:
            raise
        # One that was locked, or given to somebody else, in between does not stop the others.
        return Settled(False, f"MAAS refuses to annotate {machine.name}: it is locked, or it is not ours any more")
    return Settled(True, "")


def _tagged(node: SlipwayNode, words: LabelWords) -> dict[str, str]:
    return {key: value for key, value in node.labels.items() if key not in words.overrides}


def _tags(node: SlipwayNode, words: LabelWords) -> frozenset[str]:
    return node.tags | {words.tag(key, value) for key, value in _tagged(node, words).items()}


def _tag(api: MaasApi, tag: str, add: list[str], remove: list[str]) -> None:
    try:
        api.tag_machines(tag, add=add, remove=remove)
    except ProvisionerRefused as refusal:
        if refusal.status != 404 or not add:
            raise
        try:
            api.make_tag(tag, "")
        except ProvisionerRefused as there:
            # Another process has made it in between.
            if there.status != 400:
                raise
        api.tag_machines(tag, add=add, remove=remove)
