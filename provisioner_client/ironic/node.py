"""A node as Ironic has it: what its state means, whose it is, and what of a task stands on it. Pure.

Ironic has no accounts that own a deployment. What is deployed on a node has an `instance_uuid`, the claim. Ours is made
of the reference of a task and the name of the node, so that nobody else's can be taken for it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final
from uuid import UUID, uuid5

import msgspec

from provisioner_client.errors import ProvisionerProtocolError
from provisioner_client.http_errors import one_line
from provisioner_client.protocol import ListedNode, size_of
from strategy_lib.node_condition import IN_MAINTENANCE, IRONIC_WORDS, OWNED_BY, TO_BE_REBUILT, NodeCondition

MARK: Final = "slipway"
"""The key of a node's `extra` under which the mark of the last task stands."""
LABELS: Final = "slipway_labels"
"""The key of a node's `extra` under which its tags, labels and traits stand that a design gave it."""
REBUILD: Final = "rebuild"
"""The change of state by which what is deployed is written over; it keeps the claim."""
ADOPTED: Final = "slipway_adopt"
"""The key of a node's `extra` by which a person gives us what is deployed on it: its `instance_uuid`."""
FIELDS: Final = (
    *("uuid", "name", "provision_state", "provision_updated_at", "last_error"),
    *("maintenance", "maintenance_reason", "fault", "reservation", "power_state", "target_power_state"),
    *("instance_uuid", "extra", "resource_class", "traits", "conductor_group", "owner", "lessee", "properties"),
    *("protected", "retired"),
)
"""What is asked for of each node of a list; `shard` besides, where that limits the site."""
CLEAN_FAILURE: Final = "clean failure"
"""Ironic's own reason for a maintenance that ends when the node is cleaned."""
_OURS: Final = UUID("6f6d5f63-6c61-5d69-8d62-79736c697077")
_EMPTY: Final[Mapping[str, Any]] = {}


def claim_of(reference: str, name: str) -> str:
    """Return the `instance_uuid` of what this task deploys on this node."""
    return str(uuid5(_OURS, f"{reference} {name}"))


class Mark(msgspec.Struct, frozen=True, omit_defaults=True):
    """What of the last task stands on a node, for every process to go on with. No secret stands in it.

    Attributes
    ----------
    ref, action : the task's reference, and a value of `protocol.ACTIONS`.
    step : the change of state that was asked for last; "": none yet.
    since : when the node had changed its state last before that step, in Ironic's words; "": never.
    at : when the mark was written, by Ironic's clock.
    claim : the reference of the task whose deployment is on the node; it outlasts later tasks. "": no task's.
    ok, why : what became of the node, where its state does not say so; `ok` is None where it does, or will.
    rebuild : a release has left what is deployed, to be written over by the next deploy: the digest of what that keeps
        (`deploy_info.kept_by_rebuild`). "": it has not.
    """

    ref: str
    action: str
    step: str = ""
    since: str = ""
    at: str = ""
    claim: str = ""
    ok: bool | None = None
    why: str = ""
    rebuild: str = ""

    def data(self) -> dict[str, Any]:
        """Return it as it stands in `extra`."""
        said: dict[str, Any] = msgspec.to_builtins(self)
        return said


@dataclass(frozen=True, slots=True)
class Node:
    """What of a node's answer counts here. Texts that Ironic leaves empty are ""; times are Ironic's own.

    `mark` is None where none stands there, or none that this version can read. `fault` is Ironic's own reason for a
    maintenance. `reservation` names the conductor that has locked the node.
    """

    uuid: str
    name: str
    state: str
    last_error: str = ""
    maintenance: bool = False
    maintenance_reason: str = ""
    fault: str = ""
    reservation: str = ""
    power_state: str | None = None
    target_power_state: str = ""
    instance_uuid: str = ""
    extra: Mapping[str, Any] = field(default_factory=lambda: _EMPTY, hash=False, repr=False)
    mark: Mark | None = None
    traits: frozenset[str] = frozenset()
    places: Mapping[str, str] = field(default_factory=dict, hash=False)
    properties: Mapping[str, Any] = field(default_factory=lambda: _EMPTY, hash=False, repr=False)
    protected: bool = False
    retired: bool = False
    provision_updated_at: datetime | None = None
    more: Mapping[str, Any] = field(default_factory=lambda: _EMPTY, hash=False, repr=False)

    @property
    def is_ours(self) -> bool:
        """Whether what has the node is a deployment of ours, or one that a person gave us."""
        if not self.instance_uuid:
            return False
        references = () if self.mark is None else filter(None, (self.mark.ref, self.mark.claim))
        adopted = str(self.extra.get(ADOPTED) or "").lower()
        return self.instance_uuid in {adopted, *(claim_of(reference, self.name) for reference in references)}

    @property
    def stranger(self) -> str:
        """Who else has the node, for a message; "" where nobody has it, or we have."""
        if self.instance_uuid:
            return "" if self.is_ours else f"instance {self.instance_uuid}"
        # A node can be deployed without a claim, by hand.
        return "somebody without an instance" if self.state == "active" else ""

    @property
    def moment(self) -> str:
        """When it has changed its state last, as marks have it."""
        return "" if self.provision_updated_at is None else self.provision_updated_at.isoformat()

    @property
    def rebuild(self) -> str:
        """What `Mark.rebuild` says, as long as nothing was written over yet; "" where it is not to be rebuilt."""
        if self.mark is None or self.state != "active" or not self.is_ours:
            return ""
        is_begun = self.mark.step == REBUILD and self.moment != self.mark.since
        return "" if is_begun else self.mark.rebuild

    @property
    def is_put_aside(self) -> bool:
        """Whether a person has put it into maintenance, or Ironic has as it cannot reach its BMC."""
        return self.maintenance and self.fault != CLEAN_FAILURE

    @property
    def condition(self) -> NodeCondition:
        """What its state means for a deployment of ours."""
        known = IRONIC_WORDS.get(self.state, NodeCondition.OTHER)
        if self.stranger:
            return NodeCondition.OTHER
        if self.rebuild:
            return NodeCondition.TO_REDEPLOY
        if known is NodeCondition.READY and self.instance_uuid:
            return NodeCondition.ALLOCATED
        is_idle = known in (NodeCondition.NEW, NodeCondition.READY, NodeCondition.FAILED_COMMISSIONING)
        return NodeCondition.UNFIT if is_idle and (self.is_put_aside or self.retired) else known

    @property
    def shown(self) -> str:
        """Ironic's word for its state, with who else has it, and that it is put aside."""
        if self.stranger:
            return f"{self.state}{OWNED_BY}{self.stranger}"
        if self.is_put_aside:
            # What a person writes must not say that somebody else has it.
            why = (self.maintenance_reason or self.fault).replace(OWNED_BY, " owned by ")
            return f"{self.state}{IN_MAINTENANCE}{f': {why}' if why else ''}"
        if self.retired:
            return f"{self.state}, retired"
        return f"{self.state}{TO_BE_REBUILT}" if self.rebuild else self.state

    @property
    def power(self) -> str | None:
        """On or off; None where Ironic does not know."""
        return {"power on": "on", "power off": "off"}.get(self.power_state or "")

    @property
    def can_power_on(self) -> bool:
        """Whether it is deployed and off, and may be powered on."""
        return self.condition is NodeCondition.DEPLOYED and self.power == "off" and not self.is_put_aside

    def listed(self) -> ListedNode:
        """Return it as a node of the provisioner's list."""
        return ListedNode(
            self.name,
            self.condition,
            self.shown,
            self.power,
            cores=_size(self.properties.get("cpus")),
            memory=_size(self.properties.get("memory_mb")),
            key=self.uuid,
            can_power_on=self.can_power_on,
        )


def read_node(data: object) -> Node:
    """Read a node. Raises `ProvisionerProtocolError`: it is none."""
    if not isinstance(data, dict) or not isinstance(data.get("uuid"), str):
        raise ProvisionerProtocolError("Ironic gives something that is no node")
    extra, properties = _mapping(data.get("extra")), _mapping(data.get("properties"))
    power = data.get("power_state")
    return Node(
        uuid=data["uuid"],
        name=str(data.get("name") or ""),
        state=one_line(data.get("provision_state") or ""),
        last_error=one_line(data.get("last_error") or ""),
        maintenance=bool(data.get("maintenance")),
        maintenance_reason=one_line(data.get("maintenance_reason") or ""),
        fault=one_line(data.get("fault") or ""),
        reservation=one_line(data.get("reservation") or ""),
        power_state=power if isinstance(power, str) else None,
        target_power_state=str(data.get("target_power_state") or ""),
        instance_uuid=str(data.get("instance_uuid") or "").lower(),
        extra=extra,
        mark=_read_mark(extra.get(MARK)),
        traits=frozenset(map(str, data.get("traits") or ())),
        places={name: str(data.get(name) or "") for name in PLACES},
        properties=properties,
        protected=bool(data.get("protected")),
        retired=bool(data.get("retired")),
        provision_updated_at=read_time(data.get("provision_updated_at")),
        more={name: data[name] for name in ("instance_info", "driver", "driver_info") if name in data},
    )


PLACES: Final = ("conductor_group", "resource_class", "owner", "lessee")
"""The words of a node that can be labels or its rack, as can keys of its `extra`."""


def read_time(text: object) -> datetime | None:
    """Return a time stamp of Ironic's; None where there is none. One without a zone is of UTC."""
    try:
        found = datetime.fromisoformat(text) if isinstance(text, str) else None
    except ValueError:
        return None
    return found.replace(tzinfo=UTC) if found is not None and found.tzinfo is None else found


def _read_mark(data: object) -> Mark | None:
    try:
        return msgspec.convert(data, Mark) if isinstance(data, dict) else None
    except msgspec.ValidationError:
        return None


def _mapping(data: object) -> Mapping[str, Any]:
    return data if isinstance(data, dict) else _EMPTY


def _size(given: object) -> int | None:
    """Return a number that inspection may have written as a text."""
    return size_of(int(given) if isinstance(given, str) and given.isdecimal() else given)
