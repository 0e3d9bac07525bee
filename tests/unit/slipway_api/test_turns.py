"""So many at once, and no more."""

from __future__ import annotations

import threading

import pytest

from slipway_api.http import turns
from slipway_api.http.api_errors import ApiError
from slipway_api.http.turns import Turns


def test_others_wait_for_their_turn() -> None:
    each, most = Turns(2), []
    inside: set[int] = set()
    go = threading.Event()

    def work() -> None:
        with each.one():
            inside.add(threading.get_ident())
            most.append(len(inside))
            go.wait(0.05)
            inside.discard(threading.get_ident())

    threads = [threading.Thread(target=work) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10)
    assert len(most) == 6
    assert max(most) == 2


def test_who_waits_too_long_is_told_to_come_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turns, "LONGEST_WAIT", 0.01)
    one = Turns(1)
    with one.one(), pytest.raises(ApiError) as caught, one.one():
        pass
    assert (caught.value.status, caught.value.retry) == (503, True)
    with one.one():
        pass


def test_a_turn_ends_with_an_error_too() -> None:
    one = Turns(1)
    for _ in range(2):
        with pytest.raises(ValueError, match="x"), one.one():
            raise ValueError("x")
