"""What Drydock remembers of designs, and how often it fetches them."""

from __future__ import annotations

from pathlib import Path

import pytest

from provisioner_client.simulator.design_cache import PAUSES, DesignCache
from provisioner_client.simulator.errors import DesignUnresolvable
from tests.support.sites import node, site

SITE = site([node("n1"), node("n2")], []).encode()


def test_a_fetch_that_fails_is_tried_three_times_and_then_remembered_for_ever(tmp_path: Path) -> None:
    waits: list[float] = []
    file = tmp_path / "site.yaml"
    cache = DesignCache(sleep=waits.append)
    for _ in range(2):
        with pytest.raises(DesignUnresolvable):
            cache.resolve(f"file://{file}")
        file.write_bytes(SITE)
    assert waits == [*PAUSES]
    assert [one.name for one in cache.resolve(f"file://{file}?n=1").nodes] == ["n1", "n2"], "another address"


def test_an_outage_shorter_than_the_three_tries_is_survived(tmp_path: Path) -> None:
    file = tmp_path / "site.yaml"
    cache = DesignCache(sleep=lambda _: [file.write_bytes(SITE)].clear())
    assert len(cache.resolve(f"file://{file}").nodes) == 2
