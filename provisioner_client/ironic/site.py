"""The site's part of Ironic: its list of nodes, which of them selectors choose, what it lacks for a design; and how a
node of the design gets to be known to it."""

from __future__ import annotations

import logging
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from typing import Final

from design_rendering.kinds.slipway_nodes import SlipwayNode
from provisioner_client.designs import DesignMessage
from provisioner_client.errors import ProvisionerError, ProvisionerRefused
from provisioner_client.http_settings import identity_of
from provisioner_client.ironic.access import check_access
from provisioner_client.ironic.api import IronicApi
from provisioner_client.ironic.deploy_info import new_node_of
from provisioner_client.ironic.inventory import inventory, known_machine
from provisioner_client.ironic.node import Node
from provisioner_client.ironic.tasks.work import TaskSettings
from provisioner_client.piecewise.provisioner import PiecewiseProvisioner
from provisioner_client.protocol import ListedNode, NodeChanges
from provisioner_client.shared_lists import Shared, shared_nodes
from provisioner_client.site_documents import Design, Inventory, KnownMachine, node_error
from strategy_lib.did_you_mean import did_you_mean
from strategy_lib.node_condition import NodeCondition

log = logging.getLogger(__name__)

_LOOKED_UP: Final = 20
"""Of so many nodes that the site lacks it is looked up whether another site has them."""
_ADDRESS: Final = re.compile(r"(?:https?|file|glance|oci)://\S+")
_UUID: Final = re.compile(r"(?:glance://)?[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}")
_NOT_LISTED: Final = KnownMachine(frozenset(), frozenset(), lambda _: False)


class IronicSite(PiecewiseProvisioner[Node]):
    """Answers about one site, whatever its tasks are.

    Parameters
    ----------
    api : of the site.
    settings : how nodes are named and acted on.
    shared : how processes share the list of all nodes.
    """

    def __init__(self, api: IronicApi, settings: TaskSettings, shared: Shared) -> None:
        super().__init__("Ironic", api.http, str(api.limits), settings.settle)
        self.api, self.settings = api, settings
        self._lists = shared.lists.from_now()

    def check(self) -> str:
        """Say whether Ironic answers, is new enough and accepts the credentials, and what the site is there."""
        return check_access(self.api)

    def nodes(self, names: Collection[str] | None = None) -> dict[str, ListedNode]:
        """Give the nodes of the site, all or those of these names. Those without a name are left out."""
        if names is not None:
            return _listed(self.api.nodes_of(names))
        http = self.api.http
        name = f"list of nodes of Ironic at {identity_of(http.base_url)}, {self.api.limits}{self.settings.asked_by}"
        ask = self.api.nodes
        return shared_nodes(
            self._lists, name, http.timeouts.read, http.settings.redact, http.slow_answers, lambda: _listed(ask())
        )

    def observe(self, cursor: str | None, known: Mapping[str, ListedNode]) -> NodeChanges:
        """Give the whole list, at 1 ms a node: Ironic cannot be asked for what has changed."""
        return NodeChanges(self.nodes())

    def power_on(self, nodes: Collection[str]) -> dict[str, str]:
        """Power nodes on that are deployed and off; for each that is not powered on: why."""
        refused = {name: f"Ironic has no node {name} in {self.limits}" for name in nodes}
        for node in self.api.nodes_of(nodes):
            del refused[node.name]
            if node.power == "on" or node.target_power_state == "power on":
                continue
            if not node.can_power_on:
                refused[node.name] = (
                    f"{node.name} is {node.shown} in Ironic, and its power is {node.power or 'unknown'}"
                )
                continue
            try:
                self.api.power(node.uuid, "power on")
            except ProvisionerError as trouble:
                refused[node.name] = f"Ironic does not power on {node.name}: {trouble.said or trouble.detail}"
        return refused

    def inventory(self) -> Inventory:
        """Give all nodes of the site as documents can say them, and those that they cannot."""
        nodes = self.api.nodes(["instance_info", "driver", "driver_info"])
        return inventory(nodes, self.settings.words, self.api.ports({node.uuid for node in nodes}))

    def _known(self, design: Design) -> Mapping[str, KnownMachine]:
        known = {name: _NOT_LISTED for name, node in design.nodes.items() if node.enroll and node.bmc is not None}
        return known | {name: known_machine(node, self.settings.words) for name, node in self._found(design).items()}

    def _find(self, names: Collection[str]) -> Mapping[str, Node]:
        return {node.name: node for node in self.api.nodes_of(names)}

    def enroll(self, node: SlipwayNode) -> Node:
        """Have Ironic know a node of the design; where it does already, it is left as it is.

        Raises `ProvisionerRefused`: the design does not say how, or Ironic has a node of this name for another site.
        """
        if not node.enroll or node.bmc is None:
            raise ProvisionerRefused(self._unknown(node, is_elsewhere=False))
        try:
            made = self.api.create(new_node_of(node, node.bmc, self.api.limits.new_node))
        except ProvisionerRefused as refusal:
            there = self.api.node(node.name) if refusal.status == 409 else None
            if there is None:
                said = self._unknown(node, is_elsewhere=True) if refusal.status == 409 else refusal.said
                raise ProvisionerRefused(f"{node.name} is not enrolled: {said or refusal.detail}") from None
            made = there
        # Also of one that was enrolled by a process that did not come further.
        self.api.complete(made.uuid, node.mac_addresses, node.traits - made.traits)
        return made

    def _lacks(self, design: Design) -> Iterator[DesignMessage]:
        there = self._found(design)
        missing = [node for name, node in design.nodes.items() if name not in there]
        drivers = self.api.drivers() if any(node.bmc is not None and node.enroll for node in missing) else []
        for place, node in enumerate(missing):
            is_elsewhere = place < _LOOKED_UP and self.api.is_known(node.name) and self.api.node(node.name) is None
            if is_elsewhere or not node.enroll or node.bmc is None:
                yield node_error(node.name, self._unknown(node, is_elsewhere=is_elsewhere))
            elif node.bmc.driver not in drivers:
                hint = did_you_mean(node.bmc.driver, drivers) if drivers else "it has none at all"
                said = f"Ironic has no hardware type {node.bmc.driver!r} for {node.name}, as bmc_driver says: {hint}"
                yield node_error(node.name, said)
        for name, node in design.nodes.items():
            yield from (node_error(name, said) for said in self._image_problems(node))
            yield from _layout_problems(node)
        for name, known in there.items():
            if lacks := design.nodes[name].traits - known.traits:
                said = f"{name} lacks the trait {', '.join(sorted(lacks))} in Ironic: add it there, or take it out here"
                yield node_error(name, said)
            if known.condition in (NodeCondition.NEW, NodeCondition.READY, NodeCondition.FAILED_COMMISSIONING):
                faults = self.api.validate(known.uuid)
                for part in ("power", "management"):
                    if part in faults:
                        yield node_error(name, f"Ironic cannot use the BMC of {name} ({part}): {faults[part]}")

    def _unknown(self, node: SlipwayNode, *, is_elsewhere: bool) -> str:
        if is_elsewhere:
            return (
                f"Ironic has {node.name}, but not in {self.api.limits}: give it these there, or correct the connection"
            )
        if node.enroll:
            return f"Ironic has no node {node.name}, and its document has no bmc_address by which it could be enrolled"
        return (
            f"Ironic has no node {node.name} in {self.api.limits}: enrol it there, or say enroll: true in the site's "
            "document and bmc_address in the node's"
        )

    def _image_problems(self, node: SlipwayNode) -> Iterator[str]:
        image = node.image or self.settings.image
        checksum = node.checksum if node.image else self.settings.checksum
        if not image:
            yield (
                f"{node.name} has no image, and Ironic has none of its own: say image and checksum, or give the "
                "connection a default_image"
            )
        elif not _ADDRESS.fullmatch(image) and not _UUID.fullmatch(image):
            yield (
                f"Ironic has no image {image!r} for {node.name}: say its address, such as https://images/noble.qcow2, "
                "or the UUID that it has in Glance"
            )
        elif not checksum and not _UUID.fullmatch(image) and not image.startswith(("glance://", "oci://")):
            yield (
                f"the image {image} of {node.name} has no checksum, and Ironic deploys none without: say checksum as "
                "sha256: with its digits, or as the address of a file of checksums"
            )
        if bool(node.kernel) != bool(node.ramdisk):
            yield f"{node.name} has a kernel or a ramdisk alone: an image of one partition needs both, others none"
        elif node.kernel and not node.root_gb:
            yield f"{node.name} has an image of one partition, by its kernel, and no root_gb: say how large it is"


def _layout_problems(node: SlipwayNode) -> Iterator[DesignMessage]:
    wrong = {
        "storage": (node.storage_layout, "say root_device, or leave it out"),
        "network": (node.network_layout, "say network_data, or leave it out"),
        "ephemeral": (node.ephemeral, "its deploy interface is set in Ironic; leave it out"),
    }
    for name, (value, advice) in wrong.items():
        if value:
            yield node_error(
                node.name, f"{node.name} has {name}, which is for MAAS and which Ironic does not have: {advice}"
            )
    if node.erase not in (None, "none"):
        said = f"Ironic cleans {node.name} as it is configured there, whatever erase says"
        yield replace(node_error(node.name, said), level="Warning")


def _listed(nodes: Collection[Node]) -> dict[str, ListedNode]:
    return {node.name: node.listed() for node in nodes if node.name}
