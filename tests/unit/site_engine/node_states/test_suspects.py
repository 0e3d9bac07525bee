"""Nodes that a list says something bad of are the same whether it is read at once or what differs from the last one."""

from __future__ import annotations

import ipaddress
import random
from collections.abc import Mapping
from typing import Any

from design_rendering.kinds.nodes import StatedNode
from provisioner_client.protocol import NO_ADDRESSES
from site_engine.node_states.checks import CheckedNode, Suspects, check_as_left
from strategy_lib.outcome import NodeCondition

HERE = StatedNode({"pxe": "10.0.0.1"}, {"pxe": ipaddress.ip_network("10.0.0.0/24")})
STATED = {"a": HERE, "b": HERE, "c": StatedNode()}


def found_anew(listed: Mapping[str, Mapping[str, Any]], stated: Mapping[str, StatedNode]) -> set[str]:
    """Return the nodes that the check itself finds something at."""
    seen = (
        CheckedNode(
            *("north", name, said["condition"], said["status"], said["power"]),
            said.get("addresses", NO_ADDRESSES),
            stated.get(name),
        )
        for name, said in listed.items()
    )
    return {node.name for node in seen if check_as_left(node).reason}


def test_what_is_kept_of_the_last_list_is_what_the_check_finds_anew() -> None:
    chance, kept = random.Random(56), Suspects()
    listed: dict[str, Mapping[str, Any]] = {}
    stated: Mapping[str, StatedNode] = {}
    complete = 0
    for _ in range(500):
        for name in chance.sample("abcdef", chance.randrange(3)):
            listed = {key: said for key, said in listed.items() if key != name}
            if chance.random() < 0.8:
                condition = chance.choice((NodeCondition.DEPLOYED, NodeCondition.DEPLOYED, NodeCondition.READY))
                said: dict[str, Any] = {"status": str(condition), "condition": condition}
                said["power"] = chance.choice(("on", "on", "off", None))
                if chance.random() < 0.5:
                    said["addresses"] = {"boot_ip": chance.choice(("10.0.0.1", "10.0.0.2"))}
                listed[name] = said
        if chance.random() < 0.1:
            stated = chance.choice((STATED, {}, dict(STATED)))
        kept.follow(listed, stated)
        if kept.read(most=chance.choice((1, 2, 10))):
            complete += 1
            assert kept.names == found_anew(listed, stated)
        assert kept.names <= listed.keys()
    assert 100 < complete < 500
