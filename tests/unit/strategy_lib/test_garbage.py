"""While designs are judged nobody looks for garbage in cycles; behind the last of several somebody does again."""

from __future__ import annotations

import gc

import pytest

from strategy_lib.garbage import garbage_put_off


def test_it_is_put_off_until_the_last_one_is_done() -> None:
    assert gc.isenabled()
    with garbage_put_off():
        with garbage_put_off():
            assert not gc.isenabled()
        assert not gc.isenabled()
    assert gc.isenabled()


def test_it_goes_on_after_a_failure() -> None:
    with pytest.raises(KeyError), garbage_put_off():
        raise KeyError("design")
    assert gc.isenabled()
