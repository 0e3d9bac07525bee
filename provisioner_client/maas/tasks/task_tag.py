"""A task as MAAS keeps it: a tag whose name is our reference, and whose comment says what is to be done. Pure.

Making a tag is create-once. Every process reads the same comment, and can go on with the task.
No secret stands in it: every user of MAAS can read it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from provisioner_client.errors import ProvisionerProtocolError
from strategy_lib.parsing.bounded_json import read_json

LONGEST_NAME: Final = 256
TASK: Final = re.compile(r"slipway-(?P<action>[0-9A-Z]{26})-(?P<op>[0-9]+)")
"""References as the engine makes them."""
_FORMAT: Final = 1
_NAME: Final = re.compile(r"[A-Za-z0-9_-]+")
_SPEC: Final = ("image", "kernel", "storage", "network", "erase")
_NO_ORDERS: Final[Mapping[str, Order]] = {}
_NO_SETTLED: Final[Mapping[str, Settled]] = {}


@dataclass(frozen=True, slots=True)
class Order:
    """What is to be done to one machine.

    `result` is the number of its newest commissioning right before. `user_data`: it gets some, which only the design
    has. Texts that are empty are MAAS's to choose.
    """

    system_id: str
    result: int | None = None
    image: str = ""
    kernel: str = ""
    storage: str = ""
    network: str = ""
    erase: str = ""
    ephemeral: bool = False
    user_data: bool = False


@dataclass(frozen=True, slots=True)
class Settled:
    """What is known of a node without looking at the ledger: it was refused, or there was nothing to do.

    `is_over`: it was acted on, and is over, though no event says so: the machine is gone, or its events are.
    """

    ok: bool
    why: str
    is_over: bool = False


@dataclass(frozen=True, slots=True)
class TaskTag:
    """A task.

    Parameters
    ----------
    reference : ours, the tag's name.
    action : a value of `protocol.ACTIONS`.
    design : digest of the design's documents.
    since : the newest event of its machines when it was made: what came after it is the task's own time.
    orders : by the node's name; none for a task of the whole site.
    settled : by the node's name; "" for a task of the whole site.
    site : what limits the site's part of MAAS.
    """

    reference: str
    action: str
    design: str
    since: int
    orders: Mapping[str, Order] = field(default_factory=lambda: _NO_ORDERS)
    settled: Mapping[str, Settled] = field(default_factory=lambda: _NO_SETTLED)
    site: str = ""

    def settle(self, more: Mapping[str, Settled]) -> TaskTag:
        """Return the task with more of it settled; what was settled before stays, unless it was over since."""
        over = {name: one for name, one in more.items() if one.is_over}
        return replace(self, settled={**more, **self.settled, **over})

    def comment(self) -> str:
        """Return the tag's comment."""
        said = {
            "slipway": _FORMAT,
            "action": self.action,
            "design": self.design,
            "since": self.since,
            "site": self.site,
            "nodes": {name: _order_data(order) for name, order in self.orders.items()},
            "settled": {
                name: [one.ok, one.why, *([True] if one.is_over else ())] for name, one in self.settled.items()
            },
        }
        return json.dumps(said, separators=(",", ":"))


def is_tag_name(text: str) -> bool:
    """Whether MAAS takes a text as the name of a tag."""
    return len(text) <= LONGEST_NAME and _NAME.fullmatch(text) is not None


def read_tag(data: object) -> TaskTag:
    """Read a task out of MAAS's answer about a tag.

    Raises `ProvisionerProtocolError`: the tag is no task of Slipway's, or of a later version of it.
    """
    name = data.get("name") if isinstance(data, dict) else None
    if not isinstance(data, dict) or not isinstance(name, str):
        raise ProvisionerProtocolError("MAAS gives something that is no tag")
    try:
        said = read_json(str(data.get("comment") or ""))
        if said["slipway"] != _FORMAT:
            raise ValueError
        return TaskTag(
            name,
            str(said["action"]),
            str(said["design"]),
            int(said["since"]),
            {node: _order(given) for node, given in said["nodes"].items()},
            {node: Settled(bool(ok), str(why), any(over)) for node, (ok, why, *over) in said["settled"].items()},
            str(said.get("site", "")),
        )
    except (ValueError, TypeError, KeyError, AttributeError):
        raise ProvisionerProtocolError(f"the tag {name} in MAAS is no task of this version of Slipway") from None


def _order_data(order: Order) -> dict[str, Any]:
    said: dict[str, Any] = {"id": order.system_id}
    if order.result is not None:
        said["result"] = order.result
    said |= {name: text for name in _SPEC if (text := getattr(order, name))}
    said |= {name: True for name in ("ephemeral", "user_data") if getattr(order, name)}
    return said


def _order(given: Mapping[str, Any]) -> Order:
    texts = {name: str(given.get(name) or "") for name in _SPEC}
    result = given.get("result")
    return Order(
        str(given["id"]),
        None if result is None else int(result),
        ephemeral=bool(given.get("ephemeral")),
        user_data=bool(given.get("user_data")),
        **texts,
    )
