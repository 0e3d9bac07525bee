"""Numbers of operations are unique and grow, over many threads and processes, and over restarts."""

from __future__ import annotations

import multiprocessing
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import pytest

from site_store import Claim, SiteStore
from strategy_lib.phase import Phase
from tests.integration.site_store.scenario import SITE, Scenario

PROCESSES, THREADS = 4, 4


def take(url: str, action_id: str, first: int, number: int) -> list[list[int]]:
    """Take so many numbers in each thread of a process of its own; return those of each thread in their order."""
    with SiteStore.open(url) as store:

        def one_thread(thread: int) -> list[int]:
            return [begin(store, action_id, first + thread * number + place) for place in range(number)]

        with ThreadPoolExecutor(THREADS) as threads:
            return list(threads.map(one_thread, range(THREADS)))


def begin(store: SiteStore, action_id: str, attempt: int) -> int:
    return store.operations.begin(Claim(action_id, SITE, None, attempt, Phase.VERIFY_SITE, (), "file:///d")).op


@pytest.mark.parametrize(
    "number",
    [
        pytest.param(4, marks=pytest.mark.endurance),
        pytest.param(32, marks=pytest.mark.endurance),
        pytest.param(313, marks=pytest.mark.soak),
    ],
)
def test_rule_45_numbers_are_unique_and_grow(site: Scenario, url: str, number: int) -> None:
    action = site.running({"a": ["n1"]})
    highest, seen = 0, 0
    for start in range(2):
        # Each start has new processes: what was given before is never given again.
        with multiprocessing.get_context("fork").Pool(PROCESSES) as pool:
            first = start * PROCESSES * THREADS * number
            asked = [(url, action.id, first + process * THREADS * number, number) for process in range(PROCESSES)]
            threads = [thread for process in pool.starmap(take, asked) for thread in process]
        taken = [op for thread in threads for op in thread]
        assert len(taken) == len(set(taken)) == PROCESSES * THREADS * number
        assert all(older < newer for thread in threads for older, newer in pairwise(thread))
        assert min(taken) > highest
        highest, seen = max(taken), seen + len(taken)
    assert seen == 2 * PROCESSES * THREADS * number
