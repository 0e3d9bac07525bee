"""What is kept by key: for a while, as long as it is as it would be made now, and made by one for all who wait."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from slipway_api.http.kept import Kept


class Facts:
    """What is made, how often, and its token."""

    def __init__(self, most: int = 8) -> None:
        self.token = "1"
        self.made = 0
        self.now = 0.0
        self.kept: Kept[str] = Kept(most, 5.0, lambda: self.now)

    def make(self) -> str:
        self.made += 1
        return f"{self.token}.{self.made}"

    def get(self, key: str = "a", *, refresh: bool = False) -> str:
        return self.kept.get(key, self.make, lambda made: made.startswith(f"{self.token}."), refresh=refresh)


def test_what_was_made_is_kept_under_its_token_for_a_while() -> None:
    facts = Facts()
    assert [facts.get(), facts.get(), facts.get("b")] == ["1.1", "1.1", "1.2"]
    facts.token = "2"
    assert [facts.get(), facts.get()] == ["2.3", "2.3"]
    facts.now = 5.0
    assert facts.get() == "2.4", "some of it changes with time alone"


def test_of_many_who_ask_at_once_one_makes_it() -> None:
    facts, at_once = Facts(), threading.Barrier(8)

    def get(_: int) -> str:
        at_once.wait(10)
        return facts.get()

    with ThreadPoolExecutor(8) as pool:
        assert set(pool.map(get, range(8))) == {"1.1"}


def test_a_refresh_gets_what_was_read_after_it_was_asked_for() -> None:
    facts = Facts()
    assert [facts.get(), facts.get(refresh=True), facts.get()] == ["1.1", "1.2", "1.2"]


def test_those_that_were_asked_for_last_are_kept() -> None:
    facts = Facts(most=1)
    assert [facts.get(), facts.get("b"), facts.get()] == ["1.1", "1.2", "1.3"]


def test_what_failed_is_tried_again() -> None:
    facts = Facts()

    def fail() -> Any:
        raise ValueError("cannot be rendered")

    with pytest.raises(ValueError, match="cannot be rendered"):
        facts.kept.get("a", fail)
    assert facts.get() == "1.1"
