"""What differs between two mappings is the same as one look at each key finds."""

from __future__ import annotations

import random

from strategy_lib.node_states.publication import gone_keys, other_objects, other_values


def test_what_differs_is_what_a_look_at_each_key_finds() -> None:
    chance = random.Random(12)
    for _ in range(300):
        values = [[number % 2] for number in range(4)]
        before, after = (
            {name: chance.choice(values) for name in chance.sample("abcdefgh", chance.randrange(9))} for _ in range(2)
        )
        objects = other_objects(before, after)
        assert objects == [name for name, value in after.items() if before.get(name) is not value]
        others = other_values(before, after)
        assert others == [name for name, value in after.items() if before.get(name) != value]
        for other in (objects, others):
            assert gone_keys(before, after, other) == before.keys() - after.keys()
