"""A task as MAAS keeps it: a tag whose name is our reference, and whose comment says what is to be done. Pure.

Making a tag is create-once. Every process reads the same comment, and can go on with the task.
No secret stands in it: every user of MAAS can read it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Final

import msgspec

from provisioner_client.errors import ProvisionerProtocolError
from provisioner_client.references import REFERENCE
from strategy_lib.parsing.bounded_json import read_json

LONGEST_NAME: Final = 256
_FORMAT: Final = 1
_NAME: Final = re.compile(r"[A-Za-z0-9_-]+")


class Order(msgspec.Struct, frozen=True, omit_defaults=True, rename={"system_id": "id"}):
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


class Settled(msgspec.Struct, frozen=True, array_like=True):
    """What is known of a node without looking at the ledger: it was refused, or there was nothing to do.

    `is_over`: it was acted on, and is over, though no event says so: the machine is gone, or its events are.
    """

    ok: bool
    why: str
    is_over: bool = False


class TaskTag(msgspec.Struct, frozen=True, rename={"orders": "nodes"}):
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
    orders: Mapping[str, Order] = msgspec.field(default_factory=dict)
    settled: Mapping[str, Settled] = msgspec.field(default_factory=dict)
    site: str = ""

    def settle(self, more: Mapping[str, Settled]) -> TaskTag:
        """Return the task with more of it settled; what was settled before stays, unless it was over since."""
        over = {name: one for name, one in more.items() if one.is_over}
        return msgspec.structs.replace(self, settled={**more, **self.settled, **over})

    def comment(self) -> str:
        """Return the tag's comment."""
        said = msgspec.to_builtins(self)
        del said["reference"]
        return json.dumps({"slipway": _FORMAT, **said}, separators=(",", ":"))


def is_tag_name(text: str) -> bool:
    """Whether MAAS takes a text as the name of a tag."""
    return len(text) <= LONGEST_NAME and _NAME.fullmatch(text) is not None


def is_of_other_store(reference: str, other: str) -> bool:
    """Whether the second reference is of another store than the first: that store's tasks are left alone."""
    this, that = REFERENCE.fullmatch(reference), REFERENCE.fullmatch(other)
    return this is not None and that is not None and that["store"] not in (None, this["store"])


def read_tag(data: object) -> TaskTag:
    """Read a task out of MAAS's answer about a tag.

    Raises `ProvisionerProtocolError`: the tag is no task of Slipway's, or of a later version of it.
    """
    name = data.get("name") if isinstance(data, dict) else None
    if not isinstance(data, dict) or not isinstance(name, str):
        raise ProvisionerProtocolError("MAAS gives something that is no tag")
    try:
        said = read_json(str(data.get("comment") or ""))
        if said["slipway"] != _FORMAT or not {"nodes", "settled"} <= said.keys():
            raise ValueError
        return msgspec.convert({**said, "reference": name}, TaskTag)
    except (ValueError, TypeError, KeyError, msgspec.ValidationError):
        raise ProvisionerProtocolError(f"the tag {name} in MAAS is no task of this version of Slipway") from None
