"""Brings MAAS's tags and annotations of machines to what the design says: one request per tag, not per machine."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from design_rendering.kinds.slipway_nodes import SlipwayNode
from provisioner_client.errors import ProvisionerRefused
from provisioner_client.maas.api import MaasApi
from provisioner_client.maas.inventory import LabelWords
from provisioner_client.maas.machine import Machine, Status
from provisioner_client.maas.tasks.next_step import Act, refusal_of
from provisioner_client.maas.tasks.task_tag import Settled, is_tag_name
from provisioner_client.references import REFERENCE

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
    machines get it as an annotation, too. Tags that the design does not name are left alone, and so are those under
    which machines are the site's, and tasks are found. What MAAS refuses fails its machines alone. All of it can be
    repeated.

    Returns
    -------
    dict
        What became of each machine.

    Raises
    ------
    ProvisionerError : MAAS could not be asked, or refuses the key.
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
        for tag in machine.tags - wanted - {api.limiting_tag}:
            its_labels = _tagged(node, words).items() if REFERENCE.fullmatch(tag) is None else ()
            if any(words.is_other_value(tag, key, value) for key, value in its_labels):
                removes.setdefault(tag, []).append(machine.system_id)
    names = {machine.system_id: name for name, machine in machines.items()}
    for tag in sorted({*adds, *removes}):
        guard()
        try:
            _tag(api, tag, adds.get(tag, []), removes.get(tag, []))
        except ProvisionerRefused as refusal:
            if refusal.is_of_all or refusal.may_be_done:
                raise
            why = f"MAAS refuses the tag {tag}: {refusal.said or f'HTTP {refusal.status}'}"
            settled |= {names[one]: Settled(False, why) for one in (*adds.get(tag, ()), *removes.get(tag, ()))}
    for name, machine in machines.items():
        if name not in settled:
            settled[name] = _annotated(api, name, machine, nodes[name], guard)
    return settled


def _annotated(api: MaasApi, name: str, machine: Machine, node: SlipwayNode, guard: Callable[[], None]) -> Settled:
    # MAAS would take a field of this name for an operation.
    labels = sorted((key, value) for key, value in node.labels.items() if key != "op")
    if labels and machine.owner == api.account and machine.status in _ANNOTATED:
        if machine.locked:
            return Settled(False, f"{name} is {machine.shown} and locked in MAAS: unlock it there")
        guard()
        try:
            api.act(machine.system_id, "set_workload_annotations", labels)
        except ProvisionerRefused as refusal:
            if refusal.is_of_all or refusal.may_be_done:
                raise
            # One that was locked, or given to somebody else, in between does not stop the others.
            return Settled(False, refusal_of(Act.RELABEL, name, machine.system_id, refusal))
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
