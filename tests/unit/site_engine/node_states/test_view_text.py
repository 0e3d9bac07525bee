"""The text of a version is the same whether it is made at once or from the one before."""

from __future__ import annotations

import json
import random
from typing import Any

from strategy_lib.node_states.generated import NodeAvailability
from strategy_lib.node_states.publication import PublishedState, ViewText

UP, DOWN = PublishedState(NodeAvailability.UP), PublishedState(NodeAvailability.DOWN, 'off, "since" noon')


def test_a_version_says_of_each_node_its_state_the_reason_and_its_capacity() -> None:
    said = {"b": {"status": "Deployed", "cores": 4, "memory": None, "rack": "r1"}}
    text = ViewText().text("north", DOWN, {"b": UP, "a": DOWN}, said)
    assert text == (
        r'{"site":"north","state":"down","reason":"off, \"since\" noon","nodes":{'
        r'"a":{"state":"down","reason":"off, \"since\" noon"},"b":{"state":"up","cores":4,"rack":"r1"}}}'
    )
    empty = json.loads(ViewText().text("north", UP, {}, {}))
    assert empty == {"site": "north", "state": "up", "reason": "", "nodes": {}}


def test_what_is_kept_of_the_last_version_is_what_would_be_made_anew() -> None:
    chance, kept = random.Random(49), ViewText()
    states: dict[str, PublishedState] = {}
    said: dict[str, dict[str, Any]] = {}
    for _ in range(300):
        for name in chance.sample("abcdefgh", 3):
            match chance.randrange(4):
                case 0:
                    states.pop(name, None)
                case 1:
                    said[name] = {"cores": chance.randrange(3)}
                case 2:
                    said.pop(name, None)
                case _:
                    states[name] = chance.choice((UP, DOWN))
        assert kept.text("north", UP, dict(states), dict(said)) == ViewText().text("north", UP, states, said)
