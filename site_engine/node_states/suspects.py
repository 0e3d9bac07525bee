"""Nodes of which a provisioner's list does not say that all is well, kept from list to list (rule 56).

Of very many nodes few differ from one list to the next: only these are looked at, and after another design all of them,
some at a time.
"""

from __future__ import annotations

from collections.abc import Mapping, Set
from itertools import islice
from typing import TYPE_CHECKING, Any

from strategy_lib.node_states.same_objects import gone_keys, other_objects
from strategy_lib.outcome import NodeCondition

if TYPE_CHECKING:
    from design_rendering.kinds.nodes import StatedNode

Listed = Mapping[str, Mapping[str, Any]]
"""What the provisioner says of each node."""


class Suspects:
    """The nodes of one list that `check_as_left` may find something at, under one design."""

    def __init__(self) -> None:
        self._listed: Listed = {}
        self._stated: Mapping[str, StatedNode] | None = None
        self._names: set[str] = set()
        self._unread: set[str] = set()

    @property
    def names(self) -> Set[str]:
        """Those found so far: all of them once `read` was true."""
        return self._names

    def follow(self, listed: Listed, stated: Mapping[str, StatedNode]) -> None:
        """Go on with another list, or another design.

        Parameters
        ----------
        listed : the whole list.
        stated : what the design states of each node; the same object is the same design.
        """
        if stated is not self._stated:
            self._names, self._unread = set(), set(listed)
        elif listed is not self._listed:
            # Most are the same objects; where a list was read anew, they say the same.
            other = [name for name in other_objects(self._listed, listed) if listed[name] != self._listed.get(name)]
            self._unread.update(other)
            gone = gone_keys(self._listed, listed, other)
            self._names -= gone
            self._unread -= gone
        self._listed, self._stated = listed, stated

    def read(self, most: int) -> bool:
        """Look at so many of the nodes of which something new is said; return whether that were all of them."""
        some = list(islice(self._unread, most))
        stated = self._stated or {}
        bad = {name for name in some if not _is_plain(self._listed[name], stated.get(name))}
        self._names.difference_update(some)
        self._names |= bad
        self._unread.difference_update(some)
        return not self._unread


def _is_plain(said: Mapping[str, Any], stated: StatedNode | None) -> bool:
    """Whether `check_as_left` finds nothing in this: deployed, not off, and at no other address than a stated one."""
    if said["condition"] != NodeCondition.DEPLOYED or said["power"] == "off":
        return False
    addresses = said.get("addresses")
    if stated is None or not addresses:
        return True
    return all(stated.address_instead_of(seen) is None for seen in addresses.values())
